package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/shard/replica"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A net is some worlds whose planes share their shards, without a network between them.
// The test says who owns what.
type net struct {
	worlds []*world
	shards []*sharedShard
	over   chan struct{}

	// loses, if set, reports whether a command that was sent to another node, or its answer, gets lost. The outcome is
	// then unknown to its sender.
	loses atomic.Pointer[func(cmd region.Command) (command, answer bool)]

	levelMu sync.Mutex
	levels  region.Levels  // what the nodes have agreed on
	reads   map[string]int // the feature level that each one announces, by number
	above   atomic.Int64   // how often a node read a fact above the level that it announces

	downMu sync.Mutex
	down   map[string]bool // nodes that the others do not reach with questions, by number
	up     []*world        // nodes that have started
}

type sharedShard struct {
	mu     sync.Mutex
	owner  int // -1: none
	end    func()
	ended  chan struct{}
	offers []chan replica.Term // by node
}

// newNet makes nodes of which the first one owns everything.
func newNet(t *testing.T, nodes int) *net {
	reads := make([]int, nodes)
	for i := range reads {
		reads[i] = region.MaxLevel
	}
	return newNetOf(t, reads...)
}

// newNetOf makes nodes that read these feature levels.
func newNetOf(t *testing.T, reads ...int) *net {
	return newNetWith(t, reads, func() option { return func(*world) {} })
}

// newStoringNet makes nodes with stores of objects and logs.
func newStoringNet(t *testing.T, nodes int) *net {
	return newNetWith(t, slices.Repeat([]int{region.MaxLevel}, nodes), func() option {
		objects, kept := withObjects(t), withLogs(t)
		return func(w *world) {
			objects(w)
			kept(w)
			w.config.Copies = nodes
		}
	})
}

// newNetWith makes nodes that read these feature levels, each with an option.
func newNetWith(t *testing.T, reads []int, with func() option) *net {
	nodes := len(reads)
	n := &net{over: make(chan struct{}), reads: map[string]int{}, down: map[string]bool{}}
	for i, level := range reads {
		n.reads[strconv.Itoa(i)] = level
	}
	for range 3 {
		s := &sharedShard{owner: -1}
		for range nodes {
			s.offers = append(s.offers, make(chan replica.Term, 1))
		}
		n.shards = append(n.shards, s)
	}
	for i := range n.shards {
		n.give(i, 0)
	}
	for i := range nodes {
		newWorld(t, n.join(i), with())
		n.downMu.Lock()
		n.up = append(n.up, n.worlds[i])
		n.downMu.Unlock()
	}
	t.Cleanup(func() { close(n.over) }) // before the planes are stopped
	if slices.Min(reads) == region.MaxLevel {
		n.worlds[0].await("the feature level", func() bool { return n.allAt(region.MaxLevel) })
	}
	return n
}

// join makes a world one of the nodes.
func (n *net) join(node int) option {
	return func(w *world) {
		n.worlds = append(n.worlds, w)
		w.config.Cluster = netNode{n, node}
		w.config.Observe = func(c *router.Commit) {
			for _, f := range c.Facts {
				if region.Events.Level(f.Body) > n.readsOf(node) {
					n.above.Add(1)
				}
			}
		}
		first := n.worlds[0]
		w.clock, w.config.Clock = first.clock, first.clock
		w.history, w.config.History = first.history, first.history
		next := 0
		w.wrap = func(own journal.Journal) journal.Journal {
			if node > 0 {
				own = first.journals[next].Reopen()
				next++
			}
			return own
		}
	}
}

// readsOf is the feature level that a node announces.
func (n *net) readsOf(node int) int {
	n.levelMu.Lock()
	defer n.levelMu.Unlock()
	return n.reads[strconv.Itoa(node)]
}

// take leaves a shard without an owner.
func (n *net) take(shard int) {
	s := n.shards[shard]
	s.mu.Lock()
	end, ended := s.end, s.ended
	s.owner, s.end = -1, nil
	s.mu.Unlock()
	if end != nil {
		end()
		<-ended
	}
}

