package gameserver

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// removers is how many player sessions are ended concurrently.
	removers = 8
	// giveBackLimit limits the end of a player session whose acceptance failed without an answer.
	giveBackLimit = 5 * time.Second
)

// ValidatePlayerJoinSession decides whether a player with a player session id may join: nil if so. It rejects an empty
// id (ErrNoTicket), a connection id that is registered (ErrConnectionInUse), and a player session that another
// connection uses (ErrTicketInUse), and then asks the service, whose rejection has Error.Code 404 or 409. A rejected
// connection is forgotten: disconnect this player, and no other. If ctx ends before the service was asked, the player
// session stays RESERVED; if it ends before the answer, the player session is ended, because it may be ACTIVE.
//
// A player whose connection is lost (HandlePlayerConnectionLost) resumes the player session with another connection:
// the service is not asked again.
//
// After a nil, call HandlePlayerLeaveSession or HandlePlayerConnectionLost when the connection ends. They may be called
// before this returns, which then is ErrPlayerLeft.
// Source: O3DE AWSGameLift Gem, ValidatePlayerJoinSession.
func (h *Host) ValidatePlayerJoinSession(ctx context.Context, c PlayerConnection) error {
	const action = "ValidatePlayerJoinSession"
	if !h.isInitialized() {
		return failed(action, ErrNotConnected)
	}
	asking, giveUp := context.WithCancel(ctx)
	defer giveUp()
	v, resumed, err := h.enter(c, giveUp)
	if err != nil {
		return failed(action, err)
	}
	if resumed {
		h.log.Info("player session resumed", "player_session", c.PlayerSessionID)
		return nil
	}
	err = h.server.AcceptPlayerSession(asking, c.PlayerSessionID)
	taken, over := h.answer(v, err)
	if taken {
		h.forget(ctx, v)
	}
	if over != nil {
		return failed(action, over)
	}
	return as(action, err)
}

// change makes a change of the roster, and sets the timer for what is due next.
func (h *Host) change(change func(r *roster, now time.Time)) {
	if h.players == nil { // a zero value
		return
	}
	h.visits.Lock()
	defer h.visits.Unlock()
	now := h.clock.Now()
	change(h.players, now)
	next := h.players.deadline()
	if next.Equal(h.dueAt) {
		return
	}
	if h.due != nil {
		h.due.Stop()
	}
	if h.dueAt = next; !next.IsZero() {
		h.due = h.clock.AfterFunc(next.Sub(now), h.playersDue)
	}
}

// enter begins or resumes a visit.
func (h *Host) enter(c PlayerConnection, giveUp context.CancelFunc) (v *visit, resumed bool, err error) {
	h.change(func(r *roster, now time.Time) {
		if v, err = r.enter(c, now); err != nil {
			return
		}
		if resumed = v.answered != nil; !resumed {
			v.giveUp, v.answered, v.gone = giveUp, make(chan struct{}), make(chan struct{})
		}
	})
	return v, resumed, err
}

// answer stores the result of AcceptPlayerSession.
func (h *Host) answer(v *visit, err error) (taken bool, over error) {
	h.change(func(r *roster, _ time.Time) { taken, over = r.answer(v, err == nil, err == nil || unanswered(err)) })
	close(v.answered)
	return taken, over
}

// unanswered reports whether the outcome of a request is unknown: it was sent, and has no reply.
func unanswered(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.sent
}

// forget ends the visit of a rejected player. Without an answer, the service may have accepted the player session: it
// is ended, to be sure.
func (h *Host) forget(ctx context.Context, v *visit) {
	ctx, cancel := within(context.WithoutCancel(ctx), h.clock, giveBackLimit)
	defer cancel(nil)
	_ = h.giveBack(ctx, v) // the caller gets the error of AcceptPlayerSession
}

