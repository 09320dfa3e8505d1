package control

import (
	"context"
	"math"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire"
)

// DescribeFleetCapacity returns the capacity of fleets: of an EC2-type fleet the numbers of instances in the home
// Region, of an Anywhere fleet those of its computes, which nothing scales, so that the desired number is the present
// one.
func (cr *catalogReader) DescribeFleetCapacity(ctx context.Context,
	in *wire.DescribeFleetCapacityInput) (*wire.DescribeFleetCapacityOutput, error) {
	fleets, next, err := cr.fleetsPage("DescribeFleetCapacity", in.FleetIds, in.Limit, in.NextToken)
	if err != nil {
		return nil, err
	}
	list, err := counted(ctx, cr, fleets, cr.capacity)
	if err != nil {
		return nil, err
	}
	for i, f := range fleets {
		if f.Managed == nil {
			continue
		}
		counts, err := cr.counts(ctx, f.ID, cr.names.Region)
		if err != nil {
			return nil, err
		}
		list[i] = *cr.instanceCapacity(f, cr.names.Region, counts)
	}
	return &wire.DescribeFleetCapacityOutput{FleetCapacity: list, NextToken: next}, nil
}

// DescribeFleetLocationCapacity is the same for one location.
func (cr *catalogReader) DescribeFleetLocationCapacity(
	ctx context.Context, in *wire.DescribeFleetLocationCapacityInput,
) (*wire.DescribeFleetLocationCapacityOutput, error) {
	id, counts, err := cr.locationCounts(ctx, in.FleetId, in.Location)
	if err != nil {
		return nil, err
	}
	capacity := cr.capacity(id, in.Location, counts)
	if f, ok := cr.Catalog().Fleet(id); ok && f.Managed != nil {
		capacity = cr.instanceCapacity(f, in.Location, counts)
	}
	return &wire.DescribeFleetLocationCapacityOutput{FleetCapacity: capacity}, nil
}

// instanceCapacity shows the capacity of an EC2-type fleet at a location.
func (cr *catalogReader) instanceCapacity(f *catalog.Fleet, location string, c fleet.Counts) *wire.FleetCapacity {
	l, _ := cr.Catalog().FleetLocation(f.ID, location)
	n := countInstances(cr.Catalog(), f.ID, location)
	count := func(n int) wire.Opt[int32] { return wire.Some(int32(max(0, n))) }
	return &wire.FleetCapacity{
		FleetId: f.ID, FleetArn: cr.FleetARN(f.ID), Location: location,
		InstanceType: wire.EC2InstanceType(f.Managed.InstanceType),
		InstanceCounts: &wire.EC2InstanceCounts{
			DESIRED: wire.Some(l.Capacity.Desired), MINIMUM: wire.Some(l.Capacity.Min),
			MAXIMUM: wire.Some(l.Capacity.Max),
			PENDING: count(n.pending), ACTIVE: count(n.active), IDLE: count(n.active - c.BusyComputes),
			TERMINATING: count(n.terminating),
		},
		ManagedCapacityConfiguration: managedCapacity(l.ZeroMinutes),
	}
}

// instanceCounts are the numbers of instances of a fleet at a location, by status.
type instanceCounts struct{ pending, active, terminating int }

func countInstances(view *catalog.State, fleet, location string) (n instanceCounts) {
	for _, i := range view.Instances(fleet, location) {
		switch i.Status {
		case catalog.InstanceActive:
			n.active++
		case catalog.InstanceTerminating:
			n.terminating++
		default:
			n.pending++
		}
	}
	return n
}

func (sh shapes) capacity(fleet, location string, c fleet.Counts) *wire.FleetCapacity {
	computes := wire.Some(int32(c.Computes))
	return &wire.FleetCapacity{
		FleetId: fleet, FleetArn: sh.names.FleetARN(fleet), Location: location,
		InstanceCounts: &wire.EC2InstanceCounts{
			DESIRED: computes, MINIMUM: wire.Some(int32(0)), MAXIMUM: computes, PENDING: wire.Some(int32(0)),
			ACTIVE: computes, IDLE: wire.Some(int32(max(0, c.Computes-c.BusyComputes))),
			TERMINATING: wire.Some(int32(0)),
		},
	}
}

