package link

import "time"

// remembered is for how long the newest generation of a process that is no member is
// remembered: longer than a network holds a packet back. TCP gives a connection up that
// does not get through after some 15 minutes, and drops what it held.
const remembered = time.Hour

// Generations remembers which links other processes have opened to this one, so that no packet
// opens one a second time: what it carries was carried out when the link was open, and the link
// may have broken since. Processes are numbered anew with each start of a node, by names that
// are never given again. The zero value remembers nothing.
type Generations struct{ newest map[string]opened }

// opened is the newest link of a process.
type opened struct {
	generation uint64
	at         time.Duration // when it was opened, or the process was last a member
}

// Open notes that a process opens a link, and reports whether it may: its generation must be
// newer than all before it.
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

// Forget forgets processes that have been no members for an hour: they send nothing any more,
// and nothing that they sent is still on its way. So what is remembered is as much as there
// were starts of nodes within an hour.
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
