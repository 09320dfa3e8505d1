package sim

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/capacity"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/instances"
	"github.com/muster-gg/muster/internal/machines"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A caller runs code of the service that waits for answers: one job after the other, each in a goroutine, while the
// world does nothing else. A call that waits is parked until the world carries it out.
type caller struct {
	node    *node
	process string // of the node
	ctx     context.Context
	cancel  context.CancelFunc
	jobs    []func(ctx context.Context) (after func())
	busy    bool

	mu     sync.Mutex
	parked func()   // carries out the call that waits; nil: none does
	after  []func() // for the world, of jobs that have ended
}

type callerKey struct{} // in the context of a job: its *caller

func callerOf(ctx context.Context) *caller { return ctx.Value(callerKey{}).(*caller) }

// newCaller returns a caller of a run of a node.
func newCaller(n *node) *caller {
	c := &caller{node: n, process: n.process}
	c.ctx, c.cancel = context.WithCancel(context.WithValue(context.Background(), callerKey{}, c))
	n.world.callers = append(n.world.callers, c)
	return c
}

// run queues a job. What it returns is done by the world, if the node still runs.
func (c *caller) run(job func(ctx context.Context) (after func())) { c.jobs = append(c.jobs, job) }

// call waits for the outcome of something that the world begins.
func (c *caller) call(ctx context.Context, begin func(done func(any, error))) (any, error) {
	type outcome struct {
		answer any
		err    error
	}
	outcomes := make(chan outcome, 1)
	c.mu.Lock()
	c.parked = func() { begin(func(a any, err error) { outcomes <- outcome{a, err} }) }
	c.mu.Unlock()
	c.node.world.stir()
	select {
	case o := <-outcomes:
		return o.answer, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// carryCalls does one thing that a caller waits for.
func (w *world) carryCalls() bool {
	for _, c := range w.callers {
		if c.node.process != c.process || c.node.idle() {
			continue
		}
		c.mu.Lock()
		do := c.parked
		c.parked = nil
		if do == nil && len(c.after) > 0 {
			do = c.after[0]
			c.after = c.after[1:]
			c.busy = false
		}
		c.mu.Unlock()
		switch {
		case do != nil:
			do()
			return true
		case !c.busy && len(c.jobs) > 0:
			job := c.jobs[0]
			c.jobs, c.busy = c.jobs[1:], true
			go func() {
				after := job(c.ctx)
				c.mu.Lock()
				c.after = append(c.after, func() {
					if after != nil {
						after()
					}
				})
				c.mu.Unlock()
				c.node.world.stir()
			}()
			return true
		}
	}
	return false
}

// A manager is what a node does for machines: it has their connections, and drives the instances while it leads.
type manager struct {
	node      *node
	view      atomic.Pointer[catalog.State]
	machines  *machines.Machines
	driver    *instances.Driver
	reviews   *caller
	lists     *caller
	reviewing bool
	woken     bool        // by facts
	changed   atomic.Bool // a machine has connected or disconnected
	due       uint64      // counts the reviews that are planned; the last one is valid
}

func newManager(n *node) *manager {
	m := &manager{node: n, reviews: newCaller(n), lists: newCaller(n)}
	m.view.Store(n.world.shards[region.CatalogShard].follower.Freeze().Catalog())
	m.machines = machines.New(machines.Config{Catalog: &changer{m}, RegionID: "region", Clock: n.clock,
		Log: slog.New(slog.DiscardHandler), Wanted: wantedOf, EventIDs: n.world.eventIDs, Others: m.others,
		Changed: func() { m.changed.Store(true) }})
	m.begin()
	return m
}

// begin forgets what a leader remembers.
func (m *manager) begin() {
	w := m.node.world
	m.driver = instances.New(instances.Config{Region: &changer{m}, Now: m.node.clock.Now,
		Log: slog.New(slog.DiscardHandler), ActivationTimeout: 45 * time.Minute,
		NewID: func() string { return fmt.Sprint(instances.IDPrefix, w.ids.Add(1)) }, EventIDs: w.eventIDs})
}

// eventIDs returns ids of fleet events. Jobs call it, one at a time.
func (w *world) eventIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprint("event-", w.ids.Add(1))
	}
	return ids
}

// start begins a run of the node.
func (m *manager) start() {
	m.lists.run(func(ctx context.Context) func() {
		_ = m.machines.Run(ctx)
		return nil
	})
	m.plan(0)
}

// plan plans the next review.
func (m *manager) plan(in time.Duration) {
	m.due++
	n := m.due
	m.node.world.in(in, func(*world) {
		m.node.driver.do(func() {
			if m.due == n {
				m.review()
			}
		})
	})
}

// review has the driver review, if the node leads and the last review has ended.
func (m *manager) review() {
	if m.node.driver.manager != m {
		return
	}
	if !m.reviewing && m.node.driver.leads && m.driver.Needed() {
		m.reviewing, m.woken = true, false
		m.node.world.seen["review"]++
		m.reviews.run(func(ctx context.Context) func() {
			m.driver.Review(ctx)
			m.finishDeletions(ctx)
			return func() {
				m.reviewing = false
				if m.woken {
					m.plan(10 * time.Millisecond)
				} else {
					m.plan(5 * time.Second)
				}
			}
		})
		return
	}
	m.plan(5 * time.Second)
}

// finishDeletions finishes deletions that stopped half way, as package control does at intervals.
func (m *manager) finishDeletions(ctx context.Context) {
	fleets, _ := m.view.Load().Fleets("", math.MaxInt)
	for _, f := range fleets {
		_ = (&changer{m}).FinishDeletion(ctx, f)
	}
}

