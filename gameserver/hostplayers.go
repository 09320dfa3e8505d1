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
// After a nil, call HandlePlayerLeaveSession when the connection ends. It may be called before this returns, which then
// is ErrPlayerLeft.
// Source: O3DE AWSGameLift Gem, ValidatePlayerJoinSession.
func (h *Host) ValidatePlayerJoinSession(ctx context.Context, c PlayerConnection) error {
	const action = "ValidatePlayerJoinSession"
	asking, giveUp := context.WithCancel(ctx)
	defer giveUp()
	v, err := h.players.enter(c, giveUp)
	if err != nil {
		return failed(action, err)
	}
	err = h.server.AcceptPlayerSession(asking, c.PlayerSessionID)
	if over := h.players.answer(v, err == nil, err == nil || unanswered(err)); over != nil {
		return failed(action, over)
	}
	if err != nil && h.players.refuse(v) {
		h.forget(ctx, v)
	}
	return as(action, err)
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
	v := h.players.leave(c.ConnectionID)
	if v == nil {
		return nil
	}
	return as("HandlePlayerLeaveSession", h.giveBack(ctx, v))
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
	if h.players.settle(v) && !h.cfg.KeepWhenEmpty {
		h.terminate("the last player has left", nil)
	}
	return err
}

// drain ends the player sessions of all connected players, and waits for those of leaving ones.
func (h *Host) drain() {
	limit, cancel := within(context.Background(), h.clock, h.cfg.DrainLimit)
	defer cancel(nil)
	taken, leaving := h.players.clear()
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
	for _, v := range leaving {
		select {
		case <-v.gone:
		case <-limit.Done():
		}
	}
}
