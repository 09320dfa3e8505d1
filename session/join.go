package session

import "context"

// JoinSession takes a place in a session and the player into its game: it returns
// when the game server has let the player in. The event Reserved comes before.
// Afterwards Connection is the player's line to the game. A client is in one game
// at a time: with another one, JoinSession is a *StateError, unless the connection
// to that has ended.
func (c *Client) JoinSession(ctx context.Context, r JoinSessionRequest) error {
	_, err := c.joinSession(r).run(ctx, c)
	return err
}

// JoinSessionAsync is JoinSession without waiting.
func (c *Client) JoinSessionAsync(ctx context.Context, r JoinSessionRequest) *Op[struct{}] {
	return c.joinSession(r).start(ctx, c)
}

func (c *Client) joinSession(r JoinSessionRequest) call[none] {
	const op = "JoinSession"
	var now *sitting
	return call[none]{
		op: op,
		check: func() (err error) {
			err = firstError(func() error { return c.ready(op) }, r.check, func() error { return c.connector(op) })
			if err != nil {
				return err
			}
			now, err = c.seat.take(op, r.SessionID)
			return err
		},
		do: func(ctx context.Context, id OpID) (none, error) {
			return none{}, c.sit(ctx, now, id, op, func(ctx context.Context) (Reservation, error) { return c.cfg.Remote.Reserve(ctx, r) })
		},
		event: func(done Completion, _ none) Event { return JoinSessionComplete{done} },
	}
}

// sit takes the player to a game, for the seat that was taken.
func (c *Client) sit(ctx context.Context, now *sitting, id OpID, op string, reserve func(context.Context) (Reservation, error)) error {
	ctx, release := until(ctx, now.left)
	defer release()
	c.hangUp(ctx, now.before)
	l, err := c.connect(ctx, id, op, reserve)
	return failure(ctx, op, c.seat.settle(now, l, err))
}

// LeaveSession closes the connection that JoinSession or a match has made, or
// interrupts JoinSession, and returns when nothing of it is left. Without one it
// does nothing. When ctx is done before, the connection is cut.
func (c *Client) LeaveSession(ctx context.Context) error {
	_, err := c.leaveSession().run(ctx, c)
	return err
}

// LeaveSessionAsync is LeaveSession without waiting.
func (c *Client) LeaveSessionAsync(ctx context.Context) *Op[struct{}] {
	return c.leaveSession().start(ctx, c)
}

func (c *Client) leaveSession() call[none] {
	var now *sitting
	var first bool
	return call[none]{
		op: "LeaveSession",
		check: func() error {
			now, first = c.seat.rise()
			return nil
		},
		do:    func(ctx context.Context, _ OpID) (none, error) { return none{}, c.seat.free(ctx, now, first) },
		event: func(done Completion, _ none) Event { return LeaveSessionComplete{done} },
	}
}

// Connection is the player's line to the game that JoinSession or a match has led
// to; nil without one. The connector has made it: a type assertion gives its type
// back.
func (c *Client) Connection() Connection { return c.seat.line().conn }

// Current is the place in the game that the player is in; false while there is
// none.
func (c *Client) Current() (Reservation, bool) {
	l := c.seat.line()
	return l.place, l.conn != nil
}
