package session

import "context"

// Update replaces the settings of a session that is Pending or InProgress. On the
// local network the session is then announced with them; the service does not hear
// of it.
func (n *NamedSessions) Update(ctx context.Context, name string, settings Settings) error {
	_, err := n.update(name, settings).run(ctx, n.client)
	return err
}

// UpdateAsync is Update without waiting.
func (n *NamedSessions) UpdateAsync(ctx context.Context, name string, settings Settings) *Op[struct{}] {
	return n.update(name, settings).start(ctx, n.client)
}

func (n *NamedSessions) update(name string, settings Settings) call[none] {
	const op = "Update"
	settings = settings.clone()
	var r *record
	return call[none]{
		op: op,
		check: func() (err error) {
			if err := settings.check(op); err != nil {
				return err
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			if r, err = n.enter(op, name); err == nil && !r.mayBe(settings.IsLANMatch) {
				err = Errorf(op, ErrInvalid, "IsLANMatch cannot be changed: destroy session %q and create it again", name)
			}
			return err
		},
		do: func(context.Context, OpID) (none, error) { return none{}, n.replace(op, r, settings) },
		event: func(done Completion, _ none) Event {
			return NamedUpdateComplete{done, name}
		},
	}
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

// End ends the game of a session that is InProgress. The service does not hear of
// it, and the player's connection stays: Destroy closes it.
func (n *NamedSessions) End(ctx context.Context, name string) error {
	_, err := n.endGame(name).run(ctx, n.client)
	return err
}

// EndAsync is End without waiting.
func (n *NamedSessions) EndAsync(ctx context.Context, name string) *Op[struct{}] {
	return n.endGame(name).start(ctx, n.client)
}

func (n *NamedSessions) endGame(name string) call[none] {
	const op = "End"
	var w *work
	return call[none]{
		op: op,
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
		event: func(done Completion, _ none) Event { return NamedEndComplete{done, name} },
	}
}

// Destroy ends a session in whatever state it is: what is under way is
// interrupted, the announcement ended, the connection closed. When Destroy returns
// nothing of the session is left, also if closing the connection has failed, which
// is the error then. When ctx is done before, the connection is cut.
func (n *NamedSessions) Destroy(ctx context.Context, name string) error {
	_, err := n.destroy(name).run(ctx, n.client)
	return err
}

// DestroyAsync is Destroy without waiting.
func (n *NamedSessions) DestroyAsync(ctx context.Context, name string) *Op[struct{}] {
	return n.destroy(name).start(ctx, n.client)
}

func (n *NamedSessions) destroy(name string) call[none] {
	var r *record
	var w *work
	return call[none]{
		op: "Destroy",
		check: func() (err error) {
			r, w, err = n.doom(name)
			return err
		},
		do:    func(ctx context.Context, _ OpID) (none, error) { return none{}, n.demolish(ctx, r, w) },
		event: func(done Completion, _ none) Event { return NamedDestroyComplete{done, name} },
	}
}

// doom moves a session to Destroying and interrupts its work.
func (n *NamedSessions) doom(name string) (*record, *work, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, err := n.enter("Destroy", name)
	if err != nil {
		return nil, nil, err
	}
	w := r.work
	r.work = nil
	r.move(Destroying)
	if w != nil {
		w.end(errDestroyed)
	}
	return r, w, nil
}

// demolish gives back all that a session has and forgets it.
func (n *NamedSessions) demolish(ctx context.Context, r *record, w *work) (err error) {
	if w != nil {
		<-w.done // its context is over
	}
	n.silence(r)
	if r.line.conn != nil { // nobody changes it any more
		err = r.line.conn.Close(ctx)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	r.move(NoSession)
	delete(n.records, r.name)
	return err
}

// closeAll destroys all sessions, when nothing is under way any more.
func (n *NamedSessions) closeAll(ctx context.Context) {
	for _, s := range n.All() {
		r, w, err := n.doom(s.Name)
		if err != nil {
			continue // another Close is at it
		}
		if err := n.demolish(ctx, r, w); err != nil {
			n.client.cfg.Log.Warn("connection closed badly", "session", s.Name, "error", err)
		}
	}
}
