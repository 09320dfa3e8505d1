package remote

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A local is an endpoint like GameLift Local's: AWS JSON 1.1, five operations, a
// game session that is ACTIVE when it is asked about.
type local struct {
	*testing.T
	mu       sync.Mutex
	requests map[string][]map[string]any // bodies by operation
}

func (l *local) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	operation := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "GameLift.")
	body, err := io.ReadAll(r.Body)
	in := map[string]any{}
	if err != nil || json.Unmarshal(body, &in) != nil || r.Header.Get("Content-Type") != "application/x-amz-json-1.1" ||
		r.Header.Get("Authorization") == "" {
		l.Errorf("%s is no call of the API: %s", operation, body)
	}
	l.mu.Lock()
	l.requests[operation] = append(l.requests[operation], in)
	l.mu.Unlock()
	switch operation {
	case "CreateGameSession":
		fmt.Fprintf(w, `{"GameSession":%s}`, legacySession("1", "ACTIVATING", "ACCEPT_ALL", 0))
	case "DescribeGameSessions":
		l.describe(w, in)
	case "CreatePlayerSessions", "DescribePlayerSessions":
		fmt.Fprint(w, `{"PlayerSessions":[{"PlayerSessionId":"psess-1","PlayerId":"ada","Status":"RESERVED",`+
			`"CreationTime":1.5e9,"IpAddress":"127.0.0.1","Port":7777}]}`)
	}
}

