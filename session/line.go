package session

import (
	"context"
	"errors"
)

// A line is the player session and the connection of the player in a game.
type line struct {
	place Reservation
	conn  Connection
}

// connector rejects calls that need a Connector while there is none.
func (c *Client) connector(op string) error {
	if c.cfg.Connector == nil {
		return Errorf(op, ErrUnsupported, "there is no connector to game servers: set Config.Connector")
	}
	return nil
}

// A reserve makes the reservation with which the player connects, if the service has any.
type reserve struct {
	make   func(context.Context) (Reservation, error)
	hosted bool // it also creates the session
}

// connect connects the player to a game. A failure leaves nothing behind but a connection that was made although ctx is
// done, which connect returns with the error.
func (c *Client) connect(ctx context.Context, id OpID, op string, r reserve) (line, error) {
	place, err := r.make(ctx)
	if err != nil {
		return line{}, failure(ctx, op, err)
	}
	if ctx.Err() != nil {
		c.release(ctx, place, r.hosted)
		return line{}, interruption(ctx, op)
	}
	if place.PlayerSessionID != "" {
		c.events.publish(Reserved{id, place})
	}
	conn, err := c.cfg.Connector.Connect(ctx, place)
	if err != nil {
		c.release(ctx, place, r.hosted)
		return line{}, failure(ctx, op, err)
	}
	if ctx.Err() != nil {
		err = interruption(ctx, op)
	}
	return line{place, conn}, err
}

// release ends a reservation that was not used, and a hosted session with it.
func (c *Client) release(ctx context.Context, place Reservation, hosted bool) {
	releaser, ok := c.cfg.Remote.(Releaser)
	if !ok || place.PlayerSessionID == "" {
		return
	}
	ctx, cancel := c.cleanup(ctx)
	defer cancel()
	if err := releaser.Release(ctx, place, hosted); err != nil && !errors.Is(err, ErrNotFound) {
		c.cfg.Log.Warn("reservation not released", "player_session", place.PlayerSessionID, "error", err)
	}
}

// disconnect closes a connection, which also frees its slot.
func (c *Client) disconnect(ctx context.Context, l line) {
	if l.conn == nil {
		return
	}
	ctx, cancel := c.cleanup(ctx)
	defer cancel()
	if err := l.conn.Close(ctx); err != nil {
		c.cfg.Log.Warn("closing the connection failed", "player_session", l.place.PlayerSessionID, "error", err)
	}
}
