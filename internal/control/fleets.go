package control

import (
	"context"
	"math"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// CreateFleet creates an Anywhere fleet, which is ACTIVE immediately, or an EC2-type fleet, which is NEW.
func (p *Plane) CreateFleet(ctx context.Context, in *wire.CreateFleetInput) (*wire.CreateFleetOutput, error) {
	if err := refuseGateway(in); err != nil {
		return nil, err
	}
	if in.ComputeType == "" || in.ComputeType == wire.ComputeTypeEc2 {
		return p.createManagedFleet(ctx, in)
	}
	if err := refuseManaged(in); err != nil {
		return nil, err
	}
	command := catalog.CreateFleet{
		ID: "fleet-" + uuid.NewString(), ComputeType: string(in.ComputeType), Attributes: attributesFrom(in),
		Runtime: runtimeFrom(in.RuntimeConfiguration), Tags: tagsFrom(in.Tags),
	}
	for _, l := range in.Locations {
		command.Locations = append(command.Locations, l.Location)
	}
	command.EventIDs = newIDs(command.EventCount())
	if err := p.Change(ctx, command); err != nil {
		return nil, err
	}
	return p.fleetCreated(ctx, command.ID, command.Locations)
}

// fleetCreated answers the creation of a fleet with locations.
func (p *Plane) fleetCreated(ctx context.Context, id string, locations []string) (*wire.CreateFleetOutput, error) {
	f, err := p.Catalog().LiveFleet(id)
	if err != nil {
		return nil, err
	}
	states := p.locationStates(id, locations)
	created(ctx, p.FleetARN(id))
	return &wire.CreateFleetOutput{FleetAttributes: p.fleetAttributes(f), LocationStates: states}, nil
}

func attributesFrom(in *wire.CreateFleetInput) catalog.Attributes {
	return catalog.Attributes{
		Name: in.Name, Description: in.Description, Cost: cost(in.AnywhereConfiguration),
		ProtectionPolicy: catalog.ProtectionPolicy(in.NewGameSessionProtectionPolicy),
		CreationLimit:    creationLimit(in.ResourceCreationLimitPolicy), MetricGroups: in.MetricGroups,
		GatewayMode: string(in.PlayerGatewayMode), GatewayProtocol: gatewayProtocol(in.PlayerGatewayConfiguration),
		LogPaths: in.LogPaths,
	}
}

func gatewayProtocol(c *wire.PlayerGatewayConfiguration) string {
	if c == nil {
		return ""
	}
	return string(c.GameServerIpProtocolSupported)
}

// refuseGateway rejects fleets that may only be at locations with player gateways.
func refuseGateway(in *wire.CreateFleetInput) error {
	if in.PlayerGatewayMode == wire.PlayerGatewayModeRequired {
		return invalid("PlayerGatewayMode REQUIRED is not supported: no location has a player gateway, and players " +
			"connect to the game server itself. Use ENABLED or DISABLED.")
	}
	return nil
}

// refuseManaged rejects members that only apply to instances that the service itself launches.
func refuseManaged(in *wire.CreateFleetInput) error {
	var member string
	switch {
	case in.BuildId != "":
		member = "BuildId"
	case in.ScriptId != "":
		member = "ScriptId"
	case in.EC2InstanceType != "":
		member = "EC2InstanceType"
	case len(in.EC2InboundPermissions) > 0:
		member = "EC2InboundPermissions"
	default:
		return nil
	}
	return invalid("%s does not apply to fleets of compute type ANYWHERE. Leave it out.", member)
}

func cost(c *wire.AnywhereConfiguration) string {
	if c == nil {
		return ""
	}
	return c.Cost
}

func creationLimit(policy *wire.ResourceCreationLimitPolicy) *catalog.CreationLimit {
	if policy == nil {
		return nil
	}
	return &catalog.CreationLimit{
		SessionsPerCreator: policy.NewGameSessionsPerCreator.Or(0), PeriodMinutes: policy.PolicyPeriodInMinutes.Or(0),
	}
}

func newIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = uuid.NewString()
	}
	return ids
}

