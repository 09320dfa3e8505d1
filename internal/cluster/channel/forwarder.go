package channel

import (
	"errors"
	"maps"
	"slices"
	"time"
)

// retryRefused is how long a forwarder waits before it sends requests again to an owner that refused them.
const retryRefused = 20 * time.Millisecond

// probeAfter is how long a channel with unanswered requests may be silent. A server that has dropped the channel
// reports that only when it receives a packet, and a client that waits for a response sends none.
const probeAfter = 2 * time.Second

// Why a request fails. After all errors but ErrLost it was not executed, and will not be.
var (
	ErrNoOwner = errors.New("the shard has no owner")
	ErrLost    = errors.New("the channel to the owner of the shard broke")
	ErrCutOff  = errors.New("this node does not reach the others")
	ErrStopped = errors.New("the node has left the cluster")
	ErrFull    = errors.New("too many requests are waiting")
)

// An Owner is the term of a process as the owner of a shard. The zero value means that there is none.
type Owner struct {
	Process    string
	Run, Epoch uint64
}

// A Forwarder sends requests to the owners of shards: it has a lane for each shard, and a client for each process that
// owns some. It is not safe for concurrent use, and its times are durations since any moment. After each call the
// caller runs Outcomes.
type Forwarder struct {
	cfg            Config
	maxWaiting     int
	failure        func(error) error
	closed, cutOff bool
	owners         []Owner
	lanes          []lane
	clients        map[string]*client
	generation     uint64 // of the newest client
	id             uint64 // of the newest request
	outcomes       []func()
}

// NewForwarder returns a forwarder that knows no owner. Of each shard maxWaiting commands may wait. failure returns the
// error for a caller whose request fails because of one of the errors above.
func NewForwarder(cfg Config, shards, maxWaiting int, failure func(error) error) *Forwarder {
	f := &Forwarder{
		cfg: cfg, maxWaiting: maxWaiting, failure: failure,
		owners: make([]Owner, shards), lanes: make([]lane, shards), clients: map[string]*client{},
	}
	for i := range f.lanes {
		f.lanes[i].shard = i
	}
	return f
}

// Outcomes returns the calls of callers' functions that are due, and forgets them.
func (f *Forwarder) Outcomes() []func() {
	outcomes := f.outcomes
	f.outcomes = nil
	return outcomes
}

func (f *Forwarder) fail(c *call, err error) {
	f.outcomes = append(f.outcomes, func() { c.done(nil, f.failure(err)) })
}

func (f *Forwarder) failAll(askers []asker, err error) {
	for _, a := range askers {
		f.outcomes = append(f.outcomes, func() { a.done(0, f.failure(err)) })
	}
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

	lastOwner Owner         // last receiver of a request
	refuser   Owner         // the last one to refuse,
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
	*End
	calls    map[uint64]*call
	asked    map[uint64]*barrier
	finished bool          // it accepts no more requests
	heard    time.Duration // when it last received or sent something, or waited for no response
}

// Send sends a command to the owner of a shard, after those of earlier calls. done is called once, unless Send returns
// an error. cmd must not be changed any more.
func (f *Forwarder) Send(now time.Duration, shard int, cmd []byte, done func([]byte, error)) error {
	l := &f.lanes[shard]
	switch {
	case f.closed:
		return f.failure(ErrStopped)
	case len(l.waiting) >= f.maxWaiting:
		return f.failure(ErrFull)
	}
	l.waiting = append(l.waiting, &call{cmd: cmd, done: done, lane: l, since: now})
	f.advance(l, now)
	return nil
}

// Ask sends a barrier to the owner of a shard. done is called once, unless Ask returns an error.
func (f *Forwarder) Ask(now time.Duration, shard int, done func(uint64, error)) error {
	if f.closed {
		return f.failure(ErrStopped)
	}
	l := &f.lanes[shard]
	l.askers = append(l.askers, asker{done, now})
	f.advance(l, now)
	return nil
}

// advance sends what may be sent: commands once those before them are answered, or if those went to the same owner,
// which may still answer them.
func (f *Forwarder) advance(l *lane, now time.Duration) {
	commands := len(l.waiting) > 0 && !l.refused
	barriers := len(l.askers) > 0 && l.asked == nil
	if !commands && !barriers {
		return
	}
	to, cl := f.ownerOf(l.shard, now)
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
		cl.Write(Frame{Kind: Barrier, ID: f.id, Shard: uint64(l.shard)})
	}
	cl.carrier.Signal()
}

func (f *Forwarder) sendAll(l *lane, cl *client) {
	l.to = cl
	for _, c := range l.waiting {
		f.id++
		c.position = cl.Write(Frame{Kind: Command, ID: f.id, Shard: uint64(l.shard), Try: l.try, Body: c.cmd})
		cl.calls[f.id] = c
		c.settled = false
		l.sent = append(l.sent, c)
	}
	l.unanswered += len(l.waiting)
	clear(l.waiting)
	l.waiting = l.waiting[:0]
}

// ownerOf returns the owner of a shard, and the channel to it; nil if there is none.
func (f *Forwarder) ownerOf(shard int, now time.Duration) (Owner, *client) {
	to := f.owners[shard]
	if f.closed || f.cutOff || to == (Owner{}) {
		return Owner{}, nil
	}
	cl := f.clients[to.Process]
	if cl == nil {
		f.generation++
		cl = &client{calls: map[uint64]*call{}, asked: map[uint64]*barrier{}, heard: now}
		cl.End = f.cfg.open(to.Process, FromClient, f.generation)
		f.clients[to.Process] = cl
	}
	if cl.finished {
		return Owner{}, nil
	}
	return to, cl
}

