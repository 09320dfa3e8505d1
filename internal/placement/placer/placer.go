package placer

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// Config is what a Machine cannot decide by itself.
type Config struct {
	Shards    int                         // of the region
	Elsewhere func(nameOrArn string) bool // whether an ARN is of another Region; it is pure
	Random    func(b []byte)              // fills b, for ids of player sessions that cannot be guessed
	Failed    func(err error)             // is called when a recovery failed; it is tried again after retryAfter
}

// A Machine drives the placements of a region that are PENDING. Between Begin and End it acts; otherwise it only
// resolves queues. Its methods, and the functions of its requests, are called by one goroutine at a time, each after
// SetNow; after each of them the caller carries out Requests.
type Machine struct {
	cfg Config
	now event.Time

	active     bool // between Begin and End
	placements map[string]*pending
	waitlists  map[fleet.RoomID]*waitlist            // for the own builds of fleets
	versions   map[fleet.RoomID]map[string]*waitlist // for others, by their ids
	queues     map[string]*Queue                     // by name
	steps      *btree.BTreeG[*pending]               // that wait for a latency policy, by when
	shards     []observed
	requests   []Request

	catalog *catalog.State // nil: not known yet
	changed bool           // the catalog has changed since Review
	revised bool           // a queue has changed since the placements that wait for it were reviewed
	due     bool           // Review has something to do now

	recovery recovery
}

// observed is what is known of the rooms of a shard.
type observed struct {
	rooms      map[uint32]fleet.RoomID
	activating map[sessionKey]*fleet.GameSessionCreated // game sessions of attempts
}

// A sessionKey names a game session of a shard.
type sessionKey struct {
	room    uint32
	ordinal uint64
}

// A Request is something that a shard, or the history, is asked for: exactly one of Command, Read, View and Past is
// set. Answer, if set, is called once with the result, never before the call that made the request has returned.
type Request struct {
	Shard   int
	Command region.Command          // to be carried out; never refused because a queue is full
	Read    func(m *region.Machine) // is called with the owner's state, and must be quick
	View    func(m *region.Machine) // is called with a frozen copy of the state, outside of the machine
	// is looked up in the history; the answer is a *fleet.GameSession, nil if there is none
	Past   *PastSession
	Answer func(answer any, err error) // to Command and Past; only the error matters to Read and View
}

// ErrUnanswered is in the chain of an Answer's error if the outcome of the request is unknown, or it did not arrive:
// the shard has failed, and its recovery is about to be observed.
var ErrUnanswered = errors.New("the shard has failed")

// A PastSession names a game session that may be in the history.
type PastSession struct {
	Room fleet.RoomID
	ID   string
}

type pending struct {
	request           *placement.Request
	shard             int
	started, deadline event.Time

	stage   stage
	attempt int          // the number of the newest one; 0 before the first
	room    fleet.RoomID // of that one
	call    *call        // while beginning and running; nil for an attempt found by a recovery
	failed  int          // how often the shards failed to answer what became of the attempt

	queue  *Queue // the choice was made from
	choice placement.Choice
	next   int         // index of the next room of the choice to try
	lists  []*waitlist // it waits in
	step   event.Time  // when the choice changes by itself; 0: never
}

// stage is what is under way for a placement.
type stage uint8

const (
	searching stage = iota // a room is yet to be chosen
	waiting                // it is in waiting lists
	beginning              // its shard is asked to begin an attempt
	running                // an attempt runs
	refusing               // its shard is told that the attempt created no game session
)

// compare orders placements as they are served.
func (p *pending) compare(b *pending) int {
	return cmp.Or(cmp.Compare(p.started, b.started), strings.Compare(p.request.ID, b.request.ID))
}

func (p *pending) older(b *pending) bool { return p.compare(b) < 0 }

func (p *pending) stepsBefore(b *pending) bool {
	return p.step < b.step || p.step == b.step && p.older(b)
}

// New returns a machine that does not act yet.
func New(cfg Config) *Machine {
	m := &Machine{cfg: cfg}
	m.reset(false)
	return m
}

// SetNow sets the time of the steps that follow.
func (m *Machine) SetNow(now event.Time) { m.now = now }

// Begin makes the machine act from now on. It knows no shard until Recover.
func (m *Machine) Begin() { m.reset(true) }

// End forgets everything. Answers that are still under way have no effect.
func (m *Machine) End() { m.reset(false) }

