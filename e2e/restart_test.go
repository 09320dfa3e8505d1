package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/gorilla/websocket"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/gameserver"
)

// TestRestart stops a service with a game under way and starts it again: nothing
// is lost, and the game server comes back by itself and goes on.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.client()
	fleet := s.newFleet(t, "custom-east", "custom-west")
	alias := call(t, c.CreateAlias, &gamelift.CreateAliasInput{
		Name: new("live"), RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple,
			FleetId: &fleet},
	}).Alias
	params := s.newCompute(t, fleet, "custom-east", "pc")
	p := s.launch(t, params, behaviour{})
	session := s.newActiveSession(t, fleet, "custom-east")
	playing, reserved, gone := s.join(t, session, "ada"), s.join(t, session, "bob"), s.join(t, session, "cleo")
	for _, err := range []error{
		p.AcceptPlayerSession(t.Context(), playing), p.AcceptPlayerSession(t.Context(), gone),
		p.RemovePlayerSession(t.Context(), gone),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	before := s.everything(t, fleet)
	oldKey := s.AccessKey

	s.stop()
	s.http.CloseIdleConnections()
	s.run()

	if s.AccessKey != oldKey {
		t.Errorf("the access key changed from %s to %s", oldKey, s.AccessKey)
	}
	if after := s.everything(t, fleet); after != before {
		t.Errorf("before the restart\n%s\nafter it\n%s", before, after)
	}
	if got := call(t, c.ResolveAlias, &gamelift.ResolveAliasInput{AliasId: alias.AliasId}); *got.FleetId != fleet {
		t.Errorf("the alias leads to %s", *got.FleetId)
	}
	for id, want := range map[string]types.PlayerSessionStatus{
		playing: types.PlayerSessionStatusActive, reserved: types.PlayerSessionStatusReserved,
		gone: types.PlayerSessionStatusCompleted,
	} {
		if got := s.player(t, id).Status; got != want {
			t.Errorf("a player session that was %s is %s", want, got)
		}
	}
	// The calls wait for the game server's connection.
	if err := p.AcceptPlayerSession(t.Context(), reserved); err != nil {
		t.Error("the game server after the restart:", err)
	}
	late := s.join(t, session, "dan")
	if err := p.AcceptPlayerSession(t.Context(), late); err != nil {
		t.Error("a player who came after the restart:", err)
	}
	s.launch(t, params, behaviour{}) // with the old token, which still holds
	s.newActiveSession(t, fleet, "custom-east")
}

// everything describes what a fleet holds, as text to compare.
func (s *service) everything(t testing.TB, fleet string) string {
	t.Helper()
	c := s.client()
	return text(t,
		call(t, c.ListLocations, &gamelift.ListLocationsInput{}).Locations,
		call(t, c.DescribeFleetAttributes, &gamelift.DescribeFleetAttributesInput{}).FleetAttributes,
		call(t, c.DescribeFleetLocationAttributes,
			&gamelift.DescribeFleetLocationAttributesInput{FleetId: &fleet}).LocationAttributes,
		call(t, c.ListAliases, &gamelift.ListAliasesInput{}).Aliases,
		call(t, c.ListCompute, &gamelift.ListComputeInput{FleetId: &fleet}).ComputeList,
		call(t, c.DescribeFleetEvents, &gamelift.DescribeFleetEventsInput{FleetId: &fleet}).Events,
		call(t, c.DescribeGameSessionDetails,
			&gamelift.DescribeGameSessionDetailsInput{FleetId: &fleet}).GameSessionDetails,
		call(t, c.SearchGameSessions, &gamelift.SearchGameSessionsInput{FleetId: &fleet}).GameSessions,
		call(t, c.DescribePlayerSessions, &gamelift.DescribePlayerSessionsInput{PlayerId: new("ada")}).PlayerSessions,
	)
}

