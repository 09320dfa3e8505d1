package mustertest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/smithy-go"

	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/mustertest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// newSession creates a game session with slots on a fleet with as many game servers.
func newSession(t *testing.T, s *mustertest.Service, servers int, slots int32) (mustertest.ReadyFleet, string) {
	t.Helper()
	f := s.ReadyFleet(servers)
	g := mustertest.Call(t, s.Client.CreateGameSession, &gamelift.CreateGameSessionInput{
		FleetId: &f.ID, Location: &f.Location, MaximumPlayerSessionCount: &slots})
	id := *g.GameSession.GameSessionId
	mustertest.Eventually(t, "the game session is ACTIVE", func() bool {
		return statusOf(t, s, id) == types.GameSessionStatusActive
	})
	return f, id
}

func statusOf(t *testing.T, s *mustertest.Service, id string) types.GameSessionStatus {
	t.Helper()
	return mustertest.Call(t, s.Client.DescribeGameSessions,
		&gamelift.DescribeGameSessionsInput{GameSessionId: &id}).GameSessions[0].Status
}

func reserve(t *testing.T, s *mustertest.Service, session, player string) string {
	t.Helper()
	return *mustertest.Call(t, s.Client.CreatePlayerSession, &gamelift.CreatePlayerSessionInput{
		GameSessionId: &session, PlayerId: &player}).PlayerSession.PlayerSessionId
}

func playerStatus(t *testing.T, s *mustertest.Service, id string) types.PlayerSessionStatus {
	t.Helper()
	return mustertest.Call(t, s.Client.DescribePlayerSessions,
		&gamelift.DescribePlayerSessionsInput{PlayerSessionId: &id}).PlayerSessions[0].Status
}

// Advancing has a reservation expire at its time and not before, and keeps players who have connected, for as long as
// the game server is connected.
func TestAdvance(t *testing.T) {
	s := mustertest.Start(t)
	_, session := newSession(t, s, 1, 4)
	waits, plays := reserve(t, s, session, "p1"), reserve(t, s, session, "p2")
	s.Connect(plays)
	before := s.Now()
	s.Advance(50 * time.Second)
	if got := playerStatus(t, s, waits); got != types.PlayerSessionStatusReserved {
		t.Errorf("after 50 s the reservation is %s", got)
	}
	s.Advance(10 * time.Second)
	if got := playerStatus(t, s, waits); got != types.PlayerSessionStatusTimedout {
		t.Errorf("after 60 s the reservation is %s", got)
	}
	s.Advance(time.Hour)
	if got := playerStatus(t, s, plays); got != types.PlayerSessionStatusActive {
		t.Errorf("after an hour the connected player is %s", got)
	}
	if ahead := s.Now().Sub(before); ahead < time.Hour+time.Minute {
		t.Errorf("the clock has advanced by %s", ahead)
	}
	if got := statusOf(t, s, session); got != types.GameSessionStatusActive {
		t.Errorf("after an hour the game session is %s", got)
	}
	s.Disconnect(plays)
	if got := playerStatus(t, s, plays); got != types.PlayerSessionStatusCompleted {
		t.Errorf("the player who left is %s", got)
	}
}

