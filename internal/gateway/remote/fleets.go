package remote

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// maxPages limits the pages of a list.
const maxPages = 50

// maxFleets is how many fleets the service describes in one call.
const maxFleets = 100

// Fleet implements gateway.Service. The answer is cached for 10 s.
func (s *Service) Fleet(ctx context.Context) (string, error) {
	return s.fleets.get(ctx, "", s.firstFleet)
}

// firstFleet returns the oldest ACTIVE fleet with server processes. If there is none, or the numbers of processes are
// unknown, for example for lack of permission, it is the oldest ACTIVE one.
func (s *Service) firstFleet(ctx context.Context) (string, error) {
	active, err := s.activeFleets(ctx)
	switch {
	case err != nil:
		return "", err
	case len(active) == 0:
		return "", fault.New(fault.NotFound, "no fleet of the region is ACTIVE")
	case len(active) == 1:
		return active[0], nil
	}
	active = active[:min(len(active), maxFleets)]
	out, err := call(ctx, "DescribeFleetUtilization", s.api.DescribeFleetUtilization,
		&gamelift.DescribeFleetUtilizationInput{FleetIds: active}, once)
	if err != nil {
		return active[0], ctx.Err()
	}
	used := func(id string) bool {
		return slices.ContainsFunc(out.FleetUtilization, func(u types.FleetUtilization) bool {
			return aws.ToString(u.FleetId) == id && aws.ToInt32(u.ActiveServerProcessCount) > 0
		})
	}
	return active[max(0, slices.IndexFunc(active, used))], nil
}

// activeFleets returns the ids of the ACTIVE fleets, the oldest first.
func (s *Service) activeFleets(ctx context.Context) ([]string, error) {
	var active []types.FleetAttributes
	in := &gamelift.DescribeFleetAttributesInput{}
	for range maxPages {
		out, err := call(ctx, "DescribeFleetAttributes", s.api.DescribeFleetAttributes, in)
		if err != nil {
			return nil, err
		}
		for _, f := range out.FleetAttributes {
			if f.Status == types.FleetStatusActive {
				active = append(active, f)
			}
		}
		if in.NextToken = out.NextToken; in.NextToken == nil {
			break
		}
	}
	slices.SortStableFunc(active, func(a, b types.FleetAttributes) int {
		return aws.ToTime(a.CreationTime).Compare(aws.ToTime(b.CreationTime))
	})
	ids := make([]string, len(active))
	for i, f := range active {
		ids[i] = aws.ToString(f.FleetId)
	}
	return ids, nil
}

// Locations implements gateway.Service: the ACTIVE locations of the fleet, in the service's order. The API does not
// count ACTIVATING game sessions, so Idle may be too large by their number. The answer is cached for 2 s.
func (s *Service) Locations(ctx context.Context, t gateway.Target) ([]gateway.Location, error) {
	fleet, err := s.fleetOf(ctx, t)
	if err != nil {
		return nil, err
	}
	all, err := s.locations.get(ctx, fleet,
		func(ctx context.Context) ([]gateway.Location, error) { return s.describeLocations(ctx, fleet) })
	if err != nil {
		return nil, err
	}
	if t.Location == "" {
		return slices.Clone(all), nil
	}
	return slices.DeleteFunc(slices.Clone(all), func(l gateway.Location) bool { return l.Name != t.Location }), nil
}

// fleetOf returns the id of the target's fleet.
func (s *Service) fleetOf(ctx context.Context, t gateway.Target) (string, error) {
	switch {
	case t.FleetID != "":
		return t.FleetID, nil
	case t.AliasID == "":
		return "", fault.New(fault.InvalidRequest, "a queue has no locations: name a fleet or an alias")
	}
	return s.fleets.get(ctx, t.AliasID, func(ctx context.Context) (string, error) {
		out, err := call(ctx, "ResolveAlias", s.api.ResolveAlias, &gamelift.ResolveAliasInput{AliasId: &t.AliasID})
		if err != nil {
			return "", err
		}
		return aws.ToString(out.FleetId), nil
	})
}

func (s *Service) describeLocations(ctx context.Context, fleet string) ([]gateway.Location, error) {
	names, err := s.activeLocations(ctx, fleet)
	if err != nil {
		return nil, err
	}
	locations := make([]gateway.Location, len(names))
	var calls errgroup.Group
	calls.SetLimit(4)
	for i, name := range names {
		calls.Go(func() error {
			locations[i] = gateway.Location{Name: name, Idle: s.idle(ctx, fleet, name)}
			return nil
		})
	}
	_ = calls.Wait() // always nil
	return locations, ctx.Err()
}

func (s *Service) activeLocations(ctx context.Context, fleet string) (names []string, err error) {
	in := &gamelift.DescribeFleetLocationAttributesInput{FleetId: &fleet}
	for range maxPages {
		out, err := call(ctx, "DescribeFleetLocationAttributes", s.api.DescribeFleetLocationAttributes, in)
		if err != nil {
			return nil, err
		}
		for _, l := range out.LocationAttributes {
			if l.LocationState != nil && l.LocationState.Status == types.FleetStatusActive {
				names = append(names, aws.ToString(l.LocationState.Location))
			}
		}
		if in.NextToken = out.NextToken; in.NextToken == nil {
			break
		}
	}
	return names, nil
}

// idle returns the number of idle processes at a location; -1 if it is unknown, for example for lack of permission.
func (s *Service) idle(ctx context.Context, fleet, location string) int {
	out, err := call(ctx, "DescribeFleetLocationUtilization", s.api.DescribeFleetLocationUtilization,
		&gamelift.DescribeFleetLocationUtilizationInput{FleetId: &fleet, Location: &location}, once)
	if err != nil || out.FleetUtilization == nil {
		return -1
	}
	u := out.FleetUtilization
	if u.ActiveServerProcessCount == nil || u.ActiveGameSessionCount == nil {
		return -1
	}
	return max(0, int(*u.ActiveServerProcessCount-*u.ActiveGameSessionCount))
}
