package lease_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/cluster/lease"
)

const (
	ms = time.Millisecond
	// drift is by how much clocks go wrong. Two that go wrong in opposite
	// directions differ by twice as much, which is less than Hold from Lease.
	drift = 0.05
)

func config(name string, start int) lease.Config {
	return lease.Config{
		Self:   lease.Run{Node: name, Process: fmt.Sprint(name, "-", start), Number: 1},
		Shards: 8, Lease: 3 * time.Second, Hold: 2500 * ms, Renew: time.Second, Retry: 250 * ms, Write: 500 * ms,
		Linger: 6 * time.Second, Moves: 2,
	}
}

// faults are what a world does to its nodes, and the mistakes planted in it.
type faults struct {
	lose, slow float64 // chances of a message
	pauses     bool    // and cuts, kills, and times without store

	hold     time.Duration // planted: a node holds for longer than it may
	blindly  bool          // planted: the store does not compare the revision of heartbeats
	inherits bool          // planted: a term of an earlier run is held by a later one
	early    bool          // planted: a heartbeat is announced long before it is sent
}

// A world is a store and nodes around it, under one true time.
type world struct {
	rnd    *rand.Rand
	faults faults
	now    time.Duration
	events events
	serial int

	revision  uint64
	store     map[lease.Key]lease.Entry
	down      bool
	lastMoved time.Duration // when a shard's key changed last

	nodes []*simulated
	trace []string
	bad   string // the first violation
}

// simulated is one start of a node: a machine, its clock and its terms.
type simulated struct {
	w      *world
	m      *lease.Machine
	start  time.Duration
	rate   float64
	paused bool
	cut    bool
	cutIn  bool // it sends, and receives nothing
	dead   bool
	going  bool // it leaves, and another start is on its way
	inbox  []func()
	terms  map[int]lease.Run // not yet ended, and the run that began them
	until  map[lease.Run]time.Duration
}

type event struct {
	at     time.Duration
	serial int
	do     func()
}

type events []event

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].serial < q[j].serial
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(x any)   { *q = append(*q, x.(event)) }
func (q *events) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func newWorld(seed uint64, f faults) *world {
	return &world{rnd: rand.New(rand.NewPCG(seed, 1)), faults: f, store: map[lease.Key]lease.Entry{}}
}

func (w *world) after(d time.Duration, do func()) {
	w.serial++
	heap.Push(&w.events, event{w.now + d, w.serial, do})
}

func (w *world) note(format string, args ...any) {
	if len(w.trace) < 20000 {
		w.trace = append(w.trace, fmt.Sprintf("%v: ", w.now)+fmt.Sprintf(format, args...))
	}
}

func (w *world) runUntil(end time.Duration) {
	for len(w.events) > 0 && w.events[0].at <= end && w.bad == "" {
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		e.do()
		w.check()
	}
	w.now = end
}

// check is the invariant: no shard is held twice.
func (w *world) check() {
	for i := range config("", 0).Shards {
		var holders []string
		for _, n := range w.nodes {
			if n.holds(i) {
				holders = append(holders, n.m.Self().Process)
			}
		}
		if len(holders) > 1 {
			w.bad = fmt.Sprintf("%v: shard %d is held by %v", w.now, i, holders)
		}
	}
}

func (n *simulated) clock() time.Duration { return time.Duration(float64(n.w.now-n.start) * n.rate) }

func (n *simulated) holds(shard int) bool {
	run, ok := n.terms[shard]
	if n.w.faults.inherits {
		run = n.m.Self()
	}
	return ok && !n.dead && n.clock() < n.until[run]
}

func (w *world) delay() time.Duration {
	if w.rnd.Float64() < w.faults.slow {
		return time.Duration(w.rnd.Int64N(int64(4 * time.Second)))
	}
	return time.Duration(w.rnd.Int64N(int64(20 * ms)))
}

// send lets something happen that a node asks for, after the delay of the network, unless it
// is lost.
func (w *world) send(n *simulated, do func()) {
	if n.cut || w.rnd.Float64() < w.faults.lose {
		return
	}
	w.after(w.delay(), do)
}

// tell notifies a node of something, in the same way.
func (w *world) tell(n *simulated, do func()) {
	if !n.cutIn {
		w.send(n, do)
	}
}

func (w *world) join(name string, start int, ready bool) *simulated {
	cfg := config(name, start)
	if w.faults.hold > 0 {
		cfg.Hold = w.faults.hold
	}
	n := &simulated{
		w: w, m: lease.New(cfg), start: w.now, rate: 1 + drift*(2*w.rnd.Float64()-1),
		terms: map[int]lease.Run{}, until: map[lease.Run]time.Duration{},
	}
	w.nodes = append(w.nodes, n)
	w.note("%s starts", cfg.Self.Process)
	if ready {
		w.after(time.Duration(w.rnd.Int64N(int64(2*time.Second))), func() { n.do(n.m.Ready) })
	}
	n.snapshot()
	w.after(20*ms, func() { n.do(n.m.Informed) })
	n.tick()
	return n
}