// give gives a shard to a node, when its owner has stepped down.
func (n *net) give(shard, node int) {
	n.take(shard)
	s := n.shards[shard]
	done, stepped := make(chan struct{}), make(chan struct{})
	s.offers[node] <- replica.Term{Done: done, HoldsLease: func() bool { return true },
		Ended: func() { close(stepped) }}
	s.mu.Lock()
	s.owner, s.end, s.ended = node, func() { close(done) }, stepped
	s.mu.Unlock()
}

// A netNode is what one plane sees of the others.
type netNode struct {
	*net
	node int
}

func (n netNode) Tenures(shard int) <-chan replica.Term { return n.shards[shard].offers[n.node] }

func (n netNode) Peer(shard int) replica.Peer[region.Command] { return netPeer{n.net, shard} }

func (n netNode) Spread(ctx context.Context, shard int, seq uint64) {
	for i, w := range n.worlds {
		if i == n.node {
			continue
		}
		applied := make(chan struct{})
		w.Shard(shard).Await(seq, func(error) { close(applied) })
		select {
		case <-applied:
		case <-ctx.Done():
		}
	}
}

func (n netNode) Tell(message []byte) {
	for i, w := range n.worlds {
		if i != n.node {
			w.Receive(message)
		}
	}
}

func (n netNode) Level(context.Context) (int, error) {
	n.levelMu.Lock()
	defer n.levelMu.Unlock()
	n.levels.Raise(n.reads)
	return n.levels.InForce(), nil
}

func (n netNode) AskLead(ctx context.Context, question []byte) ([]byte, error) {
	for _, w := range n.worlds {
		if answer, ok := w.Answer(ctx, question); ok {
			return answer, nil
		}
	}
	return nil, errors.New("nobody leads")
}

func (n netNode) Machines(context.Context) (answers [][]byte) {
	for _, w := range n.worlds {
		answers = append(answers, w.SharedMachines())
	}
	return answers
}

func (n netNode) Self() string { return strconv.Itoa(n.node) }

func (n netNode) Living() (names []string) {
	n.downMu.Lock()
	defer n.downMu.Unlock()
	for i := range n.up {
		names = append(names, strconv.Itoa(i))
	}
	return names
}

// setDown has questions to a node fail, or not.
func (n *net) setDown(node int, down bool) {
	n.downMu.Lock()
	defer n.downMu.Unlock()
	n.down[strconv.Itoa(node)] = down
}

// reached returns a node, by number; nil if it is down.
func (n *net) reached(node string) *world {
	n.downMu.Lock()
	defer n.downMu.Unlock()
	i, err := strconv.Atoi(node)
	if err != nil || n.down[node] {
		return nil
	}
	return n.up[i]
}

func (n netNode) AskNode(ctx context.Context, node string, question []byte) ([]byte, error) {
	w := n.reached(node)
	if w == nil {
		return nil, errors.New("no responders")
	}
	answer := w.AnswerNode(ctx, question)
	if n.reached(node) == nil {
		return nil, errors.New("no responders")
	}
	return answer, nil
}

// A netPeer reaches the owner of a shard.
type netPeer struct {
	net   *net
	shard int
}

// owner calls f with the owner's replica, and again whenever f reports that it was none.
func (p netPeer) owner(f func(s *router.Shard, again func()), over func()) {
	s := p.net.shards[p.shard]
	s.mu.Lock()
	owner := s.owner
	s.mu.Unlock()
	again := func() {
		select {
		case <-p.net.over:
			over()
		default:
			time.AfterFunc(time.Millisecond, func() { p.owner(f, over) })
		}
	}
	if owner < 0 || p.net.worlds[owner].Plane == nil {
		again()
		return
	}
	f(p.net.worlds[owner].Shard(p.shard), again)
}

func (p netPeer) Send(cmd region.Command, done func(any, uint64, error)) {
	if loses := p.net.loses.Load(); loses != nil {
		command, answer := (*loses)(cmd)
		unknown := func() { done(nil, 0, fault.Internal(shard.ErrOutcomeUnknown)) }
		switch {
		case command:
			unknown()
			return
		case answer:
			p.send(cmd, func(any, uint64, error) { unknown() })
			return
		}
	}
	p.send(cmd, done)
}

