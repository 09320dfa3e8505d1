package e2e

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/gameserver"
)

// This file sets up what most tests need: an Anywhere fleet, its computes and
// game servers on them.

const home = "custom-home"

// newFleet makes a fleet in new locations; without names, in home alone.
func (s *service) newFleet(t testing.TB, locations ...string) (fleet string) {
	t.Helper()
	if len(locations) == 0 {
		locations = []string{home}
	}
	in := &gamelift.CreateFleetInput{Name: new("Arena"), ComputeType: types.ComputeTypeAnywhere}
	for _, l := range locations {
		call(t, s.client().CreateLocation, &gamelift.CreateLocationInput{LocationName: &l})
		in.Locations = append(in.Locations, types.LocationConfiguration{Location: &l})
	}
	return *call(t, s.client().CreateFleet, in).FleetAttributes.FleetId
}

// newCompute registers a compute and gives what its game servers connect with.
func (s *service) newCompute(t testing.TB, fleet, location, name string) gameserver.ServerParameters {
	t.Helper()
	call(t, s.client().RegisterCompute, &gamelift.RegisterComputeInput{
		FleetId: &fleet, Location: &location, ComputeName: &name, IpAddress: new("127.0.0.1"),
	})
	token := call(t, s.client().GetComputeAuthToken,
		&gamelift.GetComputeAuthTokenInput{FleetId: &fleet, ComputeName: &name})
	return gameserver.ServerParameters{WebSocketURL: s.WS, HostID: name, FleetID: fleet, AuthToken: *token.AuthToken}
}

// maxUpdates is how often the game session of a process may change in a test.
const maxUpdates = 16

// A process is a game server of a test.
type process struct {
	*gameserver.Server
	started   chan gameserver.GameSession // game sessions that it was given
	updated   chan gameserver.GameSessionUpdate
	terminate chan struct{} // closed when it is asked to end
}

// A behaviour changes how a process behaves. The zero value of everything is a
// good game server.
type behaviour struct {
	config gameserver.Config
	port   int  // for players; 0 is 7777
	idle   bool // never activates its game session
}

// launch starts a game server, which ends with the test.
func (s *service) launch(t testing.TB, params gameserver.ServerParameters, b behaviour) *process {
	t.Helper()
	b.config.Getenv = func(string) string { return "" }
	p := &process{
		Server: gameserver.New(b.config), started: make(chan gameserver.GameSession, 1),
		updated: make(chan gameserver.GameSessionUpdate, maxUpdates), terminate: make(chan struct{}),
	}
	t.Cleanup(func() { p.Close(); p.Wait() })
	if err := p.Connect(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	if b.port == 0 {
		b.port = 7777
	}
	if err := p.ProcessReady(t.Context(), gameserver.ProcessParameters{
		Port: b.port,
		OnStartGameSession: func(g gameserver.GameSession) {
			if !b.idle {
				report(t, "activate", p.ActivateGameSession(context.Background()))
			}
			p.started <- g
		},
		OnUpdateGameSession: func(u gameserver.GameSessionUpdate) { p.updated <- u },
		OnProcessTerminate: func() {
			close(p.terminate)
			report(t, "end", p.ProcessEnding(context.Background()))
		},
	}); err != nil {
		t.Fatal(err)
	}
	return p
}

// report fails the test when a game server's call failed, unless the test is over.
func report(t testing.TB, what string, err error) {
	if err != nil && !errors.Is(err, gameserver.ErrClosed) {
		t.Errorf("%s: %v", what, err)
	}
}

// newSession creates a game session for four players.
func (s *service) newSession(t testing.TB, fleet, location string) (id string) {
	t.Helper()
	return *call(t, s.client().CreateGameSession, &gamelift.CreateGameSessionInput{
		FleetId: &fleet, Location: &location, MaximumPlayerSessionCount: new(int32(4)),
	}).GameSession.GameSessionId
}

// newActiveSession creates a game session and waits until it can be joined.
func (s *service) newActiveSession(t testing.TB, fleet, location string) (id string) {
	t.Helper()
	id = s.newSession(t, fleet, location)
	s.awaitStatus(t, id, types.GameSessionStatusActive)
	return id
}

// session describes a game session.
func (s *service) session(t testing.TB, id string) types.GameSession {
	t.Helper()
	return call(t, s.client().DescribeGameSessions,
		&gamelift.DescribeGameSessionsInput{GameSessionId: &id}).GameSessions[0]
}

// awaitStatus waits until a game session has a status.
func (s *service) awaitStatus(t testing.TB, id string, status types.GameSessionStatus) {
	t.Helper()
	eventually(t, "game session "+string(status), func() bool { return s.session(t, id).Status == status })
}

// join takes a place for a player.
func (s *service) join(t testing.TB, session, player string) (id string) {
	t.Helper()
	return *call(t, s.client().CreatePlayerSession, &gamelift.CreatePlayerSessionInput{
		GameSessionId: &session, PlayerId: &player,
	}).PlayerSession.PlayerSessionId
}

// player describes a player session.
func (s *service) player(t testing.TB, id string) types.PlayerSession {
	t.Helper()
	return call(t, s.client().DescribePlayerSessions,
		&gamelift.DescribePlayerSessionsInput{PlayerSessionId: &id}).PlayerSessions[0]
}

// awaitPlayer waits until a player session has a status.
func (s *service) awaitPlayer(t testing.TB, id string, status types.PlayerSessionStatus) {
	t.Helper()
	eventually(t, "player session "+string(status), func() bool { return s.player(t, id).Status == status })
}

// eventCodes are the codes of a fleet's events, newest first.
func (s *service) eventCodes(t testing.TB, fleet string) (codes []types.EventCode) {
	t.Helper()
	events := call(t, s.client().DescribeFleetEvents, &gamelift.DescribeFleetEventsInput{FleetId: &fleet})
	for _, e := range events.Events {
		codes = append(codes, e.EventCode)
	}
	return codes
}
