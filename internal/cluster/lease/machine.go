package lease

import (
	"maps"
	"slices"
	"time"
)

// A Machine is one node's part. Moments are durations since a beginning of the
// node's own, by a clock that only goes forward, also while the computer is suspended. It is
// not for several goroutines.
type Machine struct {
	cfg     Config
	self    Life
	nodes   map[string]*node
	shards  []shard
	waiting map[Key]attempt

	informed, ready, leaving, departing bool

	established bool                     // our heartbeat's key names our life
	beats       uint64                   // heartbeats sent in this life
	sent        map[uint64]time.Duration // when those were sent that may yet be seen
	held        time.Duration            // when the newest one was sent that was seen
	steady      time.Duration            // since when heartbeats of ours are written without a gap
	nextBeat    time.Duration
	said        flags // by the newest heartbeat sent
	strangers   int   // changes that another process made to our heartbeat's key

	assigned []string // by shard; nil: to be computed
}

// node is what was seen of a heartbeat.
type node struct {
	revision  uint64
	value     Value
	seen      time.Duration // when it changed last or, earlier, when that was announced
	announced []announced   // the newest ones
}

// announced is a heartbeat that was about to be written.
type announced struct {
	life Life
	beat uint64
	at   time.Duration // when that was heard
}

// maxAnnounced is how many of them are remembered of a node: more than it tries to write
// while the store elects a leader.
const maxAnnounced = 16

func (n *node) lives() bool { return n.revision > 0 && !n.value.Gone }

type flags struct{ ready, leaving bool }

// attempt is a write: still under way, or failed and not to be tried again before.
type attempt struct {
	underWay bool
	expect   uint64
	again    time.Duration
}

type shard struct {
	revision uint64
	value    Value
	state    state
	tenure   uint64 // the revision of the key under which no tenure of ours begins any more
	giving   bool   // with state ending: to let another have it
}

type state uint8

const (
	vacant state = iota // no tenure of ours
	active
	ending // told to end, and not yet ended
)

// New makes a Machine that has seen nothing.
func New(cfg Config) *Machine {
	return &Machine{
		cfg: cfg, self: cfg.Self, nodes: map[string]*node{}, shards: make([]shard, cfg.Shards),
		waiting: map[Key]attempt{}, sent: map[uint64]time.Duration{},
	}
}

// Self is the present life of this node.
func (m *Machine) Self() Life { return m.self }

// Informed says that everything was shown that stood in the store at some moment since the
// machine was made. Before, it takes no shard that nobody owns: it cannot know who else should.
func (m *Machine) Informed() { m.informed = true }

// Ready lets shards be moved to this node.
func (m *Machine) Ready() { m.ready = true }

// Leave begins to give away all that this node owns, to others that are ready and
// stay. While there are none it goes on as if it stayed, until Depart.
func (m *Machine) Leave() { m.leaving = true }

// HandedOver reports whether this node leaves and has given away all that it owned. It
// is true, too, while there is nobody to give it to, whatever this node owns then: everyone else is
// gone, leaves, or is not ready. That may change.
func (m *Machine) HandedOver() bool {
	if !m.yields() {
		return m.leaving
	}
	if m.established && !m.node(m.self.Node).value.Leaving {
		return false // others cannot know yet, and may give us something
	}
	for i := range m.shards {
		s := &m.shards[i]
		if s.state != vacant || m.ours(s) || m.waiting[Key{Shard: i}].underWay {
			return false
		}
	}
	return true
}

// Depart ends the life of this node, and all its tenures.
func (m *Machine) Depart() { m.departing = true }

// Departed reports, after Depart, whether no tenure is left and others know that this node is
// gone. When the store is away, they will find out: it is enough then that what it held has run out.
func (m *Machine) Departed(now time.Duration) bool {
	return m.departing && m.allEnded() && !m.holds(now)
}

// Contested reports whether another process lives under the same name.
func (m *Machine) Contested() bool { return m.strangers > 3 }

// HoldsUntil is the moment from which on the present life holds nothing, unless a
// newer heartbeat is seen. It is negative when it holds nothing yet. What an earlier life held is
// never held again.
func (m *Machine) HoldsUntil() time.Duration {
	if !m.established || m.held < 0 {
		return -1
	}
	return m.held + m.cfg.Hold
}

