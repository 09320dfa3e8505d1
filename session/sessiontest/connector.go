package sessiontest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/muster-gg/muster/session"
)

// A Connector connects players to simulated game servers. The zero value accepts every player.
type Connector struct {
	Faults
	// Service makes the Connector accept only players with a reservation in one of its sessions, each once; the slot is
	// freed when the connection has ended. Reservations without a player session, as on a local network, are accepted.
	// nil accepts every player.
	Service *Service

	mu    sync.Mutex
	conns map[*connection]struct{} // that have not ended
}

type connection struct {
	place     session.Reservation
	connector *Connector
	done      chan struct{}

	mu   sync.Mutex
	over bool
	err  error
}

// ErrLost is the error of a connection that Drop has ended.
var ErrLost = errors.New("the connection is lost")

// Connect implements session.Connector.
func (c *Connector) Connect(ctx context.Context, r session.Reservation) (session.Connection, error) {
	if err := c.enter(ctx, "Connect"); err != nil {
		return nil, err
	}
	if c.Service != nil && r.PlayerSessionID != "" {
		if err := c.Service.take(r); err != nil {
			return nil, err
		}
	}
	conn := &connection{place: r, connector: c, done: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conns == nil {
		c.conns = make(map[*connection]struct{})
	}
	c.conns[conn] = struct{}{}
	return conn, nil
}

// Open returns the reservations of the connections that have not ended, in no order.
func (c *Connector) Open() []session.Reservation {
	c.mu.Lock()
	defer c.mu.Unlock()
	var open []session.Reservation
	for conn := range c.conns {
		open = append(open, conn.place)
	}
	return open
}

// Drop ends the open connections of a player with ErrLost, as a network failure does.
func (c *Connector) Drop(playerID string) {
	c.mu.Lock()
	conns := slices.Collect(maps.Keys(c.conns))
	c.mu.Unlock()
	for _, conn := range conns {
		if conn.place.PlayerID == playerID {
			conn.end(ErrLost)
		}
	}
}

func (c *connection) Close(ctx context.Context) error {
	err := c.connector.enter(ctx, "Close")
	c.end(nil)
	return err
}

func (c *connection) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.over, c.err = true, why
	if c.connector.Service != nil {
		c.connector.Service.free(c.place)
	}
	c.connector.mu.Lock()
	delete(c.connector.conns, c)
	c.connector.mu.Unlock()
	close(c.done)
}

func (c *connection) Done() <-chan struct{} { return c.done }

func (c *connection) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
