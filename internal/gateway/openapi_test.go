package gateway

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/muster-gg/muster/internal/wire"
)

// A described gateway compares each request and answer with the description.
type described struct {
	*testGateway
	router routers.Router
	called map[string]bool // operation ids with a success
}

func describe(t *testing.T, d *testGateway) *described {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(openapi)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	doc.Servers = openapi3.Servers{{URL: d.server.URL}}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return &described{d, router, map[string]bool{}}
}

func init() {
	text := func(body io.Reader, _ http.Header, _ *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (any, error) {
		b, err := io.ReadAll(body)
		return string(b), err
	}
	openapi3filter.RegisterBodyDecoder("text/event-stream", text)
	openapi3filter.RegisterBodyDecoder("application/yaml", text)
}

// ask sends a request that the description allows, and checks the answer.
func (d *described) ask(method, path, body string, header ...string) reply {
	d.t.Helper()
	req, _ := http.NewRequestWithContext(d.t.Context(), method, d.server.URL+path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	route, params, err := d.router.FindRoute(req)
	if err != nil {
		d.t.Fatalf("%s %s: %v", method, path, err)
	}
	for name, value := range params {
		if params[name], err = url.PathUnescape(value); err != nil {
			d.t.Fatal(err)
		}
	}
	in := &openapi3filter.RequestValidationInput{
		Request: req, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true},
	}
	if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil {
		d.t.Errorf("%s %s: request: %v", method, path, err)
	}
	r := d.raw(method, path, body, append(header, "Content-Type", "application/json")...)
	err = openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: r.status, Header: r.header, Body: io.NopCloser(bytes.NewReader([]byte(r.text))), Options: in.Options,
	})
	if err != nil {
		d.t.Errorf("%s %s: answer %d %s: %v", method, path, r.status, r.text, err)
	}
	if r.status < 300 {
		d.called[route.Operation.OperationID] = true
	}
	_ = jsonInto(r.text, &r.body)
	return r
}