func (m *Machine) holds(now time.Duration) bool { return now < m.HoldsUntil() }

// Owner is who owns a shard, and since which change, as far as this node has seen; not
// ok when nobody does.
func (m *Machine) Owner(shard int) (owner Life, epoch uint64, ok bool) {
	s := &m.shards[shard]
	n := m.nodes[s.value.Life.Node]
	if s.revision == 0 || n == nil || !n.lives() || n.value.Life != s.value.Life {
		return Life{}, 0, false
	}
	return s.value.Life, s.value.Epoch, true
}

// Known are the heartbeats of all nodes that have a key, by name: also of those that are gone, for as
// long as nobody deletes the key.
func (m *Machine) Known() []Value {
	var known []Value
	for _, name := range slices.Sorted(maps.Keys(m.nodes)) {
		if n := m.nodes[name]; n.revision > 0 && n.value.Life.Node == name {
			known = append(known, n.value)
		}
	}
	return known
}

// Seen takes notice of an entry. Entries may come late, several times and in any
// order.
func (m *Machine) Seen(now time.Duration, e Entry) {
	if e.Key.Node != "" {
		m.seenNode(now, e)
		return
	}
	if e.Key.Shard < 0 || e.Key.Shard >= len(m.shards) {
		return
	}
	if s := &m.shards[e.Key.Shard]; e.Revision > s.revision {
		s.revision, s.value = e.Revision, e.Value
		m.mayWrite(e.Key)
	}
}

// Announced says that a heartbeat is about to be written: its node counts how long that lets
// it hold from a moment before. So it counts as seen from now on, once it is seen. A node that
// hears nobody may write one that the others do not see before they have elected another
// leader of the store, and would count from then.
func (m *Machine) Announced(now time.Duration, v Value) {
	n := m.nodes[v.Life.Node]
	if n == nil {
		return
	}
	n.announced = append(n.announced, announced{v.Life, v.Beat, now})
	if len(n.announced) > maxAnnounced {
		n.announced = slices.Delete(n.announced, 0, 1)
	}
}

// begun is when a heartbeat began to be written, at the latest.
func (n *node) begun(v Value, now time.Duration) time.Duration {
	for _, a := range n.announced {
		if a.life == v.Life && a.beat == v.Beat {
			return a.at
		}
	}
	return now
}

func (m *Machine) seenNode(now time.Duration, e Entry) {
	n := m.nodes[e.Key.Node]
	if n == nil {
		n = &node{}
		m.nodes[e.Key.Node] = n
	}
	if e.Revision <= n.revision {
		return
	}
	n.revision, n.value, n.seen = e.Revision, e.Value, n.begun(e.Value, now)
	m.assigned = nil
	m.mayWrite(e.Key)
	if e.Key.Node == m.self.Node {
		m.seenSelf(now, e.Value)
	}
}

// seenSelf takes notice of our own heartbeat's key.
func (m *Machine) seenSelf(now time.Duration, v Value) {
	if v.Life != m.self || v.Gone {
		if v.Life.Process != m.self.Process {
			m.strangers++
		}
		if m.established || v.Life == m.self { // it may be gone before we saw its first heartbeat
			m.die()
		}
		return
	}
	m.strangers = 0
	at, ok := m.sent[v.Beat]
	if !ok {
		return
	}
	if !m.established || m.late(at-m.held) {
		m.steady = now
	}
	if !m.established || at > m.held {
		m.held = at
	}
	m.established = true
	maps.DeleteFunc(m.sent, func(beat uint64, _ time.Duration) bool { return beat <= v.Beat })
}

// late reports whether this is too long from one heartbeat of ours that was written to the next.
func (m *Machine) late(gap time.Duration) bool { return gap > m.cfg.Renew+m.cfg.Write }

// die ends this life: somebody declared it gone. The next one has nothing.
func (m *Machine) die() {
	m.self.Number++
	m.established, m.held, m.beats, m.nextBeat, m.said = false, -1, 0, 0, flags{}
	clear(m.sent)
}

// mayWrite lets a key be written again at once: it has changed.
func (m *Machine) mayWrite(k Key) {
	if a, ok := m.waiting[k]; ok && !a.underWay {
		delete(m.waiting, k)
	}
}

