package openapi

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/internal/agent/machine"
	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/mustertest"
)

// operate returns the operator API of a service, and its description.
func operate(s *mustertest.Service) *api {
	s.Helper()
	o := &api{Service: s, base: s.HTTP, signed: true, called: map[string]bool{}}
	o.load("/v1/openapi.json")
	return o
}

// All requests without a name answer as described in a new region, where lists are empty.
func TestOperatorOfANewRegion(t *testing.T) {
	o := operate(mustertest.Start(t))
	for path, item := range o.doc.Paths.Map() {
		switch path {
		case "/v1/backup", "/v1/legacy", "/v1/audit", "/v1/events": // no JSON, absent, or without a line
		// Of a cluster; of a person; of a topic; of a metric.
		case "/v1/nodes", "/v1/me/sign-ins", "/v1/watch", "/v1/metrics/query":
			o.ask(400, "GET", path, "")
		case "/v1/search":
			o.ask(200, "GET", path+"?q=nothing", "")
		default:
			if item.Get != nil && !strings.Contains(path, "{") {
				o.ask(200, "GET", path, "")
			}
		}
	}
	if len(o.called) < 14 {
		t.Errorf("called with success: %v", o.called)
	}
}

// Answers of a region with games, players and people are as described, and so are errors.
func TestOperatorOfARegionAtWork(t *testing.T) {
	g := start(t, 3)
	o := operate(g.Service)
	o.games(g.sessions())
	o.matchmaking(g)
	o.access()
	o.machines()
	o.ask(404, "GET", "/v1/placements/none", "")
	o.ask(400, "GET", "/v1/events?limit=1&last=2&after=1.0&unknown=1", "")
	o.ask(200, "GET", "/v1/audit?errors=false&limit=1&since=2026-01-31T12:00:00Z", "")
	o.ask(200, "GET", "/v1/overview", "")
	o.views()
}

func (o *api) games(id string) {
	fleets := mustertest.Call(o, o.Client.ListFleets, &gamelift.ListFleetsInput{})
	o.ask(200, "GET", "/v1/game-sessions?limit=7&status=ACTIVE&fleet="+fleets.FleetIds[0], "")
	o.ask(200, "GET", "/v1/game-sessions/"+escape(id)+"/timeline", "")
	o.ask(200, "GET", "/v1/fleets/"+fleets.FleetIds[0]+"/computes?limit=1", "")
	o.ask(200, "GET", "/v1/builds?status=READY&limit=1", "")
	o.ask(404, "GET", "/v1/builds/build-none", "")
	o.metrics(fleets.FleetIds[0])
	o.ask(200, "GET", "/v1/search?q=ada", "")
	player := o.ask(200, "GET", "/v1/players/ada?limit=1", "")
	rows, _ := player["playerSessions"].([]any)
	if len(rows) != 1 {
		o.Fatalf("player ada is %v", player)
	}
	row, _ := rows[0].(map[string]any)
	o.ask(200, "DELETE", "/v1/players/ada/sessions/"+object(row).text("playerSessionId"), "")
	mustertest.Call(o, o.Client.TerminateGameSession, &gamelift.TerminateGameSessionInput{
		GameSessionId: &id, TerminationMode: types.TerminationModeTriggerOnProcessTerminate,
	})
	mustertest.Eventually(o, "the game session is listed as ended", func() bool {
		ended, _ := o.ask(200, "GET", "/v1/gamesessions/ended?limit=3", "")["gameSessions"].([]any)
		return len(ended) == 1
	})
}

// metrics asks for the values of several metrics, and of one that another dimension selects.
func (o *api) metrics(fleet string) {
	const query = "/v1/metrics/query?metric=ActiveGameSessions&metric=CurrentPlayerSessions&statistic=Maximum&fleet="
	answer := o.ask(200, "GET", query+fleet, "")
	if series, _ := answer["series"].([]any); len(series) != 2 {
		o.Errorf("the metrics are %v", answer)
	}
	o.ask(200, "GET", "/v1/metrics/query?metric=QueueDepth&queue=worldwide&period=60&from=2026-01-31T12:00:00Z"+
		"&to=2026-01-31T13:00:00Z", "")
	o.ask(400, "GET", "/v1/metrics/query?metric=ActiveGameSessions&queue=worldwide", "")
}

// views saves a view, lists and deletes it.
func (o *api) views() {
	o.ask(200, "PUT", "/v1/views", `{"title":"Arenas","path":"/console/fleets?text=arena"}`)
	if views, _ := o.ask(200, "GET", "/v1/views", "")["views"].([]any); len(views) != 1 {
		o.Errorf("the views are %v", views)
	}
	o.ask(200, "DELETE", "/v1/views?title=Arenas", "")
	o.ask(400, "PUT", "/v1/views", `{"title":"Elsewhere","path":"https://example.com"}`)
	o.ask(404, "DELETE", "/v1/views?title=Arenas", "")
}

