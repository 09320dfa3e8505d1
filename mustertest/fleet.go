package mustertest

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/gameserver"
)

// Fleet makes custom locations, and an Anywhere fleet in them, and returns its id.
func (s *Service) Fleet(locations ...string) string {
	s.Helper()
	in := &gamelift.CreateFleetInput{Name: new("Arena"), ComputeType: types.ComputeTypeAnywhere}
	for _, l := range locations {
		Call(s, s.Client.CreateLocation, &gamelift.CreateLocationInput{LocationName: &l})
		in.Locations = append(in.Locations, types.LocationConfiguration{Location: &l})
	}
	return *Call(s, s.Client.CreateFleet, in).FleetAttributes.FleetId
}

// Compute registers a compute with the address 127.0.0.1, and returns what its game servers connect with: any number of
// them. Each change may alter the registration.
func (s *Service) Compute(
	fleet, location, name string, change ...func(*gamelift.RegisterComputeInput),
) gameserver.ServerParameters {
	s.Helper()
	in := &gamelift.RegisterComputeInput{FleetId: &fleet, Location: &location, ComputeName: &name,
		IpAddress: new("127.0.0.1")}
	for _, f := range change {
		f(in)
	}
	Call(s, s.Client.RegisterCompute, in)
	token := Call(s, s.Client.GetComputeAuthToken,
		&gamelift.GetComputeAuthTokenInput{FleetId: &fleet, ComputeName: &name})
	return gameserver.ServerParameters{WebSocketURL: s.WS, HostID: name, FleetID: fleet, AuthToken: *token.AuthToken}
}

// Launch starts a game server on a compute. It activates each game session that it is given at once, and ends its
// process when it is asked to. Nothing listens on its port.
func (s *Service) Launch(on gameserver.ServerParameters, port int) *gameserver.Server {
	s.Helper()
	server := gameserver.New(gameserver.Config{Getenv: func(string) string { return "" }})
	s.Cleanup(func() { server.Close(); server.Wait() })
	if err := server.Connect(s.Context(), on); err != nil {
		s.Fatal(err)
	}
	if err := server.ProcessReady(s.Context(), gameserver.ProcessParameters{
		Port:               port,
		OnStartGameSession: func(gameserver.GameSession) { s.Report(server.ActivateGameSession(context.Background())) },
		OnProcessTerminate: func() { s.Report(server.ProcessEnding(context.Background())) },
	}); err != nil {
		s.Fatal(err)
	}
	return server
}

// Report fails the test when a game server's call failed, unless its connection was closed because the test is over.
// Any goroutine may call it until the game server has ended.
func (s *Service) Report(err error) {
	if err != nil && !errors.Is(err, gameserver.ErrClosed) {
		s.Error(err)
	}
}
