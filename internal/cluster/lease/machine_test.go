package lease_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/cluster/lease"
)

// quiet starts a world without faults in which all nodes have found their place.
func quiet(t *testing.T, names ...string) *world {
	t.Helper()
	w := newWorld(1, faults{})
	for i, name := range names {
		w.join(name, i, true)
	}
	w.runUntil(20 * time.Second)
	if s := w.settled(); s != "" {
		t.Fatal(s)
	}
	return w
}

func (w *world) held(names ...string) error {
	for i := range config("", 0).Shards {
		n := 0
		for _, node := range w.nodes {
			for _, name := range names {
				if node.m.Self().Node == name && node.holds(i) {
					n++
				}
			}
		}
		if n != 1 {
			return fmt.Errorf("%v: shard %d is held by %d of %v", w.now, i, n, names)
		}
	}
	return nil
}

func TestDeadNodeIsReplacedAfterTheLease(t *testing.T) {
	w := quiet(t, "n1", "n2", "n3")
	w.nodes[1].dead = true
	w.runUntil(w.now + 3500*ms) // the lease, 5 % of drift, and some messages
	if err := w.held("n1", "n3"); err != nil {
		t.Error(err)
	}
}

func TestRestartedNodeDoesNotInherit(t *testing.T) {
	w := quiet(t, "n1")
	w.nodes[0].dead = true
	w.join("n1", 7, true)
	w.runUntil(w.now + 2500*ms)
	if err := w.held("n1"); err == nil {
		t.Error("the new process holds what the former one may still hold")
	}
	w.runUntil(w.now + time.Second)
	if err := w.held("n1"); err != nil {
		t.Error(err)
	}
}

func TestLeavingNodeHandsOver(t *testing.T) {
	w := quiet(t, "n1", "n2", "n3")
	begin := w.now
	w.nodes[0].do(w.nodes[0].m.Leave)
	w.nodes[0].goWhenTransferred()
	w.runUntil(begin + 500*ms)
	if err := w.held("n2", "n3"); err != nil {
		t.Error(err)
	}
	if !w.nodes[0].m.Departed(w.nodes[0].clock()) {
		t.Error("the node has not gone")
	}
}

func TestLastNodeLeaves(t *testing.T) {
	w := quiet(t, "n1")
	w.nodes[0].do(w.nodes[0].m.Leave)
	w.nodes[0].goWhenTransferred()
	w.runUntil(w.now + 500*ms)
	if !w.nodes[0].m.Departed(w.nodes[0].clock()) || len(w.nodes[0].terms) != 0 {
		t.Error("the node has not gone")
	}
	begin := w.now
	w.join("n1", 7, true)
	w.runUntil(begin + 500*ms)
	if err := w.held("n1"); err != nil {
		t.Error("after a graceful stop nobody need wait:", err)
	}
}

func TestNewNodeGetsItsShareWhenReady(t *testing.T) {
	w := quiet(t, "n1", "n2")
	n := w.join("n3", 2, false)
	w.runUntil(w.now + 10*time.Second)
	if len(n.terms) != 0 {
		t.Error("shards were moved to a node that is not ready")
	}
	n.do(n.m.Ready)
	w.runUntil(w.now + 500*ms)
	if s := w.held("n1", "n2", "n3"); s != nil || len(n.terms) == 0 {
		t.Error(s, len(n.terms))
	}
}

// A store that is away for a moment costs no term, but nothing is held meanwhile.
func TestStoreAway(t *testing.T) {
	w := quiet(t, "n1", "n2", "n3")
	moved := w.lastMoved
	w.down = true
	w.runUntil(w.now + 4*time.Second)
	for _, n := range w.nodes {
		for i := range n.terms {
			if n.holds(i) {
				t.Errorf("%v holds shard %d without a store", n.m.Self(), i)
			}
		}
	}
	w.down = false
	w.runUntil(w.now + 2*time.Second)
	if err := w.held("n1", "n2", "n3"); err != nil || w.lastMoved != moved {
		t.Error(err, w.lastMoved, moved)
	}
	w.down = true
	w.runUntil(w.now + 12*time.Second)
	for _, n := range w.nodes {
		if len(n.terms) != 0 {
			t.Errorf("%v still has terms", n.m.Self())
		}
	}
}

