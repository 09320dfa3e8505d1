package sim

import "time"

// Options say how a run goes.
type Options struct {
	Steps int    // things that are drawn from the seed; default 120
	Trace bool   // keep each line of the trace, not only the last ones
	Bug   string // plant this one; "" for none: see Bugs

	Machines bool // EC2-type fleets on machines, and what happens to those
}

// A Result is what has become of a run.
type Result struct {
	Err     error    // the first rule that was broken, with the step; nil: none was
	Trace   []string // what happened: the last lines, or all of them
	Seen    Seen
	Elapsed time.Duration // by the simulated clock
}

// Seen counts what a run met, by name.
type Seen map[string]int

// Add adds the counts of another run.
func (s Seen) Add(other Seen) {
	for name, n := range other {
		s[name] += n
	}
}
