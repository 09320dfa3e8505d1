package control

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// RegisterCompute adds a compute to a fleet location. Registering the same compute again returns the existing one,
// because a restarted agent registers again; the same name with another address or location is a ConflictException.
func (p *Plane) RegisterCompute(ctx context.Context,
	in *wire.RegisterComputeInput) (*wire.RegisterComputeOutput, error) {
	if err := p.refuseInstances(in.FleetId); err != nil {
		return nil, err
	}
	switch {
	case in.Location == "":
		return nil, invalid("Location is required for Anywhere compute type.")
	case in.IpAddress == "" && in.DnsName == "":
		return nil, invalid("Give IpAddress or DnsName: players connect there")
	}
	id := fleetID(in.FleetId)
	// The name is claimed first, in the catalog, which has those of all locations. If the call stops between the two
	// steps, it can be repeated.
	if err := p.Change(ctx, catalog.ClaimCompute{Fleet: id, Name: in.ComputeName, Location: in.Location}); err != nil {
		return nil, err
	}
	room := fleet.RoomID{Fleet: fleet.ID(id), Location: in.Location}
	register := region.RoomCommand{Room: room, Open: true, Command: fleet.RegisterCompute{
		Name: in.ComputeName, IPAddress: in.IpAddress, DNSName: in.DnsName, CertificatePath: in.CertificatePath,
	}}
	compute, err := router.Ask[*fleet.Compute](ctx, p.RoomShard(room), register)
	if err != nil {
		return nil, err
	}
	if _, claimed := p.Catalog().ComputeLocation(id, in.ComputeName); !claimed {
		// Its fleet or location was deleted meanwhile.
		_, err := router.AskRoom[any](ctx, p.Router, room, fleet.DeregisterCompute{Name: in.ComputeName})
		return nil, cmp.Or(err, noCompute(id, in.ComputeName))
	}
	return &wire.RegisterComputeOutput{Compute: p.compute(room, compute)}, nil
}

// computeActive is the status of a compute that is neither an instance nor a container, spelled like this. Source: API
// reference, Compute.ComputeStatus.
const computeActive wire.ComputeStatus = "Active"

// refuseInstances rejects a change of the computes of an EC2-type fleet.
func (p *Plane) refuseInstances(fleetIDOrArn string) error {
	if f, err := p.liveFleet(fleetIDOrArn); err == nil && f.Managed != nil {
		return invalid("Fleet %s is of compute type EC2: the service registers and deregisters its instances itself",
			f.ID)
	}
	return nil
}

// compute returns a compute as the API shows it. One of an EC2-type fleet is an instance.
func (cr *catalogReader) compute(room fleet.RoomID, c *fleet.Compute) *wire.Compute {
	out := cr.anywhereCompute(room, c)
	if f, err := cr.Catalog().LiveFleet(string(room.Fleet)); err == nil && f.Managed != nil {
		out.Type, out.InstanceId = wire.EC2InstanceType(f.Managed.InstanceType), c.Name
		out.OperatingSystem = wire.OperatingSystem(f.Managed.Files.OperatingSystem)
	}
	return out
}

func (sh shapes) anywhereCompute(room fleet.RoomID, c *fleet.Compute) *wire.Compute {
	return &wire.Compute{
		FleetId: string(room.Fleet), FleetArn: sh.names.FleetARN(string(room.Fleet)),
		ComputeName: c.Name, ComputeArn: sh.computeArn(c.Name), ComputeStatus: computeActive, Location: room.Location,
		IpAddress: c.IPAddress, DnsName: c.DNSName, CreationTime: c.Created.Time(),
		GameLiftServiceSdkEndpoint: sh.sdkEndpoint, GameLiftAgentEndpoint: sh.agentEndpoint,
	}
}

func (sh shapes) computeArn(name string) string {
	return arn.Compute(sh.names.Region, sh.names.Account, name)
}

// computePlace returns the room and the name of a compute that a request gives by name or ARN.
func (cr *catalogReader) computePlace(fleetIDOrArn, nameOrArn string) (room fleet.RoomID, name string, err error) {
	f, err := cr.liveFleet(fleetIDOrArn)
	if err != nil {
		return fleet.RoomID{}, "", err
	}
	name = nameOrArn
	if parsed, ok := arn.ParseCompute(nameOrArn); ok {
		name = parsed
	}
	location, ok := cr.Catalog().ComputeLocation(f.ID, name)
	if !ok || cr.Elsewhere(nameOrArn) {
		return fleet.RoomID{}, "", noCompute(f.ID, name)
	}
	return fleet.RoomID{Fleet: fleet.ID(f.ID), Location: location}, name, nil
}

func noCompute(fleet, name string) error {
	return notFound("Compute %s not found in fleet %s", name, fleet)
}

