package session

import (
	"context"

	"github.com/muster-gg/muster/internal/life"
)

// JoinSession creates a player session and connects the player to the game: it returns when the game server has
// accepted the player. The event Reserved is published before. Afterwards Connection returns the player's connection. A
// client is in one game at a time: while it is in one, JoinSession returns a *StateError, unless the connection to that
// game has ended.
func (c *Client) JoinSession(ctx context.Context, r JoinSessionRequest) error {
	const op = "JoinSession"
	var w *work
	return call[none]{
		op: op,
		check: func() (err error) {
			err = firstError(func() error { return c.ready(op) }, r.check, func() error { return c.connector(op) })
			if err != nil {
				return err
			}
			w, err = c.beginGame(op, r.SessionID)
			return err
		},
		do: func(ctx context.Context, id OpID) (none, error) {
			return none{}, c.enterGame(ctx, w, id, op,
				func(ctx context.Context) (Reservation, error) { return c.cfg.Remote.Reserve(ctx, r) })
		},
	}.runErr(ctx, c)
}

// beginGame begins to connect the player to a game, unless it is in one already. enterGame must follow.
func (c *Client) beginGame(op, name string) (*work, error) {
	c.game.mu.Lock()
	defer c.game.mu.Unlock()
	r := &record{name: name}
	if last, ok := c.game.records[""]; ok && last.lost() {
		last.do(life.Destroy)
		last.do(life.Release)
		delete(c.game.records, "")
		close(last.gone)
		r.line = last.line
	}
	return c.game.add(op, "", r, life.Start)
}

// lost reports whether the connection to the game has ended by itself.
func (r *record) lost() bool {
	if r.state() != InProgress {
		return false
	}
	select {
	case <-r.line.conn.Done():
		return true
	default:
		return false
	}
}

// enterGame connects the player to a game and settles w.
func (c *Client) enterGame(
	ctx context.Context, w *work, id OpID, op string, place func(context.Context) (Reservation, error),
) error {
	defer close(w.done)
	ctx, release := until(ctx, w.over)
	defer release()
	c.game.mu.Lock()
	lost := w.record.line
	w.record.line = line{}
	c.game.mu.Unlock()
	c.disconnect(ctx, lost)
	l, err := c.connect(ctx, id, op, reserve{make: place})
	return failure(ctx, op, c.game.settleLine(ctx, w, l, err))
}

// LeaveSession closes the connection that JoinSession or a match has made, or interrupts JoinSession, and returns when
// everything is released. Without one it does nothing. If ctx is done before, the connection is closed at once.
//
// It may be called from a callback of the game for that connection, for example when the server sends that the game has
// ended: it then returns at once, and the connection ends when the callback has returned.
func (c *Client) LeaveSession(ctx context.Context) error {
	var r *record // nil: the player is in no game
	first := false
	return call[none]{
		op: "LeaveSession",
		check: func() error {
			c.game.mu.Lock()
			defer c.game.mu.Unlock()
			if r = c.game.records[""]; r != nil && r.state() != Destroying {
				first = true
				c.game.beginDestroying(r, errLeft)
			}
			return nil
		},
		do: func(ctx context.Context, _ OpID) (none, error) {
			switch {
			case r == nil:
				return none{}, nil
			case first:
				return none{}, c.game.destroyRecord(ctx, r)
			default: // another LeaveSession is in progress
				return none{}, c.game.awaitDestroyed(ctx, r)
			}
		},
	}.runErr(ctx, c)
}

// Connection returns the player's connection to the game of JoinSession or a match; nil without one. The Connector has
// made it: a type assertion returns its own type.
func (c *Client) Connection() Connection { return c.line().conn }

// Current returns the player session of the game that the player is in; false without one.
func (c *Client) Current() (Reservation, bool) {
	l := c.line()
	return l.place, l.conn != nil
}

// line returns the player's connection to its game; the zero line without one.
func (c *Client) line() line {
	c.game.mu.Lock()
	defer c.game.mu.Unlock()
	if r, ok := c.game.records[""]; ok && r.state() == InProgress {
		return r.line
	}
	return line{}
}
