// Package openapi holds the session gateway and the operator API to their descriptions.
package openapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/mustertest"
)

func init() {
	text := func(body io.Reader, _ http.Header, _ *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (any, error) {
		b, err := io.ReadAll(body)
		return string(b), err
	}
	openapi3filter.RegisterBodyDecoder("text/event-stream", text)
	openapi3filter.RegisterBodyDecoder("application/yaml", text)
	// The description of lines is that of one of them.
	openapi3filter.RegisterBodyDecoder("application/x-ndjson", openapi3filter.JSONBodyDecoder)
}

// An api compares each request and answer with the description.
type api struct {
	*mustertest.Service
	base   string // URL
	signed bool   // its requests
	doc    *openapi3.T
	router routers.Router
	called map[string]bool // operation ids with a success
}

func describe(t *testing.T, s *mustertest.Service) *api {
	t.Helper()
	g := &api{Service: s, base: s.Gateway, called: map[string]bool{}}
	g.load("/v1/openapi.yaml")
	return g
}

// load reads the description.
func (g *api) load(path string) {
	g.Helper()
	text, err := io.ReadAll(g.send("GET", path, "").Body)
	if err != nil {
		g.Fatal(err)
	}
	if g.doc, err = openapi3.NewLoader().LoadFromData(text); err != nil {
		g.Fatal(err)
	}
	if err := g.doc.Validate(g.Context()); err != nil {
		g.Fatal(err)
	}
	g.doc.Servers = openapi3.Servers{{URL: g.base}}
	if g.router, err = gorillamux.NewRouter(g.doc); err != nil {
		g.Fatal(err)
	}
}

func (g *api) request(method, path, body string, header ...string) *http.Request {
	g.Helper()
	r, err := http.NewRequestWithContext(g.Context(), method, g.base+path, strings.NewReader(body))
	if err != nil {
		g.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if g.signed {
		g.sign(r, body)
	}
	return r
}

func (g *api) sign(r *http.Request, body string) {
	g.Helper()
	keys, err := g.AWS.Credentials.Retrieve(g.Context())
	if err != nil {
		g.Fatal(err)
	}
	sum := sha256.Sum256([]byte(body))
	err = v4.NewSigner().SignHTTP(g.Context(), keys, r, hex.EncodeToString(sum[:]), "gamelift", g.Region, time.Now())
	if err != nil {
		g.Fatal(err)
	}
}

func (g *api) send(method, path, body string, header ...string) *http.Response {
	g.Helper()
	answer, err := g.Web.Do(g.request(method, path, body, header...))
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// ask sends a request that the description allows, checks the answer and its status, and returns its body.
func (g *api) ask(status int, method, path, body string, header ...string) object {
	g.Helper()
	in := g.allowed(g.request(method, path, body, header...))
	answer := g.send(method, path, body, header...)
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		g.Fatal(err)
	}
	err = openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: answer.StatusCode, Header: answer.Header,
		Body: io.NopCloser(bytes.NewReader(text)), Options: in.Options,
	})
	if err != nil {
		g.Errorf("%s %s: answer %d %s: %v", method, path, answer.StatusCode, text, err)
	}
	if answer.StatusCode != status {
		g.Fatalf("%s %s: answer %d %s, want %d", method, path, answer.StatusCode, text, status)
	}
	if status < 300 {
		g.called[in.Route.Operation.OperationID] = true
	}
	var o object
	_ = json.Unmarshal(text, &o) // not all answers are objects
	return o
}

// allowed checks a request.
func (g *api) allowed(r *http.Request) *openapi3filter.RequestValidationInput {
	g.Helper()
	route, params, err := g.router.FindRoute(r)
	if err != nil {
		g.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	for name, value := range params {
		if params[name], err = url.PathUnescape(value); err != nil {
			g.Fatal(err)
		}
	}
	in := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true,
		},
	}
	if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil {
		g.Errorf("%s %s: request: %v", r.Method, r.URL, err)
	}
	return in
}

