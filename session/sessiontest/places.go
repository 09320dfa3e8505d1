package sessiontest

import (
	"context"
	"maps"

	"github.com/muster-gg/muster/session"
)

// Reserve implements session.Provider.
func (s provider) Reserve(ctx context.Context, r session.JoinSessionRequest) (session.Reservation, error) {
	if err := s.begin(ctx, "Reserve"); err != nil {
		return session.Reservation{}, err
	}
	defer s.lock()()
	return s.reserve("JoinSession", r.SessionID, r.PlayerID)
}

// reserve reserves a slot. The lock is held.
func (s *Service) reserve(op, sessionID, playerID string) (none session.Reservation, _ error) {
	g, ok := s.sessions[sessionID]
	switch {
	case !ok:
		return none, session.Errorf(op, session.ErrNotFound, "there is no session %s", sessionID)
	case g.config.Status != session.StatusActive:
		return none, session.Errorf(op, session.ErrState, "session %s is %s", sessionID, g.config.Status)
	case g.config.CurrentPlayer >= g.config.MaxPlayer:
		return none, session.Errorf(op, session.ErrFull, "session %s has its %d players", sessionID, g.config.MaxPlayer)
	}
	r := session.Reservation{
		SessionID: sessionID, PlayerID: playerID, PlayerSessionID: s.id("place"),
		IPAddress: g.config.IPAddress, Port: g.config.Port,
	}
	g.places[r.PlayerSessionID] = &place{Reservation: r}
	g.config.CurrentPlayer++
	s.notify()
	return r, nil
}

// Release implements session.Releaser.
func (s provider) Release(ctx context.Context, r session.Reservation, hosted bool) error {
	if err := s.enter(ctx, "Release"); err != nil {
		return err
	}
	s.free(r)
	if hosted {
		s.endEmpty(r.SessionID)
	}
	return nil
}

// endEmpty ends a session without players.
func (s *Service) endEmpty(sessionID string) {
	defer s.lock()()
	if g, ok := s.sessions[sessionID]; ok && g.config.CurrentPlayer == 0 {
		g.config.Status = session.StatusTerminated
		s.notify()
	}
}

// free frees a slot, unless it is free.
func (s *Service) free(r session.Reservation) {
	defer s.lock()()
	g, ok := s.sessions[r.SessionID]
	if !ok || g.places[r.PlayerSessionID] == nil {
		return
	}
	delete(g.places, r.PlayerSessionID)
	g.config.CurrentPlayer--
	s.notify()
}

// Host implements session.Provider.
func (s provider) Host(ctx context.Context, r session.HostRequest) (session.Reservation, error) {
	if err := s.begin(ctx, "Host"); err != nil {
		return session.Reservation{}, err
	}
	id, err := s.createFor(r)
	if err != nil {
		return session.Reservation{}, err
	}
	started := func() bool { return s.sessions[id].config.Status != session.StatusActivating }
	if err := s.await(ctx, started); err != nil {
		s.Terminate(id)
		return session.Reservation{}, interrupted(ctx, "Host")
	}
	defer s.lock()()
	return s.reserve("Host", id, r.OwnerID)
}

func (s *Service) createFor(r session.HostRequest) (id string, err error) {
	defer s.lock()()
	g, err := s.create("Host", session.SessionConfig{
		SessionName: r.SessionName, CreatorID: r.OwnerID, SessionProperties: maps.Clone(r.Properties),
		MaxPlayer: r.Connections, FleetID: "hosted",
	})
	if err != nil {
		return "", err
	}
	g.build = r.BuildID
	return g.config.SessionID, nil
}

// await waits until done, which is called under the lock, is true.
func (s *Service) await(ctx context.Context, done func() bool) error {
	for {
		unlock := s.lock()
		ok, changed := done(), s.changed
		unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
