package lambda

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	aws "github.com/aws/aws-lambda-go/lambda"

	"github.com/muster-gg/muster/internal/mustertest/lambdatest"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

// asFunction has this program be the function of a test.
const asFunction = "TEST_AS_FUNCTION"

func TestMain(m *testing.M) {
	if os.Getenv(asFunction) != "" {
		h, err := New(Config{Handler: http.HandlerFunc(echo)})
		if err != nil {
			panic(err)
		}
		aws.Start(h.Invoke)
	}
	leaktest.Main(m)
}

// seen is what echo says of a request.
type seen struct {
	Method, Host, Address, Path, Escaped, URI, Body string
	Query                                           map[string][]string
	Header                                          map[string][]string
	Length                                          int64
}

// echo answers with the request, but for some paths.
func echo(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/panic":
		panic("oh no")
	case "/binary":
		_, _ = w.Write([]byte{0xff, 0xfe})
		return
	case "/events":
		stream(w, r)
		return
	case "/empty":
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Add("Set-Cookie", "a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT")
	w.Header().Add("Set-Cookie", "b=2")
	w.Header().Add("Vary", "Origin")
	w.Header().Add("Vary", "Accept")
	w.WriteHeader(http.StatusCreated)
	err = json.NewEncoder(w).Encode(seen{
		r.Method, r.Host, r.RemoteAddr, r.URL.Path, r.URL.EscapedPath(), r.RequestURI, string(body), r.URL.Query(),
		r.Header, r.ContentLength,
	})
	if err != nil {
		panic(err)
	}
}

// stream writes events until its client has gone.
func stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("X-Request-Id", "req-1")
	w.WriteHeader(http.StatusOK)
	if _, err := w.Write([]byte("data: 1\n\n")); !errors.Is(err, errStream) {
		panic("the stream was taken")
	}
	<-r.Context().Done()
}

func rest(change func(*events.APIGatewayProxyRequest)) events.APIGatewayProxyRequest {
	e := events.APIGatewayProxyRequest{
		Resource: "/{proxy+}", Path: "/create_session", HTTPMethod: "POST",
		PathParameters: map[string]string{"proxy": "create_session"},
		Headers: map[string]string{"Content-Type": "application/json",
			"Host": "abc.execute-api.eu-central-1.amazonaws.com", "Accept": "b"},
		MultiValueHeaders: map[string][]string{"content-type": {"application/json"},
			"host": {"abc.execute-api.eu-central-1.amazonaws.com"}, "accept": {"a", "b"}},
		RequestContext: events.APIGatewayProxyRequestContext{
			Stage: "Prod", Path: "/Prod/create_session", RequestID: "request-7",
			Identity: events.APIGatewayRequestIdentity{SourceIP: "203.0.113.9"},
		},
		Body: `{"uuid":"ada"}`,
	}
	if change != nil {
		change(&e)
	}
	return e
}

func httpAPI(change func(*events.APIGatewayV2HTTPRequest)) events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: "$default", RawPath: "/create_session", Cookies: []string{"a=1", "b=2"},
		Headers: map[string]string{"content-type": "application/json",
			"host": "abc.execute-api.eu-central-1.amazonaws.com", "accept": "a,b"},
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			Stage: "$default", RequestID: "request-7",
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: "POST", SourceIP: "2001:db8::7"},
		},
		Body: `{"uuid":"ada"}`,
	}
	if change != nil {
		change(&e)
	}
	return e
}

// ask invokes a handler and reads what echo has seen.
func ask(t *testing.T, cfg Config, payload any) (s seen) {
	t.Helper()
	body := invoke(t, cfg, payload)
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return s
}

func invoke(t *testing.T, cfg Config, payload any) (body string) {
	t.Helper()
	cfg.Handler = http.HandlerFunc(echo)
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.Invoke(t.Context(), raw)
	if err != nil {
		t.Fatal(err)
	}
	switch a := out.(type) {
	case events.APIGatewayProxyResponse:
		return a.Body
	case events.APIGatewayV2HTTPResponse:
		return a.Body
	default:
		t.Fatalf("an answer of type %T", out)
		return ""
	}
}

