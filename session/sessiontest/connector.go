package sessiontest

import (
	"context"
	"errors"
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
	conns map[*Connection]struct{} // that have not ended
}

// A Connection is a connection that a Connector has made.
type Connection struct {
	// Place is the reservation that it was made with.
	Place     session.Reservation
	connector *Connector
	done      chan struct{}
	mu        sync.Mutex
	over      bool
	err       error
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
	conn := &Connection{Place: r, connector: c, done: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conns == nil {
		c.conns = make(map[*Connection]struct{})
	}
	c.conns[conn] = struct{}{}
	return conn, nil
}

// Open returns the number of connections that have not ended.
func (c *Connector) Open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.conns)
}

// Close implements session.Connection.
func (c *Connection) Close(ctx context.Context) error {
	err := c.connector.enter(ctx, "Close")
	c.end(nil)
	return err
}

// Drop ends the connection with ErrLost, as a network failure does.
func (c *Connection) Drop() { c.end(ErrLost) }

func (c *Connection) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.over, c.err = true, why
	if c.connector.Service != nil {
		c.connector.Service.free(c.Place)
	}
	c.connector.mu.Lock()
	delete(c.connector.conns, c)
	c.connector.mu.Unlock()
	close(c.done)
}

// Done implements session.Connection.
func (c *Connection) Done() <-chan struct{} { return c.done }

// Err implements session.Connection.
func (c *Connection) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
