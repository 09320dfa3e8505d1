package matchmaking

import (
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/event"
)

// Propose proposes a match of tickets. It is accepted if all of them are SEARCHING in the given rounds and of the same
// configuration, and include a new one and at most one backfill ticket; else nothing changes. The answer is the *Match,
// or nil if it was not accepted, or has ended already (STANDALONE without acceptance). A repetition returns the match
// while it exists.
type Propose struct {
	ID       string        `cbor:"1,keyasint,omitzero"` // of the match: a UUID
	Settings MatchSettings `cbor:"2,keyasint"`
	Tickets  []Proposed    `cbor:"3,keyasint,omitzero"` // a backfill ticket is first
	Teams    []Team        `cbor:"4,keyasint,omitzero"`
	Metrics  []Metric      `cbor:"5,keyasint,omitzero"`
}

// Proposed is a ticket of a proposal.
type Proposed struct {
	ID    string `cbor:"1,keyasint,omitzero"`
	Round int    `cbor:"2,keyasint,omitzero"`
}

func (c Propose) decide(s *State, now event.Time) ([]any, error) {
	backfill, fits := c.fits(s)
	if _, known := s.matches.Get(c.ID); known || !fits {
		return nil, nil
	}
	e := &MatchProposed{ID: c.ID, Settings: c.Settings, Teams: c.Teams, Metrics: c.Metrics, At: now,
		Tickets: make([]string, len(c.Tickets))}
	for i, p := range c.Tickets {
		e.Tickets[i] = p.ID
	}
	if backfill != nil {
		e.Backfill = backfill.GameSession
	}
	if c.Settings.Acceptance > 0 {
		e.AcceptBy = now.Add(time.Duration(c.Settings.Acceptance) * time.Second)
		return []any{e}, nil
	}
	return []any{e, accepted(c.ID, &c.Settings, backfill, false, now)}, nil
}

func (c Propose) answer(s *State) any {
	m, _ := s.matches.Get(c.ID)
	return m
}

// fits reports whether the tickets of a proposal can make a match now, and returns its backfill ticket, if any.
func (c Propose) fits(s *State) (backfill *Ticket, ok bool) {
	for i, p := range c.Tickets {
		t, known := s.tickets.Get(p.ID)
		if !known || t.Status != Searching || t.Round != p.Round || t.Configuration.ID != c.Settings.Configuration.ID {
			return nil, false
		}
		if t.Backfill {
			if i > 0 {
				return nil, false
			}
			backfill = t
		}
		if slices.ContainsFunc(c.Tickets[:i], func(other Proposed) bool { return other.ID == p.ID }) {
			return nil, false
		}
	}
	if backfill != nil {
		return backfill, len(c.Tickets) > 1
	}
	return nil, len(c.Tickets) > 0
}

func (e *MatchProposed) apply(s *State) {
	m := &Match{ID: e.ID, Settings: e.Settings, Tickets: e.Tickets, Teams: e.Teams, Metrics: e.Metrics,
		AcceptBy: e.AcceptBy, Backfill: e.Backfill}
	status := Placing
	if e.AcceptBy != 0 {
		m.Stage, status = StageAcceptance, RequiresAcceptance
	}
	s.storeMatch(m)
	teams := teamsOf(e.Teams)
	tickets := make([]*Ticket, 0, len(e.Tickets))
	for _, id := range e.Tickets {
		if t, ok := s.tickets.Get(id); ok && t.Status == Searching {
			t = t.matched(m, status, teams)
			s.storeTicket(t)
			tickets = append(tickets, t)
		}
	}
	s.announce(&Announcement{At: e.At, Type: PotentialMatchCreated, Configuration: e.Settings.Configuration,
		Tickets: tickets, Match: m})
}

// teamsOf maps players to teams.
func teamsOf(teams []Team) map[string]string {
	of := map[string]string{}
	for _, t := range teams {
		for _, p := range t.Players {
			of[p] = t.Name
		}
	}
	return of
}

// matched returns the ticket in a match. The players of a backfill ticket already have teams.
func (t *Ticket) matched(m *Match, status Status, teams map[string]string) *Ticket {
	next := *t
	next.Status, next.Match, next.Metrics, next.Reason, next.Message = status, m.ID, m.Metrics, "", ""
	if !t.Backfill {
		next.Players = slices.Clone(t.Players)
		for i := range next.Players {
			next.Players[i].Team = teams[next.Players[i].ID]
		}
	}
	return &next
}

// returned returns the ticket back in its pool.
func (t *Ticket) returned(reason, message string) *Ticket {
	next := *t
	next.Status, next.Match, next.Reason, next.Message = Searching, "", reason, message
	next.Round++
	if !t.Backfill {
		next.Players = slices.Clone(t.Players)
		for i := range next.Players {
			next.Players[i].Team = ""
		}
	}
	return &next
}

