package processes

import (
	"maps"
	"slices"
	"sync"

	"github.com/muster-gg/muster/internal/router"
)

// A registry is the connections of the processes of one shard.
type registry struct {
	shard     *router.Shard
	recovered chan struct{} // holds one when the open connections have to be announced again

	mu        sync.RWMutex
	primaries map[Key]*connection             // the primary connection of each process
	missed    map[Key][]UpdateGameSessionPush // by processes without a connection
	opening   map[Key]opening
}

// opening is the connections of a process that are being opened.
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

// primary is the primary connection of a process, or nil.
func (r *registry) primary(key Key) *connection {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.primaries[key]
}

// all lists the primary connections of the moment.
func (r *registry) all() []*connection {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Collect(maps.Values(r.primaries))
}

// install makes n the primary connection of its process and returns the one before.
func (r *registry) install(n *connection) (old *connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old = r.primaries[n.key]
	r.primaries[n.key] = n
	return old
}

// expect notes that n is being opened, which arrived or abandon ends. If it turns out to be the first connection of a
// new process, it is installed at that very place among the events of the shard, and so misses nothing.
func (r *registry) expect(n *connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := opening{number: r.opening[n.key].number + 1}
	if o.number == 1 && r.primaries[n.key] == nil {
		o.first = n
	}
	r.opening[n.key] = o
}

// connected installs the connection of a new process, unless there is a doubt which.
func (r *registry) connected(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.opening[key].first; n != nil && r.primaries[key] == nil {
		r.primaries[key] = n
	}
}

// resumed forgets what a process has missed that has connected to another node: there it is notified.
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

// abandon ends the opening of n without result: the room may have taken its process for connected, and is then notified
// that it is not, unless it has another connection.
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

// lose is drop, and tells the room that the process is not connected. Both happen under the lock, so that a connection
// that is installed later sees that and can take it back; see connection.catchUp.
func (r *registry) lose(n *connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.primaries[n.key] == n {
		delete(r.primaries, n.key)
		n.noteLost()
	}
}

// loseOrphan tells the room that the process of n is not connected, unless it is. It is for a connection that was
// announced and may have closed before.
func (r *registry) loseOrphan(n *connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.primaries[n.key] == nil {
		n.noteLost()
	}
}

// update pushes what has become of a game session, or keeps it until the process has connected again; see resumed. It
// reports whether the process is connected here.
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
