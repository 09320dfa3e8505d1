package matchdriver

import (
	"cmp"
	"maps"
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// Concerns reports whether Observe does something with a fact.
func Concerns(f event.Fact) bool {
	switch f.Body.(type) {
	case *fleet.GameSessionEnded, *placement.PlacementFulfilled, *placement.PlacementEnded:
		return true
	}
	return f.Room == region.MatchmakingRoom
}

// Observe takes durable facts of a shard, in their order.
func (d *Driver) Observe(shard int, facts []event.Fact) {
	if !d.active {
		return
	}
	for _, f := range facts {
		switch e := f.Body.(type) {
		case *fleet.GameSessionEnded:
			d.sessionEnded(sessionKey{shard, f.Room, e.Ordinal})
		case *placement.PlacementFulfilled:
			d.placementOver(e.ID, placement.Fulfilled, &e.Session)
		case *placement.PlacementEnded:
			d.placementOver(e.ID, e.Status, nil)
		default:
			d.ticketFact(f.Body)
		}
	}
}

func (d *Driver) ticketFact(body any) {
	switch e := body.(type) {
	case *matchmaking.TicketStarted:
		d.enter(&seeker{
			id: e.ID, configuration: e.Configuration, players: e.Players,
			backfill: e.Backfill, session: e.GameSession, started: e.At,
		})
	case *matchmaking.TicketEnded:
		d.end(e.ID, e.Status)
	case *matchmaking.MatchProposed:
		d.proposed(e.ID, e.Tickets)
	case *matchmaking.MatchAnswered:
		d.matchChanged(e.ID)
	case *matchmaking.MatchAccepted:
		d.matchChanged(e.ID)
		d.work(e.ID, e.Stage, false)
	case *matchmaking.MatchDropped:
		d.drop(e)
	case *matchmaking.MatchCompleted:
		d.complete(e.ID)
	}
}

// enter puts a ticket into its pool.
func (d *Driver) enter(s *seeker) {
	d.know(s)
	d.news(d.of(s.configuration)).change(s.id, s)
	d.cfg.Changed(s.id)
}

// know notes a ticket.
func (d *Driver) know(s *seeker) {
	d.tickets[s.id] = s
	if s.session != "" {
		d.guard(s.session)
	}
}

// leave takes a ticket out of its pool.
func (d *Driver) leave(s *seeker) {
	if c := d.configured[s.configuration.ID]; c != nil {
		d.news(c).change(s.id, nil)
	}
}

// end forgets a ticket that has ended.
func (d *Driver) end(id string, status matchmaking.Status) {
	s, ok := d.tickets[id]
	if !ok {
		return
	}
	delete(d.tickets, id)
	d.leave(s)
	if s.session != "" && status != matchmaking.Completed {
		d.notify(s.session, id, status)
	}
	d.cfg.Changed(id)
}

func (d *Driver) proposed(match string, tickets []string) {
	d.matches[match] = tickets
	for _, id := range tickets {
		if s, ok := d.tickets[id]; ok {
			d.leave(s)
		}
		d.cfg.Changed(id)
	}
}

// drop ends a match without a game: its tickets search again, unless they ended with it.
func (d *Driver) drop(e *matchmaking.MatchDropped) {
	ended := make(map[string]matchmaking.Status, len(e.Ended))
	for _, t := range e.Ended {
		ended[t.ID] = t.Status
	}
	for _, id := range d.take(e.ID) {
		if status, over := ended[id]; over {
			d.end(id, status)
		} else if s, ok := d.tickets[id]; ok {
			next := *s
			next.round++
			d.enter(&next)
		}
	}
	if e.Cancel {
		d.work(e.ID, matchmaking.StageCancelling, true)
	}
}

func (d *Driver) complete(match string) {
	for _, id := range d.take(match) {
		delete(d.tickets, id)
		d.cfg.Changed(id)
	}
}

// take forgets a match and lists its tickets.
func (d *Driver) take(match string) []string {
	tickets := d.matches[match]
	delete(d.matches, match)
	return tickets
}

// matchChanged reports the tickets of a match as changed.
func (d *Driver) matchChanged(match string) {
	for _, id := range d.matches[match] {
		d.cfg.Changed(id)
	}
}

// Recover starts again with a shard, from a view of its state: facts of it may have been missed.
func (d *Driver) Recover(shard int, view *region.Machine) {
	if !d.active {
		return
	}
	d.ends[shard]++
	d.recoverSessions(shard)
	d.recoverPlacements(shard)
	if shard == region.MatchmakingShard(d.cfg.Shards) {
		d.recoverTickets(view.Matchmaking())
	}
}

func (d *Driver) recoverTickets(s *matchmaking.State) {
	d.recovered = true
	d.endMissed(s)
	d.tickets, d.matches = map[string]*seeker{}, map[string][]string{}
	for _, c := range sorted(d.configured) {
		n := d.news(c)
		*n = News{begin: true, questions: n.questions, catalog: n.catalog}
	}
	s.Searching(func(t *matchmaking.Ticket) bool {
		d.enter(newSeeker(t))
		return true
	})
	s.Matches(func(m *matchmaking.Match) bool {
		for _, id := range m.Tickets {
			if t, ok := s.Ticket(id); ok {
				d.know(newSeeker(t))
			}
		}
		d.matches[m.ID] = m.Tickets
		d.work(m.ID, m.Stage, true)
		return true
	})
}

// endMissed notifies game servers of backfill tickets that ended unnoticed.
func (d *Driver) endMissed(s *matchmaking.State) {
	missed := map[string]*matchmaking.Ticket{}
	for id, known := range d.tickets {
		if t, ok := s.Ticket(id); known.session != "" && ok && t.HasEnded() {
			missed[id] = t
		}
	}
	for _, t := range sorted(missed) {
		d.end(t.ID, t.Status)
	}
}

func newSeeker(t *matchmaking.Ticket) *seeker {
	return &seeker{
		id: t.ID, configuration: t.Configuration, players: t.Players, backfill: t.Backfill, session: t.GameSession,
		started: t.Started, round: t.Round,
	}
}

// sorted lists the values of a map in the order of their keys, so that equal histories make equal requests.
func sorted[K cmp.Ordered, V any](m map[K]V) []V {
	list := make([]V, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		list = append(list, m[key])
	}
	return list
}
