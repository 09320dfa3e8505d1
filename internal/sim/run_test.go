package sim

import (
	"runtime/debug"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
)

// Run runs one seed.
func Run(t *testing.T, seed uint64, opts Options) (r Result) {
	t.Helper()
	if opts.Steps == 0 {
		opts.Steps = 120
	}
	synctest.Test(t, func(*testing.T) {
		w := newWorld(seed, opts)
		begin := time.Now()
		w.run()
		w.stop()
		r = Result{Err: w.err, Trace: w.trace.text(), Seen: w.seen, Elapsed: time.Since(begin)}
	})
	return r
}

// run draws what happens, and then lets it come to an end.
func (w *world) run() {
	defer func() {
		if p := recover(); p != nil {
			w.fail("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if w.opts.Machines {
		w.foundMachines()
	} else {
		w.found()
		for range 3 {
			w.capacity()
		}
	}
	for w.step = 1; w.step <= w.opts.Steps && w.err == nil; w.step++ {
		w.draw()
		w.pass(w.between(0, []time.Duration{5 * time.Millisecond, time.Second, 10 * time.Second}[w.rng.IntN(3)]))
	}
	if w.opts.Machines {
		w.concludeMachines()
	} else {
		w.conclusion()
	}
}

// An action is something that the seed may draw.
type action struct {
	name   string
	weight int
	do     func(*world)
}

var actions = []action{
	{"capacity", 10, (*world).capacity},
	{"create", 14, (*world).create},
	{"join", 26, (*world).join},
	{"terminate", 3, (*world).terminate},
	{"update", 4, (*world).update},
	{"administer", 3, (*world).administer},
	{"place", 12, (*world).place},
	{"stop a placement", 1, (*world).stopPlacement},
	{"start a ticket", 14, (*world).startTicket},
	{"answer a match", 10, (*world).answerMatch},
	{"claim", 3, (*world).claim},
	{"backfill", 8, (*world).backfill},
	{"stop a ticket", 1, (*world).stopTicket},
	{"remind", 2, (*world).remind},
	{"tidy", 3, (*world).tidy},
	{"read", 20, (*world).curious},
	{"drop a socket", 4, (*world).flicker},
	{"kill a server", 2, (*world).killServer},
	{"stop a compute", 1, (*world).stopCompute},
	{"crash", 2, (*world).crashNode},
	{"cut off", 3, (*world).cutNode},
	{"move", 2, (*world).moveOwner},
	{"steal", 3, (*world).stealLease},
	{"pause", 2, (*world).pause},
	{"set a clock", 2, (*world).setClock},
	{"upgrade", 2, (*world).upgrade},
	{"raise the level", 3, (*world).raiseLevel},
	{"wait", 2, (*world).wait},
}

func weightOf(actions []action) (sum int) {
	for _, a := range actions {
		sum += a.weight
	}
	return sum
}

// draw lets one thing happen.
func (w *world) draw() {
	drawn := actions
	if w.opts.Machines {
		drawn = machineActions
	}
	n := w.rng.IntN(weightOf(drawn))
	for _, a := range drawn {
		if n -= a.weight; n < 0 {
			w.trace.add(w.step, "%s", a.name)
			w.seen["do "+a.name]++
			a.do(w)
			return
		}
	}
}

// flicker lets a server lose its socket and come back.
func (w *world) flicker() {
	if s := w.someServer(); s != nil {
		s.flicker()
	}
}

func (w *world) killServer() {
	if s := w.someServer(); s != nil {
		s.stop()
	}
}

// stopCompute is the report of an agent whose compute is interrupted, or has stopped.
func (w *world) stopCompute() {
	if s := w.someServer(); s != nil {
		waits := []fleet.Backoff{{LaunchPath: "/server", Process: s.key.ID, Crashes: 1}}
		s.ask(fleet.ReportBackoffs{Compute: s.key.Compute, Backoffs: waits}, nil)
		s.ask(fleet.StopCompute{Name: s.key.Compute, Stopped: w.chance(30)}, nil)
	}
}

// someServer draws a game server that lives.
func (w *world) someServer() *server {
	var alive []*server
	for _, s := range w.servers {
		if s.alive && s.open {
			alive = append(alive, s)
		}
	}
	if len(alive) == 0 {
		return nil
	}
	return alive[w.rng.IntN(len(alive))]
}

func (w *world) someShard() *shardWorld { return w.shards[w.rng.IntN(len(w.shards))] }

func (w *world) crashNode() {
	if n := w.nodes[w.rng.IntN(len(w.nodes))]; n.up() {
		n.crash("by chance")
	}
}

// cutNode cuts a node off from all others for a while, for longer than they have patience or not.
func (w *world) cutNode() {
	n := w.nodes[w.rng.IntN(len(w.nodes))]
	n.cut = [2]time.Time{time.Now(), time.Now().Add(w.between(0, 20*time.Second))}
	w.trace.add(w.step, "node %d is cut off for %s", n.name, time.Until(n.cut[1]))
}

func (w *world) moveOwner()  { w.someShard().move(w) }
func (w *world) stealLease() { w.someShard().steal(w) }

// pause stops a node for a while; what it holds others may take over meanwhile.
func (w *world) pause() {
	n := w.nodes[w.rng.IntN(len(w.nodes))]
	n.paused = time.Now().Add(w.between(0, 30*time.Second))
	w.trace.add(w.step, "node %d is paused", n.name)
	for _, s := range w.shards {
		if s.holder != nil && s.holder.node == n && time.Until(n.paused) > 3*time.Second {
			s.steal(w)
		}
	}
}

// setClock sets the clock of a node forward or back. Whoever asks something next
// makes the shard look at it again.
func (w *world) setClock() {
	n := w.nodes[w.rng.IntN(len(w.nodes))]
	d := w.between(-2*time.Minute, 2*time.Minute)
	if w.chance(20) {
		d *= 10
	}
	w.trace.add(w.step, "the clock of node %d jumps by %s", n.name, d)
	n.clock.jump(d)
}

// upgrade gives a node the next release, or the one before: for its next tenures. One that does not
// read the level in force does not start.
func (w *world) upgrade() {
	n := w.nodes[w.rng.IntN(len(w.nodes))]
	to := release(w.rng.IntN(3) - 1)
	if to.level() < w.level {
		w.seen["refused release"]++
		return
	}
	n.release = to
	w.trace.add(w.step, "node %d runs release %d", n.name, n.release)
	for _, s := range w.shards {
		if s.holder != nil && s.holder.node == n {
			s.move(w)
		}
	}
}

// raiseLevel raises the level in force to what all nodes read, and then that of the shards.
func (w *world) raiseLevel() {
	lowest := region.MaxLevel
	for _, n := range w.nodes {
		lowest = min(lowest, n.release.level())
	}
	w.level = max(w.level, lowest)
	w.trace.add(w.step, "level %d is in force", w.level)
	for _, s := range w.shards {
		if s.mirror.machine.Level() < w.level {
			w.ask(&question{shard: s.number, cmd: region.RaiseLevel{Level: w.level}, repeat: true})
		}
	}
}

func (w *world) wait() { w.pass(w.between(0, 4*time.Minute)) }

// stop ends what is left of the owners.
func (w *world) stop() {
	w.over = true
	for _, o := range w.owners {
		o.dead = true
		o.cancel()
	}
	for _, c := range w.callers {
		c.cancel()
	}
	for slices.ContainsFunc(w.owners, func(o *owner) bool { return !o.ended }) {
		for _, o := range w.owners {
			o.disk.kill()
		}
		for _, op := range w.operations {
			op.finish(errDead)
		}
		w.operations = nil
		synctest.Wait()
		for _, o := range w.owners {
			for _, out := range o.take() {
				o.ended = o.ended || out.ended
			}
		}
		time.Sleep(time.Second)
	}
}
