package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/cluster/lease"
	"github.com/muster-gg/muster/internal/cluster/link"
	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/shard"
)

const (
	// tick is how often what waits is looked at.
	tick = 20 * time.Millisecond

	// MaxCommand is the length of the longest command, and of the longest answer.
	MaxCommand = link.MaxFrame - 64
)

var (
	errNoOwner = errors.New("nobody owns the shard")
	errLost    = errors.New("the link to the owner of the shard broke")
	errAway    = shard.ErrAway
)

func notDone(cause error) error {
	return &fault.Error{
		Kind: fault.ServiceUnavailable, Message: "The service is not ready for this request. Try again.",
		Err: fmt.Errorf("%w: %w", shard.ErrNotDone, cause),
	}
}

func unknown(cause error) error {
	return fault.Internal(fmt.Errorf("%w: %w", shard.ErrOutcomeUnknown, cause))
}

func errFull() error {
	return &fault.Error{Kind: fault.Throttling, Message: "Too many requests are waiting. Try again later.", Err: shard.ErrNotDone}
}

// Send sends a command to the owner of a shard. Commands of one shard come to it in the order
// of the calls. done is called exactly once, in any goroutine, maybe before Send
// returns, and must not block. The error has shard.ErrNotDone or shard.ErrOutcomeUnknown in its chain. cmd
// must not be changed any more.
func (n *Node) Send(shard int, cmd []byte, done func(answer []byte, err error)) {
	if len(cmd) > MaxCommand {
		done(nil, notDone(fmt.Errorf("the command has %d bytes, more than %d", len(cmd), MaxCommand)))
		return
	}
	if err := n.forward.send(shard, &call{cmd: cmd, done: done}); err != nil {
		done(nil, err)
	}
}

// Ask asks the owner of a shard up to which record everything is durable that it had
// handled before now. done is under the same rules as for Send; the error always has
// shard.ErrNotDone in its chain.
func (n *Node) Ask(shard int, done func(seq uint64, err error)) {
	if err := n.forward.ask(shard, asker{done: done}); err != nil {
		done(0, err)
	}
}

// A forwarder is the asking side: lanes, one for each shard, which lead to clients, one for
// each process that owns some.
type forwarder struct {
	n *Node

	mu         sync.Mutex
	closed     bool
	away       bool // nothing is sent
	view       *view
	lanes      []lane
	clients    map[string]*client
	generation uint64 // of the newest client
	id         uint64 // of the newest request
}

// owner is one tenure, as the view names it.
type owner struct {
	life  lease.Life
	epoch uint64
}

// lane is what is under way to one shard.
type lane struct {
	shard int

	// Commands: first those sent, then those that wait.
	sent       []*call
	unanswered int // of sent
	refused    bool
	to         *client // that sent went to
	waiting    []*call
	try        uint64

	// Barriers: those who share the one that was sent, and those who wait for the next.
	asked  *barrier
	askers []asker

	lastOwner owner         // that something was last sent to
	refuser   owner         // who refused last,
	again     time.Duration // and when he may be asked again
}

type call struct {
	cmd      []byte
	done     func([]byte, error)
	lane     *lane
	since    time.Duration
	position uint64 // in the stream of the client
	settled  bool
}

type barrier struct {
	id     uint64
	lane   *lane
	to     *client
	askers []asker
}

type asker struct {
	done  func(uint64, error)
	since time.Duration
}

// client is the link to one process.
type client struct {
	*conveyor
	process string
	calls   map[uint64]*call
	asked   map[uint64]*barrier
	parted  bool // it takes nothing any more
}

// outcomes are what callers are to be told when the lock is free.
type outcomes []func()

func (o outcomes) tell() {
	for _, f := range o {
		f()
	}
}

func (o *outcomes) fail(c *call, err error) { *o = append(*o, func() { c.done(nil, err) }) }
func (o *outcomes) failAll(askers []asker, err error) {
	for _, a := range askers {
		*o = append(*o, func() { a.done(0, err) })
	}
}

func newForwarder(n *Node) *forwarder {
	f := &forwarder{n: n, view: n.view.Load(), lanes: make([]lane, n.cfg.Shards), clients: map[string]*client{}}
	for i := range f.lanes {
		f.lanes[i].shard = i
	}
	return f
}

func (f *forwarder) send(shard int, c *call) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := &f.lanes[shard]
	switch {
	case f.closed:
		return notDone(errStopped)
	case len(l.waiting) >= f.n.cfg.Waiting:
		return errFull()
	}
	c.lane, c.since = l, f.n.elapsed()
	l.waiting = append(l.waiting, c)
	f.advance(l, c.since)
	return nil
}