// A placement without a free game server times out on the clock that the test moves.
func TestAdvancePlacement(t *testing.T) {
	s := mustertest.Start(t)
	f, _ := newSession(t, s, 1, 2)
	arn := *mustertest.Call(t, s.Client.DescribeFleetAttributes,
		&gamelift.DescribeFleetAttributesInput{FleetIds: []string{f.ID}}).FleetAttributes[0].FleetArn
	mustertest.Call(t, s.Client.CreateGameSessionQueue, &gamelift.CreateGameSessionQueueInput{Name: new("q"),
		TimeoutInSeconds: new(int32(600)), Destinations: []types.GameSessionQueueDestination{{DestinationArn: &arn}}})
	mustertest.Call(t, s.Client.StartGameSessionPlacement, &gamelift.StartGameSessionPlacementInput{
		GameSessionQueueName: new("q"), PlacementId: new("p"), MaximumPlayerSessionCount: new(int32(2))})
	state := func() types.GameSessionPlacementState {
		return mustertest.Call(t, s.Client.DescribeGameSessionPlacement, &gamelift.DescribeGameSessionPlacementInput{
			PlacementId: new("p")}).GameSessionPlacement.Status
	}
	s.Advance(590 * time.Second)
	if got := state(); got != types.GameSessionPlacementStatePending {
		t.Errorf("after 590 s the placement is %s", got)
	}
	s.Advance(10 * time.Second)
	if got := state(); got != types.GameSessionPlacementStateTimedOut {
		t.Errorf("after 600 s the placement is %s", got)
	}
}

// A game server that was killed is lost after the time for a new connection, and its game session with it.
func TestKill(t *testing.T) {
	s := mustertest.Start(t)
	f, session := newSession(t, s, 2, 2)
	s.Kill(session)
	s.Advance(3 * time.Minute)
	if got := statusOf(t, s, session); got != types.GameSessionStatusActive {
		t.Errorf("after 3 minutes the game session is %s", got)
	}
	s.Advance(time.Minute)
	if got := statusOf(t, s, session); got != types.GameSessionStatusTerminated {
		t.Errorf("after 4 minutes the game session is %s", got)
	}
	g := mustertest.Call(t, s.Client.CreateGameSession, &gamelift.CreateGameSessionInput{
		FleetId: &f.ID, Location: &f.Location, MaximumPlayerSessionCount: new(int32(1))})
	if *g.GameSession.GameSessionId == session {
		t.Error("the other game server has the ended game session")
	}
}

// A game session of a fleet that ends leaves a game server for the next one.
func TestNextGameSession(t *testing.T) {
	s := mustertest.Start(t)
	f, first := newSession(t, s, 1, 1)
	mustertest.Call(t, s.Client.TerminateGameSession, &gamelift.TerminateGameSessionInput{GameSessionId: &first,
		TerminationMode: types.TerminationModeTriggerOnProcessTerminate})
	mustertest.Eventually(t, "another game session is created", func() bool {
		_, err := s.Client.CreateGameSession(t.Context(), &gamelift.CreateGameSessionInput{FleetId: &f.ID,
			Location: &f.Location, MaximumPlayerSessionCount: new(int32(1))})
		return err == nil
	})
}

func TestFill(t *testing.T) {
	s := mustertest.Start(t)
	_, session := newSession(t, s, 1, 60)
	reserve(t, s, session, "p1")
	if players := s.Fill(session); len(players) != 59 {
		t.Errorf("%d players were added, want 59", len(players))
	}
	_, err := s.Client.CreatePlayerSession(t.Context(), &gamelift.CreatePlayerSessionInput{GameSessionId: &session,
		PlayerId: new("p2")})
	if _, full := errors.AsType[*types.GameSessionFullException](err); !full {
		t.Errorf("got %v, want a full game session", err)
	}
}

