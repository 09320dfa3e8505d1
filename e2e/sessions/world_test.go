package sessions

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/gameserver"
)

const (
	home     = "custom-home"
	patience = time.Minute // for what must happen, on a busy machine
)

// A world is a service in this process, with one Anywhere fleet, and stands until
// its test ends.
type world struct {
	*testing.T
	muster.Endpoints
	admin    *gamelift.Client
	http     *http.Client
	fleet    string
	computes *atomic.Int32 // registered
}

// newWorld starts a service and makes the fleet.
func newWorld(t *testing.T, change ...func(*muster.Config)) *world {
	t.Helper()
	w := newEmptyWorld(t, change...)
	call(t, w.admin.CreateLocation, &gamelift.CreateLocationInput{LocationName: new(home)})
	w.fleet = *call(t, w.admin.CreateFleet, &gamelift.CreateFleetInput{
		Name: new("Arena"), ComputeType: types.ComputeTypeAnywhere, Locations: []types.LocationConfiguration{{Location: new(home)}},
	}).FleetAttributes.FleetId
	return w
}

// newEmptyWorld starts a service that has nothing.
func newEmptyWorld(t *testing.T, change ...func(*muster.Config)) *world {
	t.Helper()
	config := muster.DefaultConfig()
	config.Data, config.Listen, config.Gateway.Listen = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
	config.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	ready, ended := make(chan muster.Endpoints, 1), make(chan error, 1)
	config.Ready = func(e muster.Endpoints) { ready <- e }
	for _, f := range change {
		f(&config)
	}
	w := &world{T: t, computes: new(atomic.Int32), http: &http.Client{Transport: &http.Transport{}}}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- muster.Run(ctx, config) }()
	t.Cleanup(func() {
		w.http.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the service ended with: %v", err)
		}
	})
	select {
	case w.Endpoints = <-ready:
	case err := <-ended:
		ended <- nil
		t.Fatalf("the service did not start: %v", err)
	}
	w.admin = gamelift.New(gamelift.Options{
		Region: w.Region, BaseEndpoint: &w.HTTP, Retryer: aws.NopRetryer{}, HTTPClient: w.http, Credentials: w.keys(),
	})
	return w
}

// fakeTime makes the service go by a clock that the test moves. Clients sign with
// the real time, which the service must put up with.
func fakeTime(clock *clockwork.FakeClock) func(*muster.Config) {
	return func(c *muster.Config) { c.Clock, c.ClockSkew = clock, 24*time.Hour }
}

func (w *world) keys() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider(w.AccessKey, w.SecretKey, "")
}

// in is the same world for a subtest.
func (w *world) in(t *testing.T) *world {
	other := *w
	other.T = t
	return &other
}

// compute registers another compute and gives what its game server connects with.
func (w *world) compute() gameserver.ServerParameters {
	w.Helper()
	name := fmt.Sprintf("Host-%d", w.computes.Add(1))
	call(w.T, w.admin.RegisterCompute, &gamelift.RegisterComputeInput{
		FleetId: &w.fleet, Location: new(home), ComputeName: &name, IpAddress: new("127.0.0.1"),
	})
	token := call(w.T, w.admin.GetComputeAuthToken, &gamelift.GetComputeAuthTokenInput{FleetId: &w.fleet, ComputeName: &name})
	return gameserver.ServerParameters{WebSocketURL: w.WS, HostID: name, FleetID: w.fleet, AuthToken: *token.AuthToken}
}

// sessions are all game sessions of the fleet.
func (w *world) sessions() []types.GameSession {
	w.Helper()
	return call(w.T, w.admin.DescribeGameSessions, &gamelift.DescribeGameSessionsInput{FleetId: &w.fleet}).GameSessions
}

// session describes a game session.
func (w *world) session(id string) types.GameSession {
	w.Helper()
	return call(w.T, w.admin.DescribeGameSessions, &gamelift.DescribeGameSessionsInput{GameSessionId: &id}).GameSessions[0]
}

// awaitSession waits until a game session has a status.
func (w *world) awaitSession(id string, status types.GameSessionStatus) {
	w.Helper()
	eventually(w.T, "the game session is "+string(status), func() bool { return w.session(id).Status == status })
}

// newSession makes a game session that can be joined.
func (w *world) newSession(in gamelift.CreateGameSessionInput) (id string) {
	w.Helper()
	in.FleetId, in.Location = &w.fleet, new(home)
	id = *call(w.T, w.admin.CreateGameSession, &in).GameSession.GameSessionId
	w.awaitSession(id, types.GameSessionStatusActive)
	return id
}

// players are the player sessions of a game session.
func (w *world) players(session string) []types.PlayerSession {
	w.Helper()
	return call(w.T, w.admin.DescribePlayerSessions, &gamelift.DescribePlayerSessionsInput{GameSessionId: &session}).PlayerSessions
}

// player describes a player session.
func (w *world) player(id string) types.PlayerSession {
	w.Helper()
	return call(w.T, w.admin.DescribePlayerSessions, &gamelift.DescribePlayerSessionsInput{PlayerSessionId: &id}).PlayerSessions[0]
}

// wantPlayer checks the status of a player session.
func (w *world) wantPlayer(id string, want types.PlayerSessionStatus) {
	w.Helper()
	if got := w.player(id).Status; got != want {
		w.Errorf("the player session is %s, want %s", got, want)
	}
}

// awaitPlayer waits until a player session has a status.
func (w *world) awaitPlayer(id string, status types.PlayerSessionStatus) {
	w.Helper()
	eventually(w.T, "the player session is "+string(status), func() bool { return w.player(id).Status == status })
}

// call makes a call that must succeed.
func call[I, O any](t *testing.T, operation func(context.Context, *I, ...func(*gamelift.Options)) (*O, error), in *I) *O {
	t.Helper()
	out, err := operation(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// must ends the test if there is an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	limit, tick := time.NewTimer(patience), time.NewTicker(10*time.Millisecond)
	defer limit.Stop()
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("never happened: %s", what)
		}
	}
}

// receive takes the next value of a channel.
func receive[T any](t *testing.T, what string, from <-chan T) (value T) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case value = <-from:
	case <-limit.C:
		t.Fatalf("never happened: %s", what)
	}
	return value
}
