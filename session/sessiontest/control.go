package sessiontest

import (
	"context"
	"slices"

	"github.com/muster-gg/muster/session"
)

// Activate activates a session of a Manual service.
func (s *Service) Activate(sessionID string) { s.setStatus(sessionID, session.StatusActive) }

// Terminate ends a session.
func (s *Service) Terminate(sessionID string) { s.setStatus(sessionID, session.StatusTerminated) }

func (s *Service) setStatus(sessionID string, status session.Status) {
	defer s.lock()()
	if g, ok := s.sessions[sessionID]; ok {
		g.config.Status = status
		s.notify()
	}
}

// Fulfil creates the active session of a pending placement of a Manual service. It fails as CreateSession does, and
// without such a placement.
func (s *Service) Fulfil(placementID string) error {
	defer s.lock()()
	p, ok := s.placements[placementID]
	if !ok || p.Status != "PENDING" {
		return session.Errorf("Fulfil", session.ErrNotFound, "there is no pending placement %s", placementID)
	}
	return s.fulfil(placementID)
}

// Sessions lists all sessions, the oldest first, also those that are not active.
func (s *Service) Sessions() []session.SessionConfig {
	defer s.lock()()
	all := make([]session.SessionConfig, 0, len(s.sessions))
	for _, g := range s.sessions {
		all = append(all, g.copy())
	}
	slices.SortFunc(all, func(a, b session.SessionConfig) int { return a.CreationTime.Compare(b.CreationTime) })
	return all
}

// AwaitSessions waits until the service has created n sessions, including ended ones. It fails when ctx is done before.
func (s *Service) AwaitSessions(ctx context.Context, n int) error {
	return s.await(ctx, func() bool { return len(s.sessions) >= n })
}

// Places returns the reserved and used slots of all sessions, by player session id.
func (s *Service) Places() map[string]session.Reservation {
	defer s.lock()()
	all := make(map[string]session.Reservation)
	for _, g := range s.sessions {
		for id, p := range g.places {
			all[id] = p.Reservation
		}
	}
	return all
}

// take accepts a player with a reservation.
func (s *Service) take(r session.Reservation) error {
	defer s.lock()()
	g, ok := s.sessions[r.SessionID]
	switch {
	case !ok || g.places[r.PlayerSessionID] == nil:
		return session.Errorf("Connect", session.ErrDenied, "player session %q is not known", r.PlayerSessionID)
	case g.places[r.PlayerSessionID].taken:
		return session.Errorf("Connect", session.ErrDenied, "player session %q is in use", r.PlayerSessionID)
	}
	g.places[r.PlayerSessionID].taken = true
	return nil
}
