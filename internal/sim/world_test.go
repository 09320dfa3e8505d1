package sim

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// A world is one region, all that is around it, and the one goroutine that lets
// things happen.
type world struct {
	rng      *rand.Rand
	opts     Options
	bug      *bug
	rates    rates
	settings *region.Settings
	agenda   agenda
	trace    trace
	seen     Seen
	step     int
	err      error
	calm     bool // nothing hinders anything any more
	over     bool // the run ends: nobody begins anything any more

	level      int // of features, in force: no release that reads less is started
	nodes      []*node
	shards     []*shardWorld
	owners     []*owner
	operations []*operation // of disks, that are yet to be carried out
	requests   []*request   // that were forwarded
	replies    []*reply     // to those

	rooms   []fleet.RoomID
	servers []*server
	byKey   map[serverKey]*server
	serial  int
	ledger  ledger
	placed  placed
	active  map[sessionKey]bool // game sessions that ever were
	past    past
	waits   waits

	refusedSeats map[[8]byte]bool // player sessions that an owner said will never be
	givenSeats   map[[8]byte]bool // those that are stored

	callers []*caller
	boxes   []*box
	ids     atomic.Int64         // of what jobs of callers create
	begunOn map[string]*box      // by instance: where it has begun
	fleets  map[string]string    // EC2-type fleets that were created, with their instance types
	idle    map[string]time.Time // by box and instance: since when it is not wanted, while the box is connected

	attached  map[versionKey]bool // builds besides their own that fleets have had
	unstarted map[serverKey]bool  // processes that an agent could not start

	wake chan struct{} // holds one when an owner has done something
}

// past is what the history would have.
type past struct {
	sessions   map[sessionKey]*fleet.GameSession
	players    map[fleet.PlayerSessionID]*fleet.PlayerSession // that left memory before their game session
	placements map[string]*placement.Placement
	tickets    map[string]bool
	matches    map[string]bool // that are over
}

// rates are how much goes wrong, in percent.
type rates struct {
	late, lost, duplicate          int
	slow, failing, lying, crashing int // disks; crashing in per mille
}

func newWorld(seed uint64, opts Options) *world {
	w := &world{
		rng: rand.New(rand.NewPCG(seed, 20)), opts: opts, bug: bugNamed(opts.Bug), seen: Seen{},
		trace: trace{whole: opts.Trace, start: time.Now()}, byKey: map[serverKey]*server{}, placed: newPlaced(),
		active: map[sessionKey]bool{}, ledger: ledger{}, waits: newWaits(), wake: make(chan struct{}, 1),
		refusedSeats: map[[8]byte]bool{}, givenSeats: map[[8]byte]bool{},
		past: past{
			map[sessionKey]*fleet.GameSession{}, map[fleet.PlayerSessionID]*fleet.PlayerSession{},
			map[string]*placement.Placement{}, map[string]bool{}, map[string]bool{},
		},
	}
	w.settings = &region.Settings{
		Fleet: fleet.DefaultSettings("us-west-2"), Catalog: catalog.DefaultLimits(), Shards: 1 + w.rng.IntN(4),
	}
	w.rates = rates{
		late: w.rng.IntN(20), lost: w.rng.IntN(5), duplicate: w.rng.IntN(15),
		slow: w.rng.IntN(15), failing: w.rng.IntN(5), lying: w.rng.IntN(5), crashing: w.rng.IntN(20),
	}
	for i := range 2 + w.rng.IntN(3) {
		n := &node{world: w, name: i, clock: newNodeClock(), release: release(w.rng.IntN(2) * (w.rng.IntN(3) - 1))}
		n.clock.jump(w.between(-time.Second, time.Second))
		w.nodes = append(w.nodes, n)
	}
	for i := range w.settings.Shards {
		s := &shardWorld{number: i, follower: region.New(i, w.settings)}
		s.mirror = newMirror(i, memory.New(memory.Config{}), w.settings)
		w.shards = append(w.shards, s)
	}
	for i := range 2 + w.rng.IntN(3) {
		id := fleet.ID(fmt.Sprint("fleet-", i%2))
		w.rooms = append(w.rooms, fleet.RoomID{Fleet: id, Location: fmt.Sprint("custom-", i)})
	}
	w.begunOn, w.fleets, w.idle = map[string]*box{}, map[string]string{}, map[string]time.Time{}
	w.attached, w.unstarted = map[versionKey]bool{}, map[serverKey]bool{}
	if opts.Machines {
		w.rooms = nil
		for _, n := range w.nodes {
			n.release = max(n.release, currentRelease)
		}
	}
	for _, n := range w.nodes {
		n.start()
	}
	for _, s := range w.shards {
		w.begin(s, w.nodes[w.rng.IntN(len(w.nodes))])
	}
	return w
}

// fail ends the run, the first time.
func (w *world) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("step %d: %s", w.step, fmt.Sprintf(format, args...))
		w.trace.add(w.step, "BROKEN: %s", w.err)
	}
}

func (w *world) chance(percent int) bool { return w.rng.IntN(100) < percent }