func TestEventsBecomeRequests(t *testing.T) {
	for name, payload := range map[string]any{"REST API": rest(nil), "HTTP API": httpAPI(nil)} {
		s := ask(t, Config{}, payload)
		address, accept := "203.0.113.9:0", []string{"a", "b"}
		if name == "HTTP API" {
			address, accept = "[2001:db8::7]:0", []string{"a,b"}
			if got := s.Header["Cookie"]; !slices.Equal(got, []string{"a=1; b=2"}) {
				t.Errorf("%s: cookies %q", name, got)
			}
		}
		if s.Method != "POST" || s.Path != "/create_session" || s.URI != "/create_session" ||
			s.Host != "abc.execute-api.eu-central-1.amazonaws.com" || s.Address != address {
			t.Errorf("%s: %+v", name, s)
		}
		if s.Body != `{"uuid":"ada"}` || s.Length != 14 || !slices.Equal(s.Header["Accept"], accept) ||
			!slices.Equal(s.Header["X-Request-Id"], []string{"request-7"}) || s.Header["Host"] != nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestPaths(t *testing.T) {
	restAt := func(resource, path, inContext, stage string, parameters map[string]string) any {
		return rest(func(e *events.APIGatewayProxyRequest) {
			e.Resource, e.Path, e.PathParameters = resource, path, parameters
			e.RequestContext.Path, e.RequestContext.Stage = inContext, stage
		})
	}
	httpAt := func(route, path, stage string, parameters map[string]string) any {
		return httpAPI(func(e *events.APIGatewayV2HTTPRequest) {
			e.RouteKey, e.RawPath, e.RequestContext.Stage, e.PathParameters = route, path, stage, parameters
		})
	}
	proxy := func(s string) map[string]string { return map[string]string{"proxy": s} }
	for _, tt := range []struct {
		name, basePath string
		event          any
		want, escaped  string
	}{
		{"REST, as deployed", "", restAt("/{proxy+}", "/create_session", "/Prod/create_session", "Prod",
			proxy("create_session")), "/create_session", ""},
		{"REST, a resource of its own", "", restAt("/create_session", "/create_session", "/Prod/create_session", "Prod",
			nil), "/create_session", ""},
		{"REST, the stage in the path", "", restAt("/create_session", "/Prod/create_session", "/Prod/create_session",
			"Prod", nil), "/create_session", ""},
		{"REST, the stage in the path, nothing else known", "",
			restAt("", "/Prod/create_session", "/Prod/create_session", "Prod", nil), "/create_session", ""},
		{"REST, a stage like a path", "", restAt("/{proxy+}", "/v1/sessions", "/v1/v1/sessions", "v1",
			proxy("v1/sessions")), "/v1/sessions", ""},
		{"REST, a domain of its own", "", restAt("/{proxy+}", "/game/find_session", "/game/find_session", "Prod",
			proxy("find_session")), "/find_session", ""},
		{"REST, a base path that is named", "/game/",
			restAt("", "/game/find_session", "/game/find_session", "Prod", nil), "/find_session", ""},
		{"REST, the root", "", restAt("/", "/", "/Prod/", "Prod", nil), "/", ""},
		{"REST, encoded", "", restAt("/{proxy+}", "/v1/sessions/arn%3Aaws%2Fx", "/Prod/v1/sessions/arn%3Aaws%2Fx",
			"Prod", proxy("v1/sessions/arn:aws/x")), "/v1/sessions/arn:aws/x", "/v1/sessions/arn%3Aaws%2Fx"},
		{"HTTP, the default stage", "", httpAt("$default", "/find_session", "$default", nil), "/find_session", ""},
		{"HTTP, a stage", "", httpAt("$default", "/Prod/find_session", "Prod", nil), "/find_session", ""},
		{"HTTP, a stage alone", "", httpAt("$default", "/Prod", "Prod", nil), "/", ""},
		{"HTTP, no stage though it looks so", "", httpAt("$default", "/Production/find_session", "Prod", nil),
			"/Production/find_session", ""},
		{"HTTP, a route", "", httpAt("GET /v1/sessions/{id}", "/Prod/v1/sessions/gsess-1", "Prod",
			map[string]string{"id": "gsess-1"}), "/v1/sessions/gsess-1", ""},
		{"HTTP, a route behind a domain", "", httpAt("ANY /{proxy+}", "/game/find_session", "Prod",
			proxy("find_session")), "/find_session", ""},
		{"HTTP, a base path that is named", "game/eu", httpAt("$default", "/game/eu/find_session", "$default", nil),
			"/find_session", ""},
		{"HTTP, no path", "", httpAt("$default", "", "$default", nil), "/", ""},
		{"HTTP, what cannot be decoded", "", httpAt("$default", "/100%", "$default", nil), "/100%", "/100%25"},
	} {
		s := ask(t, Config{BasePath: tt.basePath}, tt.event)
		if s.Path != tt.want || tt.escaped != "" && s.Escaped != tt.escaped {
			t.Errorf("%s: got %s (%s), want %s", tt.name, s.Path, s.Escaped, tt.want)
		}
	}
}

func TestQueries(t *testing.T) {
	want := map[string][]string{"build_id": {"7"}, "tag": {"a b", "c&d"}}
	for name, payload := range map[string]any{
		"REST API": rest(func(e *events.APIGatewayProxyRequest) {
			e.QueryStringParameters = map[string]string{"build_id": "7", "tag": "c&d"}
			e.MultiValueQueryStringParameters = map[string][]string{"build_id": {"7"}, "tag": {"a b", "c&d"}}
		}),
		"HTTP API": httpAPI(func(e *events.APIGatewayV2HTTPRequest) {
			e.RawQueryString = "build_id=7&tag=a%20b&tag=c%26d"
		}),
	} {
		if s := ask(t, Config{}, payload); !maps.EqualFunc(s.Query, want, slices.Equal) {
			t.Errorf("%s: %v", name, s.Query)
		}
	}
	s := ask(t, Config{}, rest(func(e *events.APIGatewayProxyRequest) {
		e.QueryStringParameters = map[string]string{"a": "1"}
	}))
	if !maps.EqualFunc(s.Query, map[string][]string{"a": {"1"}}, slices.Equal) {
		t.Errorf("single values: %v", s.Query)
	}
}

func TestBodiesInBase64(t *testing.T) {
	raw := "\xff\x00{}"
	encoded := base64.StdEncoding.EncodeToString([]byte(raw))
	s := ask(t, Config{}, rest(func(e *events.APIGatewayProxyRequest) { e.Body, e.IsBase64Encoded = encoded, true }))
	if s.Length != int64(len(raw)) {
		t.Errorf("%d bytes", s.Length)
	}
	h, err := New(Config{Handler: http.HandlerFunc(echo)})
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range []string{
		`{"version":"2.0","rawPath":"/","requestContext":{"http":{"method":"POST"}},"body":"!","isBase64Encoded":true}`,
		`{"httpMethod":"NOT A METHOD","path":"/"}`, `{"version":"2.0","headers":[]}`, `{"Records":[]}`, `[]`, ``,
	} {
		if out, err := h.Invoke(t.Context(), json.RawMessage(payload)); err == nil {
			t.Errorf("%s was answered with %v", payload, out)
		}
	}
}

func TestAnswers(t *testing.T) {
	h, err := New(Config{Handler: http.HandlerFunc(echo)})
	if err != nil {
		t.Fatal(err)
	}
	answer := func(payload any) any {
		t.Helper()
		raw, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		out, err := h.Invoke(t.Context(), raw)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	v1 := answer(rest(nil)).(events.APIGatewayProxyResponse)
	if v1.StatusCode != 201 || v1.IsBase64Encoded || len(v1.MultiValueHeaders["Set-Cookie"]) != 2 ||
		v1.MultiValueHeaders["Content-Type"][0] != "application/json" {
		t.Errorf("%+v", v1)
	}
	v2 := answer(httpAPI(nil)).(events.APIGatewayV2HTTPResponse)
	if v2.StatusCode != 201 || len(v2.Cookies) != 2 || v2.Headers["Vary"] != "Origin, Accept" ||
		v2.Headers["Set-Cookie"] != "" {
		t.Errorf("%+v", v2)
	}
	at := func(path string) any { return httpAPI(func(e *events.APIGatewayV2HTTPRequest) { e.RawPath = path }) }
	binary := answer(at("/binary")).(events.APIGatewayV2HTTPResponse)
	if body, err := base64.StdEncoding.DecodeString(binary.Body); err != nil || !binary.IsBase64Encoded ||
		string(body) != "\xff\xfe" {
		t.Errorf("%+v", binary)
	}
	if empty := answer(at("/empty")).(events.APIGatewayV2HTTPResponse); empty.StatusCode != 200 || empty.Body != "" {
		t.Errorf("%+v", empty)
	}
	raw, err := json.Marshal(at("/panic"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := h.Invoke(t.Context(), raw); err == nil || !strings.Contains(err.Error(), "oh no") {
		t.Errorf("a panic became %v, %v", out, err)
	}
}

func TestStreamsAreRefused(t *testing.T) {
	event := httpAPI(func(e *events.APIGatewayV2HTTPRequest) { e.RawPath = "/events" })
	var body map[string]string
	if err := json.Unmarshal([]byte(invoke(t, Config{}, event)), &body); err != nil ||
		body["code"] != "not_supported" || body["requestId"] != "req-1" || body["error"] == "" {
		t.Errorf("%v, %v", body, err)
	}
	own := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "no streams") }
	if got := invoke(t, Config{NoStream: own}, event); got != "no streams" {
		t.Errorf("got %q", got)
	}
}

// The handler's context ends before the function is killed.
func TestDeadline(t *testing.T) {
	deadline := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	defer cancel()
	var got time.Time
	h, err := New(Config{Margin: time.Second,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, _ = r.Context().Deadline() })})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(httpAPI(nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Invoke(ctx, raw); err != nil || !got.Equal(deadline.Add(-time.Second)) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for want, cfg := range map[string]Config{"Handler": {}, "Margin": {Handler: http.HandlerFunc(echo), Margin: -1}} {
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something about %s", err, want)
		}
	}
}

// TestAsFunction runs this program as a function, with the loop of aws-lambda-go.
func TestAsFunction(t *testing.T) {
	runtime := lambdatest.Start(t)
	runtime.Start(t, []string{asFunction + "=1"}, os.Args[0])
	for i := range 3 {
		result := runtime.Invoke(t, httpAPI(func(e *events.APIGatewayV2HTTPRequest) { e.RawPath = fmt.Sprint("/", i) }))
		var answer events.APIGatewayV2HTTPResponse
		var s seen
		if err := json.Unmarshal(result.Payload, &answer); err != nil || result.Failed || answer.StatusCode != 201 {
			t.Fatalf("%s, %v", result.Payload, err)
		}
		if err := json.Unmarshal([]byte(answer.Body), &s); err != nil || s.Path != fmt.Sprint("/", i) ||
			s.Body != `{"uuid":"ada"}` {
			t.Errorf("%+v, %v", s, err)
		}
	}
	result := runtime.Invoke(t, rest(func(e *events.APIGatewayProxyRequest) { e.Resource, e.Path = "", "/panic" }))
	if !result.Failed || !strings.Contains(string(result.Payload), "oh no") {
		t.Errorf("a panic became %s", result.Payload)
	}
	if result := runtime.Invoke(t, rest(nil)); result.Failed ||
		!strings.Contains(string(result.Payload), `"statusCode":201`) {
		t.Errorf("after a panic: %s", result.Payload)
	}
	if result := runtime.Invoke(t, map[string]int{"Records": 1}); !result.Failed {
		t.Errorf("a strange event was answered with %s", result.Payload)
	}
}

// FuzzInvoke: whatever the event, there is an answer with a status or an error.
func FuzzInvoke(f *testing.F) {
	for _, e := range []any{rest(nil), httpAPI(nil)} {
		raw, err := json.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	for _, seed := range []string{
		`{"version":"2.0"}`, `{"httpMethod":"GET"}`, `{"httpMethod":"GET","resource":"/{a","path":"%zz"}`,
		`{"version":"2.0","routeKey":"GET /{a}{b+}","pathParameters":{"a":"%","b":"?"},"rawPath":"/%?",` +
			`"requestContext":{"http":{"method":"GET","sourceIp":"::"}}}`,
	} {
		f.Add([]byte(seed))
	}
	h, err := New(Config{BasePath: "/game", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL == nil || !strings.HasPrefix(r.URL.Path, "/") || r.Body == nil {
			panic("no request")
		}
		if _, err := io.Copy(w, r.Body); err != nil {
			panic(err)
		}
	})})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		out, err := h.Invoke(t.Context(), payload)
		if err != nil && strings.Contains(err.Error(), "panicked") {
			t.Fatal(err)
		}
		switch a := out.(type) {
		case nil:
			if err == nil {
				t.Fatal("neither an answer nor an error")
			}
		case events.APIGatewayProxyResponse:
			if a.StatusCode != http.StatusOK {
				t.Fatalf("%+v", a)
			}
		case events.APIGatewayV2HTTPResponse:
			if a.StatusCode != http.StatusOK {
				t.Fatalf("%+v", a)
			}
		}
	})
}
