package control

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/scaling"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// zeroInterval is how often locations without instances are checked for requests, so that a placement does not wait
// for the interval of scaling.
const zeroInterval = time.Second

// A scaler scales the EC2-type fleets of the region. It belongs to the goroutine of runScaling.
type scaler struct {
	plane     *Plane
	locations map[fleet.RoomID]*scaling.Location
	last      event.Time // of a step of all locations
}

// runScaling scales fleets until ctx is done, on the node that leads.
func (p *Plane) runScaling(ctx context.Context) error {
	s := &scaler{plane: p, locations: map[fleet.RoomID]*scaling.Location{}}
	ticker := p.cfg.Clock.NewTicker(zeroInterval)
	defer ticker.Stop()
	for {
		err := s.step(ctx)
		p.WarnUnless(err == nil || ctx.Err() != nil, "scaling of fleets failed; trying again later", "err", err)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.Chan():
		}
	}
}

// step decides about all locations that are due, and carries the decisions out.
func (s *scaler) step(ctx context.Context) error {
	now := s.plane.Now()
	all := now.Sub(s.last) >= scaling.Interval
	inputs := s.plane.scalingInputs(func(l catalog.FleetLocation) bool { return all || atZero(l) })
	if all {
		s.last = now
		maps.DeleteFunc(s.locations, func(room fleet.RoomID, _ *scaling.Location) bool { return inputs[room] == nil })
	}
	if len(inputs) == 0 {
		return nil
	}
	if err := s.plane.addLoads(ctx, now, inputs); err != nil {
		return err
	}
	for _, room := range slices.SortedFunc(maps.Keys(inputs), compareRooms) {
		if s.locations[room] == nil {
			s.locations[room] = &scaling.Location{}
		}
		d, ok := s.locations[room].Step(now, *inputs[room])
		if !ok {
			continue
		}
		if err := s.plane.scaleTo(ctx, room, inputs[room].Desired, d); err != nil {
			return err
		}
	}
	return nil
}

func compareRooms(a, b fleet.RoomID) int {
	return cmp.Or(cmp.Compare(a.Fleet, b.Fleet), cmp.Compare(a.Location, b.Location))
}

// scaleTo carries a decision out. It has no effect if the fleet is not as it was decided for any more.
func (p *Plane) scaleTo(ctx context.Context, room fleet.RoomID, from int32, d scaling.Decision) error {
	err := p.Change(ctx, catalog.Scale{Fleet: string(room.Fleet), Location: room.Location, From: from,
		Desired: d.Desired, Reason: d.Reason, Acted: d.Acted, EventID: uuid.NewString()})
	if fault.Is(err, fault.NotFound) { // deleted meanwhile
		return nil
	}
	return err
}

// atZero reports whether a location waits for a request to scale from zero.
func atZero(l catalog.FleetLocation) bool {
	return l.ZeroMinutes > 0 && l.Capacity.Desired == 0 && l.Capacity.Max > 0 && !l.Stopped
}

// scalingInputs returns the selected locations that scale, without their loads.
func (p *Plane) scalingInputs(selected func(catalog.FleetLocation) bool) map[fleet.RoomID]*scaling.Input {
	view := p.Catalog()
	inputs := map[fleet.RoomID]*scaling.Input{}
	fleets, _ := view.Fleets("", math.MaxInt)
	for _, f := range fleets {
		if f.Managed == nil || f.Status != catalog.StatusActive {
			continue
		}
		policies := view.ScalingPolicies(f.ID)
		for _, l := range view.FleetLocations(f.ID) {
			scales := len(policies) > 0 || l.ZeroMinutes > 0
			if !scales || l.Status != catalog.StatusActive || !selected(l) {
				continue
			}
			active := countInstances(view, f.ID, l.Location).active
			inputs[fleet.RoomID{Fleet: fleet.ID(f.ID), Location: l.Location}] = &scaling.Input{
				Location: l.Location, Min: l.Capacity.Min, Max: l.Capacity.Max, Desired: l.Capacity.Desired,
				Stopped: l.Stopped, ZeroIdle: time.Duration(l.ZeroMinutes) * time.Minute,
				Sessions: f.Runtime.Processes(), Policies: policies,
				Load: scaling.Load{Instances: active, IdleInstances: active},
			}
		}
	}
	return inputs
}

// addLoads adds the live numbers of rooms and placements.
func (p *Plane) addLoads(ctx context.Context, now event.Time, inputs map[fleet.RoomID]*scaling.Input) error {
	for i, s := range p.shards {
		rooms, err := p.CountsOfShard(ctx, i)
		if err != nil {
			return err
		}
		for room, c := range rooms {
			if in := inputs[room]; in != nil {
				addCounts(&in.Load, c)
			}
		}
		pending, err := router.Look(ctx, s, pendingPlacements)
		if err != nil {
			return err
		}
		for _, waiting := range pending {
			addPlacement(inputs, waiting, now)
		}
	}
	return nil
}

// pendingPlacements lists the placements of a shard that are PENDING, on its loop.
func pendingPlacements(m *region.Machine) (pending []*placement.Placement) {
	m.Placements().Pending(func(p *placement.Placement) bool {
		pending = append(pending, p)
		return true
	})
	return pending
}

func addCounts(l *scaling.Load, c fleet.Counts) {
	l.IdleInstances = max(0, l.Instances-c.BusyComputes)
	l.Activating, l.Active = c.Activating, c.Active
	l.Available, l.Activatable = c.Waiting, c.Activatable
	l.Players, l.MaximumPlayers = c.Players, c.MaximumPlayers
}

// addPlacement adds a placement that waits to the location that it prefers, and requests an instance at the first one
// that has none, unless an earlier one is starting an instance.
func addPlacement(inputs map[fleet.RoomID]*scaling.Input, waiting *placement.Placement, now event.Time) {
	requested := waiting.AttemptRunning()
	for i, c := range waiting.Trail.Candidates {
		in := inputs[c.Room]
		if c.Dropped != "" || in == nil {
			continue
		}
		if i == 0 {
			in.Load.QueueDepth++
			in.Load.QueueWait = max(in.Load.QueueWait, now.Sub(waiting.Started))
		}
		if !requested && in.ZeroIdle > 0 && (in.Desired == 0 || int(in.Desired) > in.Load.Instances) {
			in.Load.Requested, requested = true, true
		}
	}
}

// scaleFromZero requests an instance for a game session that found none, if the location scales from zero.
func (p *Plane) scaleFromZero(ctx context.Context, room fleet.RoomID) {
	l, ok := p.Catalog().FleetLocation(string(room.Fleet), room.Location)
	if !ok || !atZero(l) {
		return
	}
	err := p.scaleTo(context.WithoutCancel(ctx), room, 0, scaling.Decision{Desired: 1, Reason: scaling.Requested})
	p.WarnUnless(err == nil, "fleet not scaled from zero", "fleet", room.Fleet, "location", room.Location, "err", err)
}
