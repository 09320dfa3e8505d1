package sessiontest

import (
	"context"
	"errors"
	"sync"

	"github.com/muster-gg/muster/session"
)

// A Connector takes players to game servers that are not there. The zero value lets everybody in.
type Connector struct {
	Faults
	// Service lets in those who have a place in one of its sessions, each once, and frees the place when the connection
	// has ended. Places without a player session, as on a local network, are let in. nil lets everybody in.
	Service *Service

	mu    sync.Mutex
	conns map[*Connection]struct{} // that have not ended
}

// A Connection is a line that a Connector has made.
type Connection struct {
	// Place is what it was made for.
	Place     session.Reservation
	connector *Connector
	done      chan struct{}
	mu        sync.Mutex
	over      bool
	err       error
}

// ErrLost ends a connection that Drop has cut.
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

// Open is how many connections have not ended.
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

// Drop cuts the connection, as a network does: it ends with ErrLost.
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
