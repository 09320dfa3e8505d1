package matchmaking

import (
	"cmp"
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fault"
)

// What became of asking the players of a match.
const (
	AcceptedAcceptance = "Accepted"
	RejectedAcceptance = "Rejected"
	TimedOutAcceptance = "TimedOut"
)

// Accept is AcceptMatch. An answer is final; giving it again changes nothing, and is
// announced all the same, as each call is. The
// first rejection drops the match: tickets in which every player had accepted search
// again, those of the others are CANCELLED, also of those who had not answered yet.
// NotFound; InvalidRequest when the ticket is not in REQUIRES_ACCEPTANCE, is a
// backfill ticket (its players play already, nobody asks them), or a player is not of
// it or has answered otherwise. The answer is the *Ticket.
type Accept struct {
	ID      string   `cbor:"1,keyasint,omitzero"`
	Players []string `cbor:"2,keyasint,omitzero"`
	Accept  bool     `cbor:"3,keyasint,omitzero"`
}

func (c Accept) decide(s *State, now event.Time) ([]any, error) {
	t, err := s.ticket(c.ID)
	switch {
	case err != nil:
		return nil, err
	case t.Status != RequiresAcceptance:
		return nil, fault.New(fault.InvalidRequest, "Matchmaking ticket %s is in %s status; a match is accepted or rejected in %s", t.ID, t.Status, RequiresAcceptance)
	case t.Backfill:
		return nil, fault.New(fault.InvalidRequest, "Matchmaking ticket %s is a backfill ticket; only players who join are asked", t.ID)
	case len(c.Players) == 0:
		return nil, fault.New(fault.InvalidRequest, "PlayerIds names no player")
	}
	m, _ := s.matches.Get(t.Match)
	answers, err := c.answers(t, m)
	if err != nil {
		return nil, err
	}
	events := []any{&MatchAnswered{ID: m.ID, Answers: answers, Ticket: t.ID, At: now}}
	m = m.answered(answers)
	switch {
	case !c.Accept:
		events = append(events, s.unaccepted(m, RejectedAcceptance, now)...)
	case s.complete(m):
		events = append(events, accepted(m.ID, &m.Settings, s.backfillOf(m), true, now))
	}
	return events, nil
}

// answer is the *Ticket.
func (c Accept) answer(s *State) any { return s.ticketOrNil(c.ID) }

// answers are those that are new, by player id.
func (c Accept) answers(t *Ticket, m *Match) ([]Answer, error) {
	var answers []Answer
	for _, id := range slices.Compact(slices.Sorted(slices.Values(c.Players))) {
		if !t.holds(id) {
			return nil, fault.New(fault.InvalidRequest, "Player %s is not in matchmaking ticket %s", id, t.ID)
		}
		old, ok := m.answer(id)
		switch {
		case !ok:
			answers = append(answers, Answer{id, c.Accept})
		case old.Accepted != c.Accept:
			return nil, fault.New(fault.InvalidRequest, "Player %s has answered already; an answer to a match is final", id)
		}
	}
	return answers, nil
}

func (t *Ticket) holds(player string) bool {
	return slices.ContainsFunc(t.Players, func(p Player) bool { return p.ID == player })
}

// complete reports whether all players have accepted who are asked.
func (s *State) complete(m *Match) bool {
	for _, t := range s.ticketsOf(m) {
		if !t.accepts(m) {
			return false
		}
	}
	return true
}

// accepts reports whether all players of a ticket have accepted its match. Those of
// a backfill ticket are not asked.
func (t *Ticket) accepts(m *Match) bool {
	return t.Backfill || !slices.ContainsFunc(t.Players, func(p Player) bool {
		a, ok := m.answer(p.ID)
		return !ok || !a.Accepted
	})
}

// Answers lists the players of a match who have accepted, and those who are yet to
// answer. Players of a backfill ticket are not asked.
func (s *State) Answers(m *Match) (accepted, unanswered []string) {
	for _, t := range s.ticketsOf(m) {
		for i := range t.Players {
			switch a, ok := m.answer(t.Players[i].ID); {
			case t.Backfill:
			case !ok:
				unanswered = append(unanswered, t.Players[i].ID)
			case a.Accepted:
				accepted = append(accepted, t.Players[i].ID)
			}
		}
	}
	return accepted, unanswered
}

// unaccepted gives the events that drop a match that a player rejected, or that not
// all players have accepted in time.
func (s *State) unaccepted(m *Match, how string, now event.Time) []any {
	return s.drop(m, MatchDropped{At: now, Acceptance: how, Reason: ReasonAcceptance, Message: MessageAcceptance}, func(t *Ticket) *outcome {
		if t.accepts(m) {
			return nil
		}
		return &notAccepted
	})
}

func (s *State) applyMatchAnswered(e *MatchAnswered) {
	m, ok := s.matches.Get(e.ID)
	if !ok {
		return
	}
	m = m.answered(e.Answers)
	s.storeMatch(m)
	s.announce(&Announcement{At: e.At, Type: AcceptMatch, Configuration: m.Settings.Configuration, Tickets: s.ticketsOf(m), Match: m})
}

// answer finds what a player said.
func (m *Match) answer(player string) (Answer, bool) {
	i, ok := slices.BinarySearchFunc(m.Answers, player, func(a Answer, id string) int { return cmp.Compare(a.PlayerID, id) })
	if !ok {
		return Answer{}, false
	}
	return m.Answers[i], true
}

// answered is the match with further answers.
func (m *Match) answered(answers []Answer) *Match {
	next := *m
	next.Answers = slices.Concat(m.Answers, answers)
	slices.SortFunc(next.Answers, func(a, b Answer) int { return cmp.Compare(a.PlayerID, b.PlayerID) })
	return &next
}
