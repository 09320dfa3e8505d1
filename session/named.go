package session

import (
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
)

// NamedSessions are the sessions of a game by the names that the game gives them,
// in the manner of Unreal's session interface: Create, Start, End and Destroy, or
// Join and Destroy; Find looks for others. Where a session is, at the service or
// on the local network, makes a difference to its settings and to nothing else;
// names are unique over both.
//
// A session goes
//
//	NoSession → Creating → Pending → Starting → InProgress → Ending → Ended    Create, Start, End
//	NoSession → Starting → InProgress                                          Join
//	Ended → Starting → InProgress                                              Start, again
//
// and from everywhere to Destroying and NoSession (Destroy). What fails goes back
// to the state before. A call that is not possible in a session's state is a
// *StateError and changes nothing. Destroy interrupts what is under way; whatever
// comes of that later is given back.
//
// As with Client, every call has an Async form with one completion event.
type NamedSessions struct {
	client *Client

	mu      sync.Mutex
	records map[string]*record
	search  *search                           // nil while none is running
	moved   func(name string, from, to State) // for tests; nil
}

func (n *NamedSessions) init(c *Client) {
	n.client, n.records = c, make(map[string]*record)
}

// Get returns the session of that name; false if there is none.
func (n *NamedSessions) Get(name string) (NamedSession, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, ok := n.records[name]
	if !ok {
		return NamedSession{State: NoSession}, false
	}
	return r.snapshot(), true
}

// All returns the sessions, by name.
func (n *NamedSessions) All() []NamedSession {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make([]NamedSession, 0, len(n.records))
	for _, name := range slices.Sorted(maps.Keys(n.records)) {
		all = append(all, n.records[name].snapshot())
	}
	return all
}

// Count is how many sessions there are, at the service and on the local network.
func (n *NamedSessions) Count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.records)
}

// Connection is the player's line to the game of a session; nil without one. Who
// hosts on the local network has none: the game is in this program.
func (n *NamedSessions) Connection(name string) Connection {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r, ok := n.records[name]; ok {
		return r.line.conn
	}
	return nil
}

// A PortType is one of the ports of a game server.
type PortType int

// The ports.
const (
	GamePort   PortType = iota // of the game
	BeaconPort                 // of Unreal's beacon: Settings.BeaconPort
)

// ConnectString is where the game server of a session is: "ip:port". It fails with
// a *StateError for a session that does not exist or has no game server yet.
func (n *NamedSessions) ConnectString(name string, port PortType) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, ok := n.records[name]
	if !ok {
		return "", &StateError{"ConnectString", name, NoSession, ErrNotFound}
	}
	if place := r.line.place; place.IPAddress == "" && place.DNSName == "" {
		return "", &StateError{Op: "ConnectString", Name: name, State: r.state}
	}
	address := r.line.place.Address()
	if port == GamePort {
		return address, nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return "", &Error{Op: "ConnectString", Kind: ErrInvalid, Message: "the address " + address + " is none", Err: err}
	}
	return net.JoinHostPort(host, strconv.Itoa(r.settings.beacon())), nil
}

// enter begins a call for the session of that name. n.mu is held.
func (n *NamedSessions) enter(op, name string) (*record, error) {
	r, ok := n.records[name]
	if !ok {
		return nil, permit(op, name, NoSession)
	}
	return r, permit(op, name, r.state)
}

// add makes a session in a state of passage.
func (n *NamedSessions) add(op string, r *record, through State) (*work, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if there, ok := n.records[r.name]; ok {
		return nil, permit(op, r.name, there.state)
	}
	r.state, r.moved, r.players, r.beacon = NoSession, n.moved, make(map[string]bool), new(announcement)
	n.records[r.name] = r
	return r.begin(through), nil
}

// settle ends a work, with success or not, and returns the error of its call. A
// work that Destroy has interrupted does not touch anything: what it has taken is
// still its own.
func (n *NamedSessions) settle(w *work, to State, err error, apply func(*record)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := w.record
	switch {
	case r.work != w && err == nil:
		return errDestroyed
	case r.work != w:
		return err
	}
	r.work = nil
	w.end(nil)
	if err == nil {
		apply(r)
		r.move(to)
		return nil
	}
	r.move(w.back)
	if w.back == NoSession {
		delete(n.records, r.name)
	}
	return err
}

// advertise announces a session as it is, if it is announced.
func (n *NamedSessions) advertise(r *record) {
	err := r.beacon.update(func() (Advert, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		return r.advert(), nil
	}, func() error { return nil })
	if err != nil {
		n.client.cfg.Log.Warn("session not announced as it is", "session", r.name, "error", err)
	}
}

// checkName is what calls check that make a session.
func checkName(op, name string) error {
	c := checker{op: op}
	c.given("the session's name", name)
	c.short("the session's name", name, maxText)
	return c.err
}
