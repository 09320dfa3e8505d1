package session

import "context"

// RegisterPlayer takes one of the open connections of a session for a player: a public one, or else a private one;
// ErrFull without either. For a player who is registered it does nothing. No event is published, but searchers on the
// local network see how many connections are open.
func (n *NamedSessions) RegisterPlayer(ctx context.Context, name, playerID string) error {
	return n.players("RegisterPlayer", name, playerID,
		func(r *record) error { return r.register(playerID) }).runErr(ctx, n.client)
}

// UnregisterPlayer gives back the connection of a player: a public one, unless all of these are open. A player who is
// not registered is ErrNotFound.
func (n *NamedSessions) UnregisterPlayer(ctx context.Context, name, playerID string) error {
	return n.players("UnregisterPlayer", name, playerID,
		func(r *record) error { return r.unregister(playerID) }).runErr(ctx, n.client)
}

// players is a call that changes who is registered.
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
			if r, err = n.enter(op, name); err != nil {
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
