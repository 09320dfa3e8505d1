package session

import (
	"context"

	"github.com/muster-gg/muster/internal/life"
)

// Update replaces the settings of a session that is Pending or InProgress. On the local network the session is then
// announced with them; the service is not notified.
func (n *NamedSessions) Update(ctx context.Context, name string, settings Settings) error {
	const op = "Update"
	settings = settings.clone()
	var r *record
	return call[none]{
		op: op, name: name,
		check: func() (err error) {
			if err := settings.check(op); err != nil {
				return err
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			if r, err = n.enter(op, name, life.Update); err == nil && !r.mayBe(settings.IsLANMatch) {
				err = Errorf(op, ErrInvalid,
					"IsLANMatch cannot be changed: destroy session %q and create it again", name)
			}
			return err
		},
		do: func(context.Context, OpID) (none, error) { return none{}, n.replace(op, r, settings) },
	}.runErr(ctx, n.client)
}

// replace replaces settings, unless they cannot be announced.
func (n *NamedSessions) replace(op string, r *record, settings Settings) error {
	return r.beacon.update(func() (Advert, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		next := *r
		next.replace(settings)
		return next.advert(), r.permit(op, life.Update)
	}, func() error {
		n.mu.Lock()
		defer n.mu.Unlock()
		if err := r.permit(op, life.Update); err != nil {
			return err
		}
		r.replace(settings)
		return nil
	})
}

// End ends the game of a session that is InProgress. The service is not notified, and the player's connection
// stays: Destroy closes it.
func (n *NamedSessions) End(ctx context.Context, name string) error {
	const op = "End"
	var w *work
	return call[none]{
		op: op, name: name,
		check: func() error {
			n.mu.Lock()
			defer n.mu.Unlock()
			r, err := n.enter(op, name, life.End)
			if err == nil {
				w = r.begin(life.End)
			}
			return err
		},
		do: func(context.Context, OpID) (none, error) {
			defer close(w.done)
			n.advertise(w.record)
			return none{}, n.settle(w, nil, func(*record) {})
		},
	}.runErr(ctx, n.client)
}

// Destroy ends a session in any state: it interrupts calls in progress, ends the announcement and closes the
// connection, at once if ctx is done. When Destroy returns, nothing of the session is left, even if closing the
// connection has failed and Destroy returns that error. From a callback of the game for that connection it returns at
// once, and the connection ends when the callback has returned.
func (n *NamedSessions) Destroy(ctx context.Context, name string) error {
	const op = "Destroy"
	var r *record
	return call[none]{
		op: op, name: name,
		check: func() (err error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			if r, err = n.enter(op, name, life.Destroy); err == nil {
				n.beginDestroying(r, errDestroyed)
			}
			return err
		},
		do: func(ctx context.Context, _ OpID) (none, error) { return none{}, n.destroyRecord(ctx, r) },
	}.runErr(ctx, n.client)
}

// RegisterPlayer assigns an open connection of a session to a player: a public one, or else a private one; without
// either it returns ErrFull. For a registered player it does nothing. No event is published, but searchers on the local
// network see how many connections are open.
func (n *NamedSessions) RegisterPlayer(ctx context.Context, name, playerID string) error {
	return n.players("RegisterPlayer", name, playerID,
		func(r *record) error { return r.register(playerID) }).runErr(ctx, n.client)
}

// UnregisterPlayer frees the connection of a player: a public one, unless all of these are open. For a player who is
// not registered it returns ErrNotFound.
func (n *NamedSessions) UnregisterPlayer(ctx context.Context, name, playerID string) error {
	return n.players("UnregisterPlayer", name, playerID,
		func(r *record) error { return r.unregister(playerID) }).runErr(ctx, n.client)
}

// players returns a call that changes the registered players.
func (n *NamedSessions) players(op, name, playerID string, change func(*record) error) call[none] {
	var r *record
	return call[none]{
		op: op, name: name,
		check: func() (err error) {
			player := checker{op: op}
			player.player("the player's id", playerID)
			if player.err != nil {
				return player.err
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			if r, err = n.enter(op, name, life.Register); err != nil {
				return err
			}
			return change(r)
		},
		do: func(context.Context, OpID) (none, error) {
			n.advertise(r)
			return none{}, nil
		},
	}
}
