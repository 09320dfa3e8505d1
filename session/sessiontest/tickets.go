package sessiontest

import (
	"context"
	"maps"
	"slices"

	"github.com/muster-gg/muster/session"
)

// matching begins a call of the matchmaker.
func (s *Service) matching(ctx context.Context, op string) error {
	if s.NoMatch {
		return session.Errorf(op, session.ErrUnsupported, "this service has no matchmaking")
	}
	return s.begin(ctx, op)
}

// StartMatchmaking implements session.Matchmaker. Tickets are SEARCHING until the test calls Propose, Match or
// EndTicket.
func (s provider) StartMatchmaking(ctx context.Context, r session.StartMatchmakingRequest) (string, error) {
	if err := s.matching(ctx, "StartMatchmaking"); err != nil {
		return "", err
	}
	defer s.lock()()
	id := r.TicketID
	if id == "" {
		id = s.id("ticket")
	}
	if _, ok := s.tickets[id]; ok {
		return "", session.Errorf("StartMatchmaking", session.ErrExists, "there is a ticket %s", id)
	}
	s.tickets[id] = &session.Ticket{TicketID: id, Status: session.TicketSearching}
	for _, p := range r.Players {
		s.players[id] = append(s.players[id], p.PlayerID)
	}
	s.notify()
	return id, nil
}

// ticket returns the ticket with that id. The lock is held.
func (s *Service) ticket(op, id string) (*session.Ticket, error) {
	t, ok := s.tickets[id]
	if !ok {
		return nil, session.Errorf(op, session.ErrNotFound, "there is no ticket %s", id)
	}
	return t, nil
}

// StopMatchmaking implements session.Matchmaker.
func (s provider) StopMatchmaking(ctx context.Context, r session.StopMatchmakingRequest) error {
	if err := s.matching(ctx, "StopMatchmaking"); err != nil {
		return err
	}
	return s.endTicket("StopMatchmaking", r.TicketID, session.TicketCancelled)
}

// EndTicket ends a ticket without a match: with TicketFailed, TicketTimedOut or TicketCancelled. It fails if the ticket
// does not exist or has ended.
func (s *Service) EndTicket(id string, status session.TicketStatus) error {
	return s.endTicket("EndTicket", id, status)
}

func (s *Service) endTicket(op, id string, status session.TicketStatus) error {
	defer s.lock()()
	t, err := s.ticket(op, id)
	if err != nil {
		return err
	}
	if t.Status.Over() {
		return session.Errorf(op, session.ErrState, "ticket %s is %s", id, t.Status)
	}
	t.Status = status
	s.notify()
	return nil
}

// Propose proposes one match to the players of the tickets, who are asked to accept it. It returns the id of the match.
func (s *Service) Propose(ticketIDs ...string) (matchID string, err error) {
	defer s.lock()()
	for _, id := range ticketIDs {
		if _, err := s.ticket("Propose", id); err != nil {
			return "", err
		}
	}
	matchID = s.id("match")
	for _, id := range ticketIDs {
		t := s.tickets[id]
		t.Status, t.MatchID = session.TicketRequiresAcceptance, matchID
		s.accepted[id] = nil
	}
	s.notify()
	return matchID, nil
}

// AcceptMatch implements session.Matchmaker. When all players of all tickets of a match have accepted it, it is made as
// by Match; when one rejects it, all its tickets are SEARCHING again.
func (s provider) AcceptMatch(ctx context.Context, r session.AcceptMatchRequest) error {
	if err := s.matching(ctx, "AcceptMatch"); err != nil {
		return err
	}
	defer s.lock()()
	t, err := s.ticket("AcceptMatch", r.TicketID)
	if err != nil {
		return err
	}
	if t.Status != session.TicketRequiresAcceptance {
		return session.Errorf("AcceptMatch", session.ErrState, "ticket %s is %s", r.TicketID, t.Status)
	}
	proposed := s.proposed(t.MatchID)
	if !r.AcceptMatch {
		for _, id := range proposed {
			s.tickets[id].Status, s.tickets[id].MatchID = session.TicketSearching, ""
		}
		s.notify()
		return nil
	}
	s.accepted[r.TicketID] = append(s.accepted[r.TicketID], r.PlayerIDs...)
	for _, id := range proposed {
		if !s.allAccepted(id) {
			return nil
		}
	}
	return s.match(proposed)
}

// proposed lists the tickets of a match. The lock is held.
func (s *Service) proposed(matchID string) []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(s.tickets)) {
		if s.tickets[id].MatchID == matchID && s.tickets[id].Status == session.TicketRequiresAcceptance {
			ids = append(ids, id)
		}
	}
	return ids
}

func (s *Service) allAccepted(id string) bool {
	return !slices.ContainsFunc(s.players[id],
		func(player string) bool { return !slices.Contains(s.accepted[id], player) })
}

// Match makes a match of the tickets: a session with a slot for each player. The tickets are COMPLETED.
func (s *Service) Match(ticketIDs ...string) error {
	defer s.lock()()
	for _, id := range ticketIDs {
		if _, err := s.ticket("Match", id); err != nil {
			return err
		}
	}
	return s.match(ticketIDs)
}

// match makes a match. The lock is held.
func (s *Service) match(ticketIDs []string) error {
	var players []string
	for _, id := range ticketIDs {
		players = append(players, s.players[id]...)
	}
	g, err := s.create("Match", session.SessionConfig{SessionName: "match", MaxPlayer: len(players),
		FleetID: "matches"})
	if err != nil {
		return err
	}
	g.config.Status = session.StatusActive
	places := make(map[string]session.Reservation)
	for _, player := range players {
		if places[player], err = s.reserve("Match", g.config.SessionID, player); err != nil {
			return err
		}
	}
	for _, id := range ticketIDs {
		s.tickets[id].Status, s.tickets[id].Reservations = session.TicketCompleted, maps.Clone(places)
	}
	s.notify()
	return nil
}

// Ticket implements session.Matchmaker.
func (s provider) Ticket(ctx context.Context, id string) (session.Ticket, error) {
	if err := s.matching(ctx, "Ticket"); err != nil {
		return session.Ticket{}, err
	}
	defer s.lock()()
	t, err := s.ticket("Ticket", id)
	if err != nil {
		return session.Ticket{}, err
	}
	return copyTicket(t), nil
}

func copyTicket(t *session.Ticket) session.Ticket {
	c := *t
	c.Reservations = maps.Clone(t.Reservations)
	return c
}

// WatchTicket implements session.TicketWatcher.
func (s provider) WatchTicket(ctx context.Context, id string, changed func(session.Ticket)) error {
	if s.NoWatch {
		return session.Errorf("WatchTicket", session.ErrUnsupported, "this service does not report changes")
	}
	if err := s.matching(ctx, "WatchTicket"); err != nil {
		return err
	}
	var last session.Ticket
	for !last.Status.Over() {
		now, err := s.nextTicket(ctx, id, last)
		if err != nil {
			return err
		}
		changed(now)
		last = now
	}
	return nil
}

// nextTicket waits until a ticket differs from last.
func (s *Service) nextTicket(ctx context.Context, id string, last session.Ticket) (now session.Ticket, missing error) {
	err := s.await(ctx, func() bool {
		t, err := s.ticket("WatchTicket", id)
		if err != nil {
			missing = err
			return true
		}
		now = copyTicket(t)
		return now.Status != last.Status || now.MatchID != last.MatchID
	})
	if err != nil {
		return now, interrupted(ctx, "WatchTicket")
	}
	return now, missing
}
