package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/journal/journaltest"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/mustertest/ports"
)

// serverLeaks are what a server leaves behind that is stopped while it restores its
// streams, which it does after its start when it is a node.
var serverLeaks = []string{
	"github.com/nats-io/nats-server/v2/server.(*fileStore).flushStreamStateLoop",
	"github.com/nats-io/nats-server/v2/server/ats.Register.func1",
}

// A testCluster is some engines in this process, which meet on the loopback interface. Its tests wait for elections
// most of the time, so they run in parallel, and TestMain looks for goroutines that are left behind.
type testCluster struct {
	t       *testing.T
	configs []jetstream.Config
	nodes   []*jetstream.Engine // nil: stopped
}

// newCluster configures three nodes and starts none.
func newCluster(t *testing.T) *testCluster { return newClusterOf(t, 3) }

func newClusterOf(t *testing.T, nodes int) *testCluster {
	t.Helper()
	c := &testCluster{t: t, nodes: make([]*jetstream.Engine, nodes)}
	peers, log := ports.Free(t, rand.IntN, nodes), slog.New(slog.DiscardHandler)
	if os.Getenv("MUSTER_TEST_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	for i := range peers {
		name := fmt.Sprint("n", i+1)
		c.configs = append(c.configs, jetstream.Config{
			Dir: filepath.Join(t.TempDir(), name), Log: log.With("node", name),
			Cluster: &jetstream.Cluster{Node: name, Listen: peers[i], Peers: peers},
		})
	}
	t.Cleanup(c.stopAll)
	return c
}

// startedCluster is one whose nodes are all up.
func startedCluster(t *testing.T) *testCluster {
	t.Helper()
	c := newCluster(t)
	c.startAll()
	return c
}

func (c *testCluster) start(i int) {
	c.t.Helper()
	e, err := jetstream.Open(c.t.Context(), c.configs[i])
	if err != nil {
		c.t.Fatalf("node %d: %v", i, err)
	}
	c.nodes[i] = e
}

func (c *testCluster) startAll() {
	c.t.Helper()
	for i := range c.nodes {
		c.start(i)
	}
}

func (c *testCluster) stop(i int) {
	c.t.Helper()
	e := c.nodes[i]
	c.nodes[i] = nil
	if e == nil {
		return
	}
	if err := e.Close(); err != nil {
		c.t.Errorf("node %d: %v", i, err)
	}
}

// stopAll stops all nodes at the same time.
func (c *testCluster) stopAll() {
	var stopping sync.WaitGroup
	defer stopping.Wait()
	for i := range c.nodes {
		stopping.Go(func() { c.stop(i) })
	}
}

func (c *testCluster) journal(i, shard int) journal.Journal {
	c.t.Helper()
	return shardJournal(c.t, c.nodes[i], shard)
}

// contractWait is how long an engine waits, in the tests of the contract, for messages that a leader lacks. Two of them
// ask for records behind the end; no new leader needs that long to apply so few.
const contractWait = 2 * time.Second

// busyWait is how long a call waits there: three nodes that share a busy machine need more than an election takes.
const busyWait = time.Minute

// The contract holds for replicas, too. Each test has a shard of its own, and goes
// on with another node when one is restarted.
func TestClusterContract(t *testing.T) {
	t.Parallel()
	t.Run("nodes", func(t *testing.T) {
		c := newCluster(t)
		for i, config := range c.configs {
			c.configs[i] = jetstream.WithWaits(config, contractWait, busyWait)
		}
		c.startAll()
		var shards atomic.Int64
		journaltest.Run(t, func(t *testing.T) journaltest.Fixture {
			shard, node := int(shards.Add(1)), 0
			c.forget(t, "MUSTER_HISTORY", "MUSTER_FEED", "MUSTER_AUDIT", "KV_MUSTER_GRANTS")
			next := func() *jetstream.Engine {
				node = (node + 1) % len(c.nodes)
				return c.nodes[node]
			}
			return journaltest.Fixture{
				Journal: func() journal.Journal { return shardJournal(t, next(), shard) },
				History: func() journal.History { return must(next().History(t.Context()))(t) },
				Feed:    func() journal.Feed { return must(next().Feed(t.Context()))(t) },
				Audit:   func() journal.Audit { return must(next().Audit(t.Context(), jetstream.AuditLimits{}))(t) },
				Bucket:  func() journal.Bucket { return must(next().Grants(t.Context()))(t) },
				Restart: func() { c.stop(node); c.start(node) },
			}
		})
	})
}

