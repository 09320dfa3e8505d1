package matchmaking

import (
	"cmp"
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The results of an acceptance.
const (
	AcceptedAcceptance = "Accepted"
	RejectedAcceptance = "Rejected"
	TimedOutAcceptance = "TimedOut"
)

// Accept is AcceptMatch. An answer is final; a repetition changes nothing, but is announced, as each call is. The first
// rejection drops the match: tickets in which every player had accepted search again, the others are CANCELLED, even if
// players had not answered yet. NotFound; InvalidRequest if the ticket is not in REQUIRES_ACCEPTANCE, is a backfill
// ticket (its players do not answer), or a player is not in it or has answered otherwise. The answer is the *Ticket.
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
		return nil, fault.New(fault.InvalidRequest, "Matchmaking ticket %s is in %s status; a match is accepted or "+
			"rejected in %s", t.ID, t.Status, RequiresAcceptance)
	case t.Backfill:
		return nil, fault.New(fault.InvalidRequest, "Matchmaking ticket %s is a backfill ticket; only joining players "+
			"accept a match", t.ID)
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

func (c Accept) answer(s *State) any { return s.ticketOrNil(c.ID) }

// answers returns the new answers, by player id.
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
			return nil, fault.New(fault.InvalidRequest,
				"Player %s has answered already; an answer to a match is final", id)
		}
	}
	return answers, nil
}

func (t *Ticket) holds(player string) bool {
	return slices.ContainsFunc(t.Players, func(p Player) bool { return p.ID == player })
}

// complete reports whether all players who must accept have accepted.
func (s *State) complete(m *Match) bool {
	for _, t := range s.ticketsOf(m) {
		if !t.accepts(m) {
			return false
		}
	}
	return true
}

// accepts reports whether all players of a ticket have accepted its match. Those of a backfill ticket need not.
func (t *Ticket) accepts(m *Match) bool {
	return t.Backfill || !slices.ContainsFunc(t.Players, func(p Player) bool {
		a, ok := m.answer(p.ID)
		return !ok || !a.Accepted
	})
}

// Answers lists the players of a match who have accepted, and those who have not answered yet, without those of a
// backfill ticket.
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

// unaccepted returns the events that drop a match because a player rejected it, or did not accept in time.
func (s *State) unaccepted(m *Match, how string, now event.Time) []any {
	return s.drop(m, MatchDropped{At: now, Acceptance: how, Reason: ReasonAcceptance, Message: MessageAcceptance},
		func(t *Ticket) *outcome {
			if t.accepts(m) {
				return nil
			}
			return &notAccepted
		})
}

func (e *MatchAnswered) apply(s *State) {
	m, ok := s.matches.Get(e.ID)
	if !ok {
		return
	}
	m = m.answered(e.Answers)
	s.storeMatch(m)
	s.announce(&Announcement{At: e.At, Type: AcceptMatch, Configuration: m.Settings.Configuration,
		Tickets: s.ticketsOf(m),
		Match:   m})
}

func (m *Match) answer(player string) (Answer, bool) {
	i, ok := slices.BinarySearchFunc(m.Answers, player,
		func(a Answer, id string) int { return cmp.Compare(a.PlayerID, id) })
	if !ok {
		return Answer{}, false
	}
	return m.Answers[i], true
}

// answered returns the match with further answers.
func (m *Match) answered(answers []Answer) *Match {
	next := *m
	next.Answers = slices.Concat(m.Answers, answers)
	slices.SortFunc(next.Answers, func(a, b Answer) int { return cmp.Compare(a.PlayerID, b.PlayerID) })
	return &next
}
