package replica_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/shard/replica"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A counter is a machine of named numbers.
type counter struct{ n map[string]int }

type add struct {
	Name string
	N    int // the sum must not become negative
}

type added struct {
	Name string `cbor:"1,keyasint"`
	N    int    `cbor:"2,keyasint"`
}

type opened struct{}

var events = event.NewSet([]event.Entry{{Number: 1, Type: (*added)(nil)}, {Number: 2, Type: (*opened)(nil)}})

func newCounter() *counter { return &counter{map[string]int{}} }

func (c *counter) Handle(_ time.Time, cmd add) ([]event.Fact, any, error) {
	if c.n[cmd.Name]+cmd.N < 0 {
		return nil, nil, fault.New(fault.InvalidRequest, "%s would be negative", cmd.Name)
	}
	f := event.Fact{Body: &added{cmd.Name, cmd.N}}
	c.Apply(f)
	return []event.Fact{f}, c.n[cmd.Name], nil
}

func (c *counter) Apply(f event.Fact) {
	if e, ok := f.Body.(*added); ok {
		c.n[e.Name] += e.N
	}
}

func (c *counter) Deadline() time.Time                          { return time.Time{} }
func (c *counter) Expire(time.Time) []event.Fact                { return nil }
func (c *counter) Freeze() *counter                             { return &counter{maps.Clone(c.n)} }
func (c *counter) Restore(f event.Fact) error                   { c.Apply(f); return nil }
func (c *counter) Paused(time.Time, time.Duration) []event.Fact { return nil }
func (c *counter) Recovered(time.Time) []event.Fact {
	return []event.Fact{{Body: &opened{}}}
}

func (c *counter) Snapshot(write func(event.Fact) error) error {
	for name, n := range c.n {
		if err := write(event.Fact{Body: &added{name, n}}); err != nil {
			return err
		}
	}
	return nil
}

type counterReplica = replica.Replica[add, *counter]

// A cluster is some nodes with a replica each, of which the test says who owns.
type cluster struct {
	journal *memory.Journal
	nodes   []*node

	mu    sync.Mutex
	owner *node // whom commands are sent to; nil: they wait
	wait  []func()
	over  bool
}

type node struct {
	*counterReplica
	cluster *cluster
	journal *memory.Journal
	tenures chan replica.Term
	stop    func() error
	over    func() // ends the tenure
	ended   chan struct{}

	mu        sync.Mutex
	commits   []shard.Commit[*counter]
	observed  *counter // what the commits add up to
	recovered int
}

func newCluster(t *testing.T, size int) *cluster {
	c := &cluster{journal: memory.New(memory.Config{})}
	for range size {
		c.join(t)
	}
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.over = true
		for _, n := range c.nodes {
			if n.over != nil {
				n.over()
			}
		}
	})
	return c
}

// join starts a node.
func (c *cluster) join(t *testing.T) *node {
	own := c.journal.Reopen()
	return c.joinWith(t, own, own)
}

// joinWith starts a node that uses its journal as it is seen.
func (c *cluster) joinWith(t *testing.T, own *memory.Journal, seen journal.Journal) *node {
	n := &node{cluster: c, journal: own, tenures: make(chan replica.Term), observed: newCounter()}
	n.counterReplica = replica.New(replica.Config[add, *counter]{
		Shard: shard.Config[add, *counter]{
			Journal: seen, Events: events, NewMachine: newCounter, Observe: n.observe, Queue: 64,
		},
		Terms: n.tenures, Peer: peer{n},
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	n.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = n.stop() })
	c.nodes = append(c.nodes, n)
	return n
}

func (n *node) observe(c shard.Commit[*counter]) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.commits = append(n.commits, c)
	if c.Recovered {
		n.recovered++
		n.observed = &counter{maps.Clone(c.View.n)}
		return
	}
	for _, f := range c.Facts {
		n.observed.Apply(f)
	}
}

// own gives a node the shard until over, again when it steps down by itself.
func (n *node) own(holds func() bool) {
	done := make(chan struct{})
	n.over = sync.OnceFunc(func() { close(done) })
	stopped := make(chan struct{})
	n.ended = stopped
	begun := make(chan struct{})
	go func() {
		defer close(stopped)
		for begin := sync.OnceFunc(func() { close(begun) }); ; begin() {
			ended := make(chan struct{})
			select {
			case n.tenures <- replica.Term{Done: done, HoldsLease: holds, Ended: func() { close(ended) }}:
			case <-done:
				return
			}
			begin()
			<-ended
			select {
			case <-done:
				return
			default: // another one was faster, and is not the owner: once more
			}
		}
	}()
	<-begun
	n.cluster.route(n)
}

