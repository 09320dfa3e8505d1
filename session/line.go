package session

import (
	"context"
	"errors"
)

// A line is a place in a game that the player has taken.
type line struct {
	place Reservation
	conn  Connection
}

// connector refuses calls that need a Connector while there is none.
func (c *Client) connector(op string) error {
	if c.cfg.Connector == nil {
		return Errorf(op, ErrUnsupported, "nothing takes the player to a game server: set Config.Connector")
	}
	return nil
}

// connect takes the player to a game: reserve takes the place, if the service gives places. When it fails, nothing of
// it is left.
func (c *Client) connect(ctx context.Context, id OpID, op string,
	reserve func(context.Context) (Reservation, error)) (line, error) {
	place, err := reserve(ctx)
	if err != nil {
		return line{}, failure(ctx, op, err)
	}
	if ctx.Err() != nil {
		c.release(ctx, place)
		return line{}, interruption(ctx, op)
	}
	if place.PlayerSessionID != "" {
		c.events.publish(Reserved{id, place})
	}
	conn, err := c.cfg.Connector.Connect(ctx, place)
	if err != nil {
		c.release(ctx, place)
		return line{}, failure(ctx, op, err)
	}
	l := line{place, conn}
	if ctx.Err() != nil {
		c.hangUp(ctx, l)
		return line{}, interruption(ctx, op)
	}
	return l, nil
}

// release gives back a place that was not taken.
func (c *Client) release(ctx context.Context, place Reservation) {
	releaser, ok := c.cfg.Remote.(Releaser)
	if !ok || place.PlayerSessionID == "" {
		return
	}
	ctx, cancel := c.cleanup(ctx)
	defer cancel()
	if err := releaser.Release(ctx, place); err != nil && !errors.Is(err, ErrNotFound) {
		c.cfg.Log.Warn("place not given back", "player_session", place.PlayerSessionID, "error", err)
	}
}

// hangUp closes a connection that nobody wants any more, and thereby gives back its place.
func (c *Client) hangUp(ctx context.Context, l line) {
	if l.conn == nil {
		return
	}
	ctx, cancel := c.cleanup(ctx)
	defer cancel()
	if err := l.conn.Close(ctx); err != nil {
		c.cfg.Log.Warn("connection closed badly", "player_session", l.place.PlayerSessionID, "error", err)
	}
}