// DescribeFleetUtilization returns the numbers of processes, game sessions and players of fleets.
func (cr *catalogReader) DescribeFleetUtilization(ctx context.Context,
	in *wire.DescribeFleetUtilizationInput) (*wire.DescribeFleetUtilizationOutput, error) {
	fleets, next, err := cr.fleetsPage("DescribeFleetUtilization", in.FleetIds, in.Limit, in.NextToken)
	if err != nil {
		return nil, err
	}
	list, err := counted(ctx, cr, fleets, cr.utilization)
	return &wire.DescribeFleetUtilizationOutput{FleetUtilization: list, NextToken: next}, err
}

// counted returns the numbers of fleets, summed over their locations, in a shape of the API.
func counted[W any](
	ctx context.Context, cr *catalogReader, fleets []*catalog.Fleet, show func(id, location string, c fleet.Counts) *W,
) ([]W, error) {
	sums := make(map[fleet.ID]fleet.Counts, len(fleets))
	for _, f := range fleets {
		sums[fleet.ID(f.ID)] = fleet.Counts{}
	}
	rooms, err := cr.countsByRoom(ctx, func(room fleet.RoomID) bool {
		_, wanted := sums[room.Fleet]
		return wanted
	})
	if err != nil {
		return nil, err
	}
	for room, c := range rooms {
		sum := sums[room.Fleet]
		sum.Add(c)
		sums[room.Fleet] = sum
	}
	list := make([]W, 0, len(fleets))
	for _, f := range fleets {
		list = append(list, *show(f.ID, cr.names.Region, sums[fleet.ID(f.ID)]))
	}
	return list, nil
}

// DescribeFleetLocationUtilization is the same for one location.
func (cr *catalogReader) DescribeFleetLocationUtilization(
	ctx context.Context, in *wire.DescribeFleetLocationUtilizationInput,
) (*wire.DescribeFleetLocationUtilizationOutput, error) {
	id, counts, err := cr.locationCounts(ctx, in.FleetId, in.Location)
	if err != nil {
		return nil, err
	}
	return &wire.DescribeFleetLocationUtilizationOutput{FleetUtilization: cr.utilization(id, in.Location, counts)}, nil
}

func (sh shapes) utilization(fleet, location string, c fleet.Counts) *wire.FleetUtilization {
	return &wire.FleetUtilization{
		FleetId: fleet, FleetArn: sh.names.FleetARN(fleet), Location: location,
		ActiveServerProcessCount: wire.Some(int32(c.Processes)), ActiveGameSessionCount: wire.Some(int32(c.Active)),
		CurrentPlayerSessionCount: wire.Some(int32(c.Players)),
		MaximumPlayerSessionCount: wire.Some(int32(c.MaximumPlayers)),
	}
}

// locationCounts returns the numbers of a location of a fleet.
func (cr *catalogReader) locationCounts(ctx context.Context, idOrArn,
	location string) (id string, c fleet.Counts, err error) {
	f, err := cr.liveFleet(idOrArn)
	if err != nil {
		return "", c, err
	}
	if _, ok := cr.Catalog().FleetLocation(f.ID, location); !ok {
		return "", c, notFound("Fleet %s has no location %s", f.ID, location)
	}
	c, err = cr.counts(ctx, f.ID, location)
	return f.ID, c, err
}

// DescribeFleetPortSettings returns the inbound permissions of a fleet, which apply at all its locations. An Anywhere
// fleet has none: there is no firewall in front of its computes. For a deleted fleet the answer is empty. Source: API
// reference.
func (cr *catalogReader) DescribeFleetPortSettings(_ context.Context,
	in *wire.DescribeFleetPortSettingsInput) (*wire.DescribeFleetPortSettingsOutput, error) {
	id, view := fleetID(in.FleetId), cr.Catalog()
	f, err := view.LiveFleet(id)
	if err != nil {
		if _, deleted := view.Fleet(id); deleted {
			return &wire.DescribeFleetPortSettingsOutput{}, nil
		}
		return nil, err
	}
	if _, ok := view.FleetLocation(f.ID, in.Location); in.Location != "" && !ok {
		return nil, notFound("Fleet %s has no location %s", f.ID, in.Location)
	}
	return &wire.DescribeFleetPortSettingsOutput{
		FleetId: f.ID, FleetArn: cr.FleetARN(f.ID), InboundPermissions: inboundPermissions(f), Location: in.Location,
	}, nil
}