// Faults are met by the calls that they are for, once each, whatever protocol the client speaks.
func TestInject(t *testing.T) {
	s := mustertest.Start(t)
	f := s.ReadyFleet(1)
	create := func() error {
		_, err := s.Client.CreateGameSession(t.Context(), &gamelift.CreateGameSessionInput{FleetId: &f.ID,
			Location: &f.Location, MaximumPlayerSessionCount: new(int32(1)), IdempotencyToken: new("once")})
		return err
	}
	count := func() int {
		return len(mustertest.Call(t, s.Client.DescribeGameSessions,
			&gamelift.DescribeGameSessionsInput{FleetId: &f.ID}).GameSessions)
	}
	s.Inject(mustertest.Fault{Operation: "CreateGameSession", Exception: "ThrottlingException", Times: 2})
	s.Inject(mustertest.Fault{Operation: "CreateGameSession", LoseAnswer: true})
	for range 2 {
		err := create()
		if api, ok := errors.AsType[smithy.APIError](err); !ok || api.ErrorCode() != "ThrottlingException" {
			t.Errorf("got %v, want a ThrottlingException", err)
		}
	}
	if n := count(); n != 0 {
		t.Errorf("refused calls have created %d game sessions", n)
	}
	err := create()
	if _, answered := errors.AsType[smithy.APIError](err); err == nil || answered {
		t.Errorf("got %v, want no answer", err)
	}
	if n := count(); n != 1 {
		t.Errorf("the call without an answer has created %d game sessions, want 1", n)
	}
	if err := create(); err != nil { // the same one, by its token
		t.Error(err)
	}
	if n := count(); n != 1 {
		t.Errorf("there are %d game sessions, want 1", n)
	}
}

// A client that repeats a call whose answer was lost creates a second game session, unless the call has a token.
func TestLostAnswer(t *testing.T) {
	for token, want := range map[string]int{"": 2, "once": 1} {
		s := mustertest.Start(t)
		f := s.ReadyFleet(2)
		s.Inject(mustertest.Fault{Operation: "CreateGameSession", LoseAnswer: true})
		in := &gamelift.CreateGameSessionInput{FleetId: &f.ID, Location: &f.Location,
			MaximumPlayerSessionCount: new(int32(1))}
		if token != "" {
			in.IdempotencyToken = &token
		}
		mustertest.Call(t, gamelift.NewFromConfig(s.AWS).CreateGameSession, in)
		found := mustertest.Call(t, s.Client.DescribeGameSessions, &gamelift.DescribeGameSessionsInput{FleetId: &f.ID})
		if n := len(found.GameSessions); n != want {
			t.Errorf("with the token %q there are %d game sessions, want %d", token, n, want)
		}
	}
}

// A delay is of the service's clock.
func TestDelay(t *testing.T) {
	s := mustertest.Start(t)
	s.Inject(mustertest.Fault{Operation: "ListFleets", Delay: 5 * time.Minute})
	answered := make(chan error, 1)
	go func() {
		_, err := s.Client.ListFleets(context.WithoutCancel(t.Context()), &gamelift.ListFleetsInput{})
		answered <- err
	}()
	mustertest.Eventually(t, "the call waits", func() bool { return len(s.Faults()) == 0 })
	select {
	case err := <-answered:
		t.Errorf("the call was answered at once: %v", err)
	default:
	}
	s.Advance(5 * time.Minute)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	s.Inject(mustertest.Fault{Exception: "NotFoundException"})
	s.ClearFaults()
	mustertest.Call(t, s.Client.ListFleets, &gamelift.ListFleetsInput{})
}

// The session gateway's requests have faults, too.
func TestInjectGateway(t *testing.T) {
	s := mustertest.Start(t)
	s.ReadyFleet(1)
	create := func() (int, error) {
		body := `{"session_name":"S","build_id":1,"uuid":"p1","num_connections":2}`
		r, err := s.Web.Post(s.Gateway+"/create_session", "application/json", strings.NewReader(body))
		if err != nil {
			return 0, err
		}
		return r.StatusCode, r.Body.Close()
	}
	s.Inject(mustertest.Fault{Operation: "POST /create_session", Exception: "ThrottlingException"})
	if status, err := create(); err != nil || status != http.StatusTooManyRequests {
		t.Errorf("got %d, %v, want 429", status, err)
	}
	s.Inject(mustertest.Fault{Operation: "POST /create_session", LoseAnswer: true})
	if status, err := create(); err == nil {
		t.Errorf("got an answer with status %d, want none", status)
	}
	if status, err := create(); err != nil || status != http.StatusOK {
		t.Errorf("got %d, %v, want 200", status, err)
	}
}

