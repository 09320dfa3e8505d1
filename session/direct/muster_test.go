package direct_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/mustertest"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/direct"
)

const home = "custom-home"

// A service is Muster in this process with one Anywhere fleet.
type service struct {
	*mustertest.Service
	fleet string
	host  gameserver.ServerParameters // of its only compute
}

func startMuster(t testing.TB) *service {
	t.Helper()
	s := mustertest.Start(t)
	fleet := s.Fleet(home)
	return &service{s, fleet, s.Compute(fleet, home, "host-1",
		func(in *gamelift.RegisterComputeInput) { in.DnsName = new("host-1.example.com") })}
}

func (s *service) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// launch starts a game server. It reports each game session that it is given and
// activates those that it should.
func (s *service) launch(port int, activate bool) <-chan gameserver.GameSession {
	s.Helper()
	server := gameserver.New(gameserver.Config{Getenv: func(string) string { return "" }})
	s.Cleanup(func() { server.Close(); server.Wait() })
	s.check(server.Connect(s.Context(), s.host))
	started := make(chan gameserver.GameSession, 1)
	s.check(server.ProcessReady(s.Context(), gameserver.ProcessParameters{
		Port: port,
		OnStartGameSession: func(g gameserver.GameSession) {
			if activate {
				s.Report(server.ActivateGameSession(context.Background()))
			}
			started <- g
		},
		OnProcessTerminate: func() { s.Report(server.ProcessEnding(context.Background())) },
	}))
	return started
}

func (s *service) provider() provider {
	s.Helper()
	return newProvider(s, direct.Config{
		Endpoint: s.HTTP, Region: s.Region, Credentials: s.AWS.Credentials, Target: direct.Target{FleetID: s.fleet},
	})
}

// awaitStatus waits until a game session has a status.
func (s *service) awaitStatus(id string, want types.GameSessionStatus) {
	s.Helper()
	mustertest.Eventually(s, "the game session is "+string(want), func() bool {
		in := &gamelift.DescribeGameSessionsInput{GameSessionId: &id}
		return mustertest.Call(s, s.Client.DescribeGameSessions, in).GameSessions[0].Status == want
	})
}

// TestCreateSearchReserve follows the session interface: a session is created on a fleet, found when it is active, and
// players reserve slots until it is full.
func TestCreateSearchReserve(t *testing.T) {
	t.Parallel()
	s := startMuster(t)
	s.launch(7777, true)
	p := s.provider()
	request := session.CreateSessionRequest{
		SessionName: "duel", CreatorID: "ada", SessionProperties: map[string]string{"mode": "ctf"}, MaxPlayer: 2,
		FleetID: s.fleet, IdempotencyToken: "token-1",
	}
	id, err := p.CreateSession(t.Context(), request)
	s.check(err)
	again, err := p.CreateSession(t.Context(), request)
	if err != nil || again != id {
		t.Errorf("the same token gave %q, then %q, %v", id, again, err)
	}
	s.awaitStatus(id, types.GameSessionStatusActive)

	found, err := p.SearchSessions(t.Context(), session.SearchSessionsRequest{
		FleetID: s.fleet, Location: home, FilterExpression: "gameSessionProperties.mode='ctf'", MaxResult: 5,
	})
	s.check(err)
	if len(found.SessionConfigs) != 1 || found.NextToken != "" {
		t.Fatalf("found %+v", found)
	}
	got := found.SessionConfigs[0]
	if got.CreationTime.IsZero() || !got.TerminationTime.IsZero() {
		t.Errorf("created %v, terminated %v", got.CreationTime, got.TerminationTime)
	}
	got.CreationTime = time.Time{}
	want := session.SessionConfig{
		SessionID: id, SessionName: "duel", CreatorID: "ada", SessionProperties: map[string]string{"mode": "ctf"},
		DNSName: "host-1.example.com", IPAddress: "127.0.0.1", Port: 7777, MaxPlayer: 2,
		Status: session.StatusActive, StatusReason: "NotSet", Location: home, FleetID: s.fleet,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("found\n%+v, want\n%+v", got, want)
	}
	reserveAll(t, p, id)
}

// reserveAll fills a session of two.
func reserveAll(t *testing.T, p provider, id string) {
	t.Helper()
	for _, player := range []string{"ada", "bob"} {
		place, err := p.Reserve(t.Context(), session.JoinSessionRequest{SessionID: id, PlayerID: player,
			PlayerData: "blue"})
		if err != nil {
			t.Fatal(err)
		}
		if place.SessionID != id || place.PlayerID != player || place.PlayerSessionID == "" ||
			place.Address() != "127.0.0.1:7777" || place.DNSName == "" {
			t.Errorf("%+v", place)
		}
	}
	_, err := p.Reserve(t.Context(), session.JoinSessionRequest{SessionID: id, PlayerID: "eve"})
	wantError(t, err, session.ErrFull, "GameSessionFullException")
	free, err := p.Find(t.Context(), session.FindRequest{})
	if err != nil || len(free) != 0 {
		t.Errorf("a full session is found: %v, %v", free, err)
	}
}

