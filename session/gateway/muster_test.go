package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/mustertest"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/gateway"
	"github.com/muster-gg/muster/session/sessiontest"
)

// A service is Muster in this process, with its gateway and one Anywhere fleet.
type service struct {
	*mustertest.Service
	fleet string
	host  gameserver.ServerParameters // of its only compute
}

func startMuster(t testing.TB, change func(*muster.Config)) *service {
	t.Helper()
	s := mustertest.Start(t, change)
	fleet := s.Fleet("custom-home")
	return &service{s, fleet, s.Compute(fleet, "custom-home", "host-1")}
}

func (s *service) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// launch starts a game server that activates its session at once.
func (s *service) launch(port int) {
	s.Helper()
	s.Launch(s.host, port)
}

func (s *service) provider(change ...func(*gateway.Config)) provider {
	s.Helper()
	cfg := gateway.Config{URL: s.Gateway, HTTPClient: s.Web}
	for _, f := range change {
		f(&cfg)
	}
	p := gateway.New(cfg).(provider)
	s.check(p.Configure(s.Context(), ""))
	return p
}

// TestOriginalCallsOnMuster hosts, finds and joins by the original calls, in both of
// their forms.
func TestOriginalCallsOnMuster(t *testing.T) {
	t.Parallel()
	s := startMuster(t, func(*muster.Config) {})
	for i, change := range []func(*gateway.Config){func(*gateway.Config) {}, local} {
		s.launch(7777 + i)
		p := s.provider(change)
		host := session.HostRequest{SessionName: fmt.Sprint("session ", i), OwnerID: "ada", BuildID: -7, Connections: 2}
		hosted, err := p.Host(t.Context(), host)
		if err != nil || hosted.Address() != fmt.Sprint("127.0.0.1:", 7777+i) || hosted.PlayerID != "ada" {
			t.Fatalf("%+v, %v", hosted, err)
		}
		found, err := p.Find(t.Context(), session.FindRequest{BuildID: -7})
		if err != nil || len(found) != 1 || found[0].SessionID != hosted.SessionID || found[0].BuildID != -7 ||
			found[0].OpenConnections != 1 {
			t.Fatalf("found %+v, %v", found, err)
		}
		joined, err := p.Reserve(t.Context(), session.JoinSessionRequest{SessionID: hosted.SessionID, PlayerID: "bob"})
		if err != nil || joined.SessionID != hosted.SessionID || joined.PlayerSessionID == hosted.PlayerSessionID {
			t.Fatalf("%+v, %v", joined, err)
		}
		_, err = p.Reserve(t.Context(), session.JoinSessionRequest{SessionID: hosted.SessionID, PlayerID: "eve"})
		wantError(t, err, session.ErrFull, "session_full")
		if found, err := p.Find(t.Context(), session.FindRequest{}); err != nil || len(found) != 0 {
			t.Errorf("found %+v, %v", found, err)
		}
	}
	p := s.provider()
	_, err := p.Host(t.Context(), session.HostRequest{SessionName: "one too many", OwnerID: "ada", Connections: 2})
	wantError(t, err, session.ErrUnavailable, "no_capacity")
	_, err = p.Reserve(t.Context(),
		session.JoinSessionRequest{SessionID: "arn:aws:gamelift:us-west-2::gamesession/fleet-1/gsess-9",
			PlayerID: "ada"})
	wantError(t, err, session.ErrNotFound, "session_not_found")
}