// giveUp ends the node's tenure and waits until it has stepped down.
func (n *node) giveUp() {
	n.cluster.route(nil)
	n.over()
	<-n.ended
}

func (c *cluster) route(to *node) {
	c.mu.Lock()
	c.owner = to
	var waiting []func()
	if to != nil {
		waiting, c.wait = c.wait, nil
	}
	c.mu.Unlock()
	for _, again := range waiting {
		again()
	}
}

// with calls f with the owner, as soon as there is one.
func (c *cluster) with(f func(*node)) {
	c.mu.Lock()
	owner := c.owner
	if owner == nil {
		c.wait = append(c.wait, func() { c.with(f) })
	}
	c.mu.Unlock()
	if owner != nil {
		f(owner)
	}
}

// later calls f again soon, unless the test is over.
func (c *cluster) later(f func()) {
	time.AfterFunc(time.Millisecond, func() {
		c.mu.Lock()
		over := c.over
		c.mu.Unlock()
		if !over {
			f()
		}
	})
}

// A peer is a node's way to the owner.
type peer struct{ *node }

func (p peer) Send(cmd add, done func(any, uint64, error)) {
	p.cluster.with(func(owner *node) {
		owner.Serve(cmd, func(answer any, seq uint64, err error) {
			if errors.Is(err, replica.ErrNotOwner) {
				p.cluster.later(func() { p.Send(cmd, done) })
				return
			}
			done(answer, seq, err)
		})
	})
}

func (p peer) Barrier(done func(uint64, error)) {
	p.cluster.with(func(owner *node) {
		owner.ServeBarrier(func(seq uint64, err error) {
			if errors.Is(err, replica.ErrNotOwner) {
				p.cluster.later(func() { p.Barrier(done) })
				return
			}
			done(seq, err)
		})
	})
}

func always() bool { return true }

// newLease returns a lease that is valid until the test stores false.
func newLease() *atomic.Bool {
	lease := new(atomic.Bool)
	lease.Store(true)
	return lease
}

func (n *node) mustAdd(t *testing.T, name string, by, want int) {
	t.Helper()
	got, err := n.Do(t.Context(), add{name, by})
	if err != nil || got != want {
		t.Fatalf("add %d to %s gives %v, %v; want %d", by, name, got, err, want)
	}
}

func (n *node) mustHave(t *testing.T, name string, want int) {
	t.Helper()
	var got int
	if err := n.Read(t.Context(), func(c *counter) { got = c.n[name] }); err != nil || got != want {
		t.Fatalf("%s is %d, %v; want %d", name, got, err, want)
	}
}

// On every node commands and reads are answered as by the owner, and what was answered
// on one node is seen on all.
func TestEveryNodeAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		c.nodes[0].own(always)
		for i, n := range c.nodes {
			n.mustAdd(t, "a", 1, i+1)
			for _, other := range c.nodes {
				other.mustHave(t, "a", i+1)
			}
			if _, err := n.Do(t.Context(), add{"a", -10}); !fault.Is(err, fault.InvalidRequest) {
				t.Errorf("node %d: got %v, want the machine's refusal", i, err)
			}
			view, err := n.View(t.Context())
			if err != nil || view.n["a"] != i+1 {
				t.Errorf("node %d: the view is %v, %v", i, view, err)
			}
			<-n.Ready()
			if !n.Serving() || n.Owned() != (i == 0) {
				t.Errorf("node %d: serving %v, owned %v", i, n.Serving(), n.Owned())
			}
		}
		synctest.Wait()
		for i, n := range c.nodes {
			if n.observed.n["a"] != 3 {
				t.Errorf("the observer of node %d saw %v", i, n.observed.n)
			}
		}
	})
}

// Who was answered on a node finds the outcome in what the observer there has seen.
func TestAnswersComeBehindTheObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2)
		c.nodes[0].own(always)
		n := c.nodes[1]
		for i := range 20 {
			n.mustAdd(t, "a", 1, i+1)
			n.mu.Lock()
			seen := n.observed.n["a"]
			n.mu.Unlock()
			if seen != i+1 {
				t.Fatalf("the observer has seen %d of %d", seen, i+1)
			}
		}
	})
}

