//go:build unix

package crash

import (
	"maps"
	"slices"
	"sync"

	"github.com/muster-gg/muster/e2e/calls"
	"github.com/muster-gg/muster/e2e/report"
)

// Registers are things with one value each, such as an alias and its
// description; "" is a thing that is not there. A register holds one value, or
// several while calls without an answer may have changed it. One worker at a
// time may write a register.
type registers struct {
	mu       sync.Mutex
	possible map[string][]string
}

// write makes a call that sets a register.
func (r *registers) write(name, value string, call func() error) (calls.Outcome, string) {
	before := r.values(name)
	r.set(name, append(slices.Clone(before), value)...)
	result, fault := calls.OutcomeOf(call())
	switch result {
	case calls.Acknowledged:
		r.set(name, value)
	case calls.Refused:
		r.set(name, before...)
	}
	return result, fault
}

// values are the values that a register may have.
func (r *registers) values(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if possible, ok := r.possible[name]; ok {
		return possible
	}
	return []string{""}
}

// is reports whether a register certainly has a value.
func (r *registers) is(name, value string) bool {
	values := r.values(name)
	return len(values) == 1 && values[0] == value
}

// sure reports whether the value of a register is known.
func (r *registers) sure(name string) bool { return len(r.values(name)) == 1 }

func (r *registers) set(name string, values ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.possible == nil {
		r.possible = map[string][]string{}
	}
	r.possible[name] = values
}

// compare checks what the service says against what it may say, and takes it
// over: after a restart nothing is unknown.
func (r *registers) compare(kind string, seen map[string]string, found *report.Findings) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(r.possible)) {
		if !slices.Contains(r.possible[name], seen[name]) {
			found.Lost("%s %s is %q; it was acknowledged as %q", kind, name, seen[name], r.possible[name])
			continue
		}
		r.possible[name] = []string{seen[name]}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if _, known := r.possible[name]; !known {
			found.Doubled("%s %s is %q; nobody asked for it", kind, name, seen[name])
		}
	}
}

// sightings are the values of registers that the service says.
type sightings map[string]string

// add notes a value. A name that was seen before is there twice.
func (s sightings) add(kind, name, value string, found *report.Findings) {
	if old, twice := s[name]; twice {
		found.Doubled("%s %s is there twice: %q and %q", kind, name, old, value)
	}
	s[name] = value
}