func TestTwoProcessesOfOneName(t *testing.T) {
	w := quiet(t, "n1", "n2")
	second := w.join("n1", 9, true)
	w.runUntil(w.now + 10*time.Second)
	if !second.m.Contested() || w.nodes[0].m.Contested() || len(second.terms) != 0 {
		t.Error("the second process has not noticed")
	}
}

func TestAssign(t *testing.T) {
	if lease.Assign(nil, 4) != nil {
		t.Error("nobody was assigned something")
	}
	moved := func(a, b []string) (n int) {
		for i := range a {
			if a[i] != b[i] {
				n++
			}
		}
		return n
	}
	for shards := 1; shards <= 64; shards *= 2 {
		for n := 1; n <= 7; n++ {
			var names []string
			for i := range n {
				names = append(names, fmt.Sprint("node-", i))
			}
			owners := lease.Assign(names, shards)
			load := map[string]int{}
			for _, o := range owners {
				load[o]++
			}
			for name, l := range load {
				if most := (shards + n - 1) / n; l > most {
					t.Errorf("%s has %d of %d shards among %d", name, l, shards, n)
				}
			}
			// A new node takes its share, and a few of the other shards change their owners.
			more := lease.Assign(append(names, "other"), shards)
			if m := moved(owners, more); m > 2*(shards/(n+1)+2) {
				t.Errorf("%d of %d shards move from %d to %d nodes", m, shards, n, n+1)
			}
		}
	}
}

func TestLeavingNodeTakesNothingBack(t *testing.T) {
	w := quiet(t, "n1", "n2", "n3")
	w.nodes[0].do(w.nodes[0].m.Leave)
	w.runUntil(w.now + 500*ms)
	w.nodes[1].dead = true
	w.runUntil(w.now + 5*time.Second)
	if err := w.held("n3"); err != nil || len(w.nodes[0].terms) != 0 || !w.nodes[0].m.Transferred() {
		t.Error(err, len(w.nodes[0].terms))
	}
	w.nodes[2].dead = true
	w.runUntil(w.now + 5*time.Second)
	if err := w.held("n1"); err != nil {
		t.Error("nobody else can take the shards:", err)
	}
}

func TestAllLeaveAtOnce(t *testing.T) {
	w := quiet(t, "n1", "n2", "n3")
	for _, n := range w.nodes {
		n.do(n.m.Leave)
	}
	w.runUntil(w.now + 500*ms)
	if err := w.held("n1", "n2", "n3"); err != nil {
		t.Error(err)
	}
	for i, n := range w.nodes {
		if !n.m.Transferred() {
			t.Errorf("%v waits for what cannot come", n.m.Self())
		}
		n.goWhenTransferred()
		w.runUntil(w.now + 500*ms)
		if !n.m.Departed(n.clock()) {
			t.Errorf("%v has not gone", n.m.Self())
		}
		if err := w.held("n1", "n2", "n3"); err != nil && i < 2 {
			t.Error("those who are still there serve:", err)
		}
	}
}

func TestLeavingNodeWaitsForOneThatIsReady(t *testing.T) {
	w := quiet(t, "n1")
	second := w.join("n2", 1, false)
	w.nodes[0].do(w.nodes[0].m.Leave)
	w.runUntil(w.now + 5*time.Second)
	if err := w.held("n1"); err != nil || !w.nodes[0].m.Transferred() {
		t.Error(err)
	}
	second.do(second.m.Ready)
	w.runUntil(w.now + 500*ms)
	if err := w.held("n2"); err != nil || !w.nodes[0].m.Transferred() {
		t.Error(err)
	}
}

func TestLastNodeLeavesWithoutStore(t *testing.T) {
	w := quiet(t, "n1")
	w.down = true
	w.nodes[0].do(w.nodes[0].m.Leave)
	w.nodes[0].goWhenTransferred()
	w.runUntil(w.now + 3*time.Second)
	if !w.nodes[0].m.Departed(w.nodes[0].clock()) {
		t.Error("the node has not gone")
	}
}

// established makes a machine whose first heartbeat is in the store.
func established(t *testing.T) *lease.Machine {
	t.Helper()
	m := lease.New(config("n1", 0))
	a := m.Step(0)
	if len(a.Writes) != 1 || a.Writes[0].Key.Node != "n1" {
		t.Fatal(a)
	}
	m.Seen(0, lease.Entry{Key: a.Writes[0].Key, Revision: 1, Value: a.Writes[0].Value})
	m.Written(0, a.Writes[0].Key, true)
	return m
}