// DescribeCompute describes one compute.
func (p *Plane) DescribeCompute(ctx context.Context,
	in *wire.DescribeComputeInput) (*wire.DescribeComputeOutput, error) {
	room, name, err := p.computePlace(in.FleetId, in.ComputeName)
	if err != nil {
		return nil, err
	}
	compute, err := router.InRoom(ctx, p.Router, room, func(r *fleet.Room) *fleet.Compute {
		c, _ := r.Compute(name)
		return c
	})
	switch {
	case err != nil:
		return nil, err
	case compute == nil:
		return nil, noCompute(string(room.Fleet), name)
	}
	return &wire.DescribeComputeOutput{Compute: p.compute(room, compute)}, nil
}

// DeregisterCompute removes a compute. Its processes and game sessions end.
func (p *Plane) DeregisterCompute(ctx context.Context, in *wire.DeregisterComputeInput) error {
	if err := p.refuseInstances(in.FleetId); err != nil {
		return err
	}
	room, name, err := p.computePlace(in.FleetId, in.ComputeName)
	if err != nil {
		return err
	}
	_, err = router.AskRoom[any](ctx, p.Router, room, fleet.DeregisterCompute{Name: name})
	if err != nil && !fault.Is(err, fault.NotFound) { // not found: an earlier call stopped half way
		return err
	}
	return p.Change(ctx, catalog.ReleaseCompute{Fleet: string(room.Fleet), Name: name})
}

// GetComputeAuthToken returns the token with which server processes of the compute connect.
func (p *Plane) GetComputeAuthToken(ctx context.Context,
	in *wire.GetComputeAuthTokenInput) (*wire.GetComputeAuthTokenOutput, error) {
	room, name, err := p.computePlace(in.FleetId, in.ComputeName)
	if err != nil {
		return nil, err
	}
	token, expires, err := p.authToken(ctx, room, name)
	if err != nil {
		return nil, err
	}
	return &wire.GetComputeAuthTokenOutput{
		FleetId: string(room.Fleet), FleetArn: p.FleetARN(string(room.Fleet)), ComputeName: name,
		ComputeArn: p.computeArn(name), AuthToken: token, ExpirationTimestamp: expires.Time(),
	}, nil
}

// authToken returns the token of a compute. NotFound.
func (p *Plane) authToken(ctx context.Context, room fleet.RoomID, name string) (token string, expires event.Time,
	err error) {
	grant, err := router.AskRoom[fleet.TokenGrant](ctx, p.Router, room, fleet.IssueToken{Compute: name})
	if err != nil {
		return "", 0, err
	}
	return p.secrets.AuthToken(room, name, grant.Token.Serial), grant.Token.Expires, nil
}

// ListCompute lists the computes of a fleet, or of one of its locations. All are Active, so the filter for IMPAIRED
// ones finds none.
func (p *Plane) ListCompute(ctx context.Context, in *wire.ListComputeInput) (*wire.ListComputeOutput, error) {
	f, err := p.liveFleet(in.FleetId)
	if err != nil {
		return nil, err
	}
	pages := p.secrets.Pages("ListCompute", f.ID, in.Location, in.ContainerGroupDefinitionName,
		string(in.ComputeStatus))
	none := in.ContainerGroupDefinitionName != "" || in.ComputeStatus == wire.ListComputeInputStatusImpaired
	var rooms []*fleet.Room
	if !none {
		if rooms, err = p.Rooms(ctx, f.ID, in.Location); err != nil {
			return nil, err
		}
	}
	found, next, err := page(pages, in.NextToken, func(after string) ([]wire.Compute, bool) {
		return computesAfter(rooms, after, pageSize(in.Limit),
			func(r *fleet.Room, c *fleet.Compute) wire.Compute { return *p.compute(r.ID(), c) }, computeName)
	}, computeName)
	if err != nil {
		return nil, err
	}
	return &wire.ListComputeOutput{ComputeList: found, NextToken: next}, nil
}

func computeName(c wire.Compute) string { return c.ComputeName }

// computesAfter lists up to limit computes whose names are after the given one, by name, and reports whether there are
// more. Names are unique in a fleet.
func computesAfter[T any](rooms []*fleet.Room, after string, limit int, row func(*fleet.Room, *fleet.Compute) T,
	name func(T) string) (found []T, more bool) {
	found = []T{} // never nil: clients expect the empty list
	for _, r := range rooms {
		n := 0
		r.Computes(after, func(c *fleet.Compute) bool {
			found = append(found, row(r, c))
			n++
			return n <= limit
		})
	}
	slices.SortFunc(found, func(a, b T) int { return strings.Compare(name(a), name(b)) })
	return found[:min(len(found), limit)], len(found) > limit
}