// text is the JSON of values.
func text(t testing.TB, values ...any) string {
	t.Helper()
	data, err := json.MarshalIndent(values, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestRestartKeepsOrders stops the service while a game server has yet to answer:
// it hears of the game session again, or of its end, after the restart.
func TestRestartKeepsOrders(t *testing.T) {
	t.Parallel()
	s := start(t)
	fleet := s.newFleet(t)
	p := s.launch(t, s.newCompute(t, fleet, home, "pc"), behaviour{idle: true})
	session := s.newSession(t, fleet, home)
	receive(t, "the game session at the process", p.started)
	s.stop()
	s.http.CloseIdleConnections()
	s.run()
	if err := p.ActivateGameSession(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.awaitStatus(t, session, types.GameSessionStatusActive)
	call(t, s.client().TerminateGameSession, &gamelift.TerminateGameSessionInput{
		GameSessionId: &session, TerminationMode: types.TerminationModeTriggerOnProcessTerminate,
	})
	receive(t, "the order to end", p.terminate)
	s.awaitStatus(t, session, types.GameSessionStatusTerminated)
}

// TestReservationOutlivesAnOutage: no game server can accept a player while there is no service.
func TestReservationOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	s := start(t, fakeTime)
	fleet := s.newFleet(t)
	s.launch(t, s.newCompute(t, fleet, home, "pc"), behaviour{})
	late := s.join(t, s.newActiveSession(t, fleet, home), "ada")
	s.stop()
	s.http.CloseIdleConnections()
	s.clock.Advance(2 * time.Minute)
	s.run()
	if got := s.player(t, late).Status; got != types.PlayerSessionStatusReserved {
		t.Errorf("after the outage: %s", got)
	}
	s.advance(s.config.ProcessGrace)
	s.awaitPlayer(t, late, types.PlayerSessionStatusTimedout)
}

// TestStopCutsSockets checks that a stop sends no Close frame, which the official
// SDKs take for the end of their work.
func TestStopCutsSockets(t *testing.T) {
	t.Parallel()
	s := start(t)
	params := s.newCompute(t, s.newFleet(t), home, "pc")
	conn := s.dial(t, s.WS, params, nil)
	conn.SetCloseHandler(func(code int, _ string) error {
		t.Errorf("received a Close frame with code %d", code)
		return nil
	})
	s.stop()
	for {
		if _, message, err := conn.ReadMessage(); err != nil {
			return
		} else if strings.Contains(string(message), "TerminateProcess") {
			t.Error("the process was asked to end")
		}
	}
}

// dial opens a bare socket of a server process.
func (s *service) dial(
	t testing.TB, url string, p gameserver.ServerParameters, dialer *websocket.Dialer,
) *websocket.Conn {
	t.Helper()
	if dialer == nil {
		dialer = websocket.DefaultDialer
	}
	conn, answer, err := dialer.DialContext(t.Context(),
		url+"/?pID=process-1&sdkVersion=5.6.0&sdkLanguage=Go&ComputeId="+p.HostID+
			"&FleetId="+p.FleetID+"&IdempotencyToken=1&Authorization="+p.AuthToken, nil)
	if err != nil {
		t.Fatalf("%v: %v", err, answer)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestDataDirectory runs services on a directory that is another's.
func TestDataDirectory(t *testing.T) {
	t.Parallel()
	s := start(t)
	second := func(change func(*muster.Config)) error {
		c := testConfig(t)
		c.Data = s.config.Data
		change(&c)
		c.Ready = func(muster.Endpoints) { t.Error("two services run on one directory") }
		return muster.Run(t.Context(), c)
	}
	if err := second(func(*muster.Config) {}); err == nil || !strings.Contains(err.Error(), "use") {
		t.Errorf("a second service on the directory: %v", err)
	}
	if status, _ := s.get(t, "/readyz"); status != 200 {
		t.Errorf("the first one's status is %d", status)
	}
	s.stop()
	for setting, change := range map[string]func(*muster.Config){
		"region":  func(c *muster.Config) { c.Region = "us-west-2" },
		"account": func(c *muster.Config) { c.Account = "111122223333" },
		"shards":  func(c *muster.Config) { c.Shards++ },
	} {
		if err := second(change); err == nil || !strings.Contains(err.Error(), setting) {
			t.Errorf("another %s: %v", setting, err)
		}
	}
	s.run() // no attempt has changed anything
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := testConfig(t)
	c.Listen = s.config.Listen
	if err := muster.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "listen") {
		t.Errorf("got %v", err)
	}
}

// TestStopBeforeReady stops services while they are starting.
func TestStopBeforeReady(t *testing.T) {
	t.Parallel()
	for n := range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*time.Millisecond)
		if err := muster.Run(ctx, testConfig(t)); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		cancel()
	}
}
