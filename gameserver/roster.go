package gameserver

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// A PlayerConnection is the connection of a player.
type PlayerConnection struct {
	ConnectionID    uint64 // the network layer's number for the connection: gamenet.Session.ID
	PlayerSessionID string // that the player has sent
}

// A visitStatus is the status of a visit.
type visitStatus uint8

const (
	joining visitStatus = iota // the service is asked whether it accepts the player session
	present                    // accepted and connected
	lost                       // the connection is lost: another one may resume the visit
	leaving                    // taken: the player session is being ended
)

// A visit lasts from the moment when a player asks to join until the player session has ended. It may have several
// connections, one after the other. The code that takes it from the roster ends the player session, so that this
// happens once.
type visit struct {
	PlayerConnection
	status   visitStatus
	accepted bool      // by the service
	held     bool      // the player session may be ACTIVE; known once answered is closed
	left     bool      // the connection has ended before the visit was taken, or takes it
	parted   time.Time // when the last connection ended
	until    time.Time // when a lost visit ends

	// The Host's own; the roster does not use them.
	giveUp   context.CancelFunc // of AcceptPlayerSession
	answered chan struct{}      // closed when that call has returned
	gone     chan struct{}      // closed when the player session was ended, or need not be
}

// A roster has the players who are connected, joining, lost or leaving, and decides when the process has been empty for
// long enough to end. It is pure: the times are in its commands.
type roster struct {
	resumeLimit, emptyLimit time.Duration // 0: none
	keep                    bool          // the process does not end because it is empty

	closed      bool              // further players are rejected
	visited     bool              // a player was accepted
	ending      time.Time         // when the process may end, unless there are players
	asking      bool              // the service is asked for reservations
	connections map[uint64]*visit // all but the leaving ones
	tickets     map[string]*visit
}

// reservedPause is the least time between two questions for reservations.
const reservedPause = time.Second

// newRoster makes an empty roster.
func newRoster(cfg Config) *roster {
	return &roster{
		resumeLimit: cfg.ResumeLimit, emptyLimit: cfg.EmptyLimit, keep: cfg.KeepWhenEmpty,
		connections: make(map[uint64]*visit), tickets: make(map[string]*visit),
	}
}

// enter begins a visit, or resumes a lost one, or returns why it cannot.
func (r *roster) enter(c PlayerConnection, now time.Time) (v *visit, err error) {
	v = r.tickets[c.PlayerSessionID]
	switch {
	case c.PlayerSessionID == "":
		return nil, ErrNoTicket
	case r.closed:
		return nil, ErrEnding
	case r.connections[c.ConnectionID] != nil:
		return nil, ErrConnectionInUse
	case v == nil:
		v = &visit{PlayerConnection: c}
		r.tickets[c.PlayerSessionID] = v
	case v.status == lost && v.accepted && now.Before(v.until):
		delete(r.connections, v.ConnectionID)
		v.PlayerConnection, v.status, v.left = c, present, false
	default:
		return nil, ErrTicketInUse
	}
	r.connections[c.ConnectionID] = v
	return v, nil
}

// answer stores the answer of the service: whether the player is accepted, and whether the player session may be
// ACTIVE, which is unknown if the service did not answer. It takes the visit if the player is not accepted; taken is
// then true. It returns ErrPlayerLeft or ErrEnding if the connection has ended already.
func (r *roster) answer(v *visit, accepted, held bool) (taken bool, err error) {
	v.accepted, v.held = accepted, held
	r.visited = r.visited || accepted
	switch {
	case v.left:
		err = ErrPlayerLeft
	case v.status == leaving:
		err = ErrEnding
	case accepted:
		v.status = present
	}
	if taken = !accepted && v.status != leaving; taken {
		r.take(v)
	}
	return taken, err
}

// take makes the caller end the visit.
func (r *roster) take(v *visit) {
	delete(r.connections, v.ConnectionID)
	v.status = leaving
}

// leave takes the visit of a connection; nil if there is none, or it was taken before.
func (r *roster) leave(connection uint64, now time.Time) *visit {
	v := r.connections[connection]
	if v == nil {
		return nil
	}
	if v.status != lost {
		v.parted = now
	}
	v.left = true
	r.take(v)
	return v
}

// lose notes that a connection is lost. Its visit can be resumed until the limit has passed.
func (r *roster) lose(connection uint64, now time.Time) {
	if v := r.connections[connection]; v != nil && v.status != lost {
		v.status, v.left, v.parted, v.until = lost, true, now, now.Add(r.resumeLimit)
	}
}

// settle ends a visit that was taken.
func (r *roster) settle(v *visit) {
	delete(r.tickets, v.PlayerSessionID)
	if ending := v.parted.Add(r.emptyLimit); v.accepted && ending.After(r.ending) {
		r.ending = ending
	}
}

// due takes the lost visits that were not resumed in time. ask is true if the process is empty and may end, unless
// there are reservations: see asked.
func (r *roster) due(now time.Time) (expired []*visit, ask bool) {
	if r.closed {
		return nil, false
	}
	for _, v := range r.sorted() {
		if v.status == lost && !now.Before(v.until) {
			r.take(v)
			expired = append(expired, v)
		}
	}
	ask = r.mayEnd() && !r.asking && !now.Before(r.ending)
	r.asking = r.asking || ask
	return expired, ask
}

// asked stores whether players with reservations are expected. It reports whether the process is to end, and then
// rejects all further players.
func (r *roster) asked(reserved bool, now time.Time) (end bool) {
	r.asking = false
	if reserved {
		r.ending = now.Add(max(r.emptyLimit, reservedPause))
	}
	end = r.mayEnd() && !now.Before(r.ending)
	r.closed = r.closed || end
	return end
}

// mayEnd reports whether the process may end because it is empty, once its time has come.
func (r *roster) mayEnd() bool { return !r.closed && !r.keep && r.visited && len(r.tickets) == 0 }

// deadline returns when due has next something to do; zero if nothing is planned.
func (r *roster) deadline() (next time.Time) {
	if r.closed {
		return next
	}
	if r.mayEnd() && !r.asking {
		next = r.ending
	}
	for _, v := range r.tickets {
		if v.status == lost && (next.IsZero() || v.until.Before(next)) {
			next = v.until
		}
	}
	return next
}

// shut rejects all further players, and plans nothing more.
func (r *roster) shut() { r.closed = true }

// clear takes all visits that have not been taken. Those that have been are in taken before.
func (r *roster) clear() (taken, before []*visit) {
	for _, v := range r.sorted() {
		if v.status == leaving {
			before = append(before, v)
			continue
		}
		r.take(v)
		taken = append(taken, v)
	}
	return taken, before
}

// sorted returns all visits in the order of their player sessions.
func (r *roster) sorted() []*visit {
	return slices.SortedFunc(maps.Values(r.tickets), func(a, b *visit) int {
		return cmp.Compare(a.PlayerSessionID, b.PlayerSessionID)
	})
}
