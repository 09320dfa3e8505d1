package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/cluster/channel"
	"github.com/muster-gg/muster/internal/cluster/lease"
	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/shard"
)

const (
	// tick is the interval of checks of waiting requests.
	tick = 20 * time.Millisecond

	// MaxCommand is the maximum size of a command, and of an answer, in bytes.
	MaxCommand = channel.MaxFrame - 64
)

var (
	errNoOwner = errors.New("the shard has no owner")
	errLost    = errors.New("the channel to the owner of the shard broke")
	errAway    = shard.ErrPartitioned
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

// Send sends a command to the owner of a shard. Commands of one shard arrive in the order of the calls. done is
// called exactly once, in any goroutine, possibly before Send returns, and must not block. Its error has
// shard.ErrNotDone or shard.ErrOutcomeUnknown in its chain. cmd must not be changed any more.
func (n *Node) Send(shard int, cmd []byte, done func(answer []byte, err error)) {
	if len(cmd) > MaxCommand {
		done(nil, notDone(fmt.Errorf("the command has %d bytes, more than %d", len(cmd), MaxCommand)))
		return
	}
	if err := n.forward.send(shard, &call{cmd: cmd, done: done}); err != nil {
		done(nil, err)
	}
}

// Ask asks the owner of a shard for the record up to which everything is durable that it had executed before now. The
// rules of Send apply to done; its error always has shard.ErrNotDone in its chain.
func (n *Node) Ask(shard int, done func(seq uint64, err error)) {
	if err := n.forward.ask(shard, asker{done: done}); err != nil {
		done(0, err)
	}
}

// A forwarder sends requests: a lane for each shard, and a client for each process that owns some.
type forwarder struct {
	n *Node

	mu         sync.Mutex
	closed     bool
	view       *view
	lanes      []lane
	clients    map[string]*client
	generation uint64 // of the newest client
	id         uint64 // of the newest request
}

// owner is one term, as in the view.
type owner struct {
	run   lease.Run
	epoch uint64
}

// lane holds the unanswered and waiting requests of one shard.
type lane struct {
	shard int

	// Commands: sent ones, then waiting ones.
	sent       []*call
	unanswered int // of sent
	refused    bool
	to         *client // receiver of sent
	waiting    []*call
	try        uint64

	// Barriers: callers that share the one that was sent, and callers that wait for the next.
	asked  *barrier
	askers []asker

	lastOwner owner         // last receiver of a request
	refuser   owner         // the last one to refuse,
	again     time.Duration // and when it may be asked again
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

// client is the channel to one process.
type client struct {
	*sender
	process  string
	calls    map[uint64]*call
	asked    map[uint64]*barrier
	finished bool // it accepts no more requests
}

// outcomes are calls of callers' functions, for when the lock is released.
type outcomes []func()

func (o outcomes) run() {
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

// advance sends what may be sent: commands once those before them are answered, or if those went to the same owner,
// which may still answer them.
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
		cl.stream.Write(channel.Frame{Kind: channel.Barrier, ID: f.id, Shard: uint64(l.shard)})
	}
	cl.signal()
}

func (f *forwarder) sendAll(l *lane, cl *client) {
	l.to = cl
	for _, c := range l.waiting {
		f.id++
		c.position = cl.stream.Write(channel.Frame{Kind: channel.Command, ID: f.id, Shard: uint64(l.shard), Try: l.try, Body: c.cmd})
		cl.calls[f.id] = c
		c.settled = false
		l.sent = append(l.sent, c)
	}
	l.unanswered += len(l.waiting)
	clear(l.waiting)
	l.waiting = l.waiting[:0]
}

// ownerOf returns the owner of a shard, and the channel to it; nil if there is none.
func (f *forwarder) ownerOf(shard int) (owner, *client) {
	run := f.view.owners[shard]
	if f.closed || f.n.CutOff() || run == (lease.Run{}) {
		return owner{}, nil
	}
	cl := f.clients[run.Process]
	if cl == nil {
		f.generation++
		cl = &client{process: run.Process, calls: map[uint64]*call{}, asked: map[uint64]*barrier{}}
		cl.sender = f.n.newSender(&f.mu, run.Process, channel.Packet{Kind: channel.FromClient, Generation: f.generation}, func() { f.lose(cl) })
		f.clients[run.Process] = cl
	}
	if cl.finished {
		return owner{}, nil
	}
	return owner{run, f.view.epochs[shard]}, cl
}

// receive processes a packet of a server.
func (f *forwarder) receive(p channel.Packet) {
	var after outcomes
	defer func() { after.run() }()
	f.mu.Lock()
	defer f.mu.Unlock()
	cl := f.clients[p.From]
	if cl == nil || cl.generation != p.Generation {
		return
	}
	now := f.n.elapsed()
	if p.Kind == channel.Broken {
		if cl.stream.Acknowledged() { // else it has only missed the first packet
			f.breakOff(cl, now, &after)
		}
		return
	}
	err := cl.stream.Receive(now, p, func(r channel.Frame) { f.answered(cl, r, now, &after) })
	if err != nil {
		f.n.cfg.Log.Error("malformed answer of another node", "process", p.From, "error", err)
		f.breakOff(cl, now, &after)
		return
	}
	cl.signal()
}

// answered processes one response.
func (f *forwarder) answered(cl *client, r channel.Frame, now time.Duration, after *outcomes) {
	if r.Kind == channel.Farewell {
		cl.finished = true
		f.release(cl, 0, now, after)
		return
	}
	if c := cl.calls[r.ID]; c != nil {
		delete(cl.calls, r.ID)
		if r.Kind == channel.Answer {
			body := r.Body
			*after = append(*after, func() { c.done(body, nil) })
		}
		f.settle(c, r.Kind != channel.Answer, now)
		return
	}
	if b := cl.asked[r.ID]; b != nil {
		delete(cl.asked, r.ID)
		l := b.lane
		l.asked = nil
		if r.Kind == channel.Sequence {
			for _, a := range b.askers {
				*after = append(*after, func() { a.done(r.Sequence, nil) })
			}
		} else {
			l.askers = append(b.askers, l.askers...)
			l.refuser, l.again = l.lastOwner, now+tick
		}
		f.advance(l, now)
	}
}

// settle records that a command was answered or refused. When all sent ones are settled, the refused ones are sent
// again, in their order and before all others.
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

// lose closes a channel on which nothing is received any more.
func (f *forwarder) lose(cl *client) {
	var after outcomes
	defer func() { after.run() }()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clients[cl.process] == cl {
		f.breakOff(cl, f.n.elapsed(), &after)
	}
}

// breakOff closes a channel. Requests that were not sent yet are sent to the present owner of the shard.
func (f *forwarder) breakOff(cl *client, now time.Duration, after *outcomes) {
	delete(f.clients, cl.process)
	cl.close()
	f.release(cl, cl.stream.Packed(), now, after)
}

// release ends all requests of a channel: commands before the given position of its stream may have been executed,
// the others are sent again elsewhere.
func (f *forwarder) release(cl *client, unsent uint64, now time.Duration, after *outcomes) {
	calls, asked := cl.calls, cl.asked
	cl.calls, cl.asked = map[uint64]*call{}, map[uint64]*barrier{}
	for _, b := range asked {
		b.lane.asked = nil
		b.lane.askers = append(b.askers, b.lane.askers...)
	}
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		c := calls[id]
		if c.position < unsent {
			after.fail(c, unknown(errLost))
		}
		f.settle(c, c.position >= unsent, now)
	}
	for _, b := range asked {
		f.advance(b.lane, now)
	}
}