// Written says that a write is no longer under way. What it wrote, if it did, is
// told by Seen, before. One that failed is not tried again at once, unless the key is known to have
// changed meanwhile.
func (m *Machine) Written(now time.Duration, k Key, ok bool) {
	failed := m.waiting[k]
	delete(m.waiting, k)
	if !ok && m.revision(k) == failed.expect {
		m.waiting[k] = attempt{again: now + m.cfg.Retry}
	}
}

// revision is the newest that was seen of a key.
func (m *Machine) revision(k Key) uint64 {
	if k.Node != "" {
		return m.node(k.Node).revision
	}
	return m.shards[k.Shard].revision
}

// Ended says that nothing is left of a tenure that was to end.
func (m *Machine) Ended(shard int) { m.shards[shard].state = vacant }

// Step gives what is to be done now. It is called after each of the other
// methods, and often enough besides: several times for each Renew. Heartbeats among the writes are sent
// after now.
func (m *Machine) Step(now time.Duration) Actions {
	var a Actions
	m.beat(now, &a)
	m.bury(now, &a)
	if m.assigned == nil {
		m.assigned = Assign(m.candidates(), len(m.shards))
	}
	moving := m.moving()
	for i := range m.shards {
		m.tend(now, i, &moving, &a)
	}
	return a
}

// write adds a write, unless one to this key is under way or has just failed.
func (m *Machine) write(now time.Duration, a *Actions, w Write) bool {
	if p, ok := m.waiting[w.Key]; ok && (p.underWay || now < p.again) {
		return false
	}
	m.waiting[w.Key] = attempt{underWay: true, expect: w.Expect}
	a.Writes = append(a.Writes, w)
	return true
}

// beat writes our heartbeat.
func (m *Machine) beat(now time.Duration, a *Actions) {
	mine := m.node(m.self.Node)
	if m.departing {
		if m.established && m.allEnded() {
			m.write(now, a, Write{m.key(), mine.revision, Value{Life: m.self, Gone: true, Level: m.cfg.Level}})
		}
		return
	}
	if !m.established && mine.lives() && mine.value.Life.Process != m.self.Process && now-mine.seen < m.cfg.Lease {
		return // a former process of our name may still hold what it owns
	}
	say := flags{m.ready, m.leaving}
	if m.established && now < m.nextBeat && say == m.said {
		return
	}
	v := Value{Life: m.self, Beat: m.beats + 1, Ready: m.ready, Leaving: m.leaving, Level: m.cfg.Level}
	if m.write(now, a, Write{m.key(), mine.revision, v}) {
		m.beats++
		m.sent[m.beats] = now
		m.nextBeat, m.said = now+m.cfg.Renew, say
	}
}

func (m *Machine) key() Key { return Key{Node: m.self.Node} }

var unseen node

// node gives what was seen of a heartbeat; it is not to be changed.
func (m *Machine) node(name string) *node {
	if n := m.nodes[name]; n != nil {
		return n
	}
	return &unseen
}

// bury declares those gone whose heartbeats have ended, while the store takes ours. When it was
// away, for us at least, the others have the time to be heard again.
func (m *Machine) bury(now time.Duration, a *Actions) {
	if !m.holds(now) || m.late(now-m.held) || now-m.steady < m.cfg.Write+2*m.cfg.Retry {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m.nodes)) {
		if n := m.nodes[name]; name != m.self.Node && n.lives() && now-n.seen >= m.cfg.Lease {
			m.write(now, a, Write{Key{Node: name}, n.revision, Value{Life: n.value.Life, Gone: true, Level: n.value.Level}})
		}
	}
}

// standing says who should own shards rather than others: the lowest. One who leaves and is
// ready still does better than one who stays and does not know yet what the shards hold.
func (n *node) standing() int {
	switch {
	case n.value.Ready && !n.value.Leaving:
		return 0
	case n.value.Ready:
		return 1
	case !n.value.Leaving:
		return 2
	default:
		return 3
	}
}

// candidates are those who should own shards: the living of the best standing.
func (m *Machine) candidates() []string {
	var names [4][]string
	for name, n := range m.nodes {
		if n.lives() {
			names[n.standing()] = append(names[n.standing()], name)
		}
	}
	for _, best := range names {
		if len(best) > 0 {
			return best
		}
	}
	return nil
}

