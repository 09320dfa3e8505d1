package matchmaking

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// GameSessionEnded reports the end of a game session: its backfill tickets are CANCELLED, also one in StageFilling; the
// other tickets of that match search again. No automatic ticket follows. It has no answer.
//
// The State does not know which game sessions are running: if a backfill ticket starts for an ended one, the observer
// sends GameSessionEnded again.
type GameSessionEnded struct {
	GameSession string `cbor:"1,keyasint,omitzero"`
}

func (c GameSessionEnded) decide(s *State, now event.Time) ([]any, error) {
	t, ok := s.tickets.Get(s.sessions[c.GameSession])
	if !ok {
		return nil, nil
	}
	if m, ok := s.matches.Get(t.Match); ok {
		return s.dropBackfill(m, sessionEnded, now), nil
	}
	return []any{ended(t, sessionEnded, now)}, nil
}

func (GameSessionEnded) answer(*State) any { return nil }

// dropBackfill returns the events that drop a match because nobody can join its game session.
func (s *State) dropBackfill(m *Match, end outcome, now event.Time) []any {
	return s.drop(m, MatchDropped{At: now, Reason: ReasonBackfill, Message: MessageBackfill}, func(t *Ticket) *outcome {
		if t.Backfill {
			return &end
		}
		return nil
	})
}

// AutomaticTicket returns the id of the first automatic backfill ticket after a match.
func AutomaticTicket(match string) string { return "auto-backfill-" + match }

// automaticTicket returns the id of the n-th one, from 0: each that times out is followed by another.
func automaticTicket(match string, n int) string {
	if n == 0 {
		return AutomaticTicket(match)
	}
	return fmt.Sprintf("%s-%d", AutomaticTicket(match), n+1)
}

// AutomaticAfter returns the id of the backfill ticket that will follow a match when it is placed or filled, for the
// MatchmakerData of its game session. ok is false if there will be none: automatic backfill is off, all slots are
// taken, or the match belongs to a backfill ticket of a client.
func (s *State) AutomaticAfter(m *Match) (id string, ok bool) {
	if !m.Settings.AutomaticBackfill || m.Settings.Standalone || m.players() >= int(m.Settings.Capacity) {
		return "", false
	}
	if t := s.backfillOf(m); t != nil && !t.Automatic {
		return "", false
	}
	id, _ = s.freeAutomatic(m.ID, 0)
	return id, true
}

// players counts the players of a match, including those of a backfill ticket.
func (m *Match) players() int {
	n := 0
	for _, t := range m.Teams {
		n += len(t.Players)
	}
	return n
}

// freeAutomatic returns the first unused id from the n-th on.
func (s *State) freeAutomatic(match string, n int) (id string, number int) {
	for ; ; n++ {
		id := automaticTicket(match, n)
		if _, taken := s.tickets.Get(id); !taken {
			return id, n
		}
	}
}

// follow returns the event that starts the automatic backfill ticket after a match. All its players were in the match,
// so they are in no other active ticket. An active backfill ticket of a client stays.
func (s *State) follow(m *Match, c *Connection, now event.Time) []any {
	if _, ok := s.AutomaticAfter(m); !ok {
		return nil
	}
	if id, ok := s.sessions[c.GameSession]; ok && !slices.Contains(m.Tickets, id) {
		return nil
	}
	id, number := s.freeAutomatic(m.ID, 0)
	e := &TicketStarted{
		ID: id, Configuration: m.Settings.Configuration, Backfill: true, Automatic: true, GameSession: c.GameSession,
		At: now, Deadline: now.Add(time.Duration(m.Settings.RequestTimeout) * time.Second), Follows: m.ID,
		Number: number,
	}
	for _, t := range s.ticketsOf(m) {
		e.Players = append(e.Players, t.Players...)
	}
	_, _, location, _, _ := arn.ParseGameSession(c.GameSession)
	for i := range e.Players {
		e.Players[i].Latencies = e.Players[i].latencyAt(location)
	}
	return []any{e}
}

// latencyAt returns the player's latency to one location, if known. A running game session has one location, and its
// backfill ticket must not be matched for another.
func (p *Player) latencyAt(location string) []Latency {
	i := slices.IndexFunc(p.Latencies, func(l Latency) bool { return l.Location == location })
	if i < 0 {
		return nil
	}
	return p.Latencies[i : i+1 : i+1]
}

// reissue returns the event that starts the next automatic backfill ticket after one that timed out.
func (s *State) reissue(t *Ticket, now event.Time) []any {
	if !t.Automatic {
		return nil
	}
	id, number := s.freeAutomatic(t.Follows, t.Number+1)
	timeout := max(t.Deadline.Sub(t.Started), time.Second) // it must not expire immediately
	return []any{&TicketStarted{
		ID: id, Configuration: t.Configuration, Players: t.Players, Backfill: true, Automatic: true,
		GameSession: t.GameSession,
		At:          now, Deadline: now.Add(timeout), Follows: t.Follows, Number: number,
	}}
}