// counts sums the numbers of a fleet, or of one of its locations.
func (cr *catalogReader) counts(ctx context.Context, id, location string) (fleet.Counts, error) {
	if location != "" {
		room := fleet.RoomID{Fleet: fleet.ID(id), Location: location}
		return router.InRoom(ctx, cr.Router, room, (*fleet.Room).Counts)
	}
	var sum fleet.Counts
	rooms, err := cr.countsByRoom(ctx, func(room fleet.RoomID) bool { return room.Fleet == fleet.ID(id) })
	for _, c := range rooms {
		sum.Add(c)
	}
	return sum, err
}

// Counts sums the numbers of the whole region.
func (cr *catalogReader) Counts(ctx context.Context) (fleet.Counts, error) {
	var sum fleet.Counts
	rooms, err := cr.CountsByRoom(ctx)
	for _, c := range rooms {
		sum.Add(c)
	}
	return sum, err
}

// CountsByRoom returns the numbers of all fleet locations at which a compute was ever registered, by one short read of
// each shard.
func (cr *catalogReader) CountsByRoom(ctx context.Context) (map[fleet.RoomID]fleet.Counts, error) {
	return cr.countsByRoom(ctx, func(fleet.RoomID) bool { return true })
}

// countsByRoom returns the numbers of the selected rooms.
func (cr *catalogReader) countsByRoom(
	ctx context.Context, selected func(fleet.RoomID) bool,
) (map[fleet.RoomID]fleet.Counts, error) {
	all := map[fleet.RoomID]fleet.Counts{}
	for _, s := range cr.Shards() {
		rooms, err := router.Look(ctx, s, func(m *region.Machine) []roomCounts { return countsOf(m, selected) })
		if err != nil {
			return nil, err
		}
		for _, r := range rooms {
			all[r.id] = r.counts
		}
	}
	return all, nil
}

// countsOf reads the numbers of the selected rooms of a shard, on its loop.
func countsOf(m *region.Machine, selected func(fleet.RoomID) bool) (rooms []roomCounts) {
	m.VisitRooms(func(r *fleet.Room) {
		if selected(r.ID()) {
			rooms = append(rooms, roomCounts{r.ID(), r.Counts()})
		}
	})
	return rooms
}

func allCounts(m *region.Machine) []roomCounts {
	return countsOf(m, func(fleet.RoomID) bool { return true })
}

// CountsOfShard returns the numbers of the rooms of one shard, with Activatable: how many game sessions can be created
// now, within the fleets' limits for activations.
func (cr *catalogReader) CountsOfShard(ctx context.Context, shard int) (map[fleet.RoomID]fleet.Counts, error) {
	view := cr.Catalog()
	return router.Look(ctx, cr.Shards()[shard], func(m *region.Machine) map[fleet.RoomID]fleet.Counts {
		rooms := map[fleet.RoomID]fleet.Counts{}
		m.VisitRooms(func(r *fleet.Room) {
			c := r.Counts()
			c.Activatable = c.Waiting
			f, ok := view.Fleet(string(r.ID().Fleet))
			if ok && c.Waiting > 0 && f.MaxConcurrentActivations() < math.MaxInt32 {
				c = r.CountsFor(int(f.MaxConcurrentActivations()))
			}
			rooms[r.ID()] = c
		})
		return rooms
	})
}

// roomCounts are the numbers of one fleet location.
type roomCounts struct {
	id     fleet.RoomID
	counts fleet.Counts
}

// DescribeVpcPeeringAuthorizations answers with an empty list: there are no VPCs.
func (cr *catalogReader) DescribeVpcPeeringAuthorizations(context.Context,
	*wire.DescribeVpcPeeringAuthorizationsInput) (*wire.DescribeVpcPeeringAuthorizationsOutput, error) {
	return &wire.DescribeVpcPeeringAuthorizationsOutput{
		VpcPeeringAuthorizations: []wire.VpcPeeringAuthorization{}}, nil
}

// DescribeVpcPeeringConnections answers with an empty list; NotFound for an unknown fleet.
func (cr *catalogReader) DescribeVpcPeeringConnections(_ context.Context,
	in *wire.DescribeVpcPeeringConnectionsInput) (*wire.DescribeVpcPeeringConnectionsOutput, error) {
	if in.FleetId != "" {
		if _, err := cr.liveFleet(in.FleetId); err != nil {
			return nil, err
		}
	}
	return &wire.DescribeVpcPeeringConnectionsOutput{VpcPeeringConnections: []wire.VpcPeeringConnection{}}, nil
}
