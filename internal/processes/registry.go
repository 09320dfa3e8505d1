package processes

import (
	"maps"
	"slices"
	"sync"

	"github.com/muster-gg/muster/internal/router"
)

// A registry has the connections of the processes of one shard.
type registry struct {
	shard     *router.Shard
	recovered chan struct{} // has an element when the open connections must be announced again

	mu        sync.RWMutex
	primaries map[Key]*connection             // the primary connection of each process
	missed    map[Key][]UpdateGameSessionPush // by processes without a connection
	opening   map[Key]opening
}

// opening has the connections of a process that are being opened.
type opening struct {
	number int
	first  *connection // the only one, when the process has no connection yet; else nil
}

func newRegistry(s *router.Shard) *registry {
	return &registry{
		shard: s, recovered: make(chan struct{}, 1),
		primaries: map[Key]*connection{}, missed: map[Key][]UpdateGameSessionPush{}, opening: map[Key]opening{},
	}
}

// primary returns the primary connection of a process, or nil.
func (r *registry) primary(key Key) *connection {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.primaries[key]
}

// all returns the present primary connections.
func (r *registry) all() []*connection {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Collect(maps.Values(r.primaries))
}

// install makes n the primary connection of its process and returns the previous one.
func (r *registry) install(n *connection) (old *connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old = r.primaries[n.key]
	r.primaries[n.key] = n
	return old
}

// expect records that n is being opened, until arrived or abandon is called. If n is the first connection of a new
// process, connected installs it in the order of the shard's events, so that it misses none.
func (r *registry) expect(n *connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := opening{number: r.opening[n.key].number + 1}
	if o.number == 1 && r.primaries[n.key] == nil {
		o.first = n
	}
	r.opening[n.key] = o
}

// connected installs the connection of a new process, if only one is being opened.
func (r *registry) connected(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.opening[key].first; n != nil && r.primaries[key] == nil {
		r.primaries[key] = n
	}
}

// resumed deletes the missed updates of a process that has connected to another node, which notifies it.
func (r *registry) resumed(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opening[key].number == 0 && r.primaries[key] == nil {
		delete(r.missed, key)
	}
}

// arrived ends the opening of n, and reports whether it was installed.
func (r *registry) arrived(n *connection) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opened(n)
	return r.primaries[n.key] == n
}

// abandon ends the opening of n without result. The room may consider the process connected, so it is notified that it
// is not, unless the process has another connection.
func (r *registry) abandon(n *connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opened(n)
	if r.primaries[n.key] == n {
		delete(r.primaries, n.key)
	}
	if r.primaries[n.key] == nil {
		n.noteLost()
	}
}

func (r *registry) opened(n *connection) {
	if left := r.opening[n.key].number - 1; left > 0 {
		r.opening[n.key] = opening{number: left}
		return
	}
	delete(r.opening, n.key)
}

// drop removes n if it is still the primary connection.
func (r *registry) drop(n *connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.primaries[n.key] == n {
		delete(r.primaries, n.key)
	}
}

// remove removes a process that has ended, and returns its connection; nil if there is none.
func (r *registry) remove(key Key) *connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.missed, key)
	n := r.primaries[key]
	delete(r.primaries, key)
	return n
}

// lose is drop, and reports to the room that the process is not connected. Both happen under the lock, so that a
// connection that is installed later sees the report and can correct it; see connection.catchUp.
func (r *registry) lose(n *connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.primaries[n.key] == n {
		delete(r.primaries, n.key)
		n.noteLost()
	}
}

// loseOrphan reports to the room that the process of n is not connected, unless it is. It is for a connection that was
// announced and may have closed before.
func (r *registry) loseOrphan(n *connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.primaries[n.key] == nil {
		n.noteLost()
	}
}

// update pushes an update of a game session, or keeps it until the process has connected again; see resumed. It reports
// whether the process is connected here.
func (r *registry) update(key Key, push UpdateGameSessionPush) (here bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.primaries[key]; n != nil {
		n.push(push)
		return true
	}
	r.missed[key] = append(r.missed[key], push)
	return false
}

// takeMissed returns the updates that the process of n has yet to be sent; none if n is not primary any more.
func (r *registry) takeMissed(n *connection) []UpdateGameSessionPush {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.primaries[n.key] != n {
		return nil
	}
	missed := r.missed[n.key]
	delete(r.missed, n.key)
	return missed
}