// yields reports whether this node leaves, and another is ready and stays: then it begins no
// tenure any more.
func (m *Machine) yields() bool {
	if !m.leaving {
		return false
	}
	for name, n := range m.nodes {
		if name != m.self.Node && n.lives() && n.standing() == 0 {
			return true
		}
	}
	return false
}

// allEnded reports whether no tenure is left.
func (m *Machine) allEnded() bool {
	return !slices.ContainsFunc(m.shards, func(s shard) bool { return s.state != vacant })
}

// moving is how many shards are on their way from us to another.
func (m *Machine) moving() int {
	n := 0
	for i := range m.shards {
		if s := &m.shards[i]; s.state == ending && s.giving || s.state == vacant && m.spent(s) {
			n++
		}
	}
	return n
}

// ours reports whether a shard's key names us.
func (m *Machine) ours(s *shard) bool { return s.revision > 0 && s.value.Life == m.self }

// spent reports whether our tenure under the present revision of the key has begun and
// ended, or we have given the shard away without one.
func (m *Machine) spent(s *shard) bool { return m.ours(s) && s.tenure == s.revision }

// tend does what there is to do for one shard.
func (m *Machine) tend(now time.Duration, i int, moving *int, a *Actions) {
	s := &m.shards[i]
	switch {
	case s.state == active:
		m.tendActive(now, i, moving, a)
	case s.state == ending, m.departing, !m.holds(now):
	case m.ours(s) && s.revision != s.tenure && !m.yields():
		s.state, s.tenure = active, s.revision
		a.Begin = append(a.Begin, i)
	case m.ours(s):
		if to, ok := m.heir(now, i); ok {
			m.assignTo(now, i, to, a)
		}
	case m.wants(i) && m.orphan(now, s, a):
		m.assignTo(now, i, m.self, a)
	}
}

// tendActive ends a tenure when it is over or another shall have the shard.
func (m *Machine) tendActive(now time.Duration, i int, moving *int, a *Actions) {
	s := &m.shards[i]
	over := s.revision != s.tenure || !m.ours(s) || m.departing || now >= m.HoldsUntil()+m.cfg.Linger
	give := !over && *moving < m.cfg.Moves && m.shouldGive(now, i)
	if !over && !give {
		return
	}
	if give {
		*moving++
	}
	s.state, s.giving = ending, give
	a.End = append(a.End, i)
}

// shouldGive reports whether another should have a shard that we hold.
func (m *Machine) shouldGive(now time.Duration, i int) bool {
	to, ok := m.heir(now, i)
	return ok && to != m.self && (m.ready || m.leaving) && m.holds(now)
}

// heir is who shall have a shard after a tenure of ours: who should own it, if he
// stays and shows life; else we, unless another is there to have it.
func (m *Machine) heir(now time.Duration, i int) (Life, bool) {
	n := m.node(m.assigned[i])
	if m.assigned[i] != m.self.Node && !n.value.Leaving && now-n.seen < m.cfg.Lease*2/3 {
		return n.value.Life, true
	}
	return m.self, !m.yields()
}

// wants reports whether we should have a shard that nobody owns.
func (m *Machine) wants(i int) bool {
	return m.informed && !m.yields() && m.assigned[i] == m.self.Node
}

// orphan reports whether a shard has no owner any more, for good. Where the proof
// of it is older than the shard's key, it has the proof written again.
func (m *Machine) orphan(now time.Duration, s *shard, a *Actions) bool {
	if s.revision == 0 {
		return true
	}
	owner := s.value.Life
	n := m.node(owner.Node)
	switch {
	case n.lives() && n.value.Life == owner:
		return false
	case n.revision > s.revision:
		return true
	case !n.lives():
		m.write(now, a, Write{Key{Node: owner.Node}, n.revision, Value{Life: owner, Gone: true, Level: n.value.Level}})
	}
	return false
}

// assignTo writes the key of a shard. From then on no tenure may begin under its present
// revision.
func (m *Machine) assignTo(now time.Duration, i int, to Life, a *Actions) {
	s := &m.shards[i]
	if m.write(now, a, Write{Key{Shard: i}, s.revision, Value{Life: to, Epoch: s.value.Epoch + 1}}) {
		s.tenure = s.revision
	}
}
