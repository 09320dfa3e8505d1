package fleet

import (
	"cmp"
	"strings"

	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/event"
)

// A host is what the writer keeps of a compute in order to choose a process
// without a search: its idle processes and how busy it is. There is one for
// each compute on which a process lives.
type host struct {
	idle       *btree.BTreeG[idleEntry] // ready, with a socket, oldest first
	processes  int                      // that have not ended
	sessions   int                      // that are not over
	activating int
	rank       rank
	ranked     bool // stands in live.available
}

type idleEntry struct {
	ready event.Time
	id    string
}

func (a idleEntry) before(b idleEntry) bool {
	return cmp.Or(cmp.Compare(a.ready, b.ready), strings.Compare(a.id, b.id)) < 0
}

// A rank orders the computes that have an idle process: those with the fewest
// activations first, then those with the fewest game sessions.
type rank struct {
	activating, sessions int
	compute              string
}

func (a rank) before(b rank) bool {
	return cmp.Or(cmp.Compare(a.activating, b.activating), cmp.Compare(a.sessions, b.sessions), strings.Compare(a.compute, b.compute)) < 0
}

// host returns the writer's view of a compute, made on first use.
func (r *Room) host(compute string) *host {
	h, ok := r.hosts[compute]
	if !ok {
		h = &host{idle: btree.NewBTreeGOptions(idleEntry.before, btree.Options{NoLocks: true})}
		r.hosts[compute] = h
	}
	return h
}

// rerank puts a compute where its numbers say, after they have changed, and
// lets go of one on which nothing lives.
func (r *Room) rerank(compute string, h *host) {
	now, ranked := rank{h.activating, h.sessions, compute}, h.idle.Len() > 0
	if ranked && h.ranked && now == h.rank {
		return
	}
	if h.ranked {
		r.available.Delete(h.rank)
	}
	if h.processes == 0 && h.sessions == 0 {
		delete(r.hosts, compute)
		return
	}
	h.rank, h.ranked = now, ranked
	if h.ranked {
		r.available.Set(h.rank)
	}
}

// free finds a process for a new game session: on the least busy compute, the
// one that has been ready for longest. Computes with maxActivations game
// sessions in ACTIVATING are passed over.
// Source: API reference, RuntimeConfiguration.MaxConcurrentGameSessionActivations.
func (r *Room) free(maxActivations int) (*Process, bool) {
	best, ok := r.available.Min()
	if !ok || best.activating >= maxActivations {
		return nil, false
	}
	entry, _ := r.hosts[best.compute].idle.Min()
	return r.process(ProcessKey{best.compute, entry.id})
}

// Waiting is how many processes wait for a game session and can be told of one.
// It is for the writer's own goroutine.
func (r *Room) WaitingProcesses() (n int) {
	r.available.Scan(func(best rank) bool {
		n += r.hosts[best.compute].idle.Len()
		return true
	})
	return n
}

// canHost reports whether a process waits for a game session and can be told of one.
func (p *Process) canHost() bool {
	return p.Status == ProcessIdle && p.Connected && p.TerminateBy == 0
}

// storeProcess puts a process that nobody else has where one with its key was.
func (r *Room) storeProcess(p *Process) {
	p.record = r.generation
	r.processes.Set(processEntry{p.ProcessKey, p})
	r.byKey[p.ProcessKey] = p
}

// keepUpWith keeps what follows from a process, after it has become what it is
// (old nil: was added): counts, the idle sets, the timer.
func (r *Room) keepUpWith(old, p *Process) {
	h := r.host(p.Compute)
	if old != nil && old.canHost() {
		h.idle.Delete(idleEntry{old.Ready, old.ID})
	}
	if p.canHost() {
		h.idle.Set(idleEntry{p.Ready, p.ID})
	}
	h.processes += one(p.Status != ProcessEnded) - one(old != nil && old.Status != ProcessEnded)
	r.counts.Processes += one(p.running()) - one(old != nil && old.running())
	r.counts.Idle += one(p.Status == ProcessIdle) - one(old != nil && old.Status == ProcessIdle)
	r.rerank(p.Compute, h)
	r.timers.schedule(timerKey{process: p.ProcessKey}, p.wake())
}

// running reports whether the process counts as an active server process.
func (p *Process) running() bool { return p.Status == ProcessIdle || p.Status == ProcessHosting }

// addSession adds a game session that nobody else has.
func (r *Room) addSession(g *GameSession) {
	g.ownership = ownership{record: r.generation, slots: r.generation, randomBits: g.randomBits}
	r.sessions.Set(g.Ordinal, g)
	r.keepUp(nil, g)
}

// keepUp keeps what follows from a game session, after it has become what it is
// (old nil: was added).
func (r *Room) keepUp(old, g *GameSession) {
	h := r.host(g.Host.Compute)
	wasBusy := h.sessions > 0
	h.activating += one(g.Status == Activating) - one(old != nil && old.Status == Activating)
	h.sessions += one(!g.HasEnded()) - one(old != nil && !old.HasEnded())
	r.counts.BusyComputes += one(h.sessions > 0) - one(wasBusy)
	r.counts.Activating += one(g.Status == Activating) - one(old != nil && old.Status == Activating)
	r.counts.Active += one(g.playing()) - one(old != nil && old.playing())
	r.counts.Players += len(g.CurrentPlayers)
	r.counts.MaximumPlayers += int(g.maximumIfHosted())
	if old != nil {
		r.counts.Players -= len(old.CurrentPlayers)
		r.counts.MaximumPlayers -= int(old.maximumIfHosted())
	}
	if old == nil || old.Status != g.Status {
		r.rerank(g.Host.Compute, h)
	}
	r.indexSession(old, g)
	r.indexExcess(g)
	r.timers.schedule(timerKey{session: g.Ordinal}, g.newDeadline(old))
}

// playing reports whether the game session counts as active.
func (g *GameSession) playing() bool { return g.Status == Active || g.Status == Terminating }

func (g *GameSession) maximumIfHosted() int32 {
	if g.HasEnded() {
		return 0
	}
	return g.Maximum
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
