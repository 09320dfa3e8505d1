package e2e

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// arena is a game session to search for.
type arena struct {
	name, location, mode string
	maximum              int32
	players              int
}

var arenas = []arena{
	{"alpha", "custom-east", "ffa", 2, 2},
	{"bravo", "custom-west", "ffa", 8, 3},
	{"charlie", "custom-east", "duel", 2, 1},
	{"delta", "custom-west", "ffa", 4, 0},
	{"echo", "custom-east", "ffa", 16, 7},
}

// open starts the game session and its players.
func (s *service) open(t testing.TB, fleet string, a arena) {
	t.Helper()
	s.launch(t, s.newCompute(t, fleet, a.location, "pc-"+a.name), behaviour{})
	id := *call(t, s.client().CreateGameSession, &gamelift.CreateGameSessionInput{
		FleetId: &fleet, Location: &a.location, Name: &a.name, MaximumPlayerSessionCount: &a.maximum,
		GameProperties: []types.GameProperty{{Key: new("mode"), Value: &a.mode}},
	}).GameSession.GameSessionId
	s.awaitStatus(t, id, types.GameSessionStatusActive)
	for i := range a.players {
		s.join(t, id, fmt.Sprintf("%s-%d", a.name, i))
	}
}

func TestSearchOverLocations(t *testing.T) {
	t.Parallel()
	s := start(t)
	fleet := s.newFleet(t, "custom-east", "custom-west")
	for _, a := range arenas {
		s.open(t, fleet, a)
	}
	alias := call(t, s.client().CreateAlias, &gamelift.CreateAliasInput{
		Name: new("live"), RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple,
			FleetId: &fleet},
	}).Alias.AliasId

	for _, test := range []struct {
		filter, sort, location string
		want                   []string
	}{
		{"", "creationTimeMillis ASC", "", []string{"alpha", "bravo", "charlie", "delta", "echo"}},
		{"", "creationTimeMillis DESC", "custom-east", []string{"echo", "charlie", "alpha"}},
		{"hasAvailablePlayerSessions=true", "playerSessionCount DESC", "",
			[]string{"echo", "bravo", "charlie", "delta"}},
		{"hasAvailablePlayerSessions=false", "gameSessionName ASC", "", []string{"alpha"}},
		{"gameSessionProperties.mode = 'ffa' AND maximumSessions >= 4", "gameSessionName DESC", "",
			[]string{"echo", "delta", "bravo"}},
		{"gameSessionName = 'charlie' OR playerSessionCount = 0", "gameSessionName ASC", "",
			[]string{"charlie", "delta"}},
		{"NOT (gameSessionProperties.mode = 'ffa')", "gameSessionName ASC", "", []string{"charlie"}},
		{"maximumSessions < 4 AND gameSessionName <> 'alpha'", "gameSessionName ASC", "", []string{"charlie"}},
		{"playerSessionCount > 100", "gameSessionName ASC", "", nil},
	} {
		for _, in := range []*gamelift.SearchGameSessionsInput{
			{FleetId: &fleet}, {AliasId: alias, Limit: new(int32(2))},
		} {
			in.SortExpression = &test.sort
			if test.filter != "" {
				in.FilterExpression = &test.filter
			}
			if test.location != "" {
				in.Location = &test.location
			}
			found := all(t, int(valueOr(in.Limit, 20)), gamelift.NewSearchGameSessionsPaginator(s.client(), in),
				sessionNames)
			if !slices.Equal(found, test.want) {
				t.Errorf("%q, %q, %q: found %q, want %q", test.filter, test.sort, test.location, found, test.want)
			}
		}
	}
}

func sessionNames(o *gamelift.SearchGameSessionsOutput) (found []string) {
	for _, g := range o.GameSessions {
		found = append(found, *g.Name)
	}
	return found
}

func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// TestSearchSeesWhatWasAnswered creates and fills a game session and searches at
// once: an answer never lags behind one that was given before.
func TestSearchSeesWhatWasAnswered(t *testing.T) {
	t.Parallel()
	s := start(t)
	fleet := s.newFleet(t)
	p := s.launch(t, s.newCompute(t, fleet, home, "pc"), behaviour{idle: true})
	session := s.newSession(t, fleet, home)
	count := func(filter string) int {
		return len(call(t, s.client().SearchGameSessions,
			&gamelift.SearchGameSessionsInput{FleetId: &fleet, FilterExpression: &filter}).GameSessions)
	}
	const open = "hasAvailablePlayerSessions = true"
	if n := count(open); n != 0 {
		t.Errorf("found %d game sessions that are ACTIVATING", n)
	}
	receive(t, "the game session at the process", p.started)
	if err := p.ActivateGameSession(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if n := count(open); n != 1 {
			t.Fatalf("found %d with %d players", n, i)
		}
		s.join(t, session, fmt.Sprint("player-", i))
	}
	if n := count(open); n != 0 {
		t.Error("a full game session was found")
	}
	if n := count("playerSessionCount = 4"); n != 1 {
		t.Errorf("found %d with four players", n)
	}
}
