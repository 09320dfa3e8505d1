package session

import (
	"maps"
	"slices"
)

// NamedSessions are the sessions of a game under names that the game chooses, in the manner of Unreal's session
// interface: Create, Start, End and Destroy, or Join and Destroy; Find searches for others. Sessions at the service and
// on the local network differ only in their settings; names are unique over both.
//
// The states of a session are
//
//	NoSession → Creating → Pending → Starting → InProgress → Ending → Ended    Create, Start, End
//	NoSession → Starting → InProgress                                          Join
//	Ended → Starting → InProgress                                              Start, again
//
// Destroy leads from every state to Destroying and NoSession. A call that fails restores the state before it. A call
// that is not possible in a session's state returns a *StateError and changes nothing. Destroy interrupts calls in
// progress, which then release everything that they have reserved.
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

// Connection returns the player's connection to the game of a session; nil without one. A host on the local network has
// none: the game runs in this program.
func (n *NamedSessions) Connection(name string) Connection {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r, ok := n.records[name]; ok {
		return r.line.conn
	}
	return nil
}

// ConnectString returns the address of a session's game server: "ip:port". It fails with a *StateError for a session
// that does not exist or has no game server yet.
func (n *NamedSessions) ConnectString(name string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, ok := n.records[name]
	if !ok {
		return "", &StateError{"ConnectString", name, NoSession, ErrNotFound}
	}
	place := r.line.place
	if place.IPAddress == "" && place.DNSName == "" {
		return "", &StateError{Op: "ConnectString", Name: name, State: r.state()}
	}
	return place.Address(), nil
}

// advertise updates the announcement of a session, if there is one.
func (n *NamedSessions) advertise(r *record) {
	err := r.beacon.update(func() (Advert, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		return r.advert(), nil
	}, func() error { return nil })
	if err != nil {
		n.client.cfg.Log.Warn("updating the announcement failed", "session", r.name, "error", err)
	}
}

// checkName validates the name of a new session.
func checkName(op, name string) error {
	c := checker{op: op}
	c.given("the session's name", name)
	c.short("the session's name", name, maxText)
	return c.err
}
