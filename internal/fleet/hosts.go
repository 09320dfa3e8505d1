package fleet

import (
	"cmp"
	"strings"

	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/event"
)

// A host indexes a compute with running processes: its idle processes and its load.
type host struct {
	idle       *btree.BTreeG[idleEntry] // ready, with a socket, oldest first
	processes  int                      // that have not ended
	sessions   int                      // that have not ended
	activating int
	rank       rank
	ranked     bool // is in live.available
}

type idleEntry struct {
	ready event.Time
	id    string
}

func (a idleEntry) before(b idleEntry) bool {
	return cmp.Or(cmp.Compare(a.ready, b.ready), strings.Compare(a.id, b.id)) < 0
}

// A rank orders the computes that have an idle process: fewest activations first, then fewest game sessions.
type rank struct {
	activating, sessions int
	compute              string
}

func (a rank) before(b rank) bool {
	return cmp.Or(cmp.Compare(a.activating, b.activating), cmp.Compare(a.sessions, b.sessions),
		strings.Compare(a.compute, b.compute)) < 0
}

// host returns the index entry of a compute, created on first use.
func (r *Room) host(compute string) *host {
	h, ok := r.hosts[compute]
	if !ok {
		h = &host{idle: btree.NewBTreeGOptions(idleEntry.before, btree.Options{NoLocks: true})}
		r.hosts[compute] = h
	}
	return h
}

// rerank updates the rank of a compute after its numbers changed, and removes one without processes.
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

// free finds a process for a new game session: on the least loaded compute, the one that has been ready for longest. It
// skips computes with maxActivations game sessions in ACTIVATING. Source: API reference,
// RuntimeConfiguration.MaxConcurrentGameSessionActivations.
func (r *Room) free(maxActivations int) (*Process, bool) {
	best, ok := r.available.Min()
	if !ok || best.activating >= maxActivations {
		return nil, false
	}
	entry, _ := r.hosts[best.compute].idle.Min()
	return r.process(ProcessKey{best.compute, entry.id})
}

// WaitingProcesses returns how many connected processes can host a game session. Only the writer may call it.
func (r *Room) WaitingProcesses() (n int) {
	r.available.Scan(func(best rank) bool {
		n += r.hosts[best.compute].idle.Len()
		return true
	})
	return n
}

// canHost reports whether a process of the fleet's own build is connected and idle.
func (p *Process) canHost() bool {
	return p.Status == ProcessIdle && p.Connected && p.TerminateBy == 0 && p.Build == ""
}

// storeProcess stores a process that nobody else references.
func (r *Room) storeProcess(p *Process) {
	p.record = r.generation
	r.processes.Set(processEntry{p.ProcessKey, p})
	r.byKey[p.ProcessKey] = p
}

// keepUpWith updates counts, idle sets and timers after a process changed; old is nil for a new one.
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
	r.counts.Healthy += one(p.healthy()) - one(old != nil && old.healthy())
	r.counts.Waiting += one(p.canHost()) - one(old != nil && old.canHost())
	r.rerank(p.Compute, h)
	r.timers.schedule(timerKey{process: p.ProcessKey}, p.wake())
}

// running reports whether the process counts as active.
func (p *Process) running() bool { return p.Status == ProcessIdle || p.Status == ProcessHosting }

// healthy reports whether an active process is connected and its last health report, if there was one, was not bad.
func (p *Process) healthy() bool { return p.running() && p.Connected && p.Unhealthy == 0 }

// addSession adds a game session that nobody else references.
func (r *Room) addSession(g *GameSession) {
	g.ownership = ownership{record: r.generation, slots: r.generation, randomBits: g.randomBits}
	r.sessions.Set(g.Ordinal, g)
	r.keepUp(nil, g)
}

// keepUp updates counts, indexes and timers after a game session changed; old is nil for a new one.
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
