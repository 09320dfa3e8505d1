package session

import "context"

// RegisterPlayer takes one of the open connections of a session for a player: a
// public one, or else a private one; ErrFull without either. For a player who is
// registered it does nothing. Nobody else hears of it, but searchers on the local
// network see how many connections are open.
func (n *NamedSessions) RegisterPlayer(ctx context.Context, name, playerID string) error {
	_, err := n.registerPlayer(name, playerID).run(ctx, n.client)
	return err
}

// RegisterPlayerAsync is RegisterPlayer without waiting.
func (n *NamedSessions) RegisterPlayerAsync(ctx context.Context, name, playerID string) *Op[struct{}] {
	return n.registerPlayer(name, playerID).start(ctx, n.client)
}

func (n *NamedSessions) registerPlayer(name, playerID string) call[none] {
	return n.players("RegisterPlayer", name, playerID,
		func(r *record) error { return r.register(playerID) },
		func(done Completion, _ none) Event { return RegisterPlayerComplete{done, name, playerID} })
}

// UnregisterPlayer gives back the connection of a player: a public one, unless all
// of these are open. A player who is not registered is ErrNotFound.
func (n *NamedSessions) UnregisterPlayer(ctx context.Context, name, playerID string) error {
	_, err := n.unregisterPlayer(name, playerID).run(ctx, n.client)
	return err
}

// UnregisterPlayerAsync is UnregisterPlayer without waiting.
func (n *NamedSessions) UnregisterPlayerAsync(ctx context.Context, name, playerID string) *Op[struct{}] {
	return n.unregisterPlayer(name, playerID).start(ctx, n.client)
}

func (n *NamedSessions) unregisterPlayer(name, playerID string) call[none] {
	return n.players("UnregisterPlayer", name, playerID,
		func(r *record) error { return r.unregister(playerID) },
		func(done Completion, _ none) Event { return UnregisterPlayerComplete{done, name, playerID} })
}

// players is a call that changes who is registered.
func (n *NamedSessions) players(op, name, playerID string, change func(*record) error, event func(Completion, none) Event) call[none] {
	var r *record
	return call[none]{
		op: op,
		check: func() (err error) {
			player := checker{op: op}
			player.player("the player's id", playerID)
			if player.err != nil {
				return player.err
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			if r, err = n.enter(op, name); err != nil {
				return err
			}
			return change(r)
		},
		do: func(context.Context, OpID) (none, error) {
			n.advertise(r)
			return none{}, nil
		},
		event: event,
	}
}
