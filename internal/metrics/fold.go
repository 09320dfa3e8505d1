package metrics

import (
	"sync"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// counts are what happened to an entity since they were taken last, by column.
type counts []aggregate

// add counts n events in a counter.
func (c counts) add(at, n int) {
	c[at].sum += float64(n)
}

// took counts a duration, and its bucket.
func (c counts) took(f *family, at int, from, to event.Time) {
	seconds := max(0, to.Sub(from).Seconds())
	c[at] = c[at].then(sample(seconds))
	c[f.buckets(at)+f.bucketOf(seconds)].sum++
}

// A fold counts the events of one shard. It is pure but for its lock: the shard's commit goroutine and the Recorder use
// it.
type fold struct {
	mu         sync.Mutex
	counts     map[entity]counts
	placements map[string]*pending // PENDING placements by id
	tickets    map[string]ticket   // that have not ended, by id
	matches    map[string]match    // by id
	ready      map[process]bool    // processes that have been ready
}

// A process is a server process of a room of the shard.
type process struct {
	room uint32
	fleet.ProcessKey
}

func newFold() *fold {
	f := &fold{counts: map[entity]counts{}}
	f.forget()
	return f
}

// forget empties what the fold knows of the state of the shard.
func (f *fold) forget() {
	f.placements, f.tickets, f.matches = map[string]*pending{}, map[string]ticket{}, map[string]match{}
	f.ready = map[process]bool{}
}

// observe takes the facts of a commit, and with a view the state of the shard after them. It counts only the events of
// a shard that this node owns. rooms are those of the facts.
func (f *fold) observe(facts []event.Fact, rooms []fleet.RoomID, view *region.Machine, owned bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, fact := range facts {
		switch fact.Room {
		case region.PlacementsRoom:
			f.placement(fact.Body, owned)
		case region.MatchmakingRoom:
			f.matchmaking(fact.Body, owned)
		default:
			f.room(facts, rooms, i, owned)
		}
	}
	if view != nil {
		f.recover(view)
	}
}

// recover replaces what the fold knows of the state of the shard.
func (f *fold) recover(view *region.Machine) {
	f.forget()
	view.Placements().Pending(func(p *placement.Placement) bool {
		f.placements[p.ID] = resumed(p)
		return true
	})
	if m := view.Matchmaking(); m != nil {
		f.recoverTickets(m)
	}
	for _, r := range view.Rooms() {
		r.Processes(func(p *fleet.Process) bool {
			if p.Ready != 0 && p.Status != fleet.ProcessEnded {
				f.ready[process{uint32(r.Address().Room), p.ProcessKey}] = true
			}
			return true
		})
	}
}

// of returns the counts of an entity.
func (f *fold) of(e entity) counts {
	c, ok := f.counts[e]
	if !ok {
		c = make(counts, len(e.family().columns))
		f.counts[e] = c
	}
	return c
}

// room counts the fact i, of a fleet location.
func (f *fold) room(facts []event.Fact, rooms []fleet.RoomID, i int, owned bool) {
	column := -1
	switch e := facts[i].Body.(type) {
	case *fleet.ProcessBecameReady:
		key := process{facts[i].Room, e.ProcessKey}
		if f.ready[key] {
			return // an old game server's process, which has hosted a game session
		}
		f.ready[key] = true
		column = serverProcessActivations
	case *fleet.PlayerAccepted:
		column = playerSessionActivations
	case *fleet.ProcessHasEnded:
		delete(f.ready, process{facts[i].Room, e.ProcessKey})
		f.processEnded(rooms[i], e.Reason, owned)
		return
	case *fleet.GameSessionEnded:
		f.sessionEnded(rooms[i], e, endOf(facts[i+1:], facts[i].Room), owned)
		return
	}
	if column >= 0 && owned {
		f.of(roomEntity(rooms[i])).add(column, 1)
	}
}

func roomEntity(r fleet.RoomID) entity { return entity{byFleetLocation, string(r.Fleet), r.Location} }

// processEnded counts a process that ended. One that moved to another fleet goes on there.
func (f *fold) processEnded(room fleet.RoomID, reason fleet.EndReason, owned bool) {
	if !owned || reason == fleet.EndedByMove {
		return
	}
	c := f.of(roomEntity(room))
	c.add(serverProcessTerminations, 1)
	switch reason {
	case fleet.EndedCrashed, fleet.EndedUnhealthy, fleet.EndedNeverReady, fleet.EndedByForce:
		c.add(serverProcessAbnormalTerminations, 1)
	}
}

// endOf returns why the process of a game session ended; 0 if it goes on. Its end follows that of the game session in
// the same commit, after at most one fleet event.
func endOf(next []event.Fact, room uint32) fleet.EndReason {
	for _, fact := range next[:min(2, len(next))] {
		if fact.Room != room {
			return 0
		}
		switch e := fact.Body.(type) {
		case *fleet.FleetEventAdded:
		case *fleet.ProcessHasEnded:
			return e.Reason
		default:
			return 0
		}
	}
	return 0
}

func (f *fold) sessionEnded(room fleet.RoomID, e *fleet.GameSessionEnded, reason fleet.EndReason, owned bool) {
	if !owned {
		return
	}
	c := f.of(roomEntity(room))
	switch {
	case reason == fleet.EndedCrashed:
		c.add(sessionsCrashed, 1)
		c.add(gameSessionInterruptions, 1)
	case reason == fleet.EndedUnhealthy:
		c.add(sessionsUnhealthy, 1)
		c.add(gameSessionInterruptions, 1)
	case e.Reason != "", reason == fleet.EndedByForce:
		c.add(sessionsTerminated, 1)
	default:
		c.add(sessionsEnded, 1)
	}
}

// take returns the counts since the last call, and what waits in the shard's queues and pools.
func (f *fold) take(now event.Time) (map[entity]counts, waiting) {
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := f.counts
	f.counts = map[entity]counts{}
	w := waiting{queues: map[entity]waits{}, tickets: map[string]int{}}
	for _, p := range f.placements {
		w.add(entity{set: byQueue, a: p.queue}, p, now)
		if p.location != "" {
			w.add(entity{byQueueLocation, p.queue, p.location}, p, now)
		}
	}
	for _, t := range f.tickets {
		w.tickets[t.configuration]++
	}
	return taken, w
}

// waiting is what waits in a shard.
type waiting struct {
	queues  map[entity]waits // placements
	tickets map[string]int   // by configuration
}

// waits are some placements in PENDING.
type waits struct {
	n       int
	seconds float64 // that they have waited, in all
}

func (w waiting) add(e entity, p *pending, now event.Time) {
	s := w.queues[e]
	s.n++
	s.seconds += max(0, now.Sub(p.started).Seconds())
	w.queues[e] = s
}

// recoverTickets replaces what the fold knows of tickets and matches.
func (f *fold) recoverTickets(m *matchmaking.State) {
	keep := func(t *matchmaking.Ticket) bool {
		f.tickets[t.ID] = ticket{t.Configuration.Name, t.Started}
		return true
	}
	m.Searching(keep)
	m.Matches(func(p *matchmaking.Match) bool {
		f.matches[p.ID] = match{p.Settings.Configuration.Name, p.Tickets}
		for _, id := range p.Tickets {
			if t, ok := m.Ticket(id); ok && !t.HasEnded() {
				keep(t)
			}
		}
		return true
	})
}