// must gives a value, or ends the test.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// forget removes streams, with what the nodes know of them.
func (c *testCluster) forget(t *testing.T, streams ...string) {
	t.Helper()
	for _, s := range streams {
		_ = c.nodes[0].JetStream().DeleteStream(context.WithoutCancel(t.Context()), s) // there may be none
		for _, e := range c.nodes {
			jetstream.ForgetMark(t, e, s)
		}
	}
}

// A writer appends as long as it may, and goes on after every failure as an owner
// does: it looks what is stored, and appends behind it.
type writer struct {
	t    *testing.T
	j    journal.Journal
	last uint64

	failed int // appends that failed
}

// append appends a record, if that takes as many attempts as it may.
func (w *writer) append() {
	w.t.Helper()
	for {
		seq, err := w.j.Append(w.t.Context(), w.last, record(w.last+1))
		if err == nil {
			w.last = seq
			return
		}
		w.failed++
		w.recover()
	}
}

func (w *writer) recover() {
	w.t.Helper()
	for {
		err := w.j.Replay(w.t.Context(), w.last, func(seq uint64, data []byte) error {
			if string(data) != string(record(seq)) {
				return fmt.Errorf("record %d is another one", seq)
			}
			w.last = seq
			return nil
		})
		if err == nil {
			return
		}
		if w.t.Context().Err() != nil || errors.Is(err, journal.ErrMissing) {
			w.t.Fatal(err)
		}
	}
}

// following has a node follow a journal, and says when it has come to a record.
type following struct {
	t      *testing.T
	cancel context.CancelFunc
	seen   chan uint64
	ended  chan struct{}
	last   uint64
}

