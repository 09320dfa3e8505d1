package control

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// placing carries out placements: it asks for the game sessions that they say are
// under way, tells them what became of those, and lets the ones for which nothing
// is free wait. What it knows follows from the state of the shards. After a failure it
// begins anew from there, and every step of it may be repeated.
//
// The followers call it on their commit goroutines, of which each waits for mu
// alone. What it has to say to shards is said when mu is free again; see unlock.
type placing struct {
	plane     *Plane
	watches   watches[string] // of placements, by id
	news      chan struct{}   // holds one when attend has something to look at
	recovered chan struct{}   // holds one when resolve has

	mu         sync.Mutex
	driving    bool                // on this node
	placements map[string]*pending // that are PENDING, by id
	lines      map[fleet.RoomID]*line
	queues     map[string]*servedQueue // by name
	steps      *btree.BTreeG[*pending] // that wait for a latency policy, by when
	posts      []post                  // for the shards, once mu is free

	cataloged  bool         // the catalog has been read
	changed    bool         // the catalog has, since attend looked
	revised    bool         // a queue has, since those that wait for it were looked through
	unresolved map[int]bool // shards that have recovered, and whose attempts are to be looked for
	suspects   []suspect
}

// A pending is a placement that is PENDING.
type pending struct {
	request           *placement.Request
	shard             int
	started, deadline event.Time

	stage   stage
	attempt int          // the number of the newest one; 0 before the first
	room    fleet.RoomID // of that one
	try     *try         // while beginning and running; nil for one that a recovery found
	tries   int          // how often the shards failed to say what became of the attempt

	queue  *servedQueue // that the choice was made from
	choice placement.Choice
	next   int        // of the rooms of the choice, how many it stands in line for
	lines  []*line    // where it stands
	step   event.Time // when the choice changes by itself; 0: never
}

// stage says what is under way for a placement.
type stage uint8

const (
	searching stage = iota // a room is yet to be looked for
	waiting                // it stands in line
	beginning              // the placement is asked to begin an attempt
	running                // an attempt runs
)

// compare orders placements as they are served.
func (a *pending) compare(b *pending) int {
	return cmp.Or(cmp.Compare(a.started, b.started), strings.Compare(a.request.ID, b.request.ID))
}

func (a *pending) older(b *pending) bool { return a.compare(b) < 0 }

func (a *pending) stepsBefore(b *pending) bool {
	return a.step < b.step || a.step == b.step && a.older(b)
}

func newPlacing(p *Plane) *placing {
	d := &placing{plane: p, news: make(chan struct{}, 1), recovered: make(chan struct{}, 1)}
	d.forgetAll(false)
	return d
}

// forgetAll forgets everything, at the beginning and the end of driving on this node.
// Whatever is still under way finds nothing any more that it belongs to.
func (d *placing) forgetAll(driving bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.driving = driving
	d.placements, d.lines, d.queues = map[string]*pending{}, map[fleet.RoomID]*line{}, map[string]*servedQueue{}
	d.steps = btree.NewBTreeGOptions((*pending).stepsBefore, btree.Options{NoLocks: true})
	d.posts, d.unresolved, d.suspects, d.revised = nil, map[int]bool{}, nil, false
}

// A post is a request to a shard: a command, or a read.
type post struct {
	shard  int
	cmd    region.Command
	done   func(answer any, err error) // nil: nobody waits for the answer
	read   func(*region.Machine)
	looked func(err error)
}

// say leaves a command for the shard of a placement.
func (d *placing) say(p *pending, c placement.Command, done func(any, error)) {
	d.posts = append(d.posts, post{shard: p.shard, cmd: region.PlacementCommand{Command: c}, done: done})
}

// sayTo leaves a command for a room.
func (d *placing) sayTo(room fleet.RoomID, c fleet.Command, done func(any, error)) {
	d.posts = append(d.posts, post{shard: d.shardOf(room), cmd: region.RoomCommand{Room: room, Command: c}, done: done})
}

func (d *placing) shardOf(room fleet.RoomID) int { return region.ShardOf(room, len(d.plane.shards)) }

// unlock lets go of mu and then sends what was left for the shards: one that has
// stopped answers at once, and whoever takes the answer wants mu.
func (d *placing) unlock() {
	var few [8]post
	posts := few[:copy(few[:], d.posts)]
	if len(d.posts) > len(few) {
		posts, d.posts = d.posts, nil
	}
	clear(d.posts)
	d.posts = d.posts[:0]
	d.mu.Unlock()
	for _, post := range posts {
		s := d.plane.shards[post.shard]
		switch {
		case post.read != nil:
			s.Peek(post.read, post.looked)
		case post.done != nil:
			s.Follow(post.cmd, post.done)
		default:
			s.Tell(post.cmd)
		}
	}
}