// observe shows a commit to the connections and the driver.
func (m *manager) observe(number int, view *region.Machine, facts []event.Fact) {
	if number == region.CatalogShard && view != nil {
		m.view.Store(view.Catalog())
		c := shard.Commit[*region.Machine]{View: view, HasView: true, Facts: facts}
		m.machines.Observe(&router.Commit{Commit: c})
	}
	m.woken = m.woken || slices.ContainsFunc(facts, func(f event.Fact) bool { return instances.Concerns(f.Body) })
	m.wake()
}

// wake reviews soon, if there is a reason.
func (m *manager) wake() {
	if (m.changed.Swap(false) || m.woken) && !m.reviewing {
		m.woken = false
		m.plan(0)
	}
}

// others returns what the nodes know that can be reached.
func (m *manager) others(ctx context.Context) [][]byte {
	answers, err := callerOf(ctx).call(ctx, func(done func(any, error)) {
		var all [][]byte
		for _, n := range m.node.world.nodes {
			if n.up() && !n.idle() && (n == m.node || !n.isCut() && !m.node.isCut()) {
				all = append(all, n.driver.manager.machines.Shared())
			}
		}
		done(all, nil)
	})
	if err != nil {
		return nil
	}
	return answers.([][]byte)
}

// A changer is the region as package control shows it to a driver and to connections. Its calls wait, in the caller
// that runs them.
type changer struct{ m *manager }

func (r *changer) Catalog() *catalog.State { return r.m.view.Load() }

// ask carries out a request at the node.
func (r *changer) ask(ctx context.Context, q *request) (any, error) {
	return callerOf(ctx).call(ctx, func(done func(any, error)) {
		q.twice, q.room, q.done = true, region.ShardRoom, done
		r.m.node.submit(q)
	})
}

func (r *changer) Change(ctx context.Context, c catalog.Command) error {
	_, err := r.ask(ctx, &request{shard: region.CatalogShard, cmd: region.CatalogCommand{Command: c}})
	return err
}

func (r *changer) Machines(ctx context.Context) []capacity.Machine {
	return instances.MachinesOf(r.m.machines.List(ctx), replaceAfter)
}

// replaceAfter is the default of package control.
const replaceAfter = 3 * time.Minute

func (r *changer) Computes(ctx context.Context, room fleet.RoomID) (map[string]instances.Compute, error) {
	var computes map[string]instances.Compute
	_, err := r.ask(ctx, &request{shard: r.m.node.world.shardOf(room), read: func(m *region.Machine) {
		if found, ok := m.Room(room); ok {
			computes = instances.ComputesOf(found)
		}
	}})
	return computes, err
}

func (r *changer) AskRoom(ctx context.Context, room fleet.RoomID, c fleet.Command, open bool) error {
	_, err := r.askRoom(ctx, room, c, open)
	return err
}

func (r *changer) Registration(i *catalog.Instance) (fleet.RegisterCompute, bool) {
	m, ok := r.Catalog().Machine(i.Machine)
	if !ok {
		return fleet.RegisterCompute{}, false
	}
	return fleet.RegisterCompute{Name: i.ID, IPAddress: m.Offer.IP, DNSName: m.Offer.DNS}, true
}

func (r *changer) Exists(ctx context.Context, instance string) (exists bool, err error) {
	_, err = r.ask(ctx, &request{shard: region.CatalogShard, read: func(m *region.Machine) {
		_, exists = m.Catalog().Instance(instance)
	}})
	return exists, err
}

func (r *changer) askRoom(ctx context.Context, room fleet.RoomID, c fleet.Command, open bool) (any, error) {
	return r.ask(ctx, &request{shard: r.m.node.world.shardOf(room),
		cmd: region.RoomCommand{Room: room, Command: c, Open: open}})
}

func (r *changer) FinishDeletion(ctx context.Context, f *catalog.Fleet) error {
	if f.Status != catalog.StatusDeleting || len(r.Catalog().Instances(f.ID, "")) > 0 {
		return nil
	}
	for _, l := range r.Catalog().FleetLocations(f.ID) {
		for {
			left, err := r.askRoom(ctx, fleet.RoomID{Fleet: fleet.ID(f.ID), Location: l.Location}, fleet.Clear{}, false)
			if err != nil && !fault.Is(err, fault.NotFound) {
				return err
			}
			if n, _ := left.(int); n == 0 {
				break
			}
		}
	}
	return r.Change(ctx, catalog.FinishFleetDeletion{Fleet: f.ID, EventID: r.m.node.world.eventIDs(1)[0]})
}

// wantedOf returns what a machine has to run, as package control does.
func wantedOf(view *catalog.State, machine string) (wanted []protocol.Instance) {
	for _, i := range view.InstancesOf(machine) {
		f, ok := view.Fleet(i.Fleet)
		if !ok || f.Managed == nil {
			continue
		}
		instance := protocol.Instance{ID: i.ID, Fleet: i.Fleet, Runtime: machines.RuntimeOf(f.Runtime),
			Ends: i.Status == catalog.InstanceTerminating}
		for _, v := range f.Managed.Versions {
			b := protocol.Build{ID: v.Build}
			if !slices.Contains(instance.Versions, b) {
				instance.Versions = append(instance.Versions, b)
			}
		}
		wanted = append(wanted, instance)
	}
	return wanted
}
