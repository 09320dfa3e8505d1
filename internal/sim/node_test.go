package sim

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/cluster/channel"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
)

// A node is a process that may own shards, and that makes the requests of those who are connected to it. Its channels
// to the others, and what decides which way a request takes, are the code of the service; their network is the world's.
type node struct {
	world   *world
	name    int
	clock   *nodeClock
	release release
	paused  time.Time    // it does nothing before
	waiting []func()     // for the end of the pause
	cut     [2]time.Time // it does not reach the others from the first to the second

	runs    int
	process string // of this run; "" while the node is down
	owns    map[int]*owner
	forward *channel.Forwarder
	serve   *channel.Server
	signals []*carrier // that have something to send
	viewAt  time.Time  // when the node has learned the newest owners
	sent    []uint64   // by shard: how many commands were forwarded
	served  map[lane]uint64
	open    int  // requests without an outcome
	checks  bool // a check of them is planned
	driver  *driver
}

// A lane is the commands that one process forwards to one shard.
type lane struct {
	process string
	shard   int
}

// patienceOfNodes is how long a request waits for an owner, and a channel for an acknowledgement.
const patienceOfNodes = 10 * time.Second

// start begins a run of the node: one that knows nothing of those before.
func (n *node) start() {
	w := n.world
	n.runs++
	n.process, n.owns = fmt.Sprintf("node-%d-%d", n.name, n.runs), map[int]*owner{}
	n.sent, n.served, n.open, n.checks = make([]uint64, len(w.shards)), map[lane]uint64{}, 0, false
	cfg := channel.Config{Process: n.process, Patience: patienceOfNodes, MaxPiece: func() int { return 30 }}
	cfg.Carry = n.carry(func(end *channel.End) { n.step(func(now time.Duration) { n.forward.Lost(now, end) }) })
	n.forward = channel.NewForwarder(cfg, len(w.shards), 8192, failure)
	cfg.Carry = n.carry(func(end *channel.End) { n.serve.Drop(end) })
	n.serve = channel.NewServer(cfg, func(to string, p channel.Packet) { n.transmit(to, p) })
	n.driver = newDriver(n)
	if m := n.driver.manager; m != nil {
		m.start()
	}
	w.trace.add(w.step, "node %d starts as %s", n.name, n.process)
	w.moved()
}

// failure is what the service makes of the failure of a request: see package cluster.
func failure(err error) error {
	if errors.Is(err, channel.ErrLost) {
		return fmt.Errorf("%w: %w", shard.ErrOutcomeUnknown, err)
	}
	return fmt.Errorf("%w: %w", shard.ErrNotDone, err)
}

func (n *node) up() bool { return n.process != "" }

// idle reports whether the node does nothing now.
func (n *node) idle() bool { return !n.up() || time.Now().Before(n.paused) }

// do has the node do something, at the end of a pause if there is one, and in order.
func (n *node) do(f func()) {
	process := n.process
	if n.idle() || len(n.waiting) > 0 {
		n.waiting = append(n.waiting, func() {
			if n.process == process {
				f()
			}
		})
		return
	}
	f()
}

// resume has nodes do what has waited for the end of a pause.
func (w *world) resume() (any bool) {
	for _, n := range w.nodes {
		if n.idle() || len(n.waiting) == 0 {
			continue
		}
		waiting := n.waiting
		n.waiting, any = nil, true
		for _, f := range waiting {
			f()
		}
	}
	return any
}

// crash ends the process of the node: nothing of it is heard any more.
func (n *node) crash(when string) {
	w := n.world
	w.trace.add(w.step, "node %d crashes %s", n.name, when)
	w.seen["crash"]++
	n.driver.end()
	for _, c := range w.callers {
		if c.node == n {
			c.cancel()
		}
	}
	n.process, n.waiting, n.signals, n.paused = "", nil, nil, time.Time{}
	for _, o := range w.owners {
		if o.node == n && !o.dead && !o.ended {
			o.die()
		}
	}
	w.in(w.between(100*time.Millisecond, 12*time.Second), func(*world) { n.start() })
	w.moved()
}

