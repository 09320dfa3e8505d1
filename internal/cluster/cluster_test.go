package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/shard"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const (
	shards = 12
	soon   = 20 * time.Second // until a test gives up
)

// engine starts a server of NATS within the test.
func engine(t testing.TB) *natsserver.Server {
	t.Helper()
	s, err := natsserver.NewServer(&natsserver.Options{DontListen: true, NoSigs: true, NoLog: true, JetStream: true,
		StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(soon) {
		t.Fatal("the server does not get ready")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

func connect(t testing.TB, s *natsserver.Server) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// ledger is what all shards of a cluster have done, fenced as a journal is: the
// newest term writes.
type ledger struct {
	mu   sync.Mutex
	term [shards]int
	done [shards][]string
	held [shards][]*tenant

	vacated [shards]time.Time // when the last term ended
	vacancy time.Duration     // the longest time between two
}

// began gives a term its number.
func (l *ledger) began(shard int) (turn int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.vacated[shard].IsZero() {
		l.vacancy = max(l.vacancy, time.Since(l.vacated[shard]))
	}
	l.term[shard]++
	return l.term[shard]
}

func (l *ledger) ended(shard int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.vacated[shard] = time.Now()
}

// tenant runs one shard on one node, while it has a term.
type tenant struct {
	node   string
	ledger *ledger
	shard  int

	mu    sync.Mutex
	turn  int // 0: does not own
	holds func() bool
}

func (l *tenant) run(ctx context.Context, terms <-chan Term) {
	for {
		select {
		case t := <-terms:
			l.set(l.ledger.began(l.shard), t.Holds)
			select {
			case <-t.Done:
			case <-ctx.Done():
			}
			l.set(0, func() bool { return false })
			l.ledger.ended(l.shard)
			t.Ended()
		case <-ctx.Done():
			return
		}
	}
}

func (l *tenant) set(turn int, holds func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn, l.holds = turn, holds
}

var errNotOwner = errors.New("not the owner")

func (l *tenant) serve(cmd []byte, done func([]byte, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ledger.mu.Lock()
	defer l.ledger.mu.Unlock()
	if l.turn == 0 || l.turn != l.ledger.term[l.shard] {
		done(nil, errNotOwner)
		return
	}
	l.ledger.done[l.shard] = append(l.ledger.done[l.shard], string(cmd))
	done(binary.AppendUvarint(nil, uint64(len(l.ledger.done[l.shard]))), nil)
}

func (l *tenant) barrier(done func(uint64, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ledger.mu.Lock()
	defer l.ledger.mu.Unlock()
	if l.turn == 0 || !l.holds() {
		done(0, errNotOwner)
		return
	}
	done(uint64(len(l.ledger.done[l.shard])), nil)
}

// member is a node that runs, with its tenants.
type member struct {
	*Node
	cfg     Config
	tenants []*tenant
	stop    context.CancelFunc // as a crash would: nothing is transferred over
	result  chan error
}

func start(t testing.TB, conn *nats.Conn, l *ledger, name string, change func(*Config), packets publisher) *member {
	t.Helper()
	m := &member{result: make(chan error, 1)}
	for i := range shards {
		tn := &tenant{node: name, ledger: l, shard: i, holds: func() bool { return false }}
		m.tenants = append(m.tenants, tn)
		l.held[i] = append(l.held[i], tn)
	}
	m.cfg = Config{
		Node: name, Shards: shards, Conn: conn, Lease: 900 * time.Millisecond, Patience: 5 * time.Second,
		Serve:   func(i int, cmd []byte, done func([]byte, error)) { m.tenants[i].serve(cmd, done) },
		Barrier: func(i int, done func(uint64, error)) { m.tenants[i].barrier(done) },
	}
	if change != nil {
		change(&m.cfg)
	}
	var err error
	if m.Node, err = Join(t.Context(), m.cfg); err != nil {
		t.Fatal(err)
	}
	if packets != nil {
		m.packets = packets
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for i, tn := range m.tenants {
		running.Go(func() { tn.run(ctx, m.Terms(i)) })
	}
	running.Go(func() { m.result <- m.Run(ctx) })
	m.stop = func() { cancel(); running.Wait() }
	t.Cleanup(m.stop)
	return m
}

// A publishFunc is a publisher with faults.
type publishFunc func(subject string, data []byte) error

// Publish implements publisher.
func (f publishFunc) Publish(subject string, data []byte) error { return f(subject, data) }

func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(soon)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatal("in vain waited for: ", what)
		}
		time.Sleep(time.Millisecond) // between two looks at a condition
	}
}

// spread waits until these nodes share the shards evenly and all see it alike.
func spread(t testing.TB, members ...*member) {
	t.Helper()
	await(t, "shards to be spread", func() bool {
		load := map[string]int{}
		for i := range shards {
			for _, m := range members {
				owner, ok := m.Owner(i)
				if first, _ := members[0].Owner(i); !ok || owner != first {
					return false
				}
				load[owner]++
			}
		}
		for _, m := range members {
			if load[m.cfg.Node] != len(members)*shards/len(members) {
				return false
			}
		}
		return true
	})
}

type result struct {
	answer []byte
	err    error
}

func (m *member) do(i int, cmd string) (r result) {
	ch := make(chan result, 1)
	m.Send(i, []byte(cmd), func(answer []byte, err error) { ch <- result{answer, err} })
	return <-ch
}

func (m *member) askFor(i int) (uint64, error) {
	type result struct {
		seq uint64
		err error
	}
	ch := make(chan result, 1)
	m.Ask(i, func(seq uint64, err error) { ch <- result{seq, err} })
	r := <-ch
	return r.seq, r.err
}

// A load sends numbered commands to all shards and keeps what came of them.
type load struct {
	m    *member
	stop chan struct{}
	wg   sync.WaitGroup
	gap  atomic.Int64 // the longest time between two answers of a shard

	mu                    sync.Mutex
	all, unknown, notDone map[string]bool
	failed                error
	answersCount          atomic.Int64
}

func (m *member) load(flight int) *load {
	l := &load{m: m, stop: make(chan struct{}), all: map[string]bool{}, unknown: map[string]bool{},
		notDone: map[string]bool{}}
	for i := range shards {
		l.wg.Go(func() { l.run(i, flight) })
	}
	return l
}

func (l *load) run(i, flight int) {
	room := make(chan struct{}, flight)
	last := time.Now()
	var mu sync.Mutex
	for k := 0; ; k++ {
		select {
		case <-l.stop:
			for range flight {
				room <- struct{}{}
			}
			return
		case room <- struct{}{}:
		}
		cmd := fmt.Sprintf("%s %d %d", l.m.cfg.Node, i, k)
		l.m.Send(i, []byte(cmd), func(_ []byte, err error) {
			mu.Lock()
			gap := time.Since(last)
			last = time.Now()
			mu.Unlock()
			l.note(cmd, err, gap)
			<-room
		})
	}
}

func (l *load) note(cmd string, err error, gap time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gap.Store(max(l.gap.Load(), int64(gap)))
	l.answersCount.Add(1)
	switch {
	case err == nil:
		l.all[cmd] = true
	case errors.Is(err, shard.ErrOutcomeUnknown):
		l.unknown[cmd] = true
	case errors.Is(err, shard.ErrNotDone):
		l.notDone[cmd] = true
	default:
		l.failed = err
	}
}

func (l *load) end() { close(l.stop); l.wg.Wait() }

// verify compares the answers that callers received with the executed commands.
func (l *load) verify(t testing.TB, book *ledger) {
	t.Helper()
	book.mu.Lock()
	defer book.mu.Unlock()
	seen := map[string]bool{}
	for i := range book.done {
		last := -1
		for _, cmd := range book.done[i] {
			var node string
			var s, k int
			if _, err := fmt.Sscanf(cmd, "%s %d %d", &node, &s, &k); err != nil || node != l.m.cfg.Node {
				continue
			}
			if seen[cmd] {
				t.Errorf("%q was done twice", cmd)
			}
			if s != i || k <= last {
				t.Errorf("shard %d did %q after %d", i, cmd, last)
			}
			seen[cmd], last = true, k
		}
	}
	for cmd := range l.all {
		if !seen[cmd] {
			t.Errorf("%q was answered and not done", cmd)
		}
	}
	for cmd := range l.notDone {
		if seen[cmd] {
			t.Errorf("%q was done, and its caller told that it was not", cmd)
		}
	}
	if l.failed != nil {
		t.Error(l.failed)
	}
	t.Logf("%s: %d answered, %d unknown, %d not done, longest gap %v", l.m.cfg.Node, len(l.all), len(l.unknown),
		len(l.notDone), time.Duration(l.gap.Load()))
}

func three(t testing.TB, book *ledger, change func(*Config), packets publisher) (
	s *natsserver.Server, members []*member,
) {
	s = engine(t)
	for i := range 3 {
		members = append(members, start(t, connect(t, s), book, fmt.Sprint("n", i+1), change, packets))
	}
	for _, m := range members {
		m.Ready()
	}
	spread(t, members...)
	return s, members
}

func TestAlone(t *testing.T) {
	var book ledger
	m := start(t, connect(t, engine(t)), &book, "n1", nil, nil)
	await(t, "all shards", func() bool {
		for i := range shards {
			if _, ok := m.Owner(i); !ok {
				return false
			}
		}
		return true
	})
	for i := range shards {
		if r := m.do(i, "command"); r.err != nil || r.answer[0] != 1 {
			t.Fatal(r)
		}
		if seq, err := m.askFor(i); err != nil || seq != 1 {
			t.Fatal(seq, err)
		}
	}
	if err := m.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-m.result; err != nil {
		t.Error(err)
	}
	if r := m.do(0, "late"); !errors.Is(r.err, shard.ErrNotDone) {
		t.Error(r.err)
	}
	if _, err := m.askFor(0); !errors.Is(err, shard.ErrNotDone) {
		t.Error(err)
	}
}

// Nodes join and leave gracefully under load: no command fails.
func TestComingAndGoing(t *testing.T) {
	var book ledger
	s, members := three(t, &book, nil, nil)
	l := members[0].load(8)
	if err := members[2].Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	spread(t, members[:2]...)
	again := start(t, connect(t, s), &book, "n3", nil, nil)
	again.Ready()
	spread(t, members[0], members[1], again)
	l.end()
	l.verify(t, &book)
	if len(l.unknown)+len(l.notDone) > 0 || len(l.all) == 0 {
		t.Error("commands failed")
	}
	t.Logf("the longest time without an answer of a shard was %v", time.Duration(l.gap.Load()).Round(time.Millisecond))
}

// A node dies under load. What was under way to it is unknown, and the others
// take over.
func TestDeadNode(t *testing.T) {
	var book ledger
	_, members := three(t, &book, nil, nil)
	l := members[0].load(8)
	await(t, "some answers", func() bool { return l.answersCount.Load() > 100 })
	members[1].stop()
	spread(t, members[0], members[2])
	n := l.answersCount.Load()
	await(t, "more answers", func() bool { return l.answersCount.Load() > n+1000 })
	l.end()
	l.verify(t, &book)
	for i := range shards {
		holders := 0
		for _, tn := range book.held[i] {
			tn.mu.Lock()
			if tn.turn != 0 && tn.holds() {
				holders++
			}
			tn.mu.Unlock()
		}
		if holders != 1 {
			t.Errorf("shard %d is held by %d nodes", i, holders)
		}
	}
}

// Packets get lost, arrive twice, late and out of order, while nodes join and leave.
func TestBadNetwork(t *testing.T) {
	var book ledger
	var late sync.WaitGroup
	t.Cleanup(late.Wait) // after the nodes have ended, which begin no more
	var members []*member
	var mu sync.Mutex
	conns := map[string]*nats.Conn{}
	badNetwork := publishFunc(func(subject string, data []byte) error {
		mu.Lock()
		defer mu.Unlock()
		conn := conns["any"]
		data = slices.Clone(data)
		switch rand.IntN(20) {
		case 0:
			return nil // lost
		case 1:
			late.Go(func() { // late, and out of order
				<-time.After(time.Duration(rand.IntN(30)) * time.Millisecond)
				_ = conn.Publish(subject, data) // the connection may be closed by now
			})
			return nil
		case 2:
			_ = conn.Publish(subject, data)
		}
		return conn.Publish(subject, data)
	})
	s := engine(t)
	conns["any"] = connect(t, s)
	for i := range 3 {
		members = append(members, start(t, connect(t, s), &book, fmt.Sprint("n", i+1), func(c *Config) {
			c.Lease = 30 * time.Second // a busy machine delays heartbeats, too
		}, badNetwork))
		members[i].Ready()
	}
	spread(t, members...)
	a, b := members[0].load(4), members[1].load(4)
	await(t, "some answers", func() bool { return a.answersCount.Load() > 100 && b.answersCount.Load() > 100 })
	if err := members[2].Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	spread(t, members[:2]...)
	a.end()
	b.end()
	a.verify(t, &book)
	b.verify(t, &book)
	if len(a.unknown)+len(b.unknown)+len(a.notDone)+len(b.notDone) > 0 {
		t.Error("a network that only loses packets makes no command fail")
	}
}

// A node that is a member but sends nothing for long is given up; no caller waits for ever.
func TestSilentOwner(t *testing.T) {
	var book ledger
	var silent atomic.Bool
	s := engine(t)
	c := connect(t, s)
	members := []*member{
		start(t, connect(t, s), &book, "n1", func(c *Config) { c.Patience = time.Second }, nil),
		start(t, connect(t, s), &book, "n2", func(c *Config) {
			c.Patience = time.Second
		}, publishFunc(func(subject string, data []byte) error {
			if silent.Load() {
				return nil
			}
			return c.Publish(subject, data)
		})),
	}
	for _, m := range members {
		m.Ready()
	}
	spread(t, members...)
	silent.Store(true)
	for i := range shards {
		if owner, _ := members[0].Owner(i); owner == "n2" {
			if r := members[0].do(i, "x"); !errors.Is(r.err, shard.ErrOutcomeUnknown) {
				t.Error(r.err)
			}
			if _, err := members[0].askFor(i); !errors.Is(err, shard.ErrNotDone) {
				t.Error(err)
			}
			break
		}
	}
	silent.Store(false)
	book.mu.Lock()
	for i := range shards {
		if n := len(book.done[i]); n > 1 {
			t.Errorf("shard %d has done the command %d times", i, n)
		}
	}
	book.mu.Unlock()
	for i := range shards {
		await(t, "the owner to be heard", func() bool { _, err := members[0].askFor(i); return err == nil })
		if r := members[0].do(i, "y"); r.err != nil {
			t.Error(r.err)
		}
	}
}

// An owner refuses for ever: after Config.Patience the caller receives an error that the command was not executed.
func TestNobodyServes(t *testing.T) {
	clock := clockwork.NewFakeClock()
	begun := clock.Now()
	var book ledger
	m := start(t, connect(t, engine(t)), &book, "n1", func(c *Config) {
		c.Clock, c.Elapsed = clock, func() time.Duration { return clock.Since(begun) }
		c.Serve = func(_ int, _ []byte, done func([]byte, error)) { done(nil, errNotOwner) }
		c.Barrier = func(_ int, done func(uint64, error)) { done(0, errNotOwner) }
		c.Waiting = 3
	}, nil)
	await(t, "an owner", func() bool { _, ok := m.Owner(0); return ok })
	results := make(chan error, 10)
	for range 3 {
		m.Send(0, []byte("x"), func(_ []byte, err error) { results <- err })
	}
	m.Ask(0, func(_ uint64, err error) { results <- err })
	select {
	case err := <-results:
		t.Fatal("before its time:", err)
	default:
	}
	begin := clock.Now()
	for n := 0; n < 4; {
		select {
		case err := <-results:
			n++
			if !errors.Is(err, shard.ErrNotDone) {
				t.Error(err)
			}
			if d := clock.Since(begin); d < m.cfg.Patience {
				t.Errorf("after %v, want %v", d, m.cfg.Patience)
			}
		default:
			clock.Advance(tick)
			time.Sleep(time.Millisecond / 4) // lets real messages come along
		}
	}
}

func TestBarriersAreShared(t *testing.T) {
	var book ledger
	var asked atomic.Int64
	gate := make(chan struct{})
	m := start(t, connect(t, engine(t)), &book, "n1", func(c *Config) {
		c.Barrier = func(_ int, done func(uint64, error)) {
			n := asked.Add(1)
			go func() { <-gate; done(uint64(n), nil) }()
		}
	}, nil)
	await(t, "an owner", func() bool { _, ok := m.Owner(0); return ok })
	var all sync.WaitGroup
	all.Add(1000)
	m.Ask(0, func(uint64, error) { all.Done() })
	await(t, "the first barrier", func() bool { return asked.Load() == 1 })
	for range 999 {
		m.Ask(0, func(seq uint64, err error) {
			if err != nil || seq != 2 { // the first one began before they asked
				t.Error(seq, err)
			}
			all.Done()
		})
	}
	close(gate)
	all.Wait()
	if n := asked.Load(); n != 2 {
		t.Errorf("%d barriers for 1000 readers, want 2", n)
	}
}

// Commands larger than a message of NATS travel in pieces.
func TestLargeCommands(t *testing.T) {
	var book ledger
	echo := func(c *Config) {
		c.Serve = func(_ int, cmd []byte, done func([]byte, error)) { done(cmd, nil) }
	}
	_, members := three(t, &book, echo, nil)
	large := make([]byte, 3<<20)
	for i := range large {
		large[i] = byte(rand.Uint32())
	}
	for i := range shards {
		if r := members[0].do(i, string(large)); r.err != nil || string(r.answer) != string(large) {
			t.Fatal(i, len(r.answer), r.err)
		}
	}
	if r := members[0].do(0, string(make([]byte, MaxCommand+1))); !errors.Is(r.err, shard.ErrNotDone) {
		t.Error(r.err)
	}
}

func TestNameInUse(t *testing.T) {
	var book ledger
	s := engine(t)
	first := start(t, connect(t, s), &book, "n1", nil, nil)
	await(t, "an owner", func() bool { _, ok := first.Owner(0); return ok })
	second := start(t, connect(t, s), &book, "n1", nil, nil)
	if err := <-second.result; !errors.Is(err, ErrNameInUse) {
		t.Error(err)
	}
}

func TestConfig(t *testing.T) {
	conn := connect(t, engine(t))
	good := Config{
		Node: "n1", Shards: 1, Conn: conn,
		Serve: func(int, []byte, func([]byte, error)) {}, Barrier: func(int, func(uint64, error)) {},
	}
	for name, change := range map[string]func(*Config){
		"name":    func(c *Config) { c.Node = "n.1" },
		"cluster": func(c *Config) { c.Name = "a b" },
		"shards":  func(c *Config) { c.Shards = 0 },
		"renewal": func(c *Config) { c.Lease, c.Renew = time.Second, time.Second },
	} {
		c := good
		change(&c)
		if _, err := Join(t.Context(), c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	conn.Close()
	cause := errors.New("enough")
	cancel(cause)
	if _, err := Join(ctx, good); !errors.Is(err, cause) {
		t.Errorf("got %v, want the cause of the context", err)
	}
}