// hasStarted takes in a new placement.
func (d *placing) hasStarted(shard int, e *placement.PlacementStarted) {
	d.mu.Lock()
	defer d.unlock()
	if !d.driving {
		return
	}
	p := &pending{request: &e.Request, shard: shard, started: e.At, deadline: e.Deadline}
	d.placements[e.ID] = p
	if e.Room == nil {
		d.place(p)
		return
	}
	p.attempt, p.room = 1, *e.Room
	d.run(p, d.newTry(p))
}

// hasBegun asks for the game session of an attempt.
func (d *placing) hasBegun(e *placement.AttemptBegun) {
	d.mu.Lock()
	defer d.unlock()
	p := d.placements[e.ID]
	if p == nil {
		return
	}
	t := p.try
	if t == nil || t.number != e.Number {
		d.leave(p)
		p.attempt, p.room = e.Number, e.Room
		t = d.newTry(p)
	}
	d.run(p, t)
}

// attemptIsOver returns the placement, which has to search on: not before all facts
// of the commit are known, because its end may be the next one.
func (d *placing) attemptIsOver(e *placement.AttemptOver) *pending {
	d.mu.Lock()
	defer d.unlock()
	p := d.placements[e.ID]
	if p != nil {
		p.stage, p.try, p.tries = searching, nil, 0
	}
	return p
}

// search places the placements whose attempts are over.
func (d *placing) search(list []*pending) {
	d.mu.Lock()
	defer d.unlock()
	for _, p := range list {
		if d.placements[p.request.ID] == p && p.stage == searching {
			d.place(p)
		}
	}
}

// isOver forgets a placement. When it was given up in the middle of an attempt, the
// attempt's game session must not stay.
func (d *placing) isOver(id string, inVain bool) {
	d.mu.Lock()
	defer d.unlock()
	p := d.placements[id]
	if p == nil {
		return
	}
	d.drop(p)
	if inVain && p.stage == running {
		d.sayTo(p.room, fleet.TerminateGameSession{ID: placement.SessionID(id, p.attempt)}, nil)
	}
}

// drop forgets a placement.
func (d *placing) drop(p *pending) {
	d.leave(p)
	delete(d.placements, p.request.ID)
}

// attend looks through those who wait when the catalog has changed, and when the
// time of a latency policy is over.
func (d *placing) attend(ctx context.Context) error {
	timer := d.plane.cfg.Clock.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		d.review()
		d.reset(timer)
		select {
		case <-ctx.Done():
			return nil
		case <-d.news:
		case <-timer.Chan():
		}
	}
}

// reset sets the timer for the next latency policy.
func (d *placing) reset(timer clockwork.Timer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if first, ok := d.steps.Min(); ok {
		timer.Reset(max(0, first.step.Time().Sub(d.plane.cfg.Clock.Now())))
	}
}

// review does what attend is there for.
func (d *placing) review() {
	d.mu.Lock()
	defer d.unlock()
	if d.changed && d.cataloged {
		d.changed = false
		d.reviewQueues(d.plane.catalog())
	}
	now := d.plane.now()
	for {
		p, ok := d.steps.Min()
		if !ok || p.step > now {
			return
		}
		d.place(p)
	}
}

// catalogChanged is told of each new view of the catalog.
func (d *placing) catalogChanged() {
	d.mu.Lock()
	defer d.unlock()
	d.cataloged, d.changed = true, true
	wake(d.news)
}

// queueOf finds the queue of a placement as it is now; nil when it is gone.
func (d *placing) queueOf(r *placement.Request) *servedQueue {
	q, ok := d.plane.catalog().Queue(r.Queue)
	if !ok || q.ID != r.QueueID {
		return nil
	}
	return d.serve(d.plane.catalog(), q)
}

// reviewQueues places anew those who wait for a queue that has changed, or leads to
// fleets that have, and fails those whose queue is gone.
func (d *placing) reviewQueues(view *catalog.State) {
	for name, old := range d.queues {
		q, ok := view.Queue(name)
		if !ok || q.ID != old.queue.ID {
			delete(d.queues, name)
			d.revised = true
		}
		if ok {
			d.serve(view, q)
		}
	}
	if !d.revised {
		return
	}
	d.revised = false
	for _, p := range d.byAge(func(p *pending) bool { return p.queue == nil || p.queue != d.queues[p.request.Queue] }) {
		if queue := d.queueOf(p.request); queue == nil {
			d.fail(p)
		} else if p.queue = queue; p.stage == waiting || p.stage == searching {
			d.place(p)
		}
	}
	for _, l := range d.lines {
		if l.underway == 0 && l.waiting.Len() == 0 && !l.asking {
			delete(d.lines, l.room) // of a fleet that may be gone; it comes again when it is needed
			continue
		}
		d.wake(l) // a fleet may allow more activations now
	}
}

// byAge lists placements, those first that are served first.
func (d *placing) byAge(which func(*pending) bool) []*pending {
	var list []*pending
	for _, p := range d.placements {
		if which(p) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, (*pending).compare)
	return list
}