func (l *local) describe(w http.ResponseWriter, in map[string]any) {
	switch {
	case in["GameSessionId"] == "gsess-none":
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"com.amazonaws.gamelift#NotFoundException","Message":"none"}`)
	case in["GameSessionId"] != nil:
		fmt.Fprintf(w, `{"GameSessions":[%s]}`, legacySession("1", "ACTIVE", "ACCEPT_ALL", 0))
	case in["NextToken"] == nil:
		fmt.Fprintf(w, `{"GameSessions":[%s,%s],"NextToken":"more"}`, legacySession("1", "ACTIVE", "ACCEPT_ALL", 0),
			legacySession("2", "ACTIVE", "ACCEPT_ALL", 4))
	default:
		fmt.Fprintf(w, `{"GameSessions":[%s,%s]}`, legacySession("3", "TERMINATED", "ACCEPT_ALL", 0),
			legacySession("4", "ACTIVE", "ACCEPT_ALL", 3))
	}
}

func legacySession(n, status, policy string, players int) string {
	return fmt.Sprintf(`{"GameSessionId":"arn:aws:gamelift:local::gamesession/fleet-123/gsess-%s","Name":"duel",`+
		`"FleetId":"fleet-123","Status":%q,`+
		`"PlayerSessionCreationPolicy":%q,"CurrentPlayerSessionCount":%d,"MaximumPlayerSessionCount":4,`+
		`"CreationTime":1500000000.125,`+
		`"GameProperties":[{"Key":"mode","Value":"duel"}],"IpAddress":"127.0.0.1","Port":7777,"Newer":{"a":[1]}}`, n,
		status, policy, players)
}

func newLocal(t *testing.T) (*local, gateway.Service) {
	t.Helper()
	l := &local{T: t, requests: map[string][]map[string]any{}}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	s, err := New(Config{Legacy: true, AWS: aws.Config{BaseEndpoint: &server.URL, HTTPClient: server.Client()}})
	if err != nil {
		t.Fatal(err)
	}
	return l, s
}

func TestLegacyCreatesInItsFleet(t *testing.T) {
	l, s := newLocal(t)
	g, err := s.CreateGameSession(t.Context(), gateway.Creation{Input: &wire.CreateGameSessionInput{
		AliasId: "alias-1", Location: "custom-home", Name: "duel", MaximumPlayerSessionCount: wire.Some[int32](4),
	}})
	if err != nil || g.Status != wire.GameSessionStatusActivating || g.CreationTime.UnixMilli() != 1500000000125 {
		t.Fatalf("%+v, %v", g, err)
	}
	in := l.requests["CreateGameSession"][0]
	if len(in) != 3 || in["FleetId"] != LegacyFleet || in["Name"] != "duel" || in["MaximumPlayerSessionCount"] != 4.0 {
		t.Errorf("asked for %v", in)
	}
	if g, err := s.AwaitGameSession(t.Context(), g.GameSessionId); err != nil ||
		g.Status != wire.GameSessionStatusActive {
		t.Errorf("%+v, %v", g, err)
	}
	players, err := s.CreatePlayerSessions(t.Context(),
		&wire.CreatePlayerSessionsInput{GameSessionId: g.GameSessionId, PlayerIds: []string{"ada"}})
	if err != nil || len(players.PlayerSessions) != 1 || players.PlayerSessions[0].Port.Or(0) != 7777 ||
		players.PlayerSessions[0].CreationTime.Unix() != 1500000000 {
		t.Errorf("%+v, %v", players, err)
	}
	if _, err := s.DescribeGameSession(t.Context(), "gsess-none"); !fault.Is(err, fault.NotFound) {
		t.Errorf("got %v, want the exception", err)
	}
	described, err := s.DescribePlayerSessions(t.Context(), &wire.DescribePlayerSessionsInput{PlayerId: "ada"})
	if err != nil || len(described.PlayerSessions) != 1 {
		t.Errorf("%+v, %v", described, err)
	}
}

func TestLegacySearchIsOurs(t *testing.T) {
	_, s := newLocal(t)
	for _, tt := range []struct {
		filter string
		limit  wire.Opt[int32]
		want   string
	}{
		{"", wire.Opt[int32]{}, "1 2 4"},
		{"hasAvailablePlayerSessions=true", wire.Opt[int32]{}, "1 4"},
		{"hasAvailablePlayerSessions=true AND playerSessionCount>0", wire.Opt[int32]{}, "4"},
		{"gameSessionProperties.mode='race'", wire.Opt[int32]{}, ""},
		{"gameSessionName='duel'", wire.Some[int32](2), "1 2"},
	} {
		out, err := s.SearchGameSessions(t.Context(),
			&wire.SearchGameSessionsInput{FleetId: "fleet-any", FilterExpression: tt.filter, Limit: tt.limit})
		if err != nil || out.GameSessions == nil {
			t.Errorf("%q: %+v, %v", tt.filter, out, err)
			continue
		}
		var found []string
		for _, g := range out.GameSessions {
			found = append(found, g.GameSessionId[strings.LastIndexByte(g.GameSessionId, '-')+1:])
		}
		if got := strings.Join(found, " "); got != tt.want {
			t.Errorf("%q found %q, want %q", tt.filter, got, tt.want)
		}
	}
	_, err := s.SearchGameSessions(t.Context(), &wire.SearchGameSessionsInput{FilterExpression: "nonsense"})
	if !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("got %v for a bad filter", err)
	}
}

func TestLegacyHasLess(t *testing.T) {
	_, s := newLocal(t)
	if _, ok := s.(gateway.Queues); ok {
		t.Error("it has queues")
	}
	if _, ok := s.(gateway.Matchmaking); ok {
		t.Error("it has matchmaking")
	}
	if fleet, err := s.Fleet(t.Context()); err != nil || fleet != LegacyFleet {
		t.Errorf("%q, %v", fleet, err)
	}
	if locations, err := s.Locations(t.Context(), gateway.Target{}); err != nil || len(locations) != 0 {
		t.Errorf("%v, %v", locations, err)
	}
	if _, _, err := s.ClaimGameSession(t.Context(), gateway.Claim{}); !fault.Is(err, fault.NotFound) {
		t.Errorf("got %v for a claim", err)
	}
	_, err := s.TerminateGameSession(t.Context(), &wire.TerminateGameSessionInput{})
	if !fault.Is(err, fault.UnknownOperation) {
		t.Errorf("got %v for an end", err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestConfigNamesWhatIsMissing(t *testing.T) {
	url := "http://127.0.0.1:9080"
	for _, tt := range []struct {
		want string
		cfg  Config
	}{
		{"AWS.Region", Config{}},
		{"AWS.Credentials", Config{AWS: aws.Config{Region: "eu-central-1"}}},
		{"AWS.BaseEndpoint", Config{Legacy: true}},
		{"LegacyFleet", Config{Legacy: true, LegacyFleet: "my fleet", AWS: aws.Config{BaseEndpoint: &url}}},
	} {
		if s, err := New(tt.cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, %v; want an error about %s", s, err, tt.want)
		}
	}
}