// TestHostAndFind follows named sessions: host one, find it by its build.
func TestHostAndFind(t *testing.T) {
	t.Parallel()
	s := startMuster(t)
	started := s.launch(7777, true)
	p := s.provider()
	place, err := p.Host(t.Context(), session.HostRequest{
		SessionName: "ada's Session", OwnerID: "ada", BuildID: -7, Connections: 4,
		Properties: map[string]string{"mode": "ctf"},
	})
	s.check(err)
	if place.PlayerID != "ada" || place.PlayerSessionID == "" || place.Address() != "127.0.0.1:7777" {
		t.Errorf("%+v", place)
	}
	if g := <-started; g.GameSessionID != place.SessionID || g.GameProperties["build_id"] != "-7" ||
		g.Name != "ada's Session" {
		t.Errorf("the game server got %+v", g)
	}
	for build, want := range map[int32]int{0: 1, -7: 1, 8: 0} {
		found, err := p.Find(t.Context(), session.FindRequest{BuildID: build, Limit: 3})
		if err != nil || len(found) != want {
			t.Fatalf("build %d: %v, %v", build, found, err)
		}
		for _, r := range found {
			if r.SessionID != place.SessionID || r.BuildID != -7 || r.Connections != 4 || r.OpenConnections != 3 ||
				fmt.Sprint(r.Properties) != "map[mode:ctf]" || r.Port != 7777 || r.Name != "ada's Session" || r.LAN {
				t.Errorf("build %d: %+v", build, r)
			}
		}
	}
	// The one game server is taken.
	_, err = p.Host(t.Context(), session.HostRequest{SessionName: "x", OwnerID: "bob", Connections: 4})
	wantError(t, err, session.ErrUnavailable, "FleetCapacityExceededException")
}

// TestHostGivesUp has a game server that never activates its session: when the
// caller's patience ends, the session is ended.
func TestHostGivesUp(t *testing.T) {
	t.Parallel()
	s := startMuster(t)
	started := s.launch(7777, false)
	p := s.provider()
	ctx, cancel := context.WithCancel(t.Context())
	id := make(chan string, 1)
	go func() { g := <-started; id <- g.GameSessionID; cancel() }()
	_, err := p.Host(ctx, session.HostRequest{SessionName: "x", OwnerID: "ada", Connections: 4})
	wantError(t, err, session.ErrCanceled, "")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v does not say why", err)
	}
	s.awaitStatus(<-id, types.GameSessionStatusTerminated)
}

// TestReleaseOfAHost ends a session whose owner does not come, unless another player is in it.
func TestReleaseOfAHost(t *testing.T) {
	t.Parallel()
	s := startMuster(t)
	s.launch(7777, true)
	p := s.provider()
	host := session.HostRequest{SessionName: "x", OwnerID: "ada", Connections: 4}
	for _, test := range []struct {
		hosted, guest, ends bool
	}{
		{false, false, false},
		{true, true, false},
		{true, false, true},
	} {
		s.launch(7778, true)
		place, err := p.Host(t.Context(), host)
		s.check(err)
		if test.guest {
			_, err := p.Reserve(t.Context(), session.JoinSessionRequest{SessionID: place.SessionID, PlayerID: "bob"})
			s.check(err)
		}
		s.check(p.Release(t.Context(), place, test.hosted))
		in := &gamelift.DescribeGameSessionsInput{GameSessionId: &place.SessionID}
		got := mustertest.Call(s, s.Client.DescribeGameSessions, in).GameSessions[0].Status
		if ended := got != types.GameSessionStatusActive; ended != test.ends {
			t.Errorf("%+v: the session is %s", test, got)
		}
	}
}

// TestRefusals are the answers of the real service to what cannot be.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := startMuster(t)
	p := s.provider()
	missing := "arn:aws:gamelift:us-west-2::gamesession/" + s.fleet + "/custom-home/gsess-9"
	_, err := p.Reserve(t.Context(), session.JoinSessionRequest{SessionID: missing, PlayerID: "ada"})
	wantError(t, err, session.ErrNotFound, "NotFoundException")
	_, err = p.SearchSessions(t.Context(), session.SearchSessionsRequest{FleetID: s.fleet, FilterExpression: "maximum"})
	wantError(t, err, session.ErrInvalid, "InvalidRequestException")
	_, err = p.CreateSession(t.Context(), session.CreateSessionRequest{FleetID: "fleet-1", MaxPlayer: 2})
	wantError(t, err, session.ErrNotFound, "NotFoundException")

	stranger := newProvider(t, direct.Config{Endpoint: s.HTTP, Region: s.Region,
		Target: direct.Target{FleetID: s.fleet}})
	_, err = stranger.Find(t.Context(), session.FindRequest{})
	wantError(t, err, session.ErrDenied, "UnrecognizedClientException")
}
