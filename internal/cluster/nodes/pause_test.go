package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/muster-gg/muster/internal/cluster"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A testJournal is a Journal that says whether it is at rest.
type testJournal struct {
	acknowledged map[string]uint64

	mu         sync.Mutex
	kept, held bool
	busy       bool // publishing does not come to rest
	changed    chan struct{}
}

func (j *testJournal) set(what *bool, to bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	*what = to
	select {
	case j.changed <- struct{}{}:
	default:
	}
}

func (j *testJournal) Keep(context.Context) (release func(), err error) {
	j.set(&j.kept, true)
	return func() { j.set(&j.kept, false) }, nil
}

func (j *testJournal) Hold(ctx context.Context) (map[string]uint64, func() error, error) {
	j.mu.Lock()
	busy := j.busy
	j.mu.Unlock()
	if busy {
		<-ctx.Done()
		return nil, nil, errors.New("the disk is too slow")
	}
	j.set(&j.held, true)
	return j.acknowledged, func() error { j.set(&j.held, false); return nil }, nil
}

// A testNode is a node whose shards the test gives out.
type testNode struct {
	*pauser
	journal *testJournal

	mu    sync.Mutex
	owned []int
}

func (n *testNode) own(shards ...int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.owned = shards
}

// await waits until the node keeps and holds, or does not.
func (n *testNode) await(t *testing.T, kept, held bool) {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		n.journal.mu.Lock()
		is := [2]bool{n.journal.kept, n.journal.held}
		n.journal.mu.Unlock()
		if is == [2]bool{kept, held} {
			return
		}
		select {
		case <-n.journal.changed:
		case <-limit:
			t.Fatalf("node %s keeps and holds: %t, want %t, %t", n.node, is, kept, held)
		}
	}
}

const testShards = 4

// A testRegion is three nodes that own the shards 0 and 3, 1, and 2.
type testRegion struct {
	t      *testing.T
	server *natsserver.Server
	clock  *clockwork.FakeClock
	nodes  []*testNode

	mu      sync.Mutex
	members []cluster.Member
}

func newTestRegion(t *testing.T) *testRegion {
	t.Helper()
	s, err := natsserver.NewServer(&natsserver.Options{DontListen: true, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not get ready")
	}
	r := &testRegion{t: t, server: s, clock: clockwork.NewFakeClock()}
	for i, owned := range [][]int{{0, 3}, {1}, {2}} {
		n := r.add(fmt.Sprint("n", i+1))
		n.own(owned...)
		n.journal.acknowledged["S"] = uint64(10 + i)
		n.journal.acknowledged[n.node] = 5
	}
	return r
}

// add makes one more node a member.
func (r *testRegion) add(name string) *testNode {
	r.t.Helper()
	conn, err := nats.Connect("", nats.InProcessServer(r.server))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(conn.Close)
	n := &testNode{journal: &testJournal{changed: make(chan struct{}, 1), acknowledged: map[string]uint64{}}}
	n.pauser = &pauser{
		node: name, shards: testShards, conn: conn, clock: r.clock, log: slog.New(slog.DiscardHandler),
		journal: n.journal,
		members: func() []cluster.Member {
			r.mu.Lock()
			defer r.mu.Unlock()
			return slices.Clone(r.members)
		},
		owns: func(shard int) bool {
			n.mu.Lock()
			defer n.mu.Unlock()
			return slices.Contains(n.owned, shard)
		},
	}
	_, err = conn.Subscribe(pauseSubject+name, func(m *nats.Msg) { n.handle(context.Background(), m) })
	if err != nil {
		r.t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes, r.members = append(r.nodes, n), append(r.members, cluster.Member{Node: name})
	return n
}

// standstill is one that the first node asks for.
func (r *testRegion) standstill(backup string) *RegionPause {
	return &RegionPause{pauser: r.nodes[0].pauser, backup: backup}
}

func (r *testRegion) keep(s *RegionPause) (release func()) {
	r.t.Helper()
	release, err := s.Keep(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return release
}

func (r *testRegion) await(kept, held bool) {
	r.t.Helper()
	for _, n := range r.nodes {
		n.await(r.t, kept, held)
	}
}

// refused checks that an error is one that clients may see, with these words.
func refused(t *testing.T, err error, words string) {
	t.Helper()
	if !fault.Is(err, fault.ServiceUnavailable) || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v, want words %q", err, words)
	}
}

func TestPause(t *testing.T) {
	defer leaktest.Check(t)()
	t.Run("all", func(t *testing.T) {
		r := newTestRegion(t)
		s := r.standstill("one")
		end := r.keep(s)
		r.await(true, false)
		acknowledged, release, err := s.Hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.await(true, true)
		if want := map[string]uint64{"S": 12, "n1": 5, "n2": 5, "n3": 5}; !maps.Equal(acknowledged, want) {
			t.Errorf("acknowledged is %v, want %v", acknowledged, want)
		}
		if err := release(); err != nil {
			t.Error(err)
		}
		r.await(true, false)
		if _, err := r.standstill("two").Keep(t.Context()); !errors.Is(err, journal.ErrSnapshotOpen) {
			t.Errorf("two at a time: %v", err)
		}
		r.await(true, false) // the second one has ended nothing of the first
		end()
		r.await(false, false)
		r.keep(r.standstill("two"))()
		r.await(false, false)
	})
}

// If one node does not pause, the error names it, and no node stays paused.
func TestPauseRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(r *testRegion)
		words  string
	}{
		"one is not there": {func(r *testRegion) { r.members = append(r.members, cluster.Member{Node: "n9"}) },
			"n9 did not answer"},
		"one is not there, later": {func(r *testRegion) {
			r.nodes[1].conn.Close()
			r.nodes = slices.Delete(r.nodes, 1, 2)
		}, "n2 did not answer"},
		"one goes on": {func(r *testRegion) { r.nodes[2].journal.set(&r.nodes[2].journal.busy, true) },
			"n3 did not pause"},
		"one has no shards": {func(r *testRegion) { r.nodes[2].own() }, "Shard 2 is being transferred"},
		"one begins anew":   {func(r *testRegion) { r.nodes[1].end("") }, "n2 did not pause"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTestRegion(t)
			s := r.standstill("one")
			if name == "one is not there" {
				tt.change(r)
				_, err := s.Keep(t.Context())
				refused(t, err, tt.words)
				r.await(false, false)
				return
			}
			end := r.keep(s)
			tt.change(r)
			_, _, err := s.Hold(t.Context())
			refused(t, err, tt.words)
			for _, n := range r.nodes {
				n.await(t, name != "one begins anew" || n.node != "n2", false)
			}
			end()
			r.await(false, false)
		})
	}
}