// The shard moves: nobody is refused, and the next owner begins without reading anything.
func TestHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		c.nodes[0].own(always)
		want := 0
		for round := range 6 {
			var waiting sync.WaitGroup
			for _, n := range c.nodes {
				for range 10 {
					waiting.Go(func() {
						if _, err := n.Do(t.Context(), add{"a", 1}); err != nil {
							t.Errorf("round %d: %v", round, err)
						}
						if err := n.Read(t.Context(), func(*counter) {}); err != nil {
							t.Errorf("round %d: %v", round, err)
						}
					})
				}
			}
			c.nodes[round%3].giveUp()
			c.nodes[(round+1)%3].own(always)
			waiting.Wait()
			want += 30
			for _, n := range c.nodes {
				n.mustHave(t, "a", want)
			}
		}
		synctest.Wait()
		for i, n := range c.nodes {
			if n.observed.n["a"] != want {
				t.Errorf("the observer of node %d saw %v, want %d", i, n.observed.n, want)
			}
			if n.recovered < 6 {
				t.Errorf("the observer of node %d was shown %d beginnings of owners, want 6 or 7", i, n.recovered)
			}
		}
	})
}

// An owner whose lease was taken away is fenced; what it had not made durable is gone,
// and its replica follows the new owner.
func TestUsurpedOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2)
		old, next := c.nodes[0], c.nodes[1]
		ended := make(chan struct{})
		var holds atomic.Bool
		holds.Store(true)
		old.tenures <- replica.Term{
			Done: make(chan struct{}), HoldsLease: holds.Load, Ended: func() { close(ended) },
		} // it never hears of its end
		c.route(old)
		old.mustAdd(t, "a", 1, 1)
		holds.Store(false)
		next.own(always)
		next.mustAdd(t, "a", 1, 2)
		if err := old.Read(t.Context(), func(*counter) {}); err != nil && !errors.Is(err, shard.ErrOutcomeUnknown) &&
			!errors.Is(err, shard.ErrNotDone) {
			t.Errorf("an owner that was replaced gives %v for a read", err)
		}
		<-ended
		old.mustHave(t, "a", 2)
		old.mustAdd(t, "a", 1, 3)
		next.mustHave(t, "a", 3)
		if old.Owned() || !next.Owned() {
			t.Errorf("owned: %v, %v", old.Owned(), next.Owned())
		}
	})
}

// A replica that has fallen behind a snapshot, and one that comes late, read it.
func TestLateReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		first := c.nodes[0]
		first.own(always)
		for i := range 100 {
			first.mustAdd(t, "a", 1, i+1)
		}
		late := c.join(t)
		<-late.Loaded()
		late.mustHave(t, "a", 100)
		first.giveUp()
		late.own(always)
		late.mustAdd(t, "a", 1, 101)
		if err := first.stop(); err != nil {
			t.Errorf("Run gives %v", err)
		}
		if _, err := first.Do(t.Context(), add{"a", 1}); !fault.Is(err, fault.ServiceUnavailable) {
			t.Errorf("a node that has stopped gives %v", err)
		}
		if err := first.Read(t.Context(), func(*counter) {}); !fault.Is(err, fault.ServiceUnavailable) {
			t.Errorf("a node that has stopped gives %v", err)
		}
	})
}

// A lossy journal can be told to miss a record, and then to be behind for a while: what is
// read anew ends too early.
type lossy struct {
	journal.Journal
	miss   chan struct{} // given: whoever follows misses a record
	missed atomic.Bool
	behind atomic.Int32 // how often what is read ends too early
}

func (j *lossy) Follow(ctx context.Context, after uint64, f func(uint64, []byte) error) error {
	if j.missed.Load() {
		return j.Journal.Follow(ctx, after, f)
	}
	select {
	case <-j.miss:
		j.missed.Store(true)
		return journal.ErrMissing
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (j *lossy) Replay(ctx context.Context, after uint64, f func(uint64, []byte) error) error {
	if !j.missed.Load() || j.behind.Add(-1) < 0 {
		return j.Journal.Replay(ctx, after, f)
	}
	return j.Journal.Replay(ctx, after, func(seq uint64, data []byte) error {
		if seq > after+2 {
			return nil
		}
		return f(seq, data)
	})
}

// A replica that has to read everything anew shows its observer nothing that is older than
// what it has shown before: callers were answered from that.
func TestReloadShowsNothingOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		c.nodes[0].own(always)
		for i := range 10 {
			c.nodes[0].mustAdd(t, "a", 1, i+1)
		}
		own := c.journal.Reopen()
		seen := &lossy{Journal: own, miss: make(chan struct{})}
		seen.behind.Store(2)
		n := c.joinWith(t, own, seen)
		<-n.Loaded()
		shown := n.Newest()
		seen.miss <- struct{}{}
		c.nodes[0].mustAdd(t, "a", 1, 11)
		n.mustHave(t, "a", 11)
		n.mu.Lock()
		defer n.mu.Unlock()
		var last uint64
		for _, commit := range n.commits {
			if commit.Seq < last {
				t.Errorf("record %d was shown after record %d", commit.Seq, last)
			}
			last = commit.Seq
		}
		if shown < 10 || n.recovered != 2 {
			t.Errorf("shown to record %d, read anew %d times; want 10 or more, and 2", shown, n.recovered)
		}
	})
}

