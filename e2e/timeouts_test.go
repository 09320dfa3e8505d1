package e2e

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/gameserver"
)

func TestReservationsTimeOut(t *testing.T) {
	t.Parallel()
	s := start(t, fakeTime)
	fleet := s.newFleet(t)
	p := s.launch(t, s.newCompute(t, fleet, home, "pc"), behaviour{})
	session := s.newActiveSession(t, fleet, home)
	accepted, late := s.join(t, session, "ada"), s.join(t, session, "bob")
	if err := p.AcceptPlayerSession(t.Context(), accepted); err != nil {
		t.Fatal(err)
	}

	s.advance(59 * time.Second)
	if got := s.player(t, late).Status; got != types.PlayerSessionStatusReserved {
		t.Errorf("after 59 s: %s", got)
	}
	s.advance(time.Second)
	s.awaitPlayer(t, late, types.PlayerSessionStatusTimedout)
	if got := s.player(t, accepted).Status; got != types.PlayerSessionStatusActive {
		t.Errorf("the accepted player is %s", got)
	}
	if got := *s.session(t, session).CurrentPlayerSessionCount; got != 1 {
		t.Errorf("%d players, want 1: the place is free again", got)
	}
	if err := p.AcceptPlayerSession(t.Context(), late); gameserverCode(err) != 409 {
		t.Errorf("accepting the late player: %v", err)
	}
}

// gameserverCode is the service's status in an error of package gameserver.
func gameserverCode(err error) int {
	if e, ok := errors.AsType[*gameserver.Error](err); ok {
		return e.Code
	}
	return 0
}