// HandlePlayerLeaveSession reports that a player has left, so that the slot is free again. Only the connection id
// counts. A connection that is not registered is ignored: it was rejected, or has left already. So the service is
// notified once, however often this is called.
// Source: O3DE AWSGameLift Gem, HandlePlayerLeaveSession.
func (h *Host) HandlePlayerLeaveSession(ctx context.Context, c PlayerConnection) error {
	var v *visit
	h.change(func(r *roster, now time.Time) { v = r.leave(c.ConnectionID, now) })
	if v == nil {
		return nil
	}
	v.giveUp()
	return as("HandlePlayerLeaveSession", h.giveBack(ctx, v))
}

// HandlePlayerConnectionLost reports that the connection of a player is lost, although the player did not leave. The
// player session stays ACTIVE for Config.ResumeLimit, in which ValidatePlayerJoinSession with the same player
// session resumes it on another connection. After that it is ended, as HandlePlayerLeaveSession does, which can be
// called earlier. Only the connection id counts, and one that is not registered is ignored. It returns at once.
func (h *Host) HandlePlayerConnectionLost(c PlayerConnection) {
	h.change(func(r *roster, now time.Time) { r.lose(c.ConnectionID, now) })
}

// playersDue ends the player sessions of lost connections, and the process when it is empty.
func (h *Host) playersDue() {
	h.change(func(r *roster, now time.Time) {
		h.dueAt = time.Time{} // the timer has fired
		expired, ask := r.due(now)
		for _, v := range expired {
			v.giveUp()
			h.running.Go(func() { _ = h.giveBack(context.Background(), v) }) // it logs the error
		}
		if ask {
			h.running.Go(h.endEmpty)
		}
	})
}

// endEmpty ends the empty process, unless players have reservations.
func (h *Host) endEmpty() {
	reserved := h.cfg.EmptyLimit > 0 && h.hasReservations()
	var end bool
	h.change(func(r *roster, now time.Time) { end = r.asked(reserved, now) })
	switch {
	case end:
		h.terminate("the last player has left", nil)
	case reserved:
		h.log.Info("end of the process delayed", "reason", "players have reservations")
	}
}

// hasReservations asks the service whether players have reservations. Without an answer they do not count.
func (h *Host) hasReservations() (reserved bool) {
	err := h.eachPlayerSession(h.ending, h.server.GameSessionID(), PlayerSessionReserved, func(PlayerSession) bool {
		reserved = true
		return false
	})
	if err != nil && !h.isEnding() {
		h.log.Warn("finding reservations failed: the process ends without them", "error", err)
	}
	return reserved
}

// giveBack ends a visit that the caller has taken.
func (h *Host) giveBack(ctx context.Context, v *visit) error {
	<-v.answered // soon: AcceptPlayerSession was canceled
	var err error
	if v.held {
		err = h.server.RemovePlayerSession(ctx, v.PlayerSessionID)
	}
	if err != nil {
		h.log.Warn("ending a player session failed", "player_session", v.PlayerSessionID, "error", err)
	}
	h.change(func(r *roster, _ time.Time) { r.settle(v) })
	close(v.gone)
	return err
}

// drain ends the player sessions of all players, and waits for those that are being ended.
func (h *Host) drain() {
	limit, cancel := within(context.Background(), h.clock, h.cfg.DrainLimit)
	defer cancel(nil)
	var taken, before []*visit
	h.change(func(r *roster, _ time.Time) { taken, before = r.clear() })
	for _, v := range taken {
		v.giveUp()
	}
	next := make(chan *visit)
	var working sync.WaitGroup
	for range min(removers, len(taken)) {
		working.Go(func() {
			for v := range next {
				_ = h.giveBack(limit, v) // it logs the error; ending the process frees the slot, too
			}
		})
	}
	for _, v := range taken {
		next <- v
	}
	close(next)
	working.Wait()
	for _, v := range before {
		select {
		case <-v.gone:
		case <-limit.Done():
		}
	}
}