// between is a time from least to most, in whole milliseconds.
func (w *world) between(least, most time.Duration) time.Duration {
	return (least + time.Duration(w.rng.Int64N(int64(most-least)+1))).Truncate(time.Millisecond)
}

// in plans something.
func (w *world) in(d time.Duration, do func(*world)) { w.at(time.Now().Add(d), do) }

// at plans something.
func (w *world) at(at time.Time, do func(*world)) { w.agenda.add(at, func() { do(w) }) }

// stir wakes the world. It is called by the goroutines of shards.
func (w *world) stir() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// pass lets time go by, and everything happen that happens meanwhile.
func (w *world) pass(d time.Duration) {
	for end := time.Now().Add(d); w.err == nil; {
		w.settle()
		if do, ok := w.agenda.due(time.Now()); ok {
			do()
			continue
		}
		now := time.Now()
		if !now.Before(end) {
			return
		}
		w.sleep(w.nextMoment(end).Sub(now))
	}
}

// nextMoment is when the world has to do something, at the latest at end.
func (w *world) nextMoment(end time.Time) time.Time {
	if at, ok := w.agenda.next(); ok && at.Before(end) {
		end = at
	}
	now := time.Now()
	for _, n := range w.nodes {
		if at := n.paused; at.Before(end) && at.After(now) {
			end = at
		}
	}
	for _, op := range w.operations {
		if at := op.at(); at.Before(end) && at.After(now) {
			end = at
		}
	}
	return end
}

// sleep waits for a moment, or until an owner does something.
func (w *world) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.wake:
	}
}

// settle brings everything to rest that needs no time: it hears the owners and
// carries out operations of disks, one by one.
func (w *world) settle() {
	for w.err == nil {
		synctest.Wait()
		w.gather()
		if w.listen() || w.operate() || w.passOn() || w.resume() || w.flush() || w.passPushes() || w.carryCalls() {
			continue
		}
		w.inspect()
		return
	}
}

// gather draws the fates of operations that have come.
func (w *world) gather() {
	for _, o := range w.owners {
		for _, op := range o.disk.take() {
			w.destine(op)
			w.operations = append(w.operations, op)
		}
	}
}

// destine draws what becomes of an operation.
func (w *world) destine(op *operation) {
	latency := w.between(0, 3*time.Millisecond)
	if w.chance(w.rates.slow) {
		latency = w.between(0, []time.Duration{100 * time.Millisecond, 2 * time.Second,
			15 * time.Second}[w.rng.IntN(3)])
	}
	op.due, op.fate = time.Now().Add(latency), fine
	switch n := w.rng.IntN(100); {
	case op.kind == opSave && n < 10:
		op.fate = cut
	case op.kind != opAppend:
	case n < w.rates.failing:
		op.fate = fails
	case n < w.rates.failing+w.rates.lying:
		op.fate = lies
	case w.rng.IntN(1000) < w.rates.crashing:
		op.fate = []fate{crashBefore, crashAfter}[w.rng.IntN(2)]
	}
	if op.fate != fine {
		w.seen[string(op.kind)+" "+string(op.fate)]++
	}
}

// at is when an operation can be carried out: a paused node does nothing.
func (op *operation) at() time.Time {
	if paused := op.disk.owner.node.paused; paused.After(op.due) && !op.over {
		return paused
	}
	return op.due
}

// listen hears all owners.
func (w *world) listen() (heard bool) {
	for _, o := range w.owners {
		if time.Now().Before(o.node.paused) {
			continue
		}
		for _, out := range o.take() {
			heard = true
			if o.dead && !out.ended {
				continue
			}
			w.hear(o, out)
		}
	}
	return heard
}

// operate carries out one operation whose time has come.
func (w *world) operate() bool {
	now := time.Now()
	best := -1
	for i, op := range w.operations {
		if !op.at().After(now) && (best < 0 || op.before(w.operations[best])) {
			best = i
		}
	}
	if best < 0 {
		return false
	}
	op := w.operations[best]
	w.operations = slices.Delete(w.operations, best, best+1)
	if op.fate != fine {
		w.trace.add(w.step, "%s of %s %s", op.kind, op.disk.owner, op.fate)
	}
	op.carryOut(context.Background())
	return true
}

func (a *operation) before(b *operation) bool {
	return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.disk.owner.n, b.disk.owner.n), cmp.Compare(a.kind, b.kind)) < 0
}

// id makes a name that nothing else has.
func (w *world) id(kind string) string {
	w.serial++
	return fmt.Sprint(kind, "-", w.serial)
}

func (w *world) random() (r [8]byte) {
	for i := range r {
		r[i] = byte(w.rng.Uint32())
	}
	r[0] = r[0]&0x3f | 0x80 // as it stands in a player session's id
	return r
}

// fill fills b at random.
func (w *world) fill(b []byte) {
	r := w.random()
	copy(b, r[:])
}

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// restore makes a machine of a snapshot.
func restore(m *region.Machine, snapshot []byte) {
	for len(snapshot) > 0 {
		f, rest, err := region.Events.Next(snapshot)
		mustWrite(err)
		mustWrite(m.Restore(f))
		snapshot = rest
	}
}