func (p netPeer) send(cmd region.Command, done func(any, uint64, error)) {
	p.owner(func(s *router.Shard, again func()) {
		s.Serve(cmd, func(answer any, seq uint64, err error) {
			if errors.Is(err, replica.ErrNotOwner) {
				again()
				return
			}
			done(answer, seq, err)
		})
	}, func() { done(nil, 0, shard.ErrNotDone) })
}

func (p netPeer) Barrier(done func(uint64, error)) {
	p.owner(func(s *router.Shard, again func()) {
		s.ServeBarrier(func(seq uint64, err error) {
			if errors.Is(err, replica.ErrNotOwner) {
				again()
				return
			}
			done(seq, err)
		})
	}, func() { done(0, shard.ErrNotDone) })
}

// Whichever node a caller or a server process is connected to, and whichever owns what:
// everything works, and what was answered on one node is there on all.
func TestNodes(t *testing.T) {
	n := newNet(t, 3)
	a, b, c := n.worlds[0], n.worlds[1], n.worlds[2]
	p := b.poolAt("", 4, "custom-a") // its sockets are at b
	c.addQueue("q", nil, p)
	sockets := p.all()

	play := func(round int) {
		t.Helper()
		for i, w := range n.worlds {
			id := fmt.Sprintf("p-%d-%d", round, i)
			w.startPlace(id, nil)
			n.worlds[(i+1)%3].placed(id, "FULFILLED")
		}
		session := c.create(p.fleet, object{"Location": "custom-a"})
		c.await("the game session to be ACTIVE on all nodes", func() bool {
			return a.status(session) == "ACTIVE" && b.status(session) == "ACTIVE" && c.status(session) == "ACTIVE"
		})
		a.must("CreatePlayerSession", object{"GameSessionId": session, "PlayerId": "ada"})
		for i, w := range n.worlds {
			found := w.must("DescribePlayerSessions", object{"GameSessionId": session})["PlayerSessions"]
			if len(found.([]any)) != 1 {
				t.Errorf("node %d: %v", i, found)
			}
		}
	}
	for round := range 3 {
		if round > 0 { // all shards move, the lead with them, and the sockets stay where they are
			for i := range n.shards {
				n.give(i, round)
			}
			b.await("the sockets to be announced to the new owner", func() bool { return b.connected(p) == 4*round })
			sockets = nil
			for range 4 {
				sockets = append(sockets, p.add("custom-a"))
			}
		}
		stop := b.serveAll(sockets...)
		play(round)
		stop()
	}
	if a.drivers.Lead() || b.drivers.Lead() || !c.drivers.Lead() {
		t.Error("the last node does not lead alone")
	}
}

