package session

import "context"

// Update replaces the settings of a session that is Pending or InProgress. On the local network the session is then
// announced with them; the service does not hear of it.
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
			if r, err = n.enter(op, name); err == nil && !r.mayBe(settings.IsLANMatch) {
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
		return next.advert(), permit(op, r.name, r.state)
	}, func() error {
		n.mu.Lock()
		defer n.mu.Unlock()
		if err := permit(op, r.name, r.state); err != nil {
			return err
		}
		r.replace(settings)
		return nil
	})
}

// End ends the game of a session that is InProgress. The service does not hear of it, and the player's connection
// stays: Destroy closes it.
func (n *NamedSessions) End(ctx context.Context, name string) error {
	const op = "End"
	var w *work
	return call[none]{
		op: op, name: name,
		check: func() error {
			n.mu.Lock()
			defer n.mu.Unlock()
			r, err := n.enter(op, name)
			if err == nil {
				w = r.begin(Ending)
			}
			return err
		},
		do: func(context.Context, OpID) (none, error) {
			defer close(w.done)
			n.advertise(w.record)
			return none{}, n.settle(w, Ended, nil, func(*record) {})
		},
	}.runErr(ctx, n.client)
}

// Destroy ends a session in whatever state it is: what is under way is interrupted, the announcement ended, the
// connection closed. When Destroy returns nothing of the session is left, also if closing the connection has failed,
// which is the error then. When ctx is done before, the connection is cut.
func (n *NamedSessions) Destroy(ctx context.Context, name string) error {
	const op = "Destroy"
	var r *record
	var w *work
	return call[none]{
		op: op, name: name,
		check: func() (err error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			if r, err = n.enter(op, name); err == nil {
				w = n.doom(r, errDestroyed)
			}
			return err
		},
		do: func(ctx context.Context, _ OpID) (none, error) { return none{}, n.demolish(ctx, r, w) },
	}.runErr(ctx, n.client)
}