// accepted returns the event that follows the acceptance of a match, or its proposal if none is required.
func accepted(id string, settings *MatchSettings, backfill *Ticket, asked bool, now event.Time) any {
	switch {
	case settings.Standalone:
		return &MatchCompleted{ID: id, At: now, Asked: asked}
	case backfill != nil:
		return &MatchAccepted{ID: id, Stage: StageFilling, At: now, Asked: asked}
	default:
		return &MatchAccepted{ID: id, Stage: StagePlacing, At: now, Asked: asked}
	}
}

func (e *MatchAccepted) apply(s *State) {
	m, ok := s.matches.Get(e.ID)
	if !ok {
		return
	}
	if e.Asked {
		s.announceAcceptance(m, AcceptedAcceptance, e.At)
	}
	next := *m
	next.Stage, next.AcceptBy = e.Stage, 0
	s.storeMatch(&next)
	for _, t := range s.ticketsOf(m) {
		if t.Status != Placing {
			placing := *t
			placing.Status = Placing
			s.storeTicket(&placing)
		}
	}
}

// drop returns the events that end a match without a game session. ends returns the outcome of a ticket; nil: it
// searches again, unless its deadline has passed.
func (s *State) drop(m *Match, e MatchDropped, ends func(*Ticket) *outcome) []any {
	e.ID = m.ID
	events := []any{&e}
	for _, t := range s.ticketsOf(m) {
		how := ends(t)
		if how == nil && t.Deadline <= e.At {
			how = &timedOut
			events = append(events, s.reissue(t, e.At)...)
		}
		if how != nil {
			e.Ended = append(e.Ended, Ending{t.ID, how.status, how.reason, how.message})
		}
	}
	return events
}

func (e *MatchDropped) apply(s *State) {
	m, ok := s.removeMatch(e.ID)
	if !ok {
		return
	}
	if e.Acceptance != "" {
		s.announceAcceptance(m, e.Acceptance, e.At)
	}
	if e.Cancel {
		s.storeMatch(&Match{ID: m.ID, Settings: m.Settings, Stage: StageCancelling})
	}
	for _, t := range s.ticketsOf(m) {
		if i := slices.IndexFunc(e.Ended, func(how Ending) bool { return how.ID == t.ID }); i >= 0 {
			s.end(t, m, e.Ended[i], e.At)
			continue
		}
		t = t.returned(e.Reason, e.Message)
		s.storeTicket(t)
		s.announceSearching(t, e.At)
	}
}

func (e *MatchCompleted) apply(s *State) {
	m, ok := s.removeMatch(e.ID)
	if !ok {
		return
	}
	if e.Asked {
		s.announceAcceptance(m, AcceptedAcceptance, e.At)
	}
	sessions := playerSessionsOf(e.Connection)
	tickets := s.ticketsOf(m)
	for i, t := range tickets {
		tickets[i] = t.completed(e, sessions)
		s.storeTicket(tickets[i])
		s.learnWait(tickets[i])
	}
	s.announce(&Announcement{
		At: e.At, Type: MatchmakingSucceeded, Configuration: m.Settings.Configuration, Tickets: tickets, Match: m,
		Connection: e.Connection,
	})
}

func playerSessionsOf(c *Connection) map[string]MatchedPlayer {
	sessions := map[string]MatchedPlayer{}
	if c != nil {
		for _, p := range c.Players {
			sessions[p.PlayerID] = p
		}
	}
	return sessions
}

// completed returns the ticket after its match. It has the player sessions of its own players only.
func (t *Ticket) completed(e *MatchCompleted, sessions map[string]MatchedPlayer) *Ticket {
	next := *t
	next.Status, next.Ended = Completed, e.At
	if e.Connection != nil {
		own := *e.Connection
		own.Players = nil
		for i := range t.Players {
			if session, ok := sessions[t.Players[i].ID]; ok {
				own.Players = append(own.Players, session)
			}
		}
		next.Connection = &own
	}
	return &next
}

// ticketsOf returns the tickets of a match in a new slice.
func (s *State) ticketsOf(m *Match) []*Ticket {
	tickets := make([]*Ticket, 0, len(m.Tickets))
	for _, id := range m.Tickets {
		if t, ok := s.tickets.Get(id); ok && t.Match == m.ID && !t.HasEnded() {
			tickets = append(tickets, t)
		}
	}
	return tickets
}

// backfillOf returns the backfill ticket of a match, or nil.
func (s *State) backfillOf(m *Match) *Ticket {
	if len(m.Tickets) == 0 {
		return nil
	}
	if t, ok := s.tickets.Get(m.Tickets[0]); ok && t.Backfill {
		return t
	}
	return nil
}