// Every operation of the description is answered as it says, and there is no
// other.
func TestDescription(t *testing.T) {
	w := newWorld()
	w.idle[testFleet]["custom-lab"] = 99
	all := func(c *Config) { c.Queues, c.Matchmaking, c.AllowTarget = w, w, true }
	d := describe(t, openGateway(t, w, all))

	made := d.ask("POST", "/v1/sessions", `{"name":"n","maxPlayers":9,"buildId":4711,"properties":{"mode":"duel"},"player":{"id":"ada","data":"x"}}`).wantStatus(t, 201)
	id := made.field("session", "id")
	if made.header.Get("Location") != "/v1/sessions/"+url.PathEscape(id) || made.field("player", "playerId") != "ada" || made.field("player", "endpoint", "ipAddress") == "" {
		t.Errorf("created %s", made.text)
	}
	d.ask("POST", "/v1/sessions", `{"name":"n","maxPlayers":9,"buildId":4711,"properties":{"mode":"duel"},"player":{"id":"ada","data":"x"}}`).wantStatus(t, 200)
	d.ask("POST", "/v1/sessions", `{"name":"empty","maxPlayers":1}`, "Idempotency-Key", "k").wantStatus(t, 201)
	d.ask("POST", "/v1/sessions", `{"name":"other","maxPlayers":1}`, "Idempotency-Key", "k").wantStatus(t, 409)
	d.ask("GET", "/v1/sessions?limit=1&open=false&sort=playerSessionCount%20DESC&buildId=4711&filter=playerSessionCount%3C5", "").wantStatus(t, 200)
	d.ask("GET", "/v1/sessions?filter=nonsense", "").wantStatus(t, 400)
	d.ask("GET", "/v1/sessions/"+escape(id), "").wantStatus(t, 200)
	d.ask("GET", "/v1/sessions/none", "").wantStatus(t, 404)
	d.ask("POST", "/v1/sessions/"+escape(id)+"/players", `{"players":[{"id":"bob"},{"id":"cid","data":"y"}]}`).wantStatus(t, 201)
	d.ask("POST", "/v1/sessions/none/players", `{"players":[{"id":"bob"}]}`).wantStatus(t, 404)

	placed := d.ask("POST", "/v1/sessions", `{"name":"q","maxPlayers":2,"player":{"id":"dan"},"latencies":{"eu-west-1":20},"target":{"queue":"worldwide"},"wait":false}`).wantStatus(t, 202)
	d.ask("GET", "/v1/placements/"+placed.field("placement", "id"), "").wantStatus(t, 200)
	d.ask("GET", "/v1/placements/none", "").wantStatus(t, 404)

	ticket := d.ask("POST", "/v1/tickets", `{"configuration":"duel","players":[{"id":"ada","team":"red","attributes":{"skill":23.5,"map":"lab","modes":["a","b"],"crew":{"x":1}},"latencies":{"eu-west-1":20}}]}`).wantStatus(t, 201)
	path := "/v1/tickets/" + ticket.field("id")
	d.ask("GET", path, "").wantStatus(t, 200)
	d.ask("POST", path+"/acceptance", `{"accept":true,"players":["ada"]}`).wantStatus(t, 409)
	w.do(func() { w.tickets[ticket.field("id")].Status = wire.MatchmakingConfigurationStatusRequiresAcceptance })
	d.ask("POST", path+"/acceptance", `{"accept":true,"players":["ada"]}`).wantStatus(t, 200)
	d.ask("DELETE", path, "").wantStatus(t, 200)
	d.ask("GET", path+"/events", "", "Last-Event-ID", "7").wantStatus(t, 200) // it has ended
	d.ask("GET", "/v1/tickets/none/events", "").wantStatus(t, 404)

	w.do(func() {
		w.session(id).Status, w.session(id).TerminationTime = wire.GameSessionStatusTerminated, w.clock.Now()
	})
	d.ask("GET", "/v1/sessions/"+escape(id)+"/events", "").wantStatus(t, 200)
	d.ask("GET", "/v1/openapi.yaml", "").wantStatus(t, 200)

	for _, local := range []string{"", "_local"} {
		p := d.ask("POST", "/create_session"+local, createBody("plugin"+local, "eve", 3)).wantStatus(t, 200)
		d.ask("GET", "/find_session"+local+"?build_id=4711", "").wantStatus(t, 200)
		d.ask("POST", "/join_session"+local, joinBody(p.field("GameSessionId"), "fay")).wantStatus(t, 200)
		d.ask("POST", "/join_session"+local, joinBody("none", "fay")).wantStatus(t, 404)
	}

	none := describe(t, openGateway(t, w))
	none.ask("GET", "/v1/tickets/x", "").wantStatus(t, 501)
	none.ask("GET", "/v1/placements/x", "").wantStatus(t, 501)
	none.ask("POST", "/v1/sessions", `{"name":"n","maxPlayers":9,"target":{"fleetId":"`+testFleet+`"}}`).wantStatus(t, 403)
	w.do(func() { w.idle[testFleet]["custom-lab"] = 0 })
	none.ask("POST", "/v1/sessions", `{"name":"m","maxPlayers":9}`).wantStatus(t, 503)
	checkRoutes(t, d)
}

func checkRoutes(t *testing.T, d *described) {
	t.Helper()
	doc, _ := openapi3.NewLoader().LoadFromData(openapi)
	described := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			described[method+" "+path] = true
			if !d.called[op.OperationID] {
				t.Errorf("%s was not called with success", op.OperationID)
			}
		}
	}
	for i := range routes {
		if !described[routes[i].name()] {
			t.Errorf("%s is not described", routes[i].name())
		}
		delete(described, routes[i].name())
	}
	if len(described) != 0 {
		t.Errorf("described, but there is no such route: %v", slices.Collect(maps.Keys(described)))
	}
}
