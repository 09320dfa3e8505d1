package gateway_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/session"
)

const (
	sessionObject = `{"id": "` + gsess + `",
		"name": "duel", "status": "ACTIVE", "players": 1, "maxPlayers": 2, "open": true,
		"buildId": 7,
		"properties": {"mode": "ctf"}, "fleetId": "fleet-1", "location": "custom-attic",
		"createdAt": "2025-12-17T10:48:17.441Z"}`
	playerObject = `{"id": "psess-1", "playerId": "ada", "sessionId": "` + gsess + `", "status": "RESERVED",
		"createdAt": "2025-12-17T10:48:17Z",
		"endpoint": {"ipAddress": "203.0.113.7", "port": 7777}}`
	matchObject = `{"sessionId": "` + gsess + `",
		"endpoint": {"ipAddress": "203.0.113.7", "dnsName": "host-1.example.com", "port": 7777},
		"players": [{"id": "ada", "playerSessionId": "psess-1"}]}`
	sessionPath = "/v1/sessions/arn:aws:gamelift:eu-central-1::gamesession%2Ffleet-1%2Fcustom-attic%2Fgsess-1"
)

// wantCall checks what was sent; the body is compared as JSON.
func wantCall(t *testing.T, s *script, line, body string) {
	t.Helper()
	sent := s.last(t)
	var got, want any
	if body != "" {
		if err := json.Unmarshal([]byte(sent.body), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(body), &want); err != nil {
			t.Fatal(err)
		}
	}
	if sent.line != line || !reflect.DeepEqual(got, want) {
		t.Errorf("sent %s %s\nwant %s %s", sent.line, sent.body, line, body)
	}
}

func TestCreateSession(t *testing.T) {
	t.Parallel()
	s := answer(t, 201, `{"session": `+sessionObject+`, "replayed": false}`)
	p := s.provider(t)
	id, err := p.CreateSession(t.Context(), session.CreateSessionRequest{
		CreatorID: "ada", SessionName: "duel", MaxPlayer: 2, SessionProperties: map[string]string{"mode": "ctf"},
		FleetID: "fleet-1", Location: "custom-attic", IdempotencyToken: "token-1",
	})
	if err != nil || id != gsess || s.last(t).header.Get("Idempotency-Key") != "token-1" {
		t.Errorf("%q, %v", id, err)
	}
	wantCall(t, s, "POST /v1/sessions",
		`{"name": "duel", "maxPlayers": 2, "properties": {"mode": "ctf"},
			"target": {"fleetId": "fleet-1", "location": "custom-attic"}}`)
	_, err = p.CreateSession(t.Context(), session.CreateSessionRequest{AliasID: "alias-1", MaxPlayer: 2})
	if err != nil {
		t.Error(err)
	}
	wantCall(t, s, "POST /v1/sessions", `{"name": "Session", "maxPlayers": 2, "target": {"aliasId": "alias-1"}}`)
}

func TestQueue(t *testing.T) {
	t.Parallel()
	s := answer(t, 202, `{"placement": {"id": "p-1", "queue": "q", "status": "PENDING"}}`)
	id, err := s.provider(t).CreateSessionOnQueue(t.Context(), session.CreateSessionOnQueueRequest{
		SessionName: "duel", MaxPlayer: 2, QueueName: "q", PlacementID: "mine",
	})
	if err != nil || id != "p-1" || s.last(t).header.Get("Idempotency-Key") != "mine" {
		t.Errorf("%q, %v", id, err)
	}
	wantCall(t, s, "POST /v1/sessions", `{"name": "duel", "maxPlayers": 2, "target": {"queue": "q"}, "wait": false}`)

	s = answer(t, 200, `{"id": "p-1", "queue": "q", "status": "FULFILLED", "match": `+matchObject+`}`)
	got, err := s.provider(t).Placement(t.Context(), "p-1")
	want := session.Placement{
		PlacementID: "p-1", Status: "FULFILLED", SessionID: gsess, IPAddress: "203.0.113.7",
		DNSName: "host-1.example.com", Port: 7777,
	}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	wantCall(t, s, "GET /v1/placements/p-1", "")
}

func TestHostWithProperties(t *testing.T) {
	t.Parallel()
	s := answer(t, 201, `{"session": `+sessionObject+`, "player": `+playerObject+`, "replayed": false}`)
	r := hostRequest
	r.Properties = map[string]string{"mode": "ctf"}
	got, err := s.provider(t).Host(t.Context(), r)
	if err != nil || got != place {
		t.Errorf("%+v, %v", got, err)
	}
	wantCall(t, s, "POST /v1/sessions",
		`{"name": "ada's Session", "maxPlayers": 4, "buildId": -7, "properties": {"mode": "ctf"},
			"player": {"id": "ada"}}`)
}

func TestReserveWithData(t *testing.T) {
	t.Parallel()
	s := answer(t, 201, `{"players": [`+playerObject+`]}`)
	got, err := s.provider(t).Reserve(t.Context(),
		session.JoinSessionRequest{SessionID: gsess, PlayerID: "ada", PlayerData: "blue"})
	if err != nil || got != place {
		t.Errorf("%+v, %v", got, err)
	}
	wantCall(t, s, "POST "+sessionPath+"/players", `{"players": [{"id": "ada", "data": "blue"}]}`)
}