// moved processes a change of members or owners.
func (f *forwarder) moved(v *view) {
	var after outcomes
	defer func() { after.run() }()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.view = v
	now := f.n.elapsed()
	for _, cl := range slices.Collect(maps.Values(f.clients)) {
		if !v.has(cl.process) {
			f.breakOff(cl, now, &after)
		}
	}
	for i := range f.lanes {
		f.advance(&f.lanes[i], now)
	}
}

func (v *view) has(process string) bool {
	return slices.ContainsFunc(v.members, func(m Member) bool { return m.Process == process })
}

// tick checks waiting requests periodically, until ctx is done.
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

// look fails requests that have waited too long, or wait at a node that is cut off, and tries to send the rest.
func (f *forwarder) look() {
	var after outcomes
	defer func() { after.run() }()
	f.n.updateCutOff()
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.n.elapsed()
	if f.n.CutOff() {
		f.giveUp(errAway, &after)
		return
	}
	for i := range f.lanes {
		l := &f.lanes[i]
		f.expire(l, now-f.n.cfg.Patience, &after)
		f.advance(l, now)
	}
}

// expire fails requests that have been waiting since before the given moment.
func (f *forwarder) expire(l *lane, before time.Duration, after *outcomes) {
	l.waiting = slices.DeleteFunc(l.waiting, func(c *call) bool {
		if c.since < before {
			after.fail(c, notDone(errNoOwner))
		}
		return c.since < before
	})
	late := func(a asker) bool {
		if a.since < before {
			after.failAll([]asker{a}, notDone(errNoOwner))
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

// stop fails all requests, and refuses new ones.
func (f *forwarder) stop() {
	var after outcomes
	defer func() { after.run() }()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.giveUp(errStopped, &after)
}

// giveUp closes all channels, and fails all waiting requests.
func (f *forwarder) giveUp(why error, after *outcomes) {
	for _, cl := range slices.Collect(maps.Values(f.clients)) {
		f.breakOff(cl, f.n.elapsed(), after)
	}
	for i := range f.lanes {
		l := &f.lanes[i]
		for _, c := range l.waiting {
			after.fail(c, notDone(why))
		}
		after.failAll(l.askers, notDone(why))
		l.waiting, l.askers = nil, nil
	}
}