func (o *api) matchmaking(g *api) {
	placement := g.ask(202, "POST", "/v1/sessions",
		`{"name":"q","maxPlayers":2,"player":{"id":"dan"},"target":{"queue":"worldwide"},"wait":false}`)
	o.ask(200, "GET", "/v1/placements/"+placement.text("placement", "id"), "")
	o.ask(200, "GET", "/v1/queues/worldwide/placements", "")
	o.ask(200, "GET", "/v1/latency?queue=worldwide", "")
	ticket := g.ask(201, "POST", "/v1/tickets", `{"configuration":"duel","players":[{"id":"ada","team":"red"}]}`)
	o.ask(200, "GET", "/v1/tickets/"+ticket.text("id")+"/explain", "")
	o.ask(200, "GET", "/v1/configurations/duel/tickets?status=SEARCHING", "")
	const rules = `{\"name\":\"duel\",\"ruleLanguageVersion\":\"1.0\",` +
		`\"teams\":[{\"name\":\"red\",\"minPlayers\":2,\"maxPlayers\":2}]}`
	o.ask(200, "POST", "/v1/rulesets/check", `{"ruleSetBody":"{"}`)
	o.ask(200, "POST", "/v1/rulesets/simulate", `{"ruleSetBody":"`+rules+`","population":{"tickets":20}}`)
	o.ask(200, "GET", "/v1/events?limit=1", "")
}

func (o *api) access() {
	o.ask(200, "POST", "/v1/users", `{"name":"anna","displayName":"Anna","policies":null}`)
	o.ask(200, "PATCH", "/v1/users/anna", `{"disabled":false,"email":"anna@example.com"}`)
	o.ask(200, "GET", "/v1/users?limit=1", "")
	o.ask(409, "POST", "/v1/users", `{"name":"anna"}`)
	o.ask(200, "POST", "/v1/groups", `{"name":"team"}`)
	o.ask(200, "PUT", "/v1/assignments/read-only/anna", "")
	o.ask(200, "GET", "/v1/roles/read-only", "")
	o.ask(200, "POST", "/v1/policies/check", `{"who":"anna","action":"gamelift:ListFleets"}`)
	key := o.ask(200, "POST", "/v1/keys", `{"service":"robot","name":"ci","expires":"2100-01-01T00:00:00Z"}`)
	o.ask(200, "PATCH", "/v1/keys/"+key.text("id"), `{"status":"Inactive"}`)
	o.ask(200, "PUT", "/v1/providers/corp", `{"issuer":"https://id.example.com","clientId":"muster",`+
		`"groups":[{"claim":"dev","group":"team"}]}`)
	o.ask(200, "PATCH", "/v1/settings/sign-in", `{"localPasswords":true}`)
	o.ask(200, "DELETE", "/v1/keys/"+key.text("id"), "")
}

// machines joins a machine, drains and deletes it.
func (o *api) machines() {
	made := o.ask(200, "POST", "/v1/machine-tokens", `{"location":"us-west-2","ttlSeconds":60}`)
	unused := o.ask(200, "POST", "/v1/machine-tokens", `{"location":"us-west-2","ttlSeconds":60}`)
	o.ask(200, "GET", "/v1/machine-tokens", "")
	o.ask(200, "GET", "/v1/instances", "")
	o.ask(200, "DELETE", "/v1/machine-tokens/"+unused.text("id"), "")
	m, err := machine.Open(machine.Config{
		Service: o.HTTP, Name: "box-1", Data: o.TempDir(), Load: machine.MeasureLoad,
		Log:   slog.New(slog.DiscardHandler),
		Token: func() (string, error) { return made.text("token"), nil },
		Offer: protocol.Offer{MilliCPUs: 1500, MemoryMiB: 2048, PortFirst: 1, PortLast: 2, Version: "v1"},
	})
	if err != nil {
		o.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- m.Run(o.Context()) }()
	mustertest.Eventually(o, "the machine reports", func() bool {
		list, _ := o.ask(200, "GET", "/v1/machines?limit=5&status=ONLINE", "")["machines"].([]any)
		return len(list) == 1 && list[0].(map[string]any)["observedGeneration"] == 1.0
	})
	o.ask(200, "GET", "/v1/machines/box-1", "")
	o.ask(409, "DELETE", "/v1/machines/box-1", "")
	o.ask(200, "POST", "/v1/machines/box-1/drain", "")
	o.ask(200, "POST", "/v1/machines/box-1/undrain", "")
	o.ask(200, "POST", "/v1/machines/box-1/drain", "")
	o.ask(200, "DELETE", "/v1/machines/box-1", "")
	if err := <-ended; err == nil {
		o.Error("the agent of a deleted machine runs on")
	}
}
