package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/muster-gg/muster/gameserver"
)

// A refill asks the matchmaker for players in place of those who have left a match. It has at most one ticket.
type refill struct {
	host   *gameserver.Host
	mu     sync.Mutex
	ticket string
	ended  bool
}

// start asks for players. It does nothing in a game session that no matchmaker has made.
func (r *refill) start(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	r.cancel(ctx) // it names players who have left
	var err error
	r.ticket, err = r.host.StartMatchBackfill(ctx, "", nil)
	if err != nil && !errors.Is(err, gameserver.ErrMatchmakerData) {
		slog.Info("no players requested", "reason", err) // the last player has left, for example
	}
}

// stop ends all requests.
func (r *refill) stop(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.cancel(ctx)
}

// cancel cancels the ticket, if there is one. The lock is held.
func (r *refill) cancel(ctx context.Context) {
	if r.ticket == "" {
		return
	}
	if err := r.host.StopMatchBackfill(ctx, r.ticket); err != nil {
		slog.Info("request for players not canceled", "reason", err) // it has ended, for example
	}
	r.ticket = ""
}
