//go:build unix

package soak

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/smithy-go"

	"github.com/muster-gg/muster/gameserver"
)

// A recorder counts calls and takes their times. It is for use by several
// goroutines.
type recorder struct {
	mu     sync.Mutex
	times  []time.Duration // since the last interval
	counts map[string]int  // of what succeeded, by name
	errors map[string]int  // of what failed, by operation and error
}

func newRecorder() *recorder {
	return &recorder{counts: map[string]int{}, errors: map[string]int{}}
}

// do makes a call and notes how it went; false if it failed.
func (r *recorder) do(name string, call func() error) bool {
	begin := time.Now()
	err := call()
	took := time.Since(begin)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.errors[name+": "+nameOf(err)]++
		return false
	}
	r.counts[name]++
	r.times = append(r.times, took)
	return true
}

// fail notes a failure that is none of a call.
func (r *recorder) fail(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors[what]++
}

// count notes something that has no time.
func (r *recorder) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
}

// interval gives the times of the calls since it was called last, sorted.
func (r *recorder) interval() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	times := r.times
	r.times = make([]time.Duration, 0, len(times))
	slices.Sort(times)
	return times
}

// totals are the counts and the errors.
func (r *recorder) totals() (counts, errs map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts, errs = map[string]int{}, map[string]int{}
	for name, n := range r.counts {
		counts[name] = n
	}
	for name, n := range r.errors {
		errs[name] = n
	}
	return counts, errs
}

// nameOf is an error without what differs from one time to the next.
func nameOf(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	if e, ok := errors.AsType[*gameserver.Error](err); ok && e.Code != 0 {
		return fmt.Sprintf("status %d", e.Code)
	}
	return err.Error()
}

// quantile is the time that a share q of the sorted times did not exceed; 0 of none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