// Changes while all nodes are paused are noticed at the end.
func TestPauseDisturbed(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(r *testRegion)
		words  string
	}{
		"a shard has another owner": {func(r *testRegion) { r.nodes[0].own(0); r.nodes[1].own(1, 3) }, "Shard 3 " +
			"was transferred"},
		"a node published": {func(r *testRegion) { r.clock.Advance(holdLimit) }, "did not pause"},
		"a node is gone": {func(r *testRegion) { r.nodes[2].conn.Close(); r.nodes = r.nodes[:2] }, "n3 " +
			"did not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTestRegion(t)
			s := r.standstill("one")
			end := r.keep(s)
			_, release, err := s.Hold(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			tt.change(r)
			refused(t, release(), tt.words)
			end()
			r.await(false, false)
		})
	}
}

// If the node that takes the backup is silent, nodes publish again, and delete again later.
func TestPauseAskerDies(t *testing.T) {
	r := newTestRegion(t)
	s := r.standstill("one")
	s.paused = s.members()
	for _, what := range []step{keepStep, holdStep} {
		if _, err := s.order(t.Context(), what, holdWait); err != nil {
			t.Fatal(err)
		}
	}
	r.await(true, true)
	r.clock.Advance(holdLimit)
	r.await(true, false)
	r.clock.Advance(keepLimit - holdLimit)
	r.await(false, false)
	r.keep(r.standstill("two"))()
}

// receive returns the next message.
func receive(t *testing.T, from <-chan *nats.Msg) *nats.Msg {
	t.Helper()
	select {
	case m := <-from:
		return m
	case <-time.After(30 * time.Second):
		t.Fatal("no order")
		return nil
	}
}

// A long backup is announced repeatedly, also to nodes that join later.
func TestPauseIsRenewed(t *testing.T) {
	r := newTestRegion(t)
	s := r.standstill("one")
	end := r.keep(s)
	late := r.add("n4")
	orders := make(chan *nats.Msg, 64)
	if _, err := r.nodes[0].conn.ChanSubscribe(pauseSubject+"*", orders); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		if err := r.clock.BlockUntilContext(t.Context(), 4); err != nil { // the ticker, and what would expire
			t.Fatal(err)
		}
		r.clock.Advance(keepRenew)
		for renewed := map[string]bool{}; len(renewed) < len(r.nodes); { // the orders are on their way to all nodes
			m := receive(t, orders)
			var o order
			if err := json.Unmarshal(m.Data, &o); err != nil {
				t.Fatal(err)
			}
			if o.Backup == "one" && o.Step == keepStep {
				renewed[m.Subject] = true
			}
		}
		late.await(t, true, false)
		for _, n := range r.nodes { // orders are followed one after the other
			data, err := json.Marshal(order{Backup: "another", Step: keepStep})
			if err != nil {
				t.Fatal(err)
			}
			var answer report
			m, err := r.nodes[0].conn.RequestWithContext(t.Context(), pauseSubject+n.node, data)
			if err == nil {
				err = json.Unmarshal(m.Data, &answer)
			}
			if err != nil || !answer.Busy {
				t.Errorf("node %s does not keep: %+v, %v", n.node, answer, err)
			}
		}
	}
	r.await(true, false)
	end()
	r.await(false, false)
}

// Orders that are malformed or unknown change nothing.
func TestPauseUnknownOrders(t *testing.T) {
	r := newTestRegion(t)
	s := r.standstill("one")
	s.paused = s.members()
	_, err := s.order(t.Context(), "dance", holdWait)
	refused(t, err, "unknown step")
	_, err = s.order(t.Context(), holdStep, holdWait)
	refused(t, err, "no message about the backup")
	if err := r.nodes[0].conn.Publish(pauseSubject+"n2", []byte("{")); err != nil {
		t.Fatal(err)
	}
	r.keep(s)()
	r.await(false, false)
}
