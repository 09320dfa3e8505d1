package drivers

import (
	"context"
	"crypto/rand"
	"slices"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/placement/placer"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
)

// placing runs the machine that drives placements.
type placing struct {
	runner[*placer.Machine, placer.Request]
	watches router.Watches[string] // of placements, by id
}

func newPlacing(cfg *Config) *placing {
	machine := placer.New(placer.Config{
		Shards: len(cfg.Router.Shards()), Elsewhere: cfg.Router.Elsewhere,
		Random: func(b []byte) { rand.Read(b) },
		Failed: func(err error) { cfg.Log.Error("recovery of placements failed; trying again", "err", err) },
	})
	d := &placing{runner: newRunner[*placer.Machine, placer.Request](cfg, machine, placer.ErrUnanswered)}
	d.send = d.carryOut
	return d
}

// observe notifies the watches of placements and, where it drives, the machine.
func (d *placing) observe(c *router.Commit, drives bool) {
	if c.HasView && c.Shard == region.CatalogShard {
		d.step(func(m *placer.Machine) { m.SetCatalog(c.View.Catalog()) })
	}
	if c.Recovered {
		d.watches.NotifyAll()
	}
	for _, f := range c.Facts {
		switch e := f.Body.(type) {
		case *placement.PlacementFulfilled:
			d.watches.Notify(e.ID)
		case *placement.PlacementEnded:
			d.watches.Notify(e.ID)
		}
	}
	if drives && (c.Recovered || c.Refresh) {
		d.step(func(m *placer.Machine) { m.Recover(c.Shard, c.View) })
	}
	if drives && slices.ContainsFunc(c.Facts, placer.Concerns) {
		d.step(func(m *placer.Machine) { m.Observe(c.Shard, c.Facts) })
	}
}

func (d *placing) carryOut(r placer.Request) {
	switch {
	case r.Past != nil:
		d.beside(r.Answer, func(ctx context.Context) (any, error) {
			return d.cfg.History.GameSession(ctx, r.Past.Room, r.Past.ID)
		})
	case r.View != nil:
		var view *region.Machine
		d.cfg.Router.Shards()[r.Shard].SubmitRead(func(m *region.Machine) { view = m.Freeze() }, func(err error) {
			d.beside(r.Answer, func(context.Context) (any, error) {
				if err == nil {
					r.View(view)
				}
				return nil, err
			})
		})
	default:
		d.ask(r.Shard, r.Command, r.Read, r.Answer)
	}
}

// Admit returns the queue for a new placement, and the number of placements that are PENDING.
func (d *Drivers) Admit(q *catalog.Queue) (queue *placer.Queue, pending int) {
	view := d.cfg.Router.Catalog()
	d.placing.step(func(m *placer.Machine) { queue, pending = m.Queue(view, q), m.Pending() })
	return queue, pending
}

// FirstRoom returns the room for the first attempt of a new placement; nil if all are known to be full.
func (d *Drivers) FirstRoom(c *placement.Choice) (room *fleet.RoomID) {
	d.placing.step(func(m *placer.Machine) { room = m.First(c) })
	return room
}

// Waits returns where a placement waits for a process, and when its candidates change by the queue's next latency
// policy, zero for never; ok is false if it does not wait.
func (d *Drivers) Waits(id string) (positions []placer.Position, next event.Time, ok bool) {
	d.placing.step(func(m *placer.Machine) { positions, next, ok = m.Waits(id) })
	return positions, next, ok
}

// WatchPlacement returns a channel that is notified when a placement has ended, until end is called.
func (d *Drivers) WatchPlacement(id string) (news <-chan struct{}, end func()) {
	return d.placing.watches.Add(id)
}

// PlacementsIdle reports whether the driver of placements has nothing to do.
func (d *Drivers) PlacementsIdle() (idle bool) {
	d.placing.step(func(m *placer.Machine) { idle = m.Idle() })
	return idle
}
