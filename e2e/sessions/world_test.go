package sessions

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/mustertest"
)

const (
	home     = "custom-home"
	patience = mustertest.Patience
)

// A world is a service in this process, with one Anywhere fleet, and stands until
// its test ends.
type world struct {
	*testing.T
	muster.Endpoints
	service  *mustertest.Service
	admin    *gamelift.Client
	http     *http.Client
	fleet    string
	computes *atomic.Int32 // registered
}

// newWorld starts a service and makes the fleet.
func newWorld(t *testing.T, change ...func(*muster.Config)) *world {
	t.Helper()
	w := newEmptyWorld(t, change...)
	w.fleet = w.service.Fleet(home)
	return w
}

// newEmptyWorld starts a service that has nothing.
func newEmptyWorld(t *testing.T, change ...func(*muster.Config)) *world {
	t.Helper()
	s := mustertest.Start(t, change...)
	return &world{T: t, Endpoints: s.Endpoints, service: s, admin: s.Client, http: s.Web, computes: new(atomic.Int32)}
}

func (w *world) keys() aws.CredentialsProvider { return w.service.AWS.Credentials }

// in is the same world for a subtest.
func (w *world) in(t *testing.T) *world {
	other, service := *w, *w.service
	service.TB = t
	other.T, other.service = t, &service
	return &other
}

// compute registers another compute and gives what its game server connects with.
func (w *world) compute() gameserver.ServerParameters {
	w.Helper()
	return w.service.Compute(w.fleet, home, fmt.Sprintf("Host-%d", w.computes.Add(1)))
}

// sessions are all game sessions of the fleet.
func (w *world) sessions() []types.GameSession {
	w.Helper()
	return call(w.T, w.admin.DescribeGameSessions, &gamelift.DescribeGameSessionsInput{FleetId: &w.fleet}).GameSessions
}

// session describes a game session.
func (w *world) session(id string) types.GameSession {
	w.Helper()
	return call(w.T, w.admin.DescribeGameSessions,
		&gamelift.DescribeGameSessionsInput{GameSessionId: &id}).GameSessions[0]
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
	return call(w.T, w.admin.DescribePlayerSessions,
		&gamelift.DescribePlayerSessionsInput{GameSessionId: &session}).PlayerSessions
}

// player describes a player session.
func (w *world) player(id string) types.PlayerSession {
	w.Helper()
	return call(w.T, w.admin.DescribePlayerSessions,
		&gamelift.DescribePlayerSessionsInput{PlayerSessionId: &id}).PlayerSessions[0]
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
func call[I, O any](
	t *testing.T, operation func(context.Context, *I, ...func(*gamelift.Options)) (*O, error), in *I,
) *O {
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

var eventually = mustertest.Eventually

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