// do lets the node take notice of something, when it is not paused.
func (n *simulated) do(f func()) {
	switch {
	case n.dead:
	case n.paused:
		n.inbox = append(n.inbox, f)
	default:
		f()
		n.step()
	}
}

func (n *simulated) tick() {
	if !n.dead {
		n.w.after(50*ms, n.tick)
		if !n.paused {
			n.step()
		}
	}
}

// snapshot shows the node all keys, now and then: its watch restarts.
func (n *simulated) snapshot() {
	if n.dead {
		return
	}
	for _, e := range n.w.sorted() {
		n.w.tell(n, func() { n.seen(e) })
	}
	n.w.after(2*time.Second, n.snapshot)
}

func (w *world) sorted() []lease.Entry {
	var all []lease.Entry
	for _, e := range w.store {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b lease.Entry) int { return int(a.Revision) - int(b.Revision) })
	return all
}

func (n *simulated) seen(e lease.Entry) { n.do(func() { n.m.Seen(n.clock(), e) }) }

func (n *simulated) step() {
	a := n.m.Step(n.clock())
	n.until[n.m.Self()] = n.m.HoldsUntil()
	for _, i := range a.Begin {
		if _, ok := n.terms[i]; ok {
			n.w.bad = fmt.Sprintf("%v: %v begins shard %d twice", n.w.now, n.m.Self(), i)
		}
		n.terms[i] = n.m.Self()
		n.w.note("%v begins shard %d", n.m.Self(), i)
	}
	for _, i := range a.End {
		n.w.after(n.w.delay()/4, func() {
			n.do(func() {
				delete(n.terms, i)
				n.w.note("%v ended shard %d", n.m.Self(), i)
				n.m.Ended(i)
			})
		})
	}
	for _, wr := range a.Writes {
		n.announce(wr)
		n.write(wr)
	}
}

// announce tells the other nodes of a heartbeat that is about to be written.
func (n *simulated) announce(wr lease.Write) {
	if wr.Key.Node == "" || wr.Value.Gone {
		return
	}
	v := wr.Value
	if n.w.faults.early {
		v.Beat++
	}
	for _, other := range n.w.nodes {
		if other != n {
			n.w.send(n, func() { n.w.tell(other, func() { other.do(func() { other.m.Announced(other.clock(), v) }) }) })
		}
	}
}

// write is a compare-and-set with all that can happen to it. The node does not wait for ever.
func (n *simulated) write(wr lease.Write) {
	w, answered := n.w, false
	answer := func(f func()) {
		n.do(func() {
			if !answered {
				answered = true
				f()
			}
		})
	}
	w.after(config("", 0).Write, func() { answer(func() { n.m.Written(n.clock(), wr.Key, false) }) })
	w.send(n, func() {
		e, ok := w.compareAndSet(wr)
		w.tell(n, func() {
			answer(func() {
				if ok {
					n.m.Seen(n.clock(), e)
				}
				n.m.Written(n.clock(), wr.Key, ok)
			})
		})
	})
}

func (w *world) compareAndSet(wr lease.Write) (lease.Entry, bool) {
	blindly := w.faults.blindly && wr.Key.Node != ""
	if w.down || !blindly && w.store[wr.Key].Revision != wr.Expect {
		return lease.Entry{}, false
	}
	w.revision++
	e := lease.Entry{Key: wr.Key, Revision: w.revision, Value: wr.Value}
	w.store[wr.Key] = e
	if wr.Key.Node == "" {
		w.lastMoved = w.now
	}
	if wr.Key.Node == "" || wr.Value.Gone {
		w.note("%v = %v in %d", wr.Key, wr.Value, w.revision)
	}
	for _, n := range w.nodes {
		w.tell(n, func() { n.seen(e) })
	}
	return e, true
}

func (n *simulated) resume() {
	n.paused = false
	inbox := n.inbox
	n.inbox = nil
	for _, f := range inbox {
		n.do(f)
	}
}