func TestNothingIsTakenBeforeAllWasSeen(t *testing.T) {
	m := established(t)
	if a := m.Step(0); !a.None() {
		t.Error(a)
	}
	m.Informed()
	if a := m.Step(0); len(a.Writes) != config("", 0).Shards {
		t.Error(a)
	}
}

// A run does not come back, though it was declared gone before it saw its first heartbeat.
func TestGoneBeforeItBegan(t *testing.T) {
	m := lease.New(config("n1", 0))
	run := m.Self()
	first := m.Step(0).Writes[0]
	m.Written(0, first.Key, false) // it was written, and the answer lost
	m.Seen(0, lease.Entry{Key: first.Key, Revision: 2, Value: lease.Value{Run: run, Gone: true}})
	if a := m.Step(0); len(a.Writes) != 1 || a.Writes[0].Expect != 2 || a.Writes[0].Value.Run == run {
		t.Error(a)
	}
}

// A write that failed because the key had changed is not in the way of the next.
func TestWriteAfterAChange(t *testing.T) {
	m := established(t)
	m.Informed()
	shard := m.Step(0).Writes[0].Key
	m.Seen(0, lease.Entry{Key: shard, Revision: 2, Value: lease.Value{Run: lease.Run{Node: "n0"}}})
	m.Seen(0, lease.Entry{Key: lease.Key{Node: "n0"}, Revision: 3, Value: lease.Value{Gone: true}})
	m.Written(0, shard, false)
	if a := m.Step(0); len(a.Writes) != 1 || a.Writes[0].Key != shard || a.Writes[0].Expect != 2 {
		t.Error(a)
	}
	m.Written(0, shard, false)
	if a := m.Step(0); !a.None() {
		t.Error("it is tried again at once:", a)
	}
}

// A heartbeat counts from when it was announced, however late it is seen: from then on its
// node's lease runs.
func TestAnnouncedHeartbeat(t *testing.T) {
	beat := func(process string, n uint64) lease.Value {
		return lease.Value{Run: lease.Run{Node: "n2", Process: process, Number: 1}, Beat: n}
	}
	for name, c := range map[string]struct {
		announced lease.Value
		gone      time.Duration
	}{
		"announced":                  {beat("a", 2), 3500 * ms},
		"not announced":              {beat("a", 0), 5000 * ms},
		"the next one was":           {beat("a", 3), 5000 * ms},
		"one of another process was": {beat("b", 2), 5000 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			m := established(t)
			m.Seen(0, lease.Entry{Key: lease.Key{Node: "n2"}, Revision: 2, Value: beat("a", 1)})
			m.Announced(500*ms, c.announced)
			for at := time.Duration(0); ; at += 50 * ms {
				if at == 2*time.Second {
					m.Seen(at, lease.Entry{Key: lease.Key{Node: "n2"}, Revision: 3, Value: beat("a", 2)})
				}
				if gone := writesGone(m, at); gone != (at >= c.gone) {
					t.Fatalf("at %v: declared gone: %v; want it at %v", at, gone, c.gone)
				} else if gone {
					return
				}
			}
		})
	}
}

// writesGone takes a step in which the machine's own heartbeat is written, if it is due. It
// reports whether a node is declared gone.
func writesGone(m *lease.Machine, now time.Duration) (gone bool) {
	for _, w := range m.Step(now).Writes {
		if w.Value.Gone {
			gone = true
			continue
		}
		m.Seen(now, lease.Entry{Key: w.Key, Revision: 100 + uint64(now/ms), Value: w.Value})
		m.Written(now, w.Key, true)
	}
	return gone
}

// A node whose own heartbeats are not written declares no node gone: the others may be unable to write theirs, too.
func TestNobodyIsBuriedWhileTheStoreIsAway(t *testing.T) {
	m := established(t)
	m.Seen(200*ms, lease.Entry{Key: lease.Key{Node: "n2"}, Revision: 2,
		Value: lease.Value{Run: lease.Run{Node: "n2"}, Beat: 1}})
	for at := time.Duration(0); at <= time.Second; at += 50 * ms {
		writesGone(m, at)
	}
	if m.HoldsUntil() != 3500*ms {
		t.Fatalf("holds until %v", m.HoldsUntil())
	}
	for at := 1050 * ms; at < 3500*ms; at += 50 * ms {
		for _, w := range m.Step(at).Writes {
			if w.Value.Gone {
				t.Fatalf("at %v: %+v", at, w)
			}
			m.Written(at, w.Key, false)
		}
	}
}