// dropOwner notes that an owner carries out nothing more.
func (n *node) dropOwner(o *owner) {
	if n.owns[o.shard.number] == o {
		n.setOwner(o.shard.number, nil)
	}
}

// setOwner notes who carries out what comes for a shard; nil: nobody. The node that has the catalog leads.
func (n *node) setOwner(number int, o *owner) {
	n.owns[number] = o
	if number == region.CatalogShard && !n.world.over {
		n.do(func() {
			n.driver.end()
			if o != nil && n.owns[0] == o {
				n.driver.begin()
			}
		})
	}
}

// moved has all nodes learn, sooner or later, who owns what and who is there.
func (w *world) moved() {
	owners, members := make([]channel.Owner, len(w.shards)), map[string]bool{}
	for i, s := range w.shards {
		if s.holder != nil {
			owners[i] = channel.Owner{Process: s.holder.node.process, Epoch: uint64(s.holder.n)}
		}
	}
	for _, n := range w.nodes {
		members[n.process] = n.up()
	}
	has := func(process string) bool { return members[process] }
	for _, n := range w.nodes {
		at := time.Now().Add(w.latency(100 * time.Millisecond))
		if n.viewAt.After(at) {
			at = n.viewAt
		}
		n.viewAt = at
		process := n.process
		w.at(at, func(*world) {
			if n.process != process || !n.up() {
				return
			}
			n.do(func() {
				n.step(func(now time.Duration) { n.forward.Moved(now, owners, has) })
				n.serve.Moved(w.elapsed(), has)
			})
		})
	}
}

// elapsed is the clock of channels, which is never set.
func (w *world) elapsed() time.Duration { return time.Since(w.trace.start) }

// step calls the forwarder, and those whose requests have ended.
func (n *node) step(f func(now time.Duration)) {
	f(n.world.elapsed())
	for _, done := range n.forward.Outcomes() {
		done()
	}
}

// watch checks requests at intervals while there are any.
func (n *node) watch() {
	if n.checks || n.open == 0 {
		return
	}
	n.checks = true
	process := n.process
	n.world.in(50*time.Millisecond, func(w *world) {
		if n.process != process {
			return
		}
		n.do(func() {
			n.checks = false
			cutOff := n.isCut() && time.Since(n.cut[0]) > 3*time.Second
			n.step(func(now time.Duration) { n.forward.Check(now, cutOff) })
			n.watch()
		})
	})
}

// isCut reports whether the node does not reach the others now.
func (n *node) isCut() bool { return time.Now().Before(n.cut[1]) }

// A carrier sends the packets of one end of a channel.
type carrier struct {
	node              *node
	process           string
	end               *channel.End
	lost              func(*channel.End)
	signalled, closed bool
	due               time.Time // when it looks by itself; zero: not planned
}

func (n *node) carry(lost func(*channel.End)) func(end *channel.End) channel.Carrier {
	return func(end *channel.End) channel.Carrier {
		return &carrier{node: n, process: n.process, end: end, lost: lost}
	}
}

// Signal has the node look for packets when everything else is at rest.
func (c *carrier) Signal() {
	if !c.signalled && !c.closed && c.process == c.node.process {
		c.signalled = true
		c.node.signals = append(c.node.signals, c)
	}
}

// Close is the end of the carrier.
func (c *carrier) Close() { c.closed = true }

// flush has all nodes send what is to be sent.
func (w *world) flush() (any bool) {
	for _, n := range w.nodes {
		if n.idle() || len(n.signals) == 0 {
			continue
		}
		signals := n.signals
		n.signals, any = nil, true
		slices.SortStableFunc(signals, func(a, b *carrier) int { return cmp.Compare(a.end.Process, b.end.Process) })
		for _, c := range signals {
			c.signalled = false
			c.send()
		}
	}
	return any
}