// trouble does something to a node, or to all, for a while.
func (w *world) trouble(end time.Duration) {
	if w.now > end {
		return
	}
	w.after(time.Duration(w.rnd.Int64N(int64(3*time.Second))), func() { w.trouble(end) })
	n := w.nodes[w.rnd.IntN(len(w.nodes))]
	long := time.Duration(w.rnd.Int64N(int64(8 * time.Second)))
	if n.dead || n.going {
		return
	}
	switch w.rnd.IntN(6) {
	case 0:
		w.note("%v pauses for %v", n.m.Self(), long)
		n.paused = true
		w.after(long, n.resume)
	case 1:
		w.note("%v is cut off for %v", n.m.Self(), long)
		n.cut = true
		w.after(long, func() { n.cut = false })
	case 2:
		w.note("the store is away for %v", long)
		w.down = true
		w.after(long, func() { w.down = false })
	case 3:
		w.note("%v dies", n.m.Self())
		n.dead = true
		name, start := n.m.Self().Node, len(w.nodes)
		w.after(long, func() { w.join(name, start, true) })
	case 4:
		w.note("%v receives nothing for %v", n.m.Self(), long)
		n.cutIn = true
		w.after(long, func() { n.cutIn = false })
	case 5:
		n.leave(long)
		if w.rnd.IntN(2) == 0 {
			for _, n := range w.nodes {
				w.after(time.Duration(w.rnd.Int64N(int64(40*ms))), func() { n.leave(long) })
			}
		}
	}
}

// leave lets a node transfer its shards, continue for a while, and depart. It starts again later.
func (n *simulated) leave(drain time.Duration) {
	if n.dead || n.going {
		return
	}
	n.w.note("%v leaves", n.m.Self())
	n.going = true
	n.do(n.m.Leave)
	n.w.after(drain, n.goWhenTransferred)
	n.w.after(20*time.Second+drain, func() {
		n.dead = true
		n.w.join(n.m.Self().Node, len(n.w.nodes), true)
	})
}

func (n *simulated) goWhenTransferred() {
	if n.dead || n.m.Departed(n.clock()) {
		return
	}
	if n.m.Transferred() {
		n.do(n.m.Depart)
	}
	n.w.after(50*ms, n.goWhenTransferred)
}

// simulate lets a cluster of three live through trouble, and then come to rest.
func simulate(seed uint64, f faults) *world {
	w := newWorld(seed, f)
	for i, name := range []string{"n1", "n2", "n3"} {
		w.after(time.Duration(w.rnd.Int64N(int64(3*time.Second))), func() { w.join(name, -i, true) })
	}
	if f.pauses {
		w.after(5*time.Second, func() { w.trouble(60 * time.Second) })
	}
	w.runUntil(100 * time.Second)
	w.faults.lose, w.faults.slow = 0, 0
	w.runUntil(130 * time.Second)
	return w
}

// settled says what is not as it should be when all is quiet.
func (w *world) settled() string {
	if w.bad != "" {
		return w.bad
	}
	var members []string
	for _, n := range w.nodes {
		if !n.dead {
			members = append(members, n.m.Self().Node)
		}
	}
	want := lease.Assign(members, config("", 0).Shards)
	for i, name := range want {
		for _, n := range w.nodes {
			if n.dead {
				continue
			}
			if owner, _, ok := n.m.Owner(i); !ok || owner.Node != name {
				return fmt.Sprintf("%v sees shard %d with %v, want %s", n.m.Self(), i, owner, name)
			}
			if _, ok := n.terms[i]; ok != (n.m.Self().Node == name) {
				return fmt.Sprintf("%v has a term of shard %d: %v, want it with %s", n.m.Self(), i, ok, name)
			}
		}
	}
	if w.now-w.lastMoved < 10*time.Second {
		return fmt.Sprintf("shards moved %v ago", w.now-w.lastMoved)
	}
	return ""
}

func TestSimulation(t *testing.T) {
	kinds := map[string]faults{
		"calm":     {},
		"network":  {lose: 0.1, slow: 0.1},
		"troubles": {pauses: true},
		"both":     {lose: 0.05, slow: 0.05, pauses: true},
	}
	for name, f := range kinds {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(25) {
				if w := simulate(seed, f); w.settled() != "" {
					t.Fatalf("seed %d: %s\n%s", seed, w.settled(),
						strings.Join(w.trace[max(0, len(w.trace)-80):], "\n"))
				}
			}
		})
	}
}

// The simulation sees the mistakes that it is there for.
func TestSimulationFindsMistakes(t *testing.T) {
	kinds := map[string]faults{
		"held too long":                         {pauses: true, hold: 6 * time.Second},
		"heartbeats without compare":            {lose: 0.05, slow: 0.05, pauses: true, blindly: true},
		"heartbeats announced too early":        {lose: 0.05, slow: 0.05, pauses: true, early: true},
		"a later run holds what an earlier had": {lose: 0.05, slow: 0.2, pauses: true, inherits: true},
	}
	for name, f := range kinds {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(500) {
				if w := simulate(seed, f); w.bad != "" {
					t.Logf("seed %d: %s", seed, w.bad)
					return
				}
			}
			t.Error("nothing was found")
		})
	}
}
