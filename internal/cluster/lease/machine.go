package lease

import (
	"maps"
	"slices"
	"time"
)

// A Machine decides for one node. Times are durations since any moment, by a clock that never goes back and includes
// suspended time. It is not safe for concurrent use.
type Machine struct {
	cfg     Config
	self    Run
	nodes   map[string]*node
	shards  []shard
	waiting map[Key]attempt

	informed, ready, leaving, departing bool

	established bool                     // the key of this node's heartbeat names this run
	beats       uint64                   // heartbeats sent in this run
	sent        map[uint64]time.Duration // send times of heartbeats that may yet be seen
	held        time.Duration            // send time of the newest heartbeat seen
	steady      time.Duration            // since when this node's heartbeats are written without a gap
	nextBeat    time.Duration
	said        flags // flags of the newest heartbeat sent
	conflicts   int   // changes of this node's heartbeat by another process

	assigned []string // by shard; nil: to be computed
}

// node is the last heartbeat seen of a node.
type node struct {
	revision  uint64
	value     Value
	seen      time.Duration // when it changed last, or when that was announced
	announced []announced   // newest last
}

// announced is a heartbeat that is about to be written.
type announced struct {
	run  Run
	beat uint64
	at   time.Duration // when the announcement was received
}

// maxAnnounced is how many are kept for a node: more than it tries to write during an election of the store's leader.
const maxAnnounced = 16

func (n *node) runs() bool { return n.revision > 0 && !n.value.Gone }

type flags struct{ ready, leaving bool }

// attempt is a write that is in progress, or has failed and must not be retried before again.
type attempt struct {
	underWay bool
	expect   uint64
	again    time.Duration
}

type shard struct {
	revision uint64
	value    Value
	state    state
	term     uint64 // the revision of the key under which this node begins no term any more
	giving   bool   // with state ending: for a transfer
}

type state uint8

const (
	vacant state = iota // no term of this node
	active
	ending // must end, and has not yet
)

// New returns a Machine that has seen nothing.
func New(cfg Config) *Machine {
	return &Machine{
		cfg: cfg, self: cfg.Self, nodes: map[string]*node{}, shards: make([]shard, cfg.Shards),
		waiting: map[Key]attempt{}, sent: map[uint64]time.Duration{},
	}
}

// Self returns the present run of this node.
func (m *Machine) Self() Run { return m.self }

// Informed reports to the machine that it has seen all entries that the store had at some moment since New. Before, it
// takes no unowned shard: it cannot know which node should.
func (m *Machine) Informed() { m.informed = true }

// Ready allows moving shards to this node.
func (m *Machine) Ready() { m.ready = true }

// Leave starts to transfer all shards of this node to nodes that are ready and stay. While there are none it continues
// as if it stayed, until Depart.
func (m *Machine) Leave() { m.leaving = true }

// Transferred reports whether this node leaves and has transferred all of its shards. It is also true, whatever it
// owns, while no node can take them: all others are gone, leave, or are not ready. That may change.
func (m *Machine) Transferred() bool {
	if !m.yields() {
		return m.leaving
	}
	if m.established && !m.node(m.self.Node).value.Leaving {
		return false // other nodes cannot know yet, and may transfer a shard to this one
	}
	for i := range m.shards {
		s := &m.shards[i]
		if s.state != vacant || m.owns(s) || m.waiting[Key{Shard: i}].underWay {
			return false
		}
	}
	return true
}

// Depart ends this run, and all its terms.
func (m *Machine) Depart() { m.departing = true }

// Departed reports, after Depart, whether no term is left and the others know that this node is gone. If the store is
// unavailable, the expiry of its leases suffices: the others will find out.
func (m *Machine) Departed(now time.Duration) bool {
	return m.departing && m.allEnded() && !m.holds(now)
}

// Contested reports whether another process runs under the same name.
func (m *Machine) Contested() bool { return m.conflicts > 3 }

// HoldsUntil returns until when the present run holds its shards, unless a newer heartbeat is seen; negative if it does
// not hold yet. No run holds shards of an earlier one.
func (m *Machine) HoldsUntil() time.Duration {
	if !m.established || m.held < 0 {
		return -1
	}
	return m.held + m.cfg.Hold
}

func (m *Machine) holds(now time.Duration) bool { return now < m.HoldsUntil() }

// Owner returns the owner of a shard and its epoch, as far as this node has seen; ok is false if there is none.
func (m *Machine) Owner(shard int) (owner Run, epoch uint64, ok bool) {
	s := &m.shards[shard]
	n := m.nodes[s.value.Run.Node]
	if s.revision == 0 || n == nil || !n.runs() || n.value.Run != s.value.Run {
		return Run{}, 0, false
	}
	return s.value.Run, s.value.Epoch, true
}

// Known returns the heartbeats of all nodes that have a key, by name, gone ones included, until an operator deletes the
// key.
func (m *Machine) Known() []Value {
	var known []Value
	for _, name := range slices.Sorted(maps.Keys(m.nodes)) {
		if n := m.nodes[name]; n.revision > 0 && n.value.Run.Node == name {
			known = append(known, n.value)
		}
	}
	return known
}