// A slowStart is a journal whose first reader waits until he gives up.
type slowStart struct {
	journal.Journal
	first sync.Once
}

func (j *slowStart) LoadSnapshot(ctx context.Context) (uint64, io.ReadCloser, error) {
	j.first.Do(func() { <-ctx.Done() })
	if err := ctx.Err(); err != nil {
		return 0, nil, err
	}
	return j.Journal.LoadSnapshot(ctx)
}

// A replica that owns the shard before it has read anything is loaded when it serves.
func TestTenureBeforeLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 0)
		own := c.journal.Reopen()
		n := c.joinWith(t, own, &slowStart{Journal: own})
		synctest.Wait()
		n.own(always)
		n.mustAdd(t, "a", 1, 1)
		<-n.Loaded()
	})
}

// While nobody owns the shard requests wait, until their callers go or the node stops.
func TestNobodyOwns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		n := c.nodes[0]
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := n.Read(ctx, func(*counter) {}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a read gives %v", err)
		}
		if _, err := n.Do(ctx, add{"a", 1}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a command gives %v", err)
		}
		full := 0
		for range 100 {
			n.Submit(add{"b", 1}, func(_ any, err error) {
				if fault.Is(err, fault.Throttling) {
					full++
				}
			})
		}
		if full == 0 {
			t.Error("any number of commands may be on their way")
		}
		select {
		case <-n.Ready():
			t.Error("the replica is ready")
		default:
		}
	})
}

// Whatever happens to tenures, acknowledged commands are there, once, on every node.
func TestRandomTenures(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomTenures(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func randomTenures(t *testing.T, random *rand.Rand) {
	c := newCluster(t, 3)
	owner, lease := c.nodes[0], newLease()
	owner.own(lease.Load)
	var mu sync.Mutex
	done, unknown := 0, 0
	var waiting sync.WaitGroup
	for range 40 {
		n := c.nodes[random.IntN(3)]
		waiting.Go(func() {
			mu.Lock()
			least, seen := done, 0 // acknowledged before the read began
			mu.Unlock()
			err := n.Read(t.Context(), func(m *counter) { seen = m.n["a"] })
			failed := errors.Is(err, shard.ErrOutcomeUnknown) || errors.Is(err, shard.ErrNotDone)
			if err != nil && !failed || err == nil && seen < least {
				t.Errorf("a read gives %d, %v after %d acknowledged commands", seen, err, least)
			}
			_, err = n.Do(t.Context(), add{"a", 1})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				done++
			case errors.Is(err, shard.ErrOutcomeUnknown):
				unknown++
			case errors.Is(err, shard.ErrNotDone):
			default:
				t.Errorf("a command gives %v", err)
			}
		})
		switch random.IntN(6) {
		case 0: // handed over
			owner.giveUp()
			owner, lease = c.nodes[random.IntN(3)], newLease()
			owner.own(lease.Load)
		case 1: // the lease expires, and another node owns before the owner notices it
			next := c.nodes[random.IntN(3)]
			if next != owner {
				lease.Store(false) // first: two valid leases never exist
				lease = newLease()
				next.own(lease.Load)
				owner.over()
				owner = next
			}
		case 2:
			owner.journal.FailAppend(errors.New("the disk hiccups"))
		case 3:
			synctest.Wait()
		}
	}
	waiting.Wait()
	for _, n := range c.nodes {
		var got int
		if err := n.Read(t.Context(), func(m *counter) { got = m.n["a"] }); err != nil || got < done ||
			got > done+unknown {
			t.Errorf("%d commands were acknowledged, %d perhaps done, and %d are there (%v)", done, unknown, got, err)
		}
	}
	synctest.Wait()
	for i, n := range c.nodes {
		var want int
		if err := n.Read(t.Context(), func(m *counter) { want = m.n["a"] }); err != nil || n.observed.n["a"] != want {
			t.Errorf("the observer of node %d has seen %d of %d (%v)", i, n.observed.n["a"], want, err)
		}
	}
}