// Receive processes a packet of a server.
func (f *Forwarder) Receive(now time.Duration, p Packet) error {
	cl := f.clients[p.From]
	if cl == nil || cl.head.Generation != p.Generation {
		return nil
	}
	if p.Kind == Broken {
		if cl.Acknowledged() { // else it has only missed the first packet
			f.breakOff(cl, now)
		}
		return nil
	}
	cl.heard = now
	err := cl.Receive(now, p, func(r Frame) { f.answered(cl, r, now) })
	if err != nil {
		f.breakOff(cl, now)
		return err
	}
	cl.carrier.Signal()
	return nil
}

func (f *Forwarder) answered(cl *client, r Frame, now time.Duration) {
	if r.Kind == Farewell {
		cl.finished = true
		f.release(cl, 0, now)
		return
	}
	if c := cl.calls[r.ID]; c != nil {
		delete(cl.calls, r.ID)
		if r.Kind == Answer {
			body := r.Body
			f.outcomes = append(f.outcomes, func() { c.done(body, nil) })
		}
		f.settle(c, r.Kind != Answer, now)
		return
	}
	if b := cl.asked[r.ID]; b != nil {
		delete(cl.asked, r.ID)
		l := b.lane
		l.asked = nil
		if r.Kind == Sequence {
			for _, a := range b.askers {
				f.outcomes = append(f.outcomes, func() { a.done(r.Sequence, nil) })
			}
		} else {
			l.askers = append(b.askers, l.askers...)
			l.refuser, l.again = l.lastOwner, now+retryRefused
		}
		f.advance(l, now)
	}
}

// settle records that a command was answered or refused. When all sent ones are settled, the refused ones are sent
// again, in their order and before all others.
func (f *Forwarder) settle(c *call, refused bool, now time.Duration) {
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
		l.refuser, l.again = l.lastOwner, now+retryRefused
	} else {
		clear(l.sent)
		l.sent = l.sent[:0]
	}
	f.advance(l, now)
}

// Lost closes a channel on which nothing is received any more.
func (f *Forwarder) Lost(now time.Duration, end *End) {
	if cl := f.clients[end.Process]; cl != nil && cl.End == end {
		f.breakOff(cl, now)
	}
}

// breakOff closes a channel. Requests that were not sent yet are sent to the present owner of the shard.
func (f *Forwarder) breakOff(cl *client, now time.Duration) {
	delete(f.clients, cl.Process)
	cl.close()
	f.release(cl, cl.Packed(), now)
}

// release ends all requests of a channel: commands before the given position of its stream may have been executed, the
// others are sent again elsewhere.
func (f *Forwarder) release(cl *client, unsent uint64, now time.Duration) {
	calls, asked := cl.calls, cl.asked
	cl.calls, cl.asked = map[uint64]*call{}, map[uint64]*barrier{}
	for _, b := range asked {
		b.lane.asked = nil
		b.lane.askers = append(b.askers, b.lane.askers...)
	}
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		c := calls[id]
		if c.position < unsent {
			f.fail(c, ErrLost)
		}
		f.settle(c, c.position >= unsent, now)
	}
	for _, id := range slices.Sorted(maps.Keys(asked)) {
		f.advance(asked[id].lane, now)
	}
}

// Moved processes a change of members or owners.
func (f *Forwarder) Moved(now time.Duration, owners []Owner, member func(process string) bool) {
	f.owners = owners
	for _, process := range slices.Sorted(maps.Keys(f.clients)) {
		if !member(process) {
			f.breakOff(f.clients[process], now)
		}
	}
	for i := range f.lanes {
		f.advance(&f.lanes[i], now)
	}
}

// Check fails requests that have waited too long, or wait at a node that is cut off from the others, and tries to send
// the rest. It also finds channels that their server has dropped. It must be called at intervals.
func (f *Forwarder) Check(now time.Duration, cutOff bool) {
	if f.cutOff = cutOff; cutOff {
		f.giveUp(now, ErrCutOff)
		return
	}
	for i := range f.lanes {
		l := &f.lanes[i]
		f.expire(l, now-f.cfg.Patience)
		f.advance(l, now)
	}
	for _, process := range slices.Sorted(maps.Keys(f.clients)) {
		f.probe(f.clients[process], now)
	}
}

// probe sends a barrier without a caller over a channel on which a response has been due for long.
func (f *Forwarder) probe(cl *client, now time.Duration) {
	switch {
	case len(cl.calls)+len(cl.asked) == 0 || !cl.Idle():
		cl.heard = now
	case now-cl.heard >= probeAfter:
		cl.heard = now
		f.id++
		cl.Write(Frame{Kind: Barrier, ID: f.id})
		cl.carrier.Signal()
	}
}

// expire fails requests that have been waiting since before the given moment.
func (f *Forwarder) expire(l *lane, before time.Duration) {
	l.waiting = slices.DeleteFunc(l.waiting, func(c *call) bool {
		if c.since < before {
			f.fail(c, ErrNoOwner)
		}
		return c.since < before
	})
	late := func(a asker) bool {
		if a.since < before {
			f.failAll([]asker{a}, ErrNoOwner)
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

// Stop fails all requests, and those of later calls.
func (f *Forwarder) Stop(now time.Duration) {
	f.closed = true
	f.giveUp(now, ErrStopped)
}

// giveUp closes all channels, and fails all waiting requests.
func (f *Forwarder) giveUp(now time.Duration, why error) {
	for _, process := range slices.Sorted(maps.Keys(f.clients)) {
		f.breakOff(f.clients[process], now)
	}
	for i := range f.lanes {
		l := &f.lanes[i]
		for _, c := range l.waiting {
			f.fail(c, why)
		}
		f.failAll(l.askers, why)
		l.waiting, l.askers = nil, nil
	}
}
