package control

import (
	"context"
	"crypto/rand"
	"slices"

	"github.com/muster-gg/muster/internal/catalog"
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

func newPlacing(p *Plane) *placing {
	machine := placer.New(placer.Config{
		Shards: p.cfg.Settings.Shards, Elsewhere: p.Elsewhere,
		Random: func(b []byte) { rand.Read(b) },
		Failed: func(err error) { p.cfg.Log.Error("recovery of placements failed, is tried again", "err", err) },
	})
	d := &placing{runner: newRunner[*placer.Machine, placer.Request](p, machine, placer.ErrUnanswered)}
	d.send = d.carryOut
	return d
}

// observe notifies those who wait for placements and, where it drives, the machine.
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

// carryOut carries out a request.
func (d *placing) carryOut(r placer.Request) {
	switch {
	case r.Past != nil:
		d.beside(r.Answer, func(ctx context.Context) (any, error) {
			return d.plane.history.GameSession(ctx, r.Past.Room, r.Past.ID)
		})
	case r.View != nil:
		var view *region.Machine
		d.plane.Shards()[r.Shard].SubmitRead(func(m *region.Machine) { view = m.Freeze() }, func(err error) {
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

// admit is the queue for a new placement, and how many are PENDING.
func (d *placing) admit(view *catalog.State, q *catalog.Queue) (queue *placer.Queue, pending int) {
	d.step(func(m *placer.Machine) { queue, pending = m.Queue(view, q), m.Pending() })
	return queue, pending
}

// first is the room for the first attempt of a new placement.
func (d *placing) first(c *placement.Choice) (room *fleet.RoomID) {
	d.step(func(m *placer.Machine) { room = m.First(c) })
	return room
}
