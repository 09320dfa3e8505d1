//go:build unix

package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/gameserver"
)

// perCompute is how many server processes run on one compute at most.
// Source: GameLift quotas, "Server processes per compute".
const perCompute = 50

// A world is what the load works on: a fleet of some locations, with computes.
type world struct {
	t       *testing.T
	service *service
	client  *gamelift.Client

	fleet     string
	locations []string
	computes  []compute
	numbers   atomic.Int64
}

type compute struct{ name, location, token string }

// newWorld makes the fleet and, in each location, as many computes.
func newWorld(ctx context.Context, t *testing.T, s *service, locations, computes int) *world {
	t.Helper()
	w := &world{t: t, service: s, client: s.client()}
	var in []types.LocationConfiguration
	for i := range locations {
		name := fmt.Sprintf("custom-soak-%d", i)
		_, err := w.client.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: &name})
		w.must(err)
		w.locations = append(w.locations, name)
		in = append(in, types.LocationConfiguration{Location: &name})
	}
	fleet, err := w.client.CreateFleet(ctx, &gamelift.CreateFleetInput{Name: aws.String("soak"),
		ComputeType: types.ComputeTypeAnywhere, Locations: in})
	w.must(err)
	w.fleet = *fleet.FleetAttributes.FleetId
	for i := range locations * computes {
		w.computes = append(w.computes, w.register(ctx,
			compute{name: fmt.Sprintf("host-%d", i), location: w.locations[i%locations]}))
	}
	return w
}

// must ends the test when a call fails that prepares it.
func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// extend adds a location with one compute, which it returns, to the fleet.
func (w *world) extend(ctx context.Context, location string) compute {
	w.t.Helper()
	_, err := w.client.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: &location})
	w.must(err)
	_, err = w.client.CreateFleetLocations(ctx,
		&gamelift.CreateFleetLocationsInput{FleetId: &w.fleet,
			Locations: []types.LocationConfiguration{{Location: &location}}})
	w.must(err)
	return w.register(ctx, compute{name: location, location: location})
}

// register registers a compute and gives it a token.
func (w *world) register(ctx context.Context, c compute) compute {
	w.t.Helper()
	_, err := w.client.RegisterCompute(ctx, &gamelift.RegisterComputeInput{FleetId: &w.fleet, ComputeName: &c.name,
		Location: &c.location, IpAddress: aws.String("127.0.0.1")})
	w.must(err)
	token, err := w.client.GetComputeAuthToken(ctx,
		&gamelift.GetComputeAuthTokenInput{FleetId: &w.fleet, ComputeName: &c.name})
	w.must(err)
	c.token = *token.AuthToken
	return c
}

// number is another one each time.
func (w *world) number() int64 { return w.numbers.Add(1) }

// anyCompute is one of the computes.
func (w *world) anyCompute() compute { return w.computes[rand.IntN(len(w.computes))] }

// connect makes a game server and connects it.
func (w *world) connect(ctx context.Context, c compute) (*gameserver.Server, error) {
	server := gameserver.New(gameserver.Config{Getenv: func(string) string { return "" }})
	err := server.Connect(ctx, gameserver.ServerParameters{WebSocketURL: w.service.env["MUSTER_WS_URL"], HostID: c.name,
		FleetID: w.fleet, AuthToken: c.token})
	if err != nil {
		server.Close()
		return nil, err
	}
	return server, nil
}