func TestSearchSessions(t *testing.T) {
	t.Parallel()
	elsewhere := strings.Replace(sessionObject, `"custom-attic"`, `"custom-cellar"`, 1)
	s := answer(t, 200, `{"sessions": [`+sessionObject+`, `+elsewhere+`, `+
		strings.Replace(sessionObject, `"fleet-1"`, `"fleet-2"`, 1)+`], "cursor": "next"}`)
	p := s.provider(t)
	r := session.SearchSessionsRequest{FleetID: "arn:aws:gamelift:eu-central-1:111122223333:fleet/fleet-1",
		Location: "custom-attic"}
	got, err := p.SearchSessions(t.Context(), r)
	want := session.SearchSessionsResponse{NextToken: "next", SessionConfigs: []session.SessionConfig{{
		SessionID: gsess, SessionName: "duel", SessionProperties: map[string]string{"mode": "ctf"}, MaxPlayer: 2,
		CurrentPlayer: 1,
		CreationTime:  time.Date(2025, 12, 17, 10, 48, 17, 441e6, time.UTC), Status: session.StatusActive,
		StatusReason: "NotSet",
		Location:     "custom-attic", FleetID: "fleet-1",
	}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	wantCall(t, s, "GET /v1/sessions?open=false", "")
	r = session.SearchSessionsRequest{FleetID: "fleet-1", FilterExpression: "a=b", SortExpression: "c ASC",
		MaxResult: 5, NextToken: "next"}
	if got, err := p.SearchSessions(t.Context(), r); err != nil || len(got.SessionConfigs) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	wantCall(t, s, "GET /v1/sessions?cursor=next&filter=a%3Db&limit=5&open=false&sort=c+ASC", "")
	_, err = p.SearchSessions(t.Context(), session.SearchSessionsRequest{AliasID: "alias-1"})
	wantError(t, err, session.ErrUnsupported, "")
}

func TestMatchmaking(t *testing.T) {
	t.Parallel()
	s := answer(t, 201, `{"id": "t-1", "configuration": "duels", "status": "QUEUED", "players": [{"id": "ada"}]}`)
	p := s.provider(t)
	r := session.StartMatchmakingRequest{ConfigurationName: "duels", TicketID: "t-1", Players: []session.Player{{
		PlayerID: "ada", Team: "red", LatencyInMS: map[string]int{"eu-central-1": 20},
		PlayerAttributes: map[string]json.RawMessage{
			"skill": json.RawMessage(`{"N": 23}`), "maps": json.RawMessage(`{"SL": ["a"]}`),
			"mode": json.RawMessage(`{"S":"ctf"}`), "roles": json.RawMessage(`{"SDM":{"tank":0.5}}`),
		},
	}}}
	if id, err := p.StartMatchmaking(t.Context(), r); err != nil || id != "t-1" {
		t.Errorf("%q, %v", id, err)
	}
	wantCall(t, s, "POST /v1/tickets", `{"id": "t-1", "configuration": "duels", "players": [{"id": "ada", "team": "red",
		"latencies": {"eu-central-1": 20},
			"attributes": {"skill": 23, "maps": ["a"], "mode": "ctf", "roles": {"tank": 0.5}}}]}`)
	r.Players[0].PlayerAttributes["skill"] = json.RawMessage(`{"N": "23"}`)
	_, err := p.StartMatchmaking(t.Context(), r)
	wantError(t, err, session.ErrInvalid, "")
	if !strings.Contains(err.Error(), `player "ada", attribute "skill"`) {
		t.Errorf("%v does not name the attribute", err)
	}
	if err := p.AcceptMatch(t.Context(), session.AcceptMatchRequest{
		TicketID: "t-1", PlayerIDs: []string{"ada"}, AcceptMatch: true,
	}); err != nil {
		t.Error(err)
	}
	wantCall(t, s, "POST /v1/tickets/t-1/acceptance", `{"accept": true, "players": ["ada"]}`)
	if err := p.StopMatchmaking(t.Context(), session.StopMatchmakingRequest{TicketID: "t-1"}); err != nil {
		t.Error(err)
	}
	wantCall(t, s, "DELETE /v1/tickets/t-1", "")
	if got, err := p.Ticket(t.Context(), "t-1"); err != nil || got.Status != session.TicketQueued ||
		got.TicketID != "t-1" {
		t.Errorf("%+v, %v", got, err)
	}
	wantCall(t, s, "GET /v1/tickets/t-1", "")
}

// TestAttributesThatAreNone are refused before anything is sent.
func TestAttributesThatAreNone(t *testing.T) {
	t.Parallel()
	s := answer(t, 500, ``)
	p := s.provider(t)
	for _, bad := range []string{``, `23`, `null`, `{}`, `{"N":null}`, `{"N":"23"}`, `{"n":23}`, `{"N":1,` +
		`"S":"a"}`, `{"S":1}`, `{"SL":"a"}`, `{"SDM":{"a":"b"}}`} {
		_, err := p.StartMatchmaking(t.Context(),
			session.StartMatchmakingRequest{ConfigurationName: "duels", Players: []session.Player{{
				PlayerID: "ada", PlayerAttributes: map[string]json.RawMessage{"skill": json.RawMessage(bad)},
			}}})
		if !errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), `attribute "skill"`) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if len(s.calls) != 0 {
		t.Errorf("sent %+v", s.calls)
	}
}

// TestIncomplete are answers that are objects but lack what the call is for.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	p := answer(t, 200, `{"players": [], "match": {"players": [{}]}}`).provider(t)
	for name, err := range callAll(t.Context(), p) {
		switch name {
		case "SearchSessions", "StopMatchmaking", "AcceptMatch": // nothing is fine
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		default:
			wantError(t, err, session.ErrTransport, "")
		}
	}
}
