package gameserver

import (
	"context"
	"sync"
)

// A PlayerConnection is the connection of a player.
type PlayerConnection struct {
	ConnectionID    uint64 // the network layer's number for the connection: gamenet.Session.ID
	PlayerSessionID string // that the player has sent
}

// A visit lasts from the moment when a player asks to join until the player session has ended. The code that removes it
// from the roster's connections ends the player session, so that this happens once.
type visit struct {
	PlayerConnection
	giveUp context.CancelFunc // of AcceptPlayerSession
	// answered is closed when that call has returned.
	answered chan struct{}
	// held says, once answered is closed, that the player session may be ACTIVE.
	held bool
	left bool // HandlePlayerLeaveSession was called
	// gone is closed when the player session was ended, or need not be.
	gone chan struct{}
}

// A roster has the players who are connected, joining or leaving.
type roster struct {
	mu          sync.Mutex
	closed      bool              // further players are rejected
	visited     bool              // a player was accepted
	connections map[uint64]*visit // connected or joining
	tickets     map[string]*visit // those, and the leaving ones
}

func newRoster() *roster {
	return &roster{connections: make(map[uint64]*visit), tickets: make(map[string]*visit)}
}

// enter begins a visit, or returns why it cannot.
func (r *roster) enter(c PlayerConnection, giveUp context.CancelFunc) (*visit, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case c.PlayerSessionID == "":
		return nil, ErrNoTicket
	case r.closed:
		return nil, ErrEnding
	case r.connections[c.ConnectionID] != nil:
		return nil, ErrConnectionInUse
	case r.tickets[c.PlayerSessionID] != nil:
		return nil, ErrTicketInUse
	}
	v := &visit{PlayerConnection: c, giveUp: giveUp, answered: make(chan struct{}), gone: make(chan struct{})}
	r.connections[c.ConnectionID], r.tickets[c.PlayerSessionID] = v, v
	return v, nil
}

// answer notes what the service said: whether the player is accepted, and whether the player session may be ACTIVE,
// which is unknown if the service did not answer. It returns ErrPlayerLeft or ErrEnding if the visit has ended already;
// it then belongs to another connection.
func (r *roster) answer(v *visit, accepted, held bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.visited = r.visited || accepted
	v.held = held
	close(v.answered)
	switch {
	case r.connections[v.ConnectionID] == v:
		return nil
	case v.left:
		return ErrPlayerLeft
	}
	return ErrEnding
}

// leave takes the visit of a connection; nil if there is none, or another connection has taken it.
func (r *roster) leave(connection uint64) *visit {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.connections[connection]
	if v != nil {
		delete(r.connections, connection)
		v.left = true
		v.giveUp()
	}
	return v
}

// refuse takes a visit that its own question has ended; false if another connection has taken it.
func (r *roster) refuse(v *visit) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	mine := r.connections[v.ConnectionID] == v
	if mine {
		delete(r.connections, v.ConnectionID)
	}
	return mine
}

// settle ends a visit. It reports whether that was the last one, and a player was accepted.
func (r *roster) settle(v *visit) (empty bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tickets, v.PlayerSessionID)
	close(v.gone)
	return r.visited && len(r.tickets) == 0
}

// shut rejects all further players.
func (r *roster) shut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// clear takes all visits that have not been taken. Those of leaving players are in leaving.
func (r *roster) clear() (taken, leaving []*visit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range r.tickets {
		if r.connections[v.ConnectionID] == v {
			v.giveUp()
			taken = append(taken, v)
		} else {
			leaving = append(leaving, v)
		}
	}
	clear(r.connections)
	return taken, leaving
}