// An object is an answer.
type object map[string]any

// text is a member of an object within objects.
func (o object) text(names ...string) string {
	var v any = map[string]any(o)
	for _, name := range names {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	text, _ := v.(string)
	return text
}

const location = "custom-lab"

// start runs a service with so many server processes, a queue and a matchmaking configuration for two players.
func start(t *testing.T, processes int) *api {
	t.Helper()
	s := mustertest.Start(t, func(c *muster.Config) { c.Gateway.AllowTarget = "on" })
	fleet := s.Fleet(location)
	for i := range processes {
		s.Launch(s.Compute(fleet, location, "pc-"+string(rune('a'+i))), 7777+i)
	}
	fleets := mustertest.Call(s, s.Client.DescribeFleetAttributes, &gamelift.DescribeFleetAttributesInput{
		FleetIds: []string{fleet},
	})
	mustertest.Call(s, s.Client.CreateGameSessionQueue, &gamelift.CreateGameSessionQueueInput{
		Name:         new("worldwide"),
		Destinations: []types.GameSessionQueueDestination{{DestinationArn: fleets.FleetAttributes[0].FleetArn}},
	})
	rules := `{"ruleLanguageVersion":"1.0","teams":[{"name":"red","minPlayers":2,"maxPlayers":2}]}`
	mustertest.Call(s, s.Client.CreateMatchmakingRuleSet, &gamelift.CreateMatchmakingRuleSetInput{
		Name: new("duel"), RuleSetBody: &rules,
	})
	mustertest.Call(s, s.Client.CreateMatchmakingConfiguration, &gamelift.CreateMatchmakingConfigurationInput{
		Name: new("duel"), RuleSetName: new("duel"), FlexMatchMode: types.FlexMatchModeStandalone,
		AcceptanceRequired: new(true), RequestTimeoutSeconds: new(int32(900)),
	})
	return describe(t, s)
}

// Every operation of the description is answered as it says.
func TestDescription(t *testing.T) {
	g := start(t, 6)
	id := g.sessions()
	g.unwanted()
	g.placements()
	g.tickets()
	g.ask(200, "GET", "/v1/openapi.yaml", "")
	g.plugin()
	g.ask(503, "POST", "/v1/sessions", `{"name":"m","maxPlayers":9}`)

	mustertest.Call(g, g.Client.TerminateGameSession, &gamelift.TerminateGameSessionInput{
		GameSessionId: &id, TerminationMode: types.TerminationModeTriggerOnProcessTerminate,
	})
	g.ask(200, "GET", "/v1/sessions/"+escape(id)+"/events", "") // ends with the game session
	for path, item := range g.doc.Paths.Map() {
		for method, operation := range item.Operations() {
			if !g.called[operation.OperationID] {
				t.Errorf("%s %s was not called with success", method, path)
			}
		}
	}
}

// A target in a request is refused, unless the operator allows it.
func TestTargetIsRefused(t *testing.T) {
	s := mustertest.Start(t)
	body := `{"name":"n","maxPlayers":9,"target":{"fleetId":"` + s.Fleet(location) + `"}}`
	describe(t, s).ask(403, "POST", "/v1/sessions", body)
}

func (g *api) sessions() (id string) {
	const create = `{"name":"n","maxPlayers":9,"buildId":4711,"properties":{"mode":"duel"},` +
		`"player":{"id":"ada","data":"x"}}`
	made := g.ask(201, "POST", "/v1/sessions", create)
	id = made.text("session", "id")
	if made.text("player", "playerId") != "ada" || made.text("player", "endpoint", "ipAddress") == "" {
		g.Errorf("created %v", made)
	}
	g.ask(200, "POST", "/v1/sessions", create)
	g.ask(201, "POST", "/v1/sessions", `{"name":"empty","maxPlayers":1}`, "Idempotency-Key", "k")
	g.ask(409, "POST", "/v1/sessions", `{"name":"other","maxPlayers":1}`, "Idempotency-Key", "k")
	const search = "limit=1&open=false&sort=playerSessionCount%20DESC&buildId=4711&filter=playerSessionCount%3C5"
	g.ask(200, "GET", "/v1/sessions?"+search, "")
	g.ask(400, "GET", "/v1/sessions?filter=nonsense", "")
	g.ask(200, "GET", "/v1/sessions/"+escape(id), "")
	g.ask(404, "GET", "/v1/sessions/"+escape(id)+"x", "")
	g.ask(201, "POST", "/v1/sessions/"+escape(id)+"/players", `{"players":[{"id":"bob"},{"id":"cid","data":"y"}]}`)
	g.ask(404, "POST", "/v1/sessions/"+escape(id)+"x/players", `{"players":[{"id":"bob"}]}`)
	return id
}

// unwanted ends a game session whose creator does not enter it.
func (g *api) unwanted() {
	made := g.ask(201, "POST", "/v1/sessions", `{"name":"unwanted","maxPlayers":2,"player":{"id":"eve"}}`)
	path := "/v1/sessions/" + escape(made.text("session", "id")) + "?playerSession="
	g.ask(403, "DELETE", path+"psess-1", "")
	g.ask(200, "DELETE", path+made.text("player", "id"), "")
}

func (g *api) placements() {
	placed := g.ask(202, "POST", "/v1/sessions",
		`{"name":"q","maxPlayers":2,"player":{"id":"dan"},"latencies":{"custom-lab":20},`+
			`"target":{"queue":"worldwide"},"wait":false}`)
	path := "/v1/placements/" + placed.text("placement", "id")
	mustertest.Eventually(g, "the placement is fulfilled", func() bool {
		return g.ask(200, "GET", path, "").text("status") == "FULFILLED"
	})
	g.ask(404, "GET", "/v1/placements/none", "")
}

func (g *api) tickets() {
	ticket := g.ask(201, "POST", "/v1/tickets", `{"configuration":"duel","players":[{"id":"ada","team":"red",`+
		`"attributes":{"skill":23.5,"map":"lab","modes":["a","b"],"crew":{"x":1}},"latencies":{"eu-west-1":20}}]}`)
	path := "/v1/tickets/" + ticket.text("id")
	g.ask(409, "POST", path+"/acceptance", `{"accept":true,"players":["ada"]}`)
	g.ask(201, "POST", "/v1/tickets", `{"configuration":"duel","players":[{"id":"bob"}]}`)
	mustertest.Eventually(g, "the ticket waits for acceptance", func() bool {
		return g.ask(200, "GET", path, "").text("status") == "REQUIRES_ACCEPTANCE"
	})
	g.ask(200, "POST", path+"/acceptance", `{"accept":true,"players":["ada"]}`)
	g.ask(200, "DELETE", path, "")
	g.ask(200, "GET", path+"/events", "", "Last-Event-ID", "7") // the ticket has ended
	g.ask(404, "GET", "/v1/tickets/none/events", "")
}

// plugin calls the paths of older clients.
func (g *api) plugin() {
	for _, local := range []string{"", "_local"} {
		made := g.ask(200, "POST", "/create_session"+local,
			`{"session_name":"plugin`+local+`","build_id":4711,"uuid":"eve","num_connections":3}`)
		g.ask(200, "GET", "/find_session"+local+"?build_id=4711", "")
		g.ask(200, "POST", "/join_session"+local, `{"GameSessionId":"`+made.text("GameSessionId")+`","uuid":"fay"}`)
		g.ask(404, "POST", "/join_session"+local, `{"GameSessionId":"`+made.text("GameSessionId")+`x","uuid":"fay"}`)
	}
}

func escape(id string) string { return strings.NewReplacer("/", "%2F", ":", "%3A").Replace(id) }
