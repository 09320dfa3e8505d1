package serversdk

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

const (
	// keptReplies is how many replies are stored per process. Repeated requests follow within a few others.
	keptReplies = 32
	// keptAfter is how long the replies are stored after the last socket of a process was closed. The C++ edition sends
	// a request up to 5 times, and waits 20 s for each reply and then for a new socket.
	keptAfter = 5 * time.Minute
	// maxPending is the maximum of pending requests per process. After a long disconnection an SDK sends tens of queued
	// messages in one burst.
	maxPending = 256
)

// A processKey identifies a server process over all its sockets.
type processKey struct{ fleet, compute, id string }

// A registry holds the stored replies of processes with a socket, and for a while of those that had one.
type registry struct {
	clock clockwork.Clock
	keep  time.Duration // how long after the last socket of a process

	mu       sync.Mutex
	known    map[processKey]*process
	departed []departure // oldest first
}

// A departure is when the last socket of a process was closed.
type departure struct {
	process *process
	at      time.Time
}

func (r *registry) attach(key processKey) *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire()
	p := r.known[key]
	if p == nil {
		p = &process{key: key}
		r.known[key] = p
	}
	p.sockets++
	return p
}

func (r *registry) detach(p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.sockets--; p.sockets == 0 {
		p.left = r.clock.Now()
		r.departed = append(r.departed, departure{p, p.left})
	}
	r.expire()
}

// expire deletes the processes that have been disconnected for too long. A process that reconnected and left again has
// a later entry.
func (r *registry) expire() {
	now := r.clock.Now()
	for len(r.departed) > 0 && now.Sub(r.departed[0].at) >= r.keep {
		gone := r.departed[0]
		r.departed[0] = departure{}
		r.departed = r.departed[1:]
		if gone.process.sockets == 0 && gone.process.left.Equal(gone.at) {
			delete(r.known, gone.process.key)
		}
	}
}

// A process stores the requests of one server process, so that a repeated one is carried out once and still answered.
type process struct {
	key     processKey
	sockets int       // guarded by the registry
	left    time.Time // guarded by the registry

	mu      sync.Mutex
	pending []*exchange
	replies []reply  // at most keptReplies; once full, a ring
	marks   []uint64 // of the replies, in the same order
	oldest  int
}

// mark is a hash for quick comparison of requests.
func mark(action, id string) uint64 { return maphash.String(seed, id) + uint64(len(action)) }

var seed = maphash.MakeSeed()

// An exchange is a pending request.
type exchange struct {
	action, id string
	mark       uint64
	began      time.Time
	socket     *socket   // that received it
	others     []*socket // that received repetitions
}

// addSocket adds a socket that received a repetition.
func (x *exchange) addSocket(s *socket) {
	if x.socket != s && !slices.Contains(x.others, s) {
		x.others = append(x.others, s)
	}
}

// A verdict is how to treat a request.
type verdict int

const (
	carryOut verdict = iota // new: carry it out
	repeated                // answered before: send the stored reply
	awaited                 // pending: the reply goes to this socket, too
	tooMany                 // new, but too many are pending
)

// begin registers a request received over s.
func (p *process) begin(s *socket, action, id string, now time.Time) (*exchange, reply, verdict) {
	m := mark(action, id)
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.marks {
		if r := &p.replies[i]; other == m && r.id == id && r.action == action {
			return nil, *r, repeated
		}
	}
	for _, x := range p.pending {
		if x.mark == m && x.id == id && x.action == action {
			x.addSocket(s)
			return nil, reply{}, awaited
		}
	}
	if len(p.pending) >= maxPending {
		return nil, reply{}, tooMany
	}
	x := &exchange{action: action, id: id, mark: m, began: now, socket: s}
	p.pending = append(p.pending, x)
	return x, reply{}, carryOut
}

// finish ends an exchange; false if it has ended before. With keep the reply is stored.
func (p *process) finish(x *exchange, r reply, keep bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.pending, x)
	if i < 0 {
		return false
	}
	p.pending = slices.Delete(p.pending, i, i+1)
	switch {
	case !keep:
	case len(p.replies) < keptReplies:
		p.replies, p.marks = append(p.replies, r), append(p.marks, x.mark)
	default:
		p.replies[p.oldest], p.marks[p.oldest] = r, x.mark
		p.oldest = (p.oldest + 1) % keptReplies
	}
	return true
}
