package report

import (
	"fmt"
	"sync"
	"testing"
)

// Findings are what is wrong with a service. Any goroutine may add some.
type Findings struct {
	mu            sync.Mutex
	lost, doubled []string
}

// Lost notes what was acknowledged and is not there, or not as it was acknowledged.
func (f *Findings) Lost(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost = append(f.lost, fmt.Sprintf(format, args...))
}

// Doubled notes what is there twice, or that nobody asked for.
func (f *Findings) Doubled(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doubled = append(f.doubled, fmt.Sprintf(format, args...))
}

// Counts are how many findings there are of each kind.
func (f *Findings) Counts() (lost, doubled int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.lost), len(f.doubled)
}

// Tell gives the test the findings as errors, the first ones of each kind.
func (f *Findings) Tell(t testing.TB) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	const most = 10
	for _, what := range f.lost[:min(most, len(f.lost))] {
		t.Errorf("lost: %s", what)
	}
	for _, what := range f.doubled[:min(most, len(f.doubled))] {
		t.Errorf("doubled: %s", what)
	}
}
