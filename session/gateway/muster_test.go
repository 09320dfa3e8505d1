package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/gateway"
)

// A service is Muster in this process, with its gateway and one Anywhere fleet.
type service struct {
	testing.TB
	muster.Endpoints
	admin *gamelift.Client
	http  *http.Client
	fleet string
}

func startMuster(t testing.TB, change func(*muster.Config)) *service {
	t.Helper()
	config := muster.DefaultConfig()
	config.Data, config.Listen, config.Gateway.Listen = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
	config.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	change(&config)
	ready, ended := make(chan muster.Endpoints, 1), make(chan error, 1)
	config.Ready = func(e muster.Endpoints) { ready <- e }
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- muster.Run(ctx, config) }()
	s := &service{TB: t, http: &http.Client{Transport: &http.Transport{}}}
	select {
	case s.Endpoints = <-ready:
	case err := <-ended:
		cancel()
		t.Fatalf("the service did not start: %v", err)
	}
	t.Cleanup(func() {
		s.http.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the service ended with: %v", err)
		}
	})
	s.admin = gamelift.New(gamelift.Options{
		Region: s.Region, BaseEndpoint: &s.HTTP, HTTPClient: s.http, Credentials: credentials.NewStaticCredentialsProvider(s.AccessKey, s.SecretKey, ""),
	})
	s.newFleet()
	return s
}

func (s *service) newFleet() {
	s.Helper()
	home := "custom-home"
	_, err := s.admin.CreateLocation(s.Context(), &gamelift.CreateLocationInput{LocationName: &home})
	s.check(err)
	made, err := s.admin.CreateFleet(s.Context(), &gamelift.CreateFleetInput{
		Name: new("Arena"), ComputeType: types.ComputeTypeAnywhere, Locations: []types.LocationConfiguration{{Location: &home}},
	})
	s.check(err)
	s.fleet = *made.FleetAttributes.FleetId
	_, err = s.admin.RegisterCompute(s.Context(), &gamelift.RegisterComputeInput{
		FleetId: &s.fleet, Location: &home, ComputeName: new("host-1"), IpAddress: new("127.0.0.1"),
	})
	s.check(err)
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
	token, err := s.admin.GetComputeAuthToken(s.Context(), &gamelift.GetComputeAuthTokenInput{FleetId: &s.fleet, ComputeName: new("host-1")})
	s.check(err)
	server := gameserver.New(gameserver.Config{Getenv: func(string) string { return "" }})
	s.Cleanup(func() { server.Close(); server.Wait() })
	s.check(server.Connect(s.Context(), gameserver.ServerParameters{WebSocketURL: s.WS, HostID: "host-1", FleetID: s.fleet, AuthToken: *token.AuthToken}))
	report := func(err error) {
		if err != nil && !errors.Is(err, gameserver.ErrClosed) {
			s.Error(err)
		}
	}
	s.check(server.ProcessReady(s.Context(), gameserver.ProcessParameters{
		Port:               port,
		OnStartGameSession: func(gameserver.GameSession) { report(server.ActivateGameSession(context.Background())) },
		OnProcessTerminate: func() { report(server.ProcessEnding(context.Background())) },
	}))
}

func (s *service) provider(change ...func(*gateway.Config)) *gateway.Provider {
	s.Helper()
	cfg := gateway.Config{URL: s.Gateway, HTTPClient: s.http}
	for _, f := range change {
		f(&cfg)
	}
	p := gateway.New(cfg)
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
		if err != nil || len(found) != 1 || found[0].SessionID != hosted.SessionID || found[0].BuildID != -7 || found[0].OpenConnections != 1 {
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
	_, err = p.Reserve(t.Context(), session.JoinSessionRequest{SessionID: "arn:aws:gamelift:us-west-2::gamesession/fleet-1/gsess-9", PlayerID: "ada"})
	wantError(t, err, session.ErrNotFound, "session_not_found")
}

// TestV1OnMuster makes the calls that the original gateway does not have.
func TestV1OnMuster(t *testing.T) {
	t.Parallel()
	s := startMuster(t, func(c *muster.Config) { c.Gateway.AllowTarget = "on" })
	s.launch(7777)
	s.launch(7778)
	p := s.provider()
	create := session.CreateSessionRequest{FleetID: s.fleet, SessionName: "duel", MaxPlayer: 2, IdempotencyToken: "token-1"}
	id, err := p.CreateSession(t.Context(), create)
	s.check(err)
	if again, err := p.CreateSession(t.Context(), create); err != nil || again != id {
		t.Errorf("the same token gave %q, then %q, %v", id, again, err)
	}
	hosted, err := p.Host(t.Context(), session.HostRequest{
		SessionName: "with mode", OwnerID: "ada", BuildID: 7, Connections: 2, Properties: map[string]string{"mode": "ctf"},
	})
	s.check(err)
	if _, err := p.Reserve(t.Context(), session.JoinSessionRequest{SessionID: hosted.SessionID, PlayerID: "bob", PlayerData: "blue"}); err != nil {
		t.Error(err)
	}
	search := session.SearchSessionsRequest{FleetID: s.fleet, Location: "custom-home", FilterExpression: "gameSessionProperties.mode='ctf'"}
	got, err := p.SearchSessions(t.Context(), search)
	if err != nil || len(got.SessionConfigs) != 1 || got.SessionConfigs[0].SessionID != hosted.SessionID || got.SessionConfigs[0].CurrentPlayer != 2 {
		t.Errorf("found %+v, %v", got, err)
	}
	_, err = p.SearchSessions(t.Context(), session.SearchSessionsRequest{FleetID: s.fleet, FilterExpression: "mode="})
	wantError(t, err, session.ErrInvalid, "invalid_request")
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