// TestV1OnMuster makes the calls that the original gateway does not have.
func TestV1OnMuster(t *testing.T) {
	t.Parallel()
	s := startMuster(t, func(c *muster.Config) { c.Gateway.AllowTarget = "on" })
	s.launch(7777)
	s.launch(7778)
	p := s.provider()
	create := session.CreateSessionRequest{FleetID: s.fleet, SessionName: "duel", MaxPlayer: 2,
		IdempotencyToken: "token-1"}
	id, err := p.CreateSession(t.Context(), create)
	s.check(err)
	if again, err := p.CreateSession(t.Context(), create); err != nil || again != id {
		t.Errorf("the same token gave %q, then %q, %v", id, again, err)
	}
	hosted, err := p.Host(t.Context(), session.HostRequest{
		SessionName: "with mode", OwnerID: "ada", BuildID: 7, Connections: 2,
		Properties: map[string]string{"mode": "ctf"},
	})
	s.check(err)
	if _, err := p.Reserve(t.Context(), session.JoinSessionRequest{
		SessionID: hosted.SessionID, PlayerID: "bob", PlayerData: "blue",
	}); err != nil {
		t.Error(err)
	}
	search := session.SearchSessionsRequest{FleetID: s.fleet, Location: "custom-home",
		FilterExpression: "gameSessionProperties.mode='ctf'"}
	got, err := p.SearchSessions(t.Context(), search)
	if err != nil || len(got.SessionConfigs) != 1 || got.SessionConfigs[0].SessionID != hosted.SessionID ||
		got.SessionConfigs[0].CurrentPlayer != 2 {
		t.Errorf("found %+v, %v", got, err)
	}
	_, err = p.SearchSessions(t.Context(), session.SearchSessionsRequest{FleetID: s.fleet, FilterExpression: "mode="})
	wantError(t, err, session.ErrInvalid, "invalid_request")
}

// TestClientAtADefaultGateway creates, finds and joins sessions by their ids: a gateway with its defaults chooses the
// fleet.
func TestClientAtADefaultGateway(t *testing.T) {
	t.Parallel()
	s := startMuster(t, func(*muster.Config) {})
	s.launch(7777)
	c := s.client()
	id, err := c.CreateSession(t.Context(), session.CreateSessionRequest{SessionName: "duel", MaxPlayer: 2})
	s.check(err)
	page, err := c.SearchSessions(t.Context(), session.SearchSessionsRequest{})
	if err != nil || len(page.SessionConfigs) != 1 || page.SessionConfigs[0].SessionID != id {
		t.Errorf("found %+v, %v, not %s", page, err, id)
	}
	s.check(c.JoinSession(t.Context(), session.JoinSessionRequest{SessionID: id, PlayerID: "ada"}))

	_, err = c.CreateSession(t.Context(), session.CreateSessionRequest{FleetID: s.fleet, MaxPlayer: 2})
	wantError(t, err, session.ErrDenied, "forbidden")
	if !strings.Contains(err.Error(), "FleetID") {
		t.Errorf("%v does not name the field", err)
	}
	_, err = c.CreateSessionOnQueue(t.Context(), session.CreateSessionOnQueueRequest{PlacementID: "p", MaxPlayer: 2})
	wantError(t, err, session.ErrInvalid, "invalid_request")
	if !strings.Contains(err.Error(), "QueueName") {
		t.Errorf("%v does not name the field", err)
	}
}

// TestClientAtAGatewayWithAQueue places by the gateway's own queue.
func TestClientAtAGatewayWithAQueue(t *testing.T) {
	t.Parallel()
	s := startMuster(t, func(c *muster.Config) { c.Gateway.Queue = "duels" })
	destination := "arn:aws:gamelift:" + s.Region + "::fleet/" + s.fleet
	mustertest.Call(t, s.Client.CreateGameSessionQueue, &gamelift.CreateGameSessionQueueInput{
		Name: new("duels"), Destinations: []types.GameSessionQueueDestination{{DestinationArn: &destination}},
	})
	s.launch(7777)
	c := s.client()
	request := session.CreateSessionOnQueueRequest{PlacementID: "mine", MaxPlayer: 2}
	id, err := c.CreateSessionOnQueue(t.Context(), request)
	s.check(err)
	mustertest.Eventually(s, "the placement is fulfilled", func() bool {
		placed, err := c.Placement(t.Context(), id)
		s.check(err)
		return placed.Status == "FULFILLED" && placed.SessionID != ""
	})
}