func (c *carrier) send() {
	w, now := c.node.world, c.node.world.elapsed()
	for !c.closed {
		p, ok := c.end.Next(now)
		if !ok {
			break
		}
		c.node.transmit(c.end.Process, p)
	}
	at, due := c.end.Due()
	switch {
	case c.closed || !due:
	case c.end.GivenUp(now):
		c.lost(c.end)
	default:
		if t := w.trace.start.Add(max(at, now+time.Millisecond)); c.due.IsZero() || t.Before(c.due) {
			c.due = t
			w.at(t, func(*world) {
				c.due = time.Time{}
				c.Signal()
			})
		}
	}
}

// transmit lets a packet travel to a process: most arrive soon, some late, twice or never.
func (n *node) transmit(to string, p channel.Packet) {
	w := n.world
	for copies := 0; copies == 0 || w.chance(w.rates.duplicate); copies++ {
		if w.bug.packet != nil {
			w.bug.packet(&p, copies)
		}
		data := channel.AppendPacket(nil, p)
		if w.chance(w.rates.lost) {
			w.seen["lost packet"]++
			continue
		}
		w.in(w.latency(3*time.Millisecond), func(*world) { w.arrive(n, to, data) })
	}
}

// arrive is the end of a packet's way.
func (w *world) arrive(from *node, to string, data []byte) {
	for _, n := range w.nodes {
		switch {
		case n.process != to || !n.up():
		case n.isCut() || from.isCut():
			w.seen["cut packet"]++
		default:
			n.do(func() { n.receive(must(channel.ReadPacket(data))) })
		}
	}
}

// receive takes a packet.
func (n *node) receive(p channel.Packet) {
	if p.Kind != channel.FromClient {
		n.step(func(now time.Duration) { mustWrite(n.forward.Receive(now, p)) })
		return
	}
	requests, err := n.serve.Receive(n.world.elapsed(), p, nil)
	mustWrite(err)
	for _, r := range requests {
		n.handle(r)
	}
}

// handle has the owner carry out a request of another node, as packages cluster and replica do.
func (n *node) handle(r channel.Request) {
	o := n.owns[int(r.Shard)]
	if !n.serve.Accept(r, o != nil) {
		n.world.seen["refused request"]++
		return
	}
	if o != o.shard.holder {
		n.world.seen["to an old owner"]++
	}
	if r.Kind == channel.Barrier {
		o.peek(nil, func(a *reply) {
			if a.err != nil {
				n.serve.Refuse(r, a.err)
				return
			}
			n.serve.Sequence(r, a.seq)
		})
		return
	}
	q := n.world.requests[index(r.Body)]
	n.serving(q)
	o.follow(q, func(a *reply) {
		if errors.Is(a.err, shard.ErrNotDone) {
			n.unserved(q)
		}
		if errors.Is(a.err, shard.ErrStopped) {
			n.serve.Refuse(r, a.err)
			return
		}
		n.world.replies = append(n.world.replies, a)
		n.serve.Answer(r, binary.AppendUvarint(nil, uint64(len(n.world.replies)-1)))
	})
}

// index is a request, or an answer, on its way between nodes.
func index(body []byte) uint64 {
	i, _ := binary.Uvarint(body)
	return i
}

// serving holds a command that has come over a channel to what channels promise: it comes once, in order, and not
// after its caller was told that it will never be carried out.
func (n *node) serving(q *request) {
	l := lane{q.process, q.shard}
	switch last := n.served[l]; {
	case q.served:
		n.world.fail("node %d carries out a second time what node %d has sent: %s", n.name, q.node.name,
			described{q.cmd})
	case q.refused:
		n.world.fail("node %d carries out what node %d was told will never be: %s", n.name, q.node.name,
			described{q.cmd})
	case q.number <= last:
		n.world.fail("node %d carries out command %d of %s after %d: %s", n.name, q.number, q.process, last,
			described{q.cmd})
	}
	q.served, n.served[l] = true, q.number
}

// unserved notes that a command was not carried out, and so none that was sent behind it.
func (n *node) unserved(q *request) {
	l := lane{q.process, q.shard}
	q.served, n.served[l] = false, min(n.served[l], q.number-1)
}
