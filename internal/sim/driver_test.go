package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/matchmaking/matchdriver"
	"github.com/muster-gg/muster/internal/placement/placer"
	"github.com/muster-gg/muster/internal/region"
)

// A driver runs the machines that drive placements and matchmaking at a node, as package control does: they act while
// the node leads.
type driver struct {
	node     *node
	leads    bool
	led      []bool // by shard: the machines have begun with this shard
	placing  *placing
	matching *matching
	manager  *manager // nil: the region has no machines
}

func newDriver(n *node) *driver {
	d := &driver{node: n, led: make([]bool, len(n.world.shards))}
	d.placing, d.matching = newPlacing(d), newMatching(d)
	d.setCatalog(n.world.shards[region.CatalogShard].follower.Freeze())
	if n.world.opts.Machines {
		d.manager = newManager(n)
	}
	return d
}

// begin is the beginning of the node's lead: it is reminded of all shards.
func (d *driver) begin() {
	d.node.world.seen["lead"]++
	d.leads = true
	if d.manager != nil {
		d.manager.begin()
	}
	d.placing.step((*placer.Machine).Begin)
	d.matching.step((*matchdriver.Driver).Begin)
	for i := range d.led {
		d.remind(i)
	}
}

// end is the end of the lead. What the machines have asked for may still be done.
func (d *driver) end() {
	if d.leads {
		d.leads = false
		clear(d.led)
		d.placing.end()
		d.matching.step((*matchdriver.Driver).End)
	}
}

func (d *driver) setCatalog(view *region.Machine) {
	d.placing.step(func(m *placer.Machine) { m.SetCatalog(view.Catalog()) })
	d.matching.step(func(m *matchdriver.Driver) { m.SetCatalog(view.Catalog()) })
}

// remind shows the machines the state of a shard.
func (d *driver) remind(number int) {
	if d.leads {
		d.observe(number, true, d.node.world.shards[number].follower.Freeze(), nil)
	}
}

// observe shows the machines what has become durable. opening: they begin anew with the shard.
func (d *driver) observe(number int, opening bool, view *region.Machine, facts []event.Fact) {
	if number == region.CatalogShard && view != nil {
		d.setCatalog(view)
	}
	if d.manager != nil {
		d.manager.observe(number, view, facts)
	}
	if d.leads && opening {
		if !d.led[number] || !d.node.world.bug.placerForgets {
			d.placing.step(func(m *placer.Machine) { m.Recover(number, view) })
		}
		d.matching.step(func(m *matchdriver.Driver) { m.Recover(number, view) })
		d.led[number] = true
	}
	if d.led[number] && slices.ContainsFunc(facts, placer.Concerns) {
		d.placing.step(func(m *placer.Machine) { m.Observe(number, facts) })
	}
	if d.led[number] && !opening && slices.ContainsFunc(facts, matchdriver.Concerns) {
		d.matching.step(func(m *matchdriver.Driver) { m.Observe(number, facts) })
	}
}

// leaders is how many nodes lead, or believe to.
func (w *world) leaders() (n int) {
	for _, node := range w.nodes {
		if node.up() && node.driver.leads {
			n++
		}
	}
	return n
}

// do has the node do something, if the driver is that of its run.
func (d *driver) do(f func()) {
	if d.node.driver == d {
		d.node.do(f)
	}
}

// later has the node do something a little later, which takes time.
func (d *driver) later(f func()) {
	d.node.world.in(d.node.world.latency(5*time.Millisecond), func(*world) { d.do(f) })
}

// machineOf is what both machines have in common; their requests are R.
type machineOf[R any] interface {
	SetNow(now event.Time)
	Requests(list []R) []R
	Due() (at event.Time, ok bool)
	Review()
}

// A runner runs one of the machines.
type runner[M machineOf[R], R any] struct {
	driver     *driver
	machine    M
	send       func(R)
	unanswered error
	due        time.Time // when the machine is reviewed by itself; zero: not planned
}

// step calls f with the machine, and then carries out its requests.
func (r *runner[M, R]) step(f func(M)) {
	r.machine.SetNow(event.At(r.driver.node.clock.Now()))
	f(r.machine)
	for _, one := range r.machine.Requests(nil) {
		r.send(one)
	}
	r.arm()
}

// arm plans the next review.
func (r *runner[M, R]) arm() {
	due, ok := r.machine.Due()
	if !ok || !r.driver.leads {
		return
	}
	at := time.Now()
	if due != 0 {
		at = at.Add(max(0, due.Time().Sub(r.driver.node.clock.Now())))
	}
	if !r.due.IsZero() && !at.Before(r.due) {
		return
	}
	r.due = at
	r.driver.node.world.at(at, func(*world) {
		r.driver.do(func() {
			if r.due = (time.Time{}); r.driver.leads {
				r.step(M.Review)
			}
		})
	})
}

// ask carries out a request to a shard. After a command without an answer the driver is reminded of the shard.
func (r *runner[M, R]) ask(q *request, answer func(any, error)) {
	done := q.done
	q.twice, q.room = true, region.ShardRoom // its digest is no work
	q.done = func(a any, err error) {
		if done != nil {
			done(a, err)
		}
		if q.cmd != nil && undecided(err) {
			r.driver.node.world.in(time.Second, func(*world) { r.driver.do(func() { r.driver.remind(q.shard) }) })
		}
		r.answer(answer, a, err)
	}
	r.driver.node.submit(q)
}

func (r *runner[M, R]) answer(answer func(any, error), a any, err error) {
	if answer == nil {
		return
	}
	if undecided(err) {
		err = fmt.Errorf("%w: %w", r.unanswered, err)
	}
	r.step(func(M) { answer(a, err) })
}
