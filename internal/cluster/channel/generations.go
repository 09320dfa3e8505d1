package channel

import "time"

// remembered is for how long the newest generation of a process that is no member is kept: longer than a network delays
// a packet. TCP closes a connection without acknowledgements after some 15 minutes, and drops its data.
const remembered = time.Hour

// Generations remembers the channels that other processes have opened to this one, so that no packet opens one twice:
// what it carries was executed when the channel was open, and the channel may have broken since. A process has a new
// name after each start. The zero value is empty.
type Generations struct{ newest map[string]opened }

// opened is the newest channel of a process.
type opened struct {
	generation uint64
	at         time.Duration // when it was opened, or the process was last a member
}

// Open records that a process opens a channel, and reports whether it may: its generation must be newer than all
// before.
func (g *Generations) Open(process string, generation uint64, now time.Duration) bool {
	if generation <= g.newest[process].generation {
		return false
	}
	if g.newest == nil {
		g.newest = map[string]opened{}
	}
	g.newest[process] = opened{generation, now}
	return true
}

// Forget deletes processes that have been no members for an hour: they send nothing, and nothing that they sent is
// still in transit. So the size is bounded by the number of starts of nodes within an hour.
func (g *Generations) Forget(now time.Duration, member func(process string) bool) {
	for process, o := range g.newest {
		switch {
		case member(process):
			g.newest[process] = opened{o.generation, now}
		case now-o.at > remembered:
			delete(g.newest, process)
		}
	}
}
