package metrics

import (
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/matchmaking"
)

// A ticket is what later events of it, which contain only its id, do not say.
type ticket struct {
	configuration string
	started       event.Time
}

// A match is the same of a match.
type match struct {
	configuration string
	tickets       []string
}

// matchmaking counts an event of a ticket or a match.
func (f *fold) matchmaking(body any, owned bool) {
	switch e := body.(type) {
	case *matchmaking.TicketStarted:
		f.tickets[e.ID] = ticket{e.Configuration.Name, e.At}
		if owned {
			c := f.of(configurationEntity(e.Configuration.Name))
			c.add(ticketsStarted, 1)
			if !e.Backfill {
				c.add(playersStarted, len(e.Players))
			}
		}
	case *matchmaking.TicketEnded:
		f.ticketOver(e.ID, e.Status, e.At, owned)
	case *matchmaking.MatchProposed:
		f.matchProposed(e, owned)
	case *matchmaking.MatchAccepted:
		if e.Asked {
			f.countMatch(e.ID, matchesAccepted, owned)
		}
	case *matchmaking.MatchDropped:
		f.matchDropped(e, owned)
	case *matchmaking.MatchCompleted:
		f.matchCompleted(e, owned)
	}
}

func configurationEntity(name string) entity { return entity{set: byConfiguration, a: name} }

func (f *fold) matchProposed(e *matchmaking.MatchProposed, owned bool) {
	name := e.Settings.Configuration.Name
	f.matches[e.ID] = match{name, e.Tickets}
	if !owned {
		return
	}
	c := f.of(configurationEntity(name))
	c.add(matchesCreated, 1)
	for _, id := range e.Tickets {
		if t, ok := f.tickets[id]; ok {
			c.took(matchmakings, timeToMatch, t.started, e.At)
		}
	}
	for _, m := range e.Metrics {
		r := f.of(entity{byRule, name, m.Rule})
		r.add(ruleEvaluationsPassed, m.Passed)
		r.add(ruleEvaluationsFailed, m.Failed)
	}
}

// countMatch counts an event of a match.
func (f *fold) countMatch(id string, column int, owned bool) {
	if m, ok := f.matches[id]; ok && owned {
		f.of(configurationEntity(m.configuration)).add(column, 1)
	}
}

func (f *fold) matchDropped(e *matchmaking.MatchDropped, owned bool) {
	switch e.Acceptance {
	case matchmaking.RejectedAcceptance:
		f.countMatch(e.ID, matchesRejected, owned)
	case matchmaking.TimedOutAcceptance:
		f.countMatch(e.ID, matchAcceptancesTimedOut, owned)
	}
	for _, end := range e.Ended {
		f.ticketOver(end.ID, end.Status, e.At, owned)
	}
	if !e.Cancel {
		delete(f.matches, e.ID)
	}
}

func (f *fold) matchCompleted(e *matchmaking.MatchCompleted, owned bool) {
	if e.Asked {
		f.countMatch(e.ID, matchesAccepted, owned)
	}
	if e.Connection != nil {
		f.countMatch(e.ID, matchesPlaced, owned)
	}
	for _, id := range f.matches[e.ID].tickets {
		f.ticketOver(id, matchmaking.Completed, e.At, owned)
	}
	delete(f.matches, e.ID)
}

// ticketOver counts the end of a ticket.
func (f *fold) ticketOver(id string, status matchmaking.Status, at event.Time, owned bool) {
	t, ok := f.tickets[id]
	delete(f.tickets, id)
	if !ok || !owned {
		return
	}
	c := f.of(configurationEntity(t.configuration))
	switch status {
	case matchmaking.Completed:
		c.took(matchmakings, timeToTicketSuccess, t.started, at)
	case matchmaking.Cancelled:
		c.took(matchmakings, timeToTicketCancel, t.started, at)
	case matchmaking.TimedOut:
		c.add(ticketsTimedOut, 1)
	case matchmaking.Failed:
		c.add(ticketsFailed, 1)
	}
}
