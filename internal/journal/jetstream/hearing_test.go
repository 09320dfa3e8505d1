package jetstream

import (
	"slices"
	"testing"
	"time"
)

// A node is reached when both hear each other.
func TestEar(t *testing.T) {
	begin := time.Now()
	at := func(d time.Duration) time.Time { return begin.Add(d) }
	both := []string{"b", "c"}
	e := newEar("a")
	for _, tt := range []struct {
		name  string
		heard func()
		now   time.Duration
		hello string
		want  []string
	}{
		{"nobody has said anything", func() {}, 0, "", nil},
		{"one who does not hear us", func() { e.hear(helloSubject+"b", []byte("c"), at(0)) }, 0, "b", nil},
		{"one who hears us", func() { e.hear(helloSubject+"b", []byte("c a"), at(0)) }, 0, "b", []string{"b"}},
		{"ourselves", func() { e.hear(helloSubject+"a", []byte("a"), at(0)) }, 0, "b", []string{"b"}},
		{"one who has fallen silent", func() {}, deaf, "", nil},
		{"one who is back, deaf", func() { e.hear(helloSubject+"b", nil, at(deaf)) }, deaf, "b", nil},
		{"one who is not connected", func() { e.hear(helloSubject+"x", []byte("a"), at(deaf)) }, deaf + 1, "", nil},
	} {
		tt.heard()
		hello := string(e.hello(at(tt.now)))
		if tt.hello != "" && hello != tt.hello {
			t.Errorf("%s: says that it hears %q, want %q", tt.name, hello, tt.hello)
		}
		if got := e.reaches(both, at(tt.now)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: reaches %q, want %q", tt.name, got, tt.want)
		}
	}
}