func TestFullGameSession(t *testing.T) {
	t.Parallel()
	s := start(t, fakeTime)
	fleet := s.newFleet(t)
	p := s.launch(t, s.newCompute(t, fleet, home, "pc"), behaviour{})
	session := s.newActiveSession(t, fleet, home)
	call(t, s.client().CreatePlayerSessions, &gamelift.CreatePlayerSessionsInput{GameSessionId: &session,
		PlayerIds: []string{"a", "b", "c"}})

	two := &gamelift.CreatePlayerSessionsInput{GameSessionId: &session, PlayerIds: []string{"d", "e"}}
	refuse[*types.GameSessionFullException](t, s.client().CreatePlayerSessions, two) // all or none
	if got := *s.session(t, session).CurrentPlayerSessionCount; got != 3 {
		t.Errorf("%d players after the refusal, want 3", got)
	}
	last := s.join(t, session, "d")
	one := &gamelift.CreatePlayerSessionInput{GameSessionId: &session, PlayerId: new("e")}
	refuse[*types.GameSessionFullException](t, s.client().CreatePlayerSession, one)

	if err := p.RemovePlayerSession(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	call(t, s.client().CreatePlayerSession, one) // the place is free at once
	refuse[*types.GameSessionFullException](t, s.client().CreatePlayerSession, one)

	s.advance(time.Minute)
	eventually(t, "all reservations timed out",
		func() bool { return *s.session(t, session).CurrentPlayerSessionCount == 0 })
	call(t, s.client().CreatePlayerSessions, two)
}

func TestDenyAll(t *testing.T) {
	t.Parallel()
	s := start(t)
	fleet := s.newFleet(t)
	p := s.launch(t, s.newCompute(t, fleet, home, "pc"), behaviour{})
	session := s.newActiveSession(t, fleet, home)
	if err := p.UpdatePlayerSessionCreationPolicy(t.Context(), gameserver.DenyAll); err != nil {
		t.Fatal(err)
	}
	in := &gamelift.CreatePlayerSessionInput{GameSessionId: &session, PlayerId: new("ada")}
	refuse[*types.InvalidGameSessionStatusException](t, s.client().CreatePlayerSession, in)
	call(t, s.client().UpdateGameSession, &gamelift.UpdateGameSessionInput{
		GameSessionId: &session, PlayerSessionCreationPolicy: types.PlayerSessionCreationPolicyAcceptAll,
	})
	call(t, s.client().CreatePlayerSession, in)
}

func TestActivationTimesOut(t *testing.T) {
	t.Parallel()
	s := start(t, fakeTime)
	fleet := s.newFleet(t)
	call(t, s.client().UpdateRuntimeConfiguration, &gamelift.UpdateRuntimeConfigurationInput{
		FleetId: &fleet, RuntimeConfiguration: &types.RuntimeConfiguration{
			GameSessionActivationTimeoutSeconds: new(int32(30)),
			ServerProcesses: []types.ServerProcess{{LaunchPath: new("/local/game/server"),
				ConcurrentExecutions: new(int32(1))}},
		},
	})
	p := s.launch(t, s.newCompute(t, fleet, home, "pc"), behaviour{idle: true})
	session := s.newSession(t, fleet, home)
	receive(t, "the game session at the process", p.started)

	s.advance(30 * time.Second)
	s.awaitStatus(t, session, types.GameSessionStatusTerminated)
	receive(t, "the order to end", p.terminate)
	if codes := s.eventCodes(t, fleet); !slices.Contains(codes, types.EventCodeGameSessionActivationTimeout) {
		t.Errorf("events: %v", codes)
	}
}

func TestLostProcessEndsAfterItsGrace(t *testing.T) {
	t.Parallel()
	s := start(t, fakeTime)
	fleet := s.newFleet(t)
	p := s.launch(t, s.newCompute(t, fleet, home, "pc"), behaviour{})
	session := s.newActiveSession(t, fleet, home)
	p.Close() // without ProcessEnding, as a crash
	eventually(t, "the socket is gone", func() bool { return s.metric(t, "muster_server_process_sockets") == 0 })

	s.advance(199 * time.Second)
	if got := s.session(t, session).Status; got != types.GameSessionStatusActive {
		t.Errorf("within the grace period: %s", got)
	}
	s.advance(time.Second)
	s.awaitStatus(t, session, types.GameSessionStatusTerminated)
	if codes := s.eventCodes(t, fleet); !slices.Contains(codes, types.EventCodeServerProcessCrashed) {
		t.Errorf("events: %v", codes)
	}
}

func TestSilentProcessEnds(t *testing.T) {
	t.Parallel()
	s := start(t, fakeTime)
	fleet := s.newFleet(t)
	s.launch(t, s.newCompute(t, fleet, home, "pc"), behaviour{}) // it goes by the real time: no report for a minute
	session := s.newActiveSession(t, fleet, home)
	eventually(t, "the game session ended", func() bool {
		s.advance(10 * time.Second)
		return s.session(t, session).Status == types.GameSessionStatusTerminated
	})
	if took := s.clock.Now().Sub(*s.session(t, session).CreationTime); took < 3*time.Minute {
		t.Errorf("three missing reports were found out after %s", took)
	}
}

func TestTokensExpire(t *testing.T) {
	t.Parallel()
	s := start(t, fakeTime, func(c *muster.Config) { c.AuthTokenLifetime = time.Hour })
	fleet := s.newFleet(t)
	params := s.newCompute(t, fleet, home, "pc")
	grant := call(t, s.client().GetComputeAuthToken,
		&gamelift.GetComputeAuthTokenInput{FleetId: &fleet, ComputeName: aws.String("pc")})
	if left := grant.ExpirationTimestamp.Sub(s.clock.Now()); left > time.Hour || left < 59*time.Minute {
		t.Errorf("the token is valid for %s", left)
	}
	s.advance(time.Hour)
	late := gameserver.New(gameserver.Config{})
	defer late.Close()
	if err := late.Connect(t.Context(), params); gameserverCode(err) != 403 {
		t.Errorf("an expired token: %v", err)
	}
	s.launch(t, s.renewed(t, params), behaviour{})
}

// renewed has a new token in place of an old one.
func (s *service) renewed(t testing.TB, params gameserver.ServerParameters) gameserver.ServerParameters {
	t.Helper()
	grant := call(t, s.client().GetComputeAuthToken,
		&gamelift.GetComputeAuthTokenInput{FleetId: &params.FleetID, ComputeName: &params.HostID})
	params.AuthToken = *grant.AuthToken
	return params
}
