package figures

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/gameserver"
)

// perHost is how many game servers run on one compute. It may have 50, but the
// successor of one may connect before the service has seen that one go.
const perHost = 25

// gameServers are game servers that wait for a game session and activate it at
// once, each on the public SDK.
type gameServers struct {
	socketURL, fleet string

	mu      sync.Mutex
	all     map[*gameserver.Server]bool
	hosting map[string]*hosting // by the id of the game session
}

// A hosting is a game server with its game session.
type hosting struct {
	server    *gameserver.Server
	on        hostCompute
	activated chan error // has one value, when the activation was answered
}

// A hostCompute is a registered compute.
type hostCompute struct{ name, token string }

// openGameServers makes a fleet with n game servers.
func openGameServers(ctx context.Context, e muster.Endpoints, n int) (*gameServers, error) {
	s := &gameServers{socketURL: e.WS, all: map[*gameserver.Server]bool{}, hosting: map[string]*hosting{}}
	api := newAPI(e)
	if err := s.openFleet(ctx, api); err != nil {
		return nil, err
	}
	return s, s.addTo(ctx, api, location, n)
}

// addTo has n game servers wait in a location of the fleet.
func (s *gameServers) addTo(ctx context.Context, api *gamelift.Client, location string, n int) error {
	var group errgroup.Group
	for i := range (n + perHost - 1) / perHost {
		group.Go(func() error {
			on, err := s.register(ctx, api, location, location+"-"+computeName(i))
			for range min(perHost, n-i*perHost) {
				if err == nil {
					err = s.add(ctx, on)
				}
			}
			return err
		})
	}
	return group.Wait()
}

func (s *gameServers) openFleet(ctx context.Context, api *gamelift.Client) error {
	_, err := api.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: aws.String(location)})
	if err != nil {
		return err
	}
	out, err := api.CreateFleet(ctx, &gamelift.CreateFleetInput{
		Name: aws.String("figures"), ComputeType: types.ComputeTypeAnywhere,
		AnywhereConfiguration: &types.AnywhereConfiguration{Cost: aws.String("1")},
		Locations:             []types.LocationConfiguration{{Location: aws.String(location)}},
	})
	if err == nil {
		s.fleet = *out.FleetAttributes.FleetId
	}
	return err
}

func (s *gameServers) register(ctx context.Context, api *gamelift.Client, location, name string) (
	on hostCompute, err error,
) {
	_, err = api.RegisterCompute(ctx, &gamelift.RegisterComputeInput{
		FleetId: &s.fleet, ComputeName: &name, Location: aws.String(location), IpAddress: aws.String("127.0.0.1"),
	})
	if err != nil {
		return on, err
	}
	out, err := api.GetComputeAuthToken(ctx, &gamelift.GetComputeAuthTokenInput{FleetId: &s.fleet, ComputeName: &name})
	if err != nil {
		return on, err
	}
	return hostCompute{name, *out.AuthToken}, nil
}

// add has a new game server wait.
func (s *gameServers) add(ctx context.Context, on hostCompute) error {
	server := gameserver.New(gameserver.Config{})
	s.mu.Lock()
	s.all[server] = true
	s.mu.Unlock()
	if err := server.Connect(ctx, gameserver.ServerParameters{
		WebSocketURL: s.socketURL, HostID: on.name, FleetID: s.fleet, AuthToken: on.token,
	}); err != nil {
		return err
	}
	return server.ProcessReady(ctx, gameserver.ProcessParameters{Port: 7777, OnStartGameSession: func(
		gs gameserver.GameSession,
	) {
		h := &hosting{server, on, make(chan error, 1)}
		s.mu.Lock()
		s.hosting[gs.GameSessionID] = h
		s.mu.Unlock()
		h.activated <- server.ActivateGameSession(ctx)
	}})
}

// replace ends the game server that hosts a game session, and has another one
// wait in its place.
func (s *gameServers) replace(ctx context.Context, session string) error {
	s.mu.Lock()
	h := s.hosting[session]
	if h != nil {
		delete(s.hosting, session)
		delete(s.all, h.server)
	}
	s.mu.Unlock()
	if h == nil {
		return fmt.Errorf("no game server hosts %q", session)
	}
	err := errors.Join(<-h.activated, h.server.ProcessEnding(ctx))
	h.server.Close()
	return errors.Join(err, s.add(ctx, h.on))
}

// close disconnects all game servers.
func (s *gameServers) close() {
	for server := range s.all {
		server.Close()
		server.Wait()
	}
}