func (f *forwarder) ask(shard int, a asker) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return notDone(errStopped)
	}
	l := &f.lanes[shard]
	a.since = f.n.elapsed()
	l.askers = append(l.askers, a)
	f.advance(l, a.since)
	return nil
}

// advance sends what may be sent: commands when those before them have been answered, or
// went to the same owner and may still be answered by it.
func (f *forwarder) advance(l *lane, now time.Duration) {
	commands := len(l.waiting) > 0 && !l.refused
	barriers := len(l.askers) > 0 && l.asked == nil
	if !commands && !barriers {
		return
	}
	to, cl := f.ownerOf(l.shard)
	if cl == nil || to == l.refuser && now < l.again {
		return
	}
	l.lastOwner = to
	if commands && (l.unanswered == 0 || l.to == cl) {
		f.sendAll(l, cl)
	}
	if barriers {
		f.id++
		l.asked = &barrier{id: f.id, lane: l, to: cl, askers: l.askers}
		l.askers = nil
		cl.asked[f.id] = l.asked
		cl.stream.Write(link.Frame{Kind: link.Barrier, ID: f.id, Shard: uint64(l.shard)})
	}
	cl.signal()
}

func (f *forwarder) sendAll(l *lane, cl *client) {
	l.to = cl
	for _, c := range l.waiting {
		f.id++
		c.position = cl.stream.Write(link.Frame{Kind: link.Command, ID: f.id, Shard: uint64(l.shard), Try: l.try, Body: c.cmd})
		cl.calls[f.id] = c
		c.settled = false
		l.sent = append(l.sent, c)
	}
	l.unanswered += len(l.waiting)
	clear(l.waiting)
	l.waiting = l.waiting[:0]
}

// ownerOf is who owns a shard, and the link to it; nil when nobody does.
func (f *forwarder) ownerOf(shard int) (owner, *client) {
	life := f.view.owners[shard]
	if f.closed || f.away || life == (lease.Life{}) {
		return owner{}, nil
	}
	cl := f.clients[life.Process]
	if cl == nil {
		f.generation++
		cl = &client{process: life.Process, calls: map[uint64]*call{}, asked: map[uint64]*barrier{}}
		cl.conveyor = f.n.convey(&f.mu, life.Process, link.Packet{Kind: link.FromClient, Generation: f.generation}, func() { f.lose(cl) })
		f.clients[life.Process] = cl
	}
	if cl.parted {
		return owner{}, nil
	}
	return owner{life, f.view.epochs[shard]}, cl
}

// receive takes a packet of a server.
func (f *forwarder) receive(p link.Packet) {
	var told outcomes
	defer func() { told.tell() }()
	f.mu.Lock()
	defer f.mu.Unlock()
	cl := f.clients[p.From]
	if cl == nil || cl.generation != p.Generation {
		return
	}
	now := f.n.elapsed()
	if p.Kind == link.Broken {
		if cl.stream.Heard() { // else it has only lost our first packet
			f.breakOff(cl, now, &told)
		}
		return
	}
	err := cl.stream.Receive(now, p, func(r link.Frame) { f.answered(cl, r, now, &told) })
	if err != nil {
		f.n.cfg.Log.Error("an answer of another node cannot be read", "process", p.From, "error", err)
		f.breakOff(cl, now, &told)
		return
	}
	cl.signal()
}

// answered takes one answer.
func (f *forwarder) answered(cl *client, r link.Frame, now time.Duration, told *outcomes) {
	if r.Kind == link.Farewell {
		cl.parted = true
		f.release(cl, 0, now, told)
		return
	}
	if c := cl.calls[r.ID]; c != nil {
		delete(cl.calls, r.ID)
		if r.Kind == link.Answer {
			body := r.Body
			*told = append(*told, func() { c.done(body, nil) })
		}
		f.settle(c, r.Kind != link.Answer, now)
		return
	}
	if b := cl.asked[r.ID]; b != nil {
		delete(cl.asked, r.ID)
		l := b.lane
		l.asked = nil
		if r.Kind == link.Sequence {
			for _, a := range b.askers {
				*told = append(*told, func() { a.done(r.Sequence, nil) })
			}
		} else {
			l.askers = append(b.askers, l.askers...)
			l.refuser, l.again = l.lastOwner, now+tick
		}
		f.advance(l, now)
	}
}