func (cr *catalogReader) fleetAttributes(f *catalog.Fleet) *wire.FleetAttributes {
	a := &wire.FleetAttributes{
		FleetId: f.ID, FleetArn: cr.names.FleetARN(f.ID), Name: f.Name, Description: f.Description,
		CreationTime: f.Created.Time(), TerminationTime: f.Terminated.Time(), Status: wire.FleetStatus(f.Status),
		NewGameSessionProtectionPolicy: wire.ProtectionPolicy(f.ProtectionPolicy), MetricGroups: f.MetricGroups,
		ComputeType: wire.ComputeTypeAnywhere, PlayerGatewayMode: wire.PlayerGatewayMode(f.GatewayMode),
		LogPaths: f.LogPaths,
	}
	if f.GatewayProtocol != "" {
		a.PlayerGatewayConfiguration = &wire.PlayerGatewayConfiguration{
			GameServerIpProtocolSupported: wire.GameServerIpProtocolSupported(f.GatewayProtocol)}
	}
	if f.Cost != "" {
		a.AnywhereConfiguration = &wire.AnywhereConfiguration{Cost: f.Cost}
	}
	if l := f.CreationLimit; l != nil {
		a.ResourceCreationLimitPolicy = &wire.ResourceCreationLimitPolicy{
			NewGameSessionsPerCreator: wire.Some(l.SessionsPerCreator),
			PolicyPeriodInMinutes:     wire.Some(l.PeriodMinutes),
		}
	}
	if f.Managed != nil {
		cr.addManaged(a, f.Managed)
		if l, ok := cr.Catalog().FleetLocation(f.ID, f.Managed.Home); ok && l.Stopped {
			a.StoppedActions = []wire.FleetAction{wire.FleetActionAutoScaling}
		}
	}
	return a
}

// maxIDs is the maximum number of ids in a request. The API reference only states that there is a maximum and that the
// error names it.
const maxIDs = 100

// fleetsPage returns the fleets with the given ids, or a page of all. Unknown ids are left out, and with ids there is
// one page. Source: API reference, DescribeFleetAttributes.
func (cr *catalogReader) fleetsPage(operation string, ids []string, limit wire.Opt[int32],
	token string) (fleets []*catalog.Fleet, next string, err error) {
	if len(ids) > maxIDs {
		return nil, "", invalid("FleetIds has %d elements; the maximum is %d", len(ids), maxIDs)
	}
	if len(ids) > 0 {
		for _, id := range ids {
			if f, err := cr.liveFleet(id); err == nil {
				fleets = append(fleets, f)
			}
		}
		return fleets, "", nil
	}
	return page(cr.secrets.Pages(operation), token,
		func(after string) ([]*catalog.Fleet, bool) { return cr.Catalog().Fleets(after, pageSize(limit)) },
		func(f *catalog.Fleet) string { return f.ID })
}

// DescribeFleetAttributes describes the given fleets, or all.
func (cr *catalogReader) DescribeFleetAttributes(_ context.Context,
	in *wire.DescribeFleetAttributesInput) (*wire.DescribeFleetAttributesOutput, error) {
	fleets, next, err := cr.fleetsPage("DescribeFleetAttributes", in.FleetIds, in.Limit, in.NextToken)
	if err != nil {
		return nil, err
	}
	return &wire.DescribeFleetAttributesOutput{FleetAttributes: shown(fleets, cr.fleetAttributes), NextToken: next}, nil
}

// ListFleets lists the ids of all fleets, or of those of a build. A filter for a script finds none, because no fleet
// has one.
func (cr *catalogReader) ListFleets(_ context.Context, in *wire.ListFleetsInput) (*wire.ListFleetsOutput, error) {
	out := &wire.ListFleetsOutput{FleetIds: []string{}}
	if in.ScriptId != "" {
		return out, nil
	}
	build := buildID(in.BuildId)
	fleets, next, err := page(cr.secrets.Pages("ListFleets", build), in.NextToken,
		func(after string) ([]*catalog.Fleet, bool) {
			return cr.Catalog().FleetsOf(build, after, pageSize(in.Limit))
		},
		func(f *catalog.Fleet) string { return f.ID })
	for _, f := range fleets {
		out.FleetIds = append(out.FleetIds, f.ID)
	}
	out.NextToken = next
	return out, err
}

// UpdateFleetAttributes changes the members that are given.
func (p *Plane) UpdateFleetAttributes(ctx context.Context,
	in *wire.UpdateFleetAttributesInput) (*wire.UpdateFleetAttributesOutput, error) {
	command := catalog.UpdateFleetAttributes{
		Fleet: fleetID(in.FleetId), Name: optional(in.Name), Description: optional(in.Description),
		Cost:             optional(cost(in.AnywhereConfiguration)),
		ProtectionPolicy: optional(catalog.ProtectionPolicy(in.NewGameSessionProtectionPolicy)),
		CreationLimit:    creationLimit(in.ResourceCreationLimitPolicy), MetricGroups: in.MetricGroups,
		EventID: uuid.NewString(),
	}
	if err := p.Change(ctx, command); err != nil {
		return nil, err
	}
	return &wire.UpdateFleetAttributesOutput{FleetId: command.Fleet, FleetArn: p.FleetARN(command.Fleet)}, nil
}