// TestCanceledStart has a Start that is canceled while the game server starts the session, and while the player
// connects: the session ends at once.
func TestCanceledStart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ connecting, properties bool }{
		"starting": {}, "connecting": {connecting: true}, "starting with properties": {properties: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startMuster(t, func(*muster.Config) {})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s.launchSlow(7777, func() {
				if !test.connecting {
					cancel()
				}
			})
			connector := new(sessiontest.Connector)
			c := s.client(func(cfg *session.Config) { cfg.Connector = connector })
			settings := session.Settings{NumPublicConnections: 2}
			if test.properties {
				settings.Properties = map[string]string{"mode": "ctf"}
			}
			s.check(c.Named().Create(t.Context(), "game", settings))
			reached, _ := connector.Hold("Connect")
			op := c.Async(ctx, func(ctx context.Context) error { return c.Named().Start(ctx, "game") })
			if test.connecting {
				<-reached
				cancel()
			}
			if err := op.Wait(t.Context()); !errors.Is(err, session.ErrCanceled) {
				t.Error(err)
			}
			all := mustertest.Call(t, s.Client.DescribeGameSessions,
				&gamelift.DescribeGameSessionsInput{FleetId: &s.fleet}).GameSessions
			if len(all) != 1 || all[0].Status == types.GameSessionStatusActive ||
				all[0].Status == types.GameSessionStatusActivating {
				t.Errorf("left are %+v", all)
			}
		})
	}
}

// launchSlow starts a game server that calls started before it activates its session.
func (s *service) launchSlow(port int, started func()) {
	s.Helper()
	server := gameserver.New(gameserver.Config{Getenv: func(string) string { return "" }})
	s.Cleanup(func() { server.Close(); server.Wait() })
	s.check(server.Connect(s.Context(), s.host))
	s.check(server.ProcessReady(s.Context(), gameserver.ProcessParameters{
		Port: port,
		OnStartGameSession: func(gameserver.GameSession) {
			started()
			s.Report(server.ActivateGameSession(context.Background()))
		},
		OnProcessTerminate: func() { s.Report(server.ProcessEnding(context.Background())) },
	}))
}

// client makes a client for the gateway.
func (s *service) client(change ...func(*session.Config)) *session.Client {
	s.Helper()
	cfg := session.Config{
		Remote:    gateway.New(gateway.Config{URL: s.Gateway, HTTPClient: s.Web}),
		Connector: new(sessiontest.Connector),
	}
	for _, f := range change {
		f(&cfg)
	}
	c := session.New(cfg)
	s.Cleanup(func() { s.check(c.Close(context.Background())) })
	s.check(c.Configure(s.Context(), ""))
	return c
}

// TestFilterPositions has a filter that cannot be read: its position is that in the text of the caller, through the
// gateway as well.
func TestFilterPositions(t *testing.T) {
	t.Parallel()
	s := startMuster(t, func(c *muster.Config) { c.Gateway.Messages = "api" })
	c := s.client()
	for filter, position := range map[string]string{"maximumSessions": "character 16", "é=1": "character 1:"} {
		_, err := c.SearchSessions(t.Context(), session.SearchSessionsRequest{FilterExpression: filter})
		wantError(t, err, session.ErrInvalid, "invalid_request")
		if !strings.Contains(err.Error(), position) {
			t.Errorf("%s: %v does not name %s", filter, err, position)
		}
		answer, err := s.Web.Get(s.Gateway + "/v1/sessions?filter=" + url.QueryEscape(filter)) // open ones
		s.check(err)
		text, err := io.ReadAll(answer.Body)
		s.check(errors.Join(err, answer.Body.Close()))
		if !strings.Contains(string(text), position) {
			t.Errorf("%s: %s does not name %s", filter, text, position)
		}
	}
}

// TestCompatErrors reads the failures of the original gateway, as Muster's can
// repeat them.
func TestCompatErrors(t *testing.T) {
	t.Parallel()
	s := startMuster(t, func(c *muster.Config) { c.Gateway.CompatErrors = "on" })
	_, err := s.provider().Host(t.Context(), hostRequest)
	wantError(t, err, session.ErrUnavailable, "")
	_, err = s.provider().Reserve(t.Context(), session.JoinSessionRequest{SessionID: gsess, PlayerID: "ada"})
	wantError(t, err, session.ErrUnavailable, "")
}