func follow(t *testing.T, j journal.Journal, after uint64) *following {
	ctx, cancel := context.WithCancel(context.Background())
	f := &following{t: t, cancel: cancel, seen: make(chan uint64, 1<<16), ended: make(chan struct{}), last: after}
	go func() {
		defer close(f.ended)
		last := after
		err := j.Follow(ctx, after, func(seq uint64, data []byte) error {
			if last++; seq != last || string(data) != string(record(seq)) {
				return fmt.Errorf("record %d comes as %d, or is another one", last, seq)
			}
			f.seen <- seq
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("follow after %d ends after %d: %v", after, last, err)
		}
	}()
	return f
}

func (f *following) await(seq uint64) {
	f.t.Helper()
	for f.last < seq {
		select {
		case f.last = <-f.seen:
		case <-f.ended:
			f.t.Fatalf("the follower has ended after %d", f.last)
		case <-f.t.Context().Done():
			f.t.Fatalf("the follower is at %d, want %d", f.last, seq)
		}
	}
}

func (f *following) end() {
	f.cancel()
	<-f.ended
}

// lead moves the leader of shard 0 to a node.
func (c *testCluster) lead(i int) {
	c.t.Helper()
	if err := c.nodes[i].Lead(c.t.Context(), 0, time.Minute); err != nil {
		c.t.Fatal(err)
	}
	if got := jetstream.Leader(c.t, c.nodes[i], "MUSTER_SHARD_0"); got != c.configs[i].Cluster.Node {
		c.t.Errorf("%s leads, want %s", got, c.configs[i].Cluster.Node)
	}
}

// Nodes come and go, and leaders move; nothing is lost, and who follows sees all.
func TestClusterLosesNodes(t *testing.T) {
	t.Parallel()
	t.Run("nodes", func(t *testing.T) {
		c := newCluster(t)
		var opened sync.WaitGroup // at the same time, as after a power cut
		for i := range c.nodes {
			opened.Go(func() {
				c.start(i)
				_ = c.journal(i, 0)
			})
		}
		opened.Wait()
		w := &writer{t: t, j: c.journal(0, 0)}
		var followers []*following
		for i := range c.nodes {
			followers = append(followers, follow(t, c.journal(i, 0), 0))
		}
		step := func(what string, do func()) {
			t.Helper()
			begun := time.Now()
			do()
			for range 5 {
				w.append()
			}
			for _, f := range followers {
				f.await(w.last)
			}
			t.Logf("%s: %v", what, time.Since(begun).Round(time.Millisecond))
		}
		step("all are up", func() {})
		for i := range c.nodes {
			step(fmt.Sprint("node ", i, " leads"), func() { c.lead(i) })
		}
		step("the leader is gone", func() {
			followers[2].end()
			followers = followers[:2]
			c.stop(2)
		})
		step("it is back", func() {
			c.start(2)
			followers = append(followers, follow(t, c.journal(2, 0), 0))
		})
		step("the leader is gone again, and its end is damaged", func() {
			c.lead(2)
			followers[2].end()
			followers = followers[:2]
			c.stop(2)
			change(t, c.configs[2].Dir, func(data []byte) []byte { return data[:len(data)/2] })
		})
		step("it is back and has healed", func() {
			c.start(2)
			followers = append(followers, follow(t, c.journal(2, 0), 0))
		})
		if last := replayFrom(t, w.j, 0); last != w.last {
			t.Errorf("the journal ends with %d, want %d", last, w.last)
		}
		for _, f := range followers {
			f.end()
		}
	})
}

// A leader who has not applied all that he has shows an end that is too early. Who knows of more
// waits for it.
func TestClusterWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	t.Run("nodes", func(t *testing.T) {
		c := newCluster(t)
		log := &listener{Handler: slog.DiscardHandler, message: "acknowledged records are missing",
			heard: make(chan struct{})}
		c.configs[1].Log = slog.New(log)
		c.startAll()
		w := &writer{t: t, j: c.journal(0, 0)}
		w.append()
		mark := filepath.Join(c.configs[1].Dir, "MUSTER_SHARD_0.last")
		// As if the second had been acknowledged here.
		if err := os.WriteFile(mark, fmt.Appendf(nil, "%020d\n", 2), 0o600); err != nil {
			t.Fatal(err)
		}
		j := c.journal(1, 0)
		done := make(chan error, 2)
		go func() {
			_, _, err := j.LoadSnapshot(t.Context())
			done <- err
		}()
		go func() { done <- j.Replay(t.Context(), 2, func(uint64, []byte) error { return nil }) }()
		f := follow(t, j, 2)
		w.append()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		w.append()
		f.await(3)
		f.end()
		select {
		case <-log.heard:
			t.Error("the log says that records are missing")
		default:
		}
	})
}

// Without a majority nothing is acknowledged; with one again, it goes on.
func TestClusterWithoutMajority(t *testing.T) {
	t.Parallel()
	t.Run("nodes", func(t *testing.T) {
		c := startedCluster(t)
		w := &writer{t: t, j: c.journal(0, 0)}
		w.append()
		if !c.nodes[0].Connected() {
			t.Error("a node of three is not connected")
		}
		c.stop(1)
		c.stop(2)
		c.await("the node is not connected", func() bool { return !c.nodes[0].Connected() })
		if seq, err := w.j.Append(t.Context(), w.last, record(w.last+1)); err == nil ||
			errors.Is(err, journal.ErrFenced) {
			t.Errorf("an append without a majority gives %d, %v", seq, err)
		}
		c.start(1)
		w.recover()
		w.append()
		c.stop(0) // the only one that was there all the time
		c.start(2)
		w.j = c.journal(1, 0)
		w.append()
		if last := replayFrom(t, c.journal(2, 0), 0); last != w.last {
			t.Errorf("the journal ends with %d, want %d", last, w.last)
		}
	})
}