// connected counts the processes that have a socket, as this node knows it.
func (w *world) connected(p *pool) (n int) {
	w.t.Helper()
	for i := range p.sockets["custom-a"] {
		key := fleet.ProcessKey{Compute: "custom-a", ID: fmt.Sprint("custom-a-", i)}
		_, err := w.read(w.ctx, w.room(p.fleet, "custom-a"), func(r *fleet.Room) {
			if process, ok := r.Process(key); ok && process.Connected {
				n++
			}
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return n
}

// A placement gets its game session although what its driver says to another node gets
// lost, or what that answers, and no shard recovers thereafter: the owner may have begun
// before its predecessor was given up.
func TestLostBetweenNodes(t *testing.T) {
	for name, tt := range map[string]struct{ command, answer bool }{
		"commands": {command: true}, "answers": {answer: true},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNet(t, 2)
			lead, other := n.worlds[0], n.worlds[1]
			for i := range n.shards {
				if i != region.CatalogShard {
					n.give(i, 1)
				}
			}
			p := other.poolAt("", 8, "custom-a")
			lead.addQueue("q", nil, p)
			defer other.serveAll(p.all()...)()
			var mu sync.Mutex
			lost := map[string]bool{}
			loses := func(cmd region.Command) (bool, bool) {
				kind := ""
				switch c := cmd.(type) {
				case region.RoomCommand:
					if _, creates := c.Command.(fleet.CreateGameSession); creates {
						kind = "create"
					}
				case region.PlacementCommand:
					kind = fmt.Sprintf("%T", c.Command)
				}
				mu.Lock()
				defer mu.Unlock()
				if kind == "" || lost[kind] || strings.HasSuffix(kind, ".Start") {
					return false, false
				}
				lost[kind] = true // each kind once
				return tt.command, tt.answer
			}
			n.loses.Store(&loses)
			for i := range 4 {
				lead.startPlace(fmt.Sprint("p-", i), nil)
			}
			for i := range 4 {
				lead.advance("the placement to be FULFILLED", 100*time.Millisecond, func() bool {
					return lead.record(fmt.Sprint("p-", i)).Status == placement.Fulfilled
				})
			}
			mu.Lock()
			defer mu.Unlock()
			t.Logf("lost: %v", lost)
		})
	}
}

// The catalog is the same on all nodes as soon as a change is answered.
func TestNodesKnowTheCatalog(t *testing.T) {
	n := newNet(t, 2)
	for i := range 20 {
		w, other := n.worlds[i%2], n.worlds[(i+1)%2]
		name := fmt.Sprintf("custom-%d", i)
		w.must("CreateLocation", object{"LocationName": name})
		if _, err := other.call("CreateLocation", object{"LocationName": name}); !fault.Is(err, fault.Conflict) {
			t.Errorf("%s: got %v, want a conflict", name, err)
		}
		if found := other.must("ListLocations", object{})["Locations"].([]any); len(found) != i+1 {
			t.Errorf("%d locations after %d", len(found), i+1)
		}
	}
}

// Only the node that drives matchmaking knows why a ticket waits, and every node explains it.
func TestExplainElsewhere(t *testing.T) {
	n := newNet(t, 2)
	lead, other := &arcade{world: n.worlds[0]}, &arcade{world: n.worlds[1]}
	lead.configure("m", duelRules, object{"FlexMatchMode": "STANDALONE", "RequestTimeoutSeconds": 600})
	other.must("StartMatchmaking", object{"ConfigurationName": "m", "TicketId": "t", "Players": players("ada")})
	e, err := other.ExplainTicket(other.ctx, "t")
	if err != nil || e.Ticket != "t" || e.Pool != 1 {
		t.Errorf("got %+v, %v", e, err)
	}
	if _, err := other.ExplainTicket(other.ctx, "none"); !fault.Is(err, fault.NotFound) {
		t.Errorf("got %v", err)
	}
	found, want := n.worlds[1].state(), n.worlds[0].state()
	if found != want {
		t.Error("the nodes' states differ")
	}
}

// An explanation waits while no node leads, as long as calls wait for the owner of a shard.
func TestExplainWhileTheLeadMoves(t *testing.T) {
	n := newNet(t, 2)
	lead, other := &arcade{world: n.worlds[0]}, n.worlds[1]
	lead.configure("m", duelRules, object{"FlexMatchMode": "STANDALONE", "RequestTimeoutSeconds": 600})
	lead.seek("m", "t", "ada")
	n.take(region.CatalogShard)
	ask := func() <-chan error {
		answered := make(chan error, 1)
		go func() {
			_, err := other.ExplainTicket(other.ctx, "t")
			answered <- err
		}()
		return answered
	}
	answered := ask()
	n.give(region.CatalogShard, 1)
	other.await("the next lead", func() bool { return other.drivers.Lead() })
	other.advance("its answer", time.Second/2, func() bool { return len(answered) > 0 })
	if err := <-answered; err != nil {
		t.Errorf("with the next lead: %v", err)
	}

	n.take(region.CatalogShard)
	other.await("the end of both leads", func() bool { return !other.drivers.Lead() && !lead.drivers.Lead() })
	began := other.clock.Now()
	answered = ask()
	other.advance("the end of the wait", time.Second/2, func() bool { return len(answered) > 0 })
	wantKind(t, "without a lead", <-answered, fault.ServiceUnavailable)
	if waited := other.clock.Since(began); waited < router.RepeatWithin {
		t.Errorf("it waited for %v only", waited)
	}
}