// settle notes that a command was answered, or refused. When all that were sent are
// settled, those refused are sent again, in their order and before all others.
func (f *forwarder) settle(c *call, refused bool, now time.Duration) {
	l := c.lane
	l.unanswered--
	if refused {
		l.refused = true
	} else {
		c.settled = true
	}
	if l.unanswered > 0 {
		if len(l.sent) > 2*l.unanswered+64 && !l.refused {
			l.sent = slices.DeleteFunc(l.sent, func(c *call) bool { return c.settled })
		}
		return
	}
	if l.refused {
		rest := slices.DeleteFunc(l.sent, func(c *call) bool { return c.settled })
		l.sent, l.waiting = nil, append(rest, l.waiting...)
		l.refused = false
		l.try++
		l.refuser, l.again = l.lastOwner, now+tick
	} else {
		clear(l.sent)
		l.sent = l.sent[:0]
	}
	f.advance(l, now)
}

// lose gives up a link on which nothing is heard any more.
func (f *forwarder) lose(cl *client) {
	var told outcomes
	defer func() { told.tell() }()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clients[cl.process] == cl {
		f.breakOff(cl, f.n.elapsed(), &told)
	}
}

// breakOff ends a link. What was not sent yet is sent to whoever owns the shard now.
func (f *forwarder) breakOff(cl *client, now time.Duration, told *outcomes) {
	delete(f.clients, cl.process)
	cl.close()
	f.release(cl, cl.stream.Packed(), now, told)
}

// release gives up all requests of a link: commands that stand in its stream before the
// given position may have been carried out, the others are sent again elsewhere.
func (f *forwarder) release(cl *client, unsent uint64, now time.Duration, told *outcomes) {
	calls, asked := cl.calls, cl.asked
	cl.calls, cl.asked = map[uint64]*call{}, map[uint64]*barrier{}
	for _, b := range asked {
		b.lane.asked = nil
		b.lane.askers = append(b.askers, b.lane.askers...)
	}
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		c := calls[id]
		if c.position < unsent {
			told.fail(c, unknown(errLost))
		}
		f.settle(c, c.position >= unsent, now)
	}
	for _, b := range asked {
		f.advance(b.lane, now)
	}
}

// moved takes notice of who is there and owns what.
func (f *forwarder) moved(v *view) {
	var told outcomes
	defer func() { told.tell() }()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.view = v
	now := f.n.elapsed()
	for _, cl := range slices.Collect(maps.Values(f.clients)) {
		if !v.has(cl.process) {
			f.breakOff(cl, now, &told)
		}
	}
	for i := range f.lanes {
		f.advance(&f.lanes[i], now)
	}
}

func (v *view) has(process string) bool {
	return slices.ContainsFunc(v.members, func(m Member) bool { return m.Process == process })
}

// tick looks at what waits, until ctx is done.
func (f *forwarder) tick(ctx context.Context) {
	ticker := f.n.cfg.Clock.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.Chan():
			f.look()
		case <-ctx.Done():
			return
		}
	}
}

// look fails what has waited too long, and tries the rest again. For longer than a lease
// nobody waits at a node that is away: callers can ask another one.
func (f *forwarder) look() {
	var told outcomes
	defer func() { told.tell() }()
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.n.elapsed()
	if f.away = f.n.Away() > f.n.cfg.Lease; f.away {
		f.giveUp(errAway, &told)
		return
	}
	for i := range f.lanes {
		l := &f.lanes[i]
		f.expire(l, now-f.n.cfg.Patience, &told)
		f.advance(l, now)
	}
}

// expire fails what waits since before the given moment.
func (f *forwarder) expire(l *lane, before time.Duration, told *outcomes) {
	l.waiting = slices.DeleteFunc(l.waiting, func(c *call) bool {
		if c.since < before {
			told.fail(c, notDone(errNoOwner))
		}
		return c.since < before
	})
	late := func(a asker) bool {
		if a.since < before {
			told.failAll([]asker{a}, notDone(errNoOwner))
		}
		return a.since < before
	}
	l.askers = slices.DeleteFunc(l.askers, late)
	if b := l.asked; b != nil {
		if b.askers = slices.DeleteFunc(b.askers, late); len(b.askers) == 0 {
			delete(b.to.asked, b.id)
			l.asked = nil
		}
	}
}

// stop answers everyone and refuses what comes.
func (f *forwarder) stop() {
	var told outcomes
	defer func() { told.tell() }()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.giveUp(errStopped, &told)
}

// giveUp breaks all links, and fails all that waits.
func (f *forwarder) giveUp(why error, told *outcomes) {
	for _, cl := range slices.Collect(maps.Values(f.clients)) {
		f.breakOff(cl, f.n.elapsed(), told)
	}
	for i := range f.lanes {
		l := &f.lanes[i]
		for _, c := range l.waiting {
			told.fail(c, notDone(why))
		}
		told.failAll(l.askers, notDone(why))
		l.waiting, l.askers = nil, nil
	}
}