// All nodes stop at the same time and start at the same time, and hold what they
// held.
func TestClusterRestarts(t *testing.T) {
	t.Parallel()
	t.Run("nodes", func(t *testing.T) {
		c := startedCluster(t)
		w := &writer{t: t, j: c.journal(0, 0)}
		for range 20 {
			w.append()
		}
		if err := w.j.SaveSnapshot(t.Context(), 7, journaltest.Writing("state of 7")); err != nil {
			t.Fatal(err)
		}
		c.stopAll()
		e, err := jetstream.Open(t.Context(), jetstream.Config{Dir: c.configs[0].Dir})
		if !errors.Is(err, jetstream.ErrClustered) {
			t.Errorf("the directory of a node, opened alone, gives %v, %v", e, err)
		}
		begun := time.Now()
		var opened sync.WaitGroup
		for i := range c.nodes {
			opened.Go(func() {
				c.start(i)
				if seq, data := snapshotOf(t, c.journal(i, 0)); seq != 7 || data != "state of 7" {
					t.Errorf("node %d has the snapshot of %d, %q", i, seq, data)
				}
				if last := replayFrom(t, c.journal(i, 0), 0); last != w.last {
					t.Errorf("node %d has records up to %d, want %d", i, last, w.last)
				}
			})
		}
		opened.Wait()
		w.j = c.journal(1, 0)
		w.append()
		t.Logf("up in %v", time.Since(begun).Round(time.Millisecond))
	})
}

// A node waits for the others, says so, and ends its waiting when it is told.
func TestClusterNodeWaits(t *testing.T) {
	defer leaktest.Check(t, serverLeaks...)()
	c := newCluster(t)
	defer c.stopAll()
	said := make(chan struct{})
	c.configs[0].Log = slog.New(&listener{Handler: slog.DiscardHandler, message: "waiting for the other nodes",
		heard: said})
	c.start(0)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := c.nodes[0].Journal(ctx, 0)
		ended <- err
	}()
	<-said
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that was ended gives %v", err)
	}
}

// A listener says when a line was logged that begins with a message.
type listener struct {
	slog.Handler
	message string
	heard   chan struct{}
	once    sync.Once
}

func (l *listener) Enabled(context.Context, slog.Level) bool { return true }

func (l *listener) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, l.message) {
		l.once.Do(func() { close(l.heard) })
	}
	return nil
}

// A node that can no longer write leaves, and the others go on.
func TestClusterNodeBreaks(t *testing.T) {
	t.Parallel()
	t.Run("nodes", func(t *testing.T) {
		c := startedCluster(t)
		w := &writer{t: t, j: c.journal(0, 0)}
		c.journal(1, 0)
		c.lead(1)
		w.append()
		jetstream.Say(c.nodes[1], "RAFT [x] Critical write error: %v", "no space left on device")
		w.append()
		if _, err := c.journal(0, 0).Append(t.Context(), w.last-1, nil); !errors.Is(err, journal.ErrFenced) {
			t.Errorf("the fence is gone: %v", err)
		}
		if got := jetstream.Leader(t, c.nodes[0], "MUSTER_SHARD_0"); got == c.configs[1].Cluster.Node {
			t.Errorf("the broken node leads")
		}
	})
}

func TestClusterConfig(t *testing.T) {
	defer leaktest.Check(t, serverLeaks...)()
	alone := written(t, 1)
	good := jetstream.Cluster{Node: "n1", Listen: ports.Free(t, rand.IntN, 1)[0], Peers: ports.Free(t, rand.IntN, 1)}
	for what, change := range map[string]func(*jetstream.Config){
		"no name":           func(c *jetstream.Config) { c.Cluster.Node = "" },
		"a name with a dot": func(c *jetstream.Config) { c.Cluster.Node = "a.b" },
		"no peers":          func(c *jetstream.Config) { c.Cluster.Peers = nil },
		"a peer's port":     func(c *jetstream.Config) { c.Cluster.Peers = []string{"host"} },
		"no port":           func(c *jetstream.Config) { c.Cluster.Listen = "127.0.0.1:0" },
	} {
		cluster := good
		cfg := jetstream.Config{Dir: t.TempDir(), Cluster: &cluster}
		change(&cfg)
		if e, err := jetstream.Open(t.Context(), cfg); err == nil {
			t.Errorf("%s: no error", what)
			mustClose(t, e)
		}
	}
	_, err := jetstream.Open(t.Context(), jetstream.Config{Dir: alone, Cluster: &good})
	if !errors.Is(err, jetstream.ErrAlone) {
		t.Errorf("the directory of a node alone gives %v", err)
	}
	mustClose(t, open(t, alone)) // it was left as it is
}
