package session

import (
	"maps"
	"net"
	"slices"
	"strconv"
)

// NamedSessions are the sessions of a game by the names that the game gives them, in the manner of Unreal's session
// interface: Create, Start, End and Destroy, or Join and Destroy; Find looks for others. Where a session is, at the
// service or on the local network, makes a difference to its settings and to nothing else; names are unique over both.
//
// A session goes
//
//	NoSession → Creating → Pending → Starting → InProgress → Ending → Ended    Create, Start, End
//	NoSession → Starting → InProgress                                          Join
//	Ended → Starting → InProgress                                              Start, again
//
// and from everywhere to Destroying and NoSession (Destroy). What fails goes back to the state before. A call that is
// not possible in a session's state is a *StateError and changes nothing. Destroy interrupts what is under way;
// whatever comes of that later is given back.
//
// Client.Async makes the calls without waiting.
type NamedSessions struct {
	*machine
	search *search // nil while none is running; guarded by mu
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

// Connection is the player's line to the game of a session; nil without one. Who hosts on the local network has none:
// the game is in this program.
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

// ConnectString is where the game server of a session is: "ip:port". It fails with a *StateError for a session that
// does not exist or has no game server yet.
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
		return "", &Error{Op: "ConnectString",
			Kind: ErrInvalid, Message: "the address " + address + " is none", Err: err}
	}
	return net.JoinHostPort(host, strconv.Itoa(r.settings.beacon())), nil
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