// With GameLift's quotas the resources and the rate of calls are limited, on the clock that the test moves.
func TestQuotas(t *testing.T) {
	s := mustertest.Start(t, mustertest.GameLiftQuotas)
	create := func() error {
		_, err := s.Client.CreateFleet(t.Context(), &gamelift.CreateFleetInput{Name: new("f"),
			ComputeType: types.ComputeTypeAnywhere,
			Locations:   []types.LocationConfiguration{{Location: new("custom-a")}}})
		return err
	}
	mustertest.Call(t, s.Client.CreateLocation, &gamelift.CreateLocationInput{LocationName: new("custom-a")})
	fleets, throttled := 0, 0
	var err error
	for fleets < 10 {
		switch err = create(); {
		case err == nil:
			fleets++
		case strings.Contains(err.Error(), "ThrottlingException"):
			throttled++
			s.Advance(time.Second)
		default:
			t.Fatal(err)
		}
	}
	if throttled == 0 {
		t.Error("ten fleets were created at once")
	}
	s.Advance(time.Second)
	if _, limited := errors.AsType[*types.LimitExceededException](create()); !limited {
		t.Errorf("the 11th fleet: got %v, want a LimitExceededException", err)
	}
}

// A recorder takes the errors of a test.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// A test fails if no call has met a fault, at its end.
func TestUnmetFaults(t *testing.T) {
	for name, test := range map[string]func(s *mustertest.Service){
		"no call has met the fault of CreateFleet that": func(*mustertest.Service) {},
		"": func(s *mustertest.Service) { s.ClearFaults() },
	} {
		r := &recorder{}
		t.Run("test", func(t *testing.T) {
			r.TB = t
			s := mustertest.Start(r)
			s.Inject(mustertest.Fault{Operation: "ListFleets", Delay: time.Millisecond, Times: 2})
			s.Inject(mustertest.Fault{Operation: "CreateFleet", LoseAnswer: true})
			mustertest.Call(t, s.Client.ListFleets, &gamelift.ListFleetsInput{})
			test(s)
		})
		if got := strings.Join(r.errors, "\n"); !strings.HasPrefix(got, name) || name == "" && got != "" ||
			len(r.errors) > 1 {
			t.Errorf("got %q, want %q", got, name)
		}
	}
}

// Faults shows what no call has met yet. An operation that does not exist would never be met, so it is refused.
func TestFaults(t *testing.T) {
	s := mustertest.Start(t)
	s.Inject(mustertest.Fault{Operation: "ListFleets", Delay: time.Millisecond, Times: 2})
	mustertest.Call(t, s.Client.ListFleets, &gamelift.ListFleetsInput{})
	want := []mustertest.Fault{{Operation: "ListFleets", Delay: time.Millisecond, Times: 1}}
	if got := s.Faults(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	s.ClearFaults()
	for body, field := range map[string]string{
		`{"operation":"CreateGameSesion","loseAnswer":true}`:               "operation",
		`{"operation":"/create_session","loseAnswer":true}`:                "operation",
		`{"operation":"POST create_session","loseAnswer":true}`:            "operation",
		`{"operation":"ListFleets","exception":"Throttling"}`:              "exception",
		`{"operation":"ListFleets","delay":601}`:                           "delay",
		`{"operation":"ListFleets","loseAnswer":true,"times":-1}`:          "times",
		`{"operation":"ListFleets","loseAnswer":true,"exceptions":"none"}`: "exceptions",
		`{"operation":"ListFleets","loseAnswer":true,"delay":1}`:           "exactly one of",
	} {
		r, err := s.Web.Post(s.HTTP+"/v1/test/faults", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil || r.StatusCode != http.StatusBadRequest || !strings.Contains(string(answer), field) {
			t.Errorf("%s: got %d %s, %v, want 400 that names %s", body, r.StatusCode, answer, err, field)
		}
	}
}