// Seen processes an entry. Entries may arrive late, repeatedly and in any order.
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

// Announced records that a heartbeat is about to be written. Its node counts Hold from a moment before, so Lease counts
// from now on once the heartbeat is seen. A node whose incoming connections fail may write a heartbeat that the others
// see only after an election of the store's leader, and they would count from then.
func (m *Machine) Announced(now time.Duration, v Value) {
	n := m.nodes[v.Run.Node]
	if n == nil {
		return
	}
	n.announced = append(n.announced, announced{v.Run, v.Beat, now})
	if len(n.announced) > maxAnnounced {
		n.announced = slices.Delete(n.announced, 0, 1)
	}
}

// begun returns when the write of a heartbeat began, at the latest.
func (n *node) begun(v Value, now time.Duration) time.Duration {
	for _, a := range n.announced {
		if a.run == v.Run && a.beat == v.Beat {
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

// seenSelf processes an entry of this node's heartbeat.
func (m *Machine) seenSelf(now time.Duration, v Value) {
	if v.Run != m.self || v.Gone {
		if v.Run.Process != m.self.Process {
			m.conflicts++
		}
		if m.established || v.Run == m.self { // it may be declared gone before its first heartbeat is seen
			m.endRun()
		}
		return
	}
	m.conflicts = 0
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

// late reports whether this is too long between two written heartbeats of this node.
func (m *Machine) late(gap time.Duration) bool { return gap > m.cfg.Renew+m.cfg.Write }

// endRun ends this run, which another node declared gone. The next run owns nothing.
func (m *Machine) endRun() {
	m.self.Number++
	m.established, m.held, m.beats, m.nextBeat, m.said = false, -1, 0, 0, flags{}
	clear(m.sent)
}

// mayWrite allows an immediate write of a key, which has changed.
func (m *Machine) mayWrite(k Key) {
	if a, ok := m.waiting[k]; ok && !a.underWay {
		delete(m.waiting, k)
	}
}

// Written reports the end of a write to the machine. If it succeeded, Seen has reported the entry before. A failed one
// is not retried at once, unless the key has changed meanwhile.
func (m *Machine) Written(now time.Duration, k Key, ok bool) {
	failed := m.waiting[k]
	delete(m.waiting, k)
	if !ok && m.revision(k) == failed.expect {
		m.waiting[k] = attempt{again: now + m.cfg.Retry}
	}
}

// revision returns the newest revision seen of a key.
func (m *Machine) revision(k Key) uint64 {
	if k.Node != "" {
		return m.node(k.Node).revision
	}
	return m.shards[k.Shard].revision
}

// Ended reports to the machine that a term has ended completely.
func (m *Machine) Ended(shard int) { m.shards[shard].state = vacant }

// Step returns what to do now. It must be called after each of the other methods, and several times within Renew.
// Heartbeats among the writes must be sent after now.
func (m *Machine) Step(now time.Duration) Actions {
	var a Actions
	m.beat(now, &a)
	m.declareGone(now, &a)
	if m.assigned == nil {
		m.assigned = Assign(m.candidates(), len(m.shards))
	}
	moving := m.moving()
	for i := range m.shards {
		m.decide(now, i, &moving, &a)
	}
	return a
}

// write adds a write, unless one of this key is in progress or has just failed.
func (m *Machine) write(now time.Duration, a *Actions, w Write) bool {
	if p, ok := m.waiting[w.Key]; ok && (p.underWay || now < p.again) {
		return false
	}
	m.waiting[w.Key] = attempt{underWay: true, expect: w.Expect}
	a.Writes = append(a.Writes, w)
	return true
}

// beat writes this node's heartbeat.
func (m *Machine) beat(now time.Duration, a *Actions) {
	mine := m.node(m.self.Node)
	if m.departing {
		if m.established && m.allEnded() {
			m.write(now, a, Write{m.key(), mine.revision, Value{Run: m.self, Gone: true, Level: m.cfg.Level}})
		}
		return
	}
	if !m.established && mine.runs() && mine.value.Run.Process != m.self.Process && now-mine.seen < m.cfg.Lease {
		return // a former process of the same name may still hold its shards
	}
	say := flags{m.ready, m.leaving}
	if m.established && now < m.nextBeat && say == m.said {
		return
	}
	v := Value{Run: m.self, Beat: m.beats + 1, Ready: m.ready, Leaving: m.leaving, Level: m.cfg.Level}
	if m.write(now, a, Write{m.key(), mine.revision, v}) {
		m.beats++
		m.sent[m.beats] = now
		m.nextBeat, m.said = now+m.cfg.Renew, say
	}
}

func (m *Machine) key() Key { return Key{Node: m.self.Node} }

var unseen node

// node returns the heartbeat seen of a node; it must not be changed.
func (m *Machine) node(name string) *node {
	if n := m.nodes[name]; n != nil {
		return n
	}
	return &unseen
}

// declareGone declares nodes gone whose heartbeats have ended, while the store accepts this node's heartbeats. After an
// outage of the store it waits until the others can have written theirs.
func (m *Machine) declareGone(now time.Duration, a *Actions) {
	if !m.holds(now) || m.late(now-m.held) || now-m.steady < m.cfg.Write+2*m.cfg.Retry {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m.nodes)) {
		if n := m.nodes[name]; name != m.self.Node && n.runs() && now-n.seen >= m.cfg.Lease {
			m.write(now, a, Write{Key{Node: name}, n.revision,
				Value{Run: n.value.Run, Gone: true, Level: n.value.Level}})
		}
	}
}

// rank returns a node's rank as an owner of shards: the lowest are preferred. A node that leaves and is ready is better
// than one that stays and has not loaded its replicas.
func (n *node) rank() int {
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

// candidates returns the nodes that should own shards: the living ones of the best rank.
func (m *Machine) candidates() []string {
	var names [4][]string
	for name, n := range m.nodes {
		if n.runs() {
			names[n.rank()] = append(names[n.rank()], name)
		}
	}
	for _, best := range names {
		if len(best) > 0 {
			return best
		}
	}
	return nil
}

// yields reports whether this node leaves and another is ready and stays: then it begins no term any more.
func (m *Machine) yields() bool {
	if !m.leaving {
		return false
	}
	for name, n := range m.nodes {
		if name != m.self.Node && n.runs() && n.rank() == 0 {
			return true
		}
	}
	return false
}

// allEnded reports whether no term is left.
func (m *Machine) allEnded() bool {
	return !slices.ContainsFunc(m.shards, func(s shard) bool { return s.state != vacant })
}

// moving returns the number of shards in transfer from this node.
func (m *Machine) moving() int {
	n := 0
	for i := range m.shards {
		if s := &m.shards[i]; s.state == ending && s.giving || s.state == vacant && m.spent(s) {
			n++
		}
	}
	return n
}

// owns reports whether a shard's key names this run.
func (m *Machine) owns(s *shard) bool { return s.revision > 0 && s.value.Run == m.self }

// spent reports whether this node's term under the present revision of the key has ended, or it has transferred the
// shard without one.
func (m *Machine) spent(s *shard) bool { return m.owns(s) && s.term == s.revision }

// decide decides for one shard.
func (m *Machine) decide(now time.Duration, i int, moving *int, a *Actions) {
	s := &m.shards[i]
	switch {
	case s.state == active:
		m.decideActive(now, i, moving, a)
	case s.state == ending, m.departing, !m.holds(now):
	case m.owns(s) && s.revision != s.term && !m.yields():
		s.state, s.term = active, s.revision
		a.Begin = append(a.Begin, i)
	case m.owns(s):
		if to, ok := m.successor(now, i); ok {
			m.assignTo(now, i, to, a)
		}
	case m.wants(i) && m.unowned(now, s, a):
		m.assignTo(now, i, m.self, a)
	}
}

// decideActive ends a term when its lease has expired, or for a transfer.
func (m *Machine) decideActive(now time.Duration, i int, moving *int, a *Actions) {
	s := &m.shards[i]
	over := s.revision != s.term || !m.owns(s) || m.departing || now >= m.HoldsUntil()+m.cfg.Linger
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

// shouldGive reports whether this node should transfer a shard that it holds.
func (m *Machine) shouldGive(now time.Duration, i int) bool {
	to, ok := m.successor(now, i)
	return ok && to != m.self && (m.ready || m.leaving) && m.holds(now)
}

// successor returns the successor of this node's term: the node that should own the shard, if it stays and is alive;
// else this node, unless another one can take it.
func (m *Machine) successor(now time.Duration, i int) (Run, bool) {
	n := m.node(m.assigned[i])
	if m.assigned[i] != m.self.Node && !n.value.Leaving && now-n.seen < m.cfg.Lease*2/3 {
		return n.value.Run, true
	}
	return m.self, !m.yields()
}

// wants reports whether this node should own a shard without an owner.
func (m *Machine) wants(i int) bool {
	return m.informed && !m.yields() && m.assigned[i] == m.self.Node
}

// unowned reports whether a shard has no owner any more, for good. If the proof is older than the shard's key, it
// writes the proof again.
func (m *Machine) unowned(now time.Duration, s *shard, a *Actions) bool {
	if s.revision == 0 {
		return true
	}
	owner := s.value.Run
	n := m.node(owner.Node)
	switch {
	case n.runs() && n.value.Run == owner:
		return false
	case n.revision > s.revision:
		return true
	case !n.runs():
		m.write(now, a, Write{Key{Node: owner.Node}, n.revision, Value{Run: owner, Gone: true, Level: n.value.Level}})
	}
	return false
}

// assignTo writes the key of a shard. No term may begin under its present revision any more.
func (m *Machine) assignTo(now time.Duration, i int, to Run, a *Actions) {
	s := &m.shards[i]
	if m.write(now, a, Write{Key{Shard: i}, s.revision, Value{Run: to, Epoch: s.value.Epoch + 1}}) {
		s.term = s.revision
	}
}