// DeleteFleet deletes an Anywhere fleet that has no game session, after deregistering its computes. An EC2-type fleet
// is deleted when its instances have ended.
func (p *Plane) DeleteFleet(ctx context.Context, in *wire.DeleteFleetInput) error {
	id := fleetID(in.FleetId)
	f, err := p.Catalog().LiveFleet(id)
	switch {
	case err != nil:
		return err
	case f.Managed != nil:
		if err := p.Change(ctx, catalog.DeleteFleet{Fleet: id}); err != nil {
			return err
		}
		return p.finishFleet(ctx, id)
	}
	counts, err := p.counts(ctx, id, "")
	switch {
	case err != nil:
		return err
	case counts.Activating+counts.Active > 0:
		return invalid("Fleet %s hosts %d game sessions. Terminate them first.", id, counts.Activating+counts.Active)
	}
	if err := p.Change(ctx, catalog.DeleteFleet{Fleet: id}); err != nil {
		return err
	}
	return p.finishFleet(ctx, id)
}

// finishFleet empties a fleet that is DELETING and makes it TERMINATED, unless it has instances. It may be repeated
// after any step.
func (p *Plane) finishFleet(ctx context.Context, id string) error {
	p.finishing.Lock()
	defer p.finishing.Unlock()
	if len(p.Catalog().Instances(id, "")) > 0 {
		return nil
	}
	for _, l := range p.Catalog().FleetLocations(id) {
		if err := p.clearRoom(ctx, fleet.RoomID{Fleet: fleet.ID(id), Location: l.Location}); err != nil {
			return err
		}
	}
	return p.Change(ctx, catalog.FinishFleetDeletion{Fleet: id, EventID: uuid.NewString()})
}

// clearRoom deregisters all computes of a location, some at a time.
func (p *Plane) clearRoom(ctx context.Context, room fleet.RoomID) error {
	for {
		left, err := router.AskRoom[int](ctx, p.Router, room, fleet.Clear{})
		switch {
		case fault.Is(err, fault.NotFound):
			return nil // nothing was ever registered there
		case err != nil || left == 0:
			return err
		}
	}
}

// finishDeletions continues deletions that stopped half way, because the service stopped or a shard failed.
func (p *Plane) finishDeletions(ctx context.Context) {
	fleets, _ := p.Catalog().Fleets("", math.MaxInt)
	for _, f := range fleets {
		err := p.finishDeletion(ctx, f)
		p.WarnUnless(err == nil || ctx.Err() != nil, "deletion not finished; trying again later",
			"fleet", f.ID, "err", err)
	}
}

func (p *Plane) finishDeletion(ctx context.Context, f *catalog.Fleet) error {
	if f.Status == catalog.StatusDeleting {
		return p.finishFleet(ctx, f.ID)
	}
	var leaving []string
	for _, l := range p.Catalog().FleetLocations(f.ID) {
		if l.Status == catalog.StatusDeleting {
			leaving = append(leaving, l.Location)
		}
	}
	return p.finishLocations(ctx, f.ID, leaving)
}

// locationStates returns the states of the named locations of a fleet, in the order of the names, without unknown ones.
func (cr *catalogReader) locationStates(fleet string, names []string) []wire.LocationState {
	states := []wire.LocationState{}
	for _, name := range names {
		if l, ok := cr.Catalog().FleetLocation(fleet, name); ok {
			states = append(states, wire.LocationState{Location: l.Location, Status: wire.FleetStatus(l.Status)})
		}
	}
	return states
}

// CreateFleetLocations adds locations to a fleet.
func (p *Plane) CreateFleetLocations(ctx context.Context,
	in *wire.CreateFleetLocationsInput) (*wire.CreateFleetLocationsOutput, error) {
	command := catalog.AddFleetLocations{Fleet: fleetID(in.FleetId), EventIDs: newIDs(len(in.Locations))}
	out := &wire.CreateFleetLocationsOutput{FleetId: command.Fleet, FleetArn: p.FleetARN(command.Fleet)}
	for _, l := range in.Locations {
		command.Locations = append(command.Locations, l.Location)
		out.LocationStates = append(out.LocationStates,
			wire.LocationState{Location: l.Location, Status: wire.FleetStatusNew})
	}
	return out, p.Change(ctx, command)
}

// DeleteFleetLocations removes locations from a fleet and deregisters the computes there.
func (p *Plane) DeleteFleetLocations(ctx context.Context,
	in *wire.DeleteFleetLocationsInput) (*wire.DeleteFleetLocationsOutput, error) {
	id := fleetID(in.FleetId)
	command := catalog.RemoveFleetLocations{Fleet: id, Locations: in.Locations, EventIDs: newIDs(len(in.Locations))}
	if err := p.Change(ctx, command); err != nil {
		return nil, err
	}
	out := &wire.DeleteFleetLocationsOutput{FleetId: id, FleetArn: p.FleetARN(id)}
	for _, name := range in.Locations {
		out.LocationStates = append(out.LocationStates,
			wire.LocationState{Location: name, Status: wire.FleetStatusDeleting})
	}
	return out, p.finishLocations(ctx, id, in.Locations)
}