func (m *Machine) reset(active bool) {
	m.active = active
	m.placements, m.waitlists, m.queues = map[string]*pending{}, map[fleet.RoomID]*waitlist{}, map[string]*Queue{}
	m.versions = map[fleet.RoomID]map[string]*waitlist{}
	m.steps = btree.NewBTreeGOptions((*pending).stepsBefore, btree.Options{NoLocks: true})
	m.shards = make([]observed, m.cfg.Shards)
	for i := range m.shards {
		m.shards[i] = observed{map[uint32]fleet.RoomID{}, map[sessionKey]*fleet.GameSessionCreated{}}
	}
	m.requests, m.revised, m.recovery = nil, false, newRecovery()
}

// Requests appends what is to be asked for to list, and forgets it.
func (m *Machine) Requests(list []Request) []Request {
	list = append(list, m.requests...)
	if cap(m.requests) > keptRequests {
		m.requests = nil
	}
	clear(m.requests)
	m.requests = m.requests[:0]
	return list
}

// keptRequests is the capacity up to which the list of requests is used again.
const keptRequests = 64

// tell requests a command for the shard of a placement.
func (m *Machine) tell(p *pending, c placement.Command, answer func(any, error)) {
	m.requests = append(m.requests, Request{Shard: p.shard, Command: region.PlacementCommand{Command: c},
		Answer: answer})
}

// tellRoom requests a command for a room.
func (m *Machine) tellRoom(room fleet.RoomID, c fleet.Command, answer func(any, error)) {
	m.requests = append(m.requests, Request{
		Shard: m.shardOf(room), Command: region.RoomCommand{Room: room, Command: c}, Answer: answer,
	})
}

func (m *Machine) shardOf(room fleet.RoomID) int { return region.ShardOf(room, m.cfg.Shards) }

// Pending is how many placements are PENDING.
func (m *Machine) Pending() int { return len(m.placements) }

// SetCatalog takes a new view of the catalog. Review looks at what follows from it.
func (m *Machine) SetCatalog(view *catalog.State) { m.catalog, m.changed, m.due = view, true, true }

// Due reports when Review has something to do: at once (0), at a time, or not (ok false).
func (m *Machine) Due() (at event.Time, ok bool) {
	if m.due {
		return 0, true
	}
	if m.catalog != nil {
		at, ok = m.recovery.due()
	}
	if first, waits := m.steps.Min(); waits && (!ok || first.step < at) {
		return first.step, true
	}
	return at, ok
}

// Review does what no fact and no answer triggers: it places those again whose queue has changed or whose next latency
// policy is in force, and begins recoveries.
func (m *Machine) Review() {
	m.due = false
	if m.changed {
		m.changed = false
		m.reviewQueues()
	}
	for {
		p, ok := m.steps.Min()
		if !ok || p.step > m.now {
			break
		}
		m.place(p)
	}
	m.recover()
}

// reviewQueues places those again who wait for a queue that has changed, or whose fleets have, and fails those whose
// queue was deleted.
func (m *Machine) reviewQueues() {
	for name, old := range m.queues {
		q, ok := m.catalog.Queue(name)
		if !ok || q.ID != old.queue.ID {
			delete(m.queues, name)
			m.revised = true
		}
		if ok {
			m.Queue(m.catalog, q)
		}
	}
	if !m.revised {
		return
	}
	m.revised = false
	for _, p := range m.byAge(func(p *pending) bool { return p.queue == nil || p.queue != m.queues[p.request.Queue] }) {
		if queue := m.queueOf(p.request); queue == nil {
			m.fail(p)
		} else if p.queue = queue; p.stage == waiting || p.stage == searching {
			m.place(p)
		}
	}
	for _, w := range m.sortedWaitlists() {
		if w.calls == 0 && w.waiting.Len() == 0 && !w.asking {
			m.forget(w) // its fleet may be deleted; it is made again when it is needed
			continue
		}
		m.freed(w) // a fleet may allow more activations now
	}
}

// byAge lists placements in the order in which they are served.
func (m *Machine) byAge(which func(*pending) bool) []*pending {
	var list []*pending
	for _, p := range m.placements {
		if which(p) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, (*pending).compare)
	return list
}

func (m *Machine) drop(p *pending) {
	m.leave(p)
	delete(m.placements, p.request.ID)
}