func (p *Plane) finishLocations(ctx context.Context, id string, names []string) error {
	for _, name := range names {
		if err := p.finishLocation(ctx, id, name); err != nil {
			return err
		}
	}
	return nil
}

// finishLocation empties a location that is removed from its fleet, unless it has instances. It may be repeated after
// any step; a location that was added again meanwhile keeps its computes.
func (p *Plane) finishLocation(ctx context.Context, id, name string) error {
	p.finishing.Lock()
	defer p.finishing.Unlock()
	l, ok := p.Catalog().FleetLocation(id, name)
	if !ok || l.Status != catalog.StatusDeleting || len(p.Catalog().Instances(id, name)) > 0 {
		return nil
	}
	if err := p.clearRoom(ctx, fleet.RoomID{Fleet: fleet.ID(id), Location: name}); err != nil {
		return err
	}
	return p.Change(ctx, catalog.FinishFleetLocationRemoval{Fleet: id, Location: name, EventID: uuid.NewString()})
}

// DescribeFleetLocationAttributes describes the given locations of a fleet in that order, without unknown ones, or all.
func (cr *catalogReader) DescribeFleetLocationAttributes(
	_ context.Context, in *wire.DescribeFleetLocationAttributesInput,
) (*wire.DescribeFleetLocationAttributesOutput, error) {
	f, err := cr.liveFleet(in.FleetId)
	if err != nil {
		return nil, err
	}
	out := &wire.DescribeFleetLocationAttributesOutput{
		FleetId: f.ID, FleetArn: cr.FleetARN(f.ID), LocationAttributes: []wire.LocationAttributes{},
	}
	names := in.Locations
	if len(names) == 0 {
		if names, out.NextToken, err = cr.fleetLocationPage(f.ID, in); err != nil {
			return nil, err
		}
	}
	for _, state := range cr.locationStates(f.ID, names) {
		attributes := wire.LocationAttributes{LocationState: &state}
		if l, _ := cr.Catalog().FleetLocation(f.ID, state.Location); l.Stopped {
			attributes.StoppedActions = []wire.FleetAction{wire.FleetActionAutoScaling}
		}
		out.LocationAttributes = append(out.LocationAttributes, attributes)
	}
	return out, nil
}

func (cr *catalogReader) fleetLocationPage(fleet string,
	in *wire.DescribeFleetLocationAttributesInput) (names []string, next string, err error) {
	list := func(after string) (names []string, more bool) {
		for _, l := range cr.Catalog().FleetLocations(fleet) {
			if l.Location > after {
				names = append(names, l.Location)
			}
		}
		size := min(pageSize(in.Limit), len(names))
		return names[:size], size < len(names)
	}
	self := func(name string) string { return name }
	return page(cr.secrets.Pages("DescribeFleetLocationAttributes", fleet), in.NextToken, list, self)
}

// DescribeRuntimeConfiguration returns the runtime configuration of a fleet; an empty answer for a fleet that was
// deleted. Source: API reference.
func (cr *catalogReader) DescribeRuntimeConfiguration(_ context.Context,
	in *wire.DescribeRuntimeConfigurationInput) (*wire.DescribeRuntimeConfigurationOutput, error) {
	id := fleetID(in.FleetId)
	f, ok := cr.Catalog().Fleet(id)
	if !ok {
		return nil, notFound("Fleet %s not found", id)
	}
	return &wire.DescribeRuntimeConfigurationOutput{RuntimeConfiguration: runtimeTo(f.Runtime)}, nil
}

// agentRuntime returns what the agents of a fleet have to run.
func (cr *catalogReader) agentRuntime(id string) (*wire.RuntimeConfiguration, error) {
	f, err := cr.liveFleet(id)
	if err != nil {
		return nil, err
	}
	if f.Runtime == nil || len(f.Runtime.ServerProcesses) == 0 {
		return nil, notFound("Fleet %s has no runtime configuration. Call UpdateRuntimeConfiguration.", id)
	}
	return runtimeTo(f.Runtime), nil
}

// UpdateRuntimeConfiguration replaces the runtime configuration of a fleet.
func (p *Plane) UpdateRuntimeConfiguration(ctx context.Context,
	in *wire.UpdateRuntimeConfigurationInput) (*wire.UpdateRuntimeConfigurationOutput, error) {
	runtime := runtimeFrom(in.RuntimeConfiguration)
	command := catalog.UpdateRuntimeConfiguration{Fleet: fleetID(in.FleetId), Runtime: *runtime}
	if err := p.Change(ctx, command); err != nil {
		return nil, err
	}
	return &wire.UpdateRuntimeConfigurationOutput{RuntimeConfiguration: runtimeTo(runtime)}, nil
}
