package api_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/fxamacker/cbor/v2"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/api"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// newRequest makes a request of either protocol, as clients send it, unsigned.
func newRequest(protocol wire.Protocol, url, operation string, body []byte) *http.Request {
	if protocol == wire.CBOR {
		url += "/service/GameLift/operation/" + operation
	}
	r := httptest.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if protocol == wire.CBOR {
		r.Header.Set("Content-Type", "application/cbor")
		r.Header.Set("Smithy-Protocol", "rpc-v2-cbor")
	} else {
		r.Header.Set("Content-Type", "application/x-amz-json-1.1")
		r.Header.Set("X-Amz-Target", "GameLift."+operation)
	}
	return r
}

func sign(t testing.TB, r *http.Request, body []byte) {
	t.Helper()
	sum := sha256.Sum256(body)
	cred := aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: secretKey}
	err := v4.NewSigner().SignHTTP(t.Context(), cred, r, hex.EncodeToString(sum[:]), "gamelift", "us-west-2", now)
	if err != nil {
		t.Fatal(err)
	}
}

// newDoor makes a door whose clock stands at now.
func newEndpoint(t testing.TB, c api.Config) *api.Endpoint {
	t.Helper()
	c.Keys = keys
	if c.Clock == nil {
		c.Clock = clockwork.NewFakeClockAt(now)
	}
	if c.Handlers == nil {
		c.Handlers = handlers()
	}
	endpoint, err := api.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return endpoint
}

func do(endpoint http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	endpoint.ServeHTTP(w, r)
	return w
}

// doPlain answers a request as the server of plain requests has it answered.
func doPlain(endpoint *api.Endpoint, r *http.Request, body string) *httptest.ResponseRecorder {
	plain, a := listen.RequestOf(r), listen.TakeAnswer()
	defer a.Release()
	plain.Body = []byte(body)
	endpoint.Answer(r.Context(), &plain, a)
	w := httptest.NewRecorder()
	for _, f := range a.Header {
		w.Header().Add(f.Name, f.Value)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.Body())))
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body())
	return w
}

// checkSame checks that both ways through a door give the same answer.
func checkSame(t *testing.T, one, other *httptest.ResponseRecorder) {
	t.Helper()
	a, b := one.Header().Clone(), other.Header().Clone()
	if a.Get("X-Amzn-Requestid") == b.Get("X-Amzn-Requestid") {
		t.Error("two requests with one id")
	}
	a.Del("X-Amzn-Requestid")
	b.Del("X-Amzn-Requestid")
	if !reflect.DeepEqual(a, b) || one.Code != other.Code || one.Body.String() != other.Body.String() {
		t.Errorf("through net/http %d %v %q, else %d %v %q", one.Code, a, one.Body, other.Code, b, other.Body)
	}
}

// exception reads an error's name and message in the protocol of the answer.
func exception(t *testing.T, w *httptest.ResponseRecorder) (name, message string) {
	t.Helper()
	var m map[string]string
	var err error
	if w.Header().Get("Content-Type") == "application/cbor" {
		err = cbor.Unmarshal(w.Body.Bytes(), &m)
	} else {
		err = json.Unmarshal(w.Body.Bytes(), &m)
	}
	if err != nil || m["Message"] != m["message"] {
		t.Errorf("body %q: %v", w.Body, err)
	}
	return m["__type"], m["message"]
}

// checkHeaders holds what is true of every answer.
func checkHeaders(t *testing.T, p wire.Protocol, w *httptest.ResponseRecorder) {
	t.Helper()
	h := w.Header()
	if len(h.Get("x-amzn-RequestId")) != 36 || h.Get("Date") != "Wed, 04 Mar 2026 05:06:07 GMT" {
		t.Errorf("headers %v", h)
	}
	if cborAnswer := h.Get("Smithy-Protocol") == "rpc-v2-cbor"; cborAnswer != (p == wire.CBOR) {
		t.Errorf("headers %v of a %s answer", h, p)
	}
}

func TestJSON(t *testing.T) {
	endpoint := newEndpoint(t, api.Config{})
	for name, tt := range map[string]struct{ url, operation, body, contentType, want string }{
		"small":      {"http://h:9080/", "ListFleets", `{"Limit": 3}`, "", `{"FleetIds":["fleet-1","fleet-limit-3"]}`},
		"empty body": {"http://h:9080/", "ListFleets", ``, "-", `{"FleetIds":["fleet-1","fleet-limit-0"]}`},
		"prefix":     {"http://h:9080/pfx", "ListFleets", `{}`, "", `{"FleetIds":["fleet-1","fleet-limit-0"]}`},
		"any path": {"http://h/service/Other/operation/X", "ListFleets", `{}`, "",
			`{"FleetIds":["fleet-1","fleet-limit-0"]}`},
		"charset": {"http://h/", "ListFleets", `{}`, "application/x-amz-json-1.1; charset=utf-8",
			`{"FleetIds":["fleet-1","fleet-limit-0"]}`},
		"null": {"http://h/", "ListFleets", `{"Limit":null,"New":[{}]}`, "",
			`{"FleetIds":["fleet-1","fleet-limit-0"]}`},
		"no output":   {"http://h/", "DeleteFleet", `{"FleetId":"fleet-1"}`, "", ``},
		"extra query": {"http://h/?b=1&a=2", "DeleteFleet", `{"FleetId":"fleet-1"}`, "", ``},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRequest(wire.JSON, tt.url, tt.operation, []byte(tt.body))
			switch tt.contentType {
			case "":
			case "-":
				r.Header.Del("Content-Type")
			default:
				r.Header.Set("Content-Type", tt.contentType)
			}
			sign(t, r, []byte(tt.body))
			w := do(endpoint, r)
			checkSame(t, w, doPlain(endpoint, r, tt.body))
			if w.Code != http.StatusOK || w.Body.String() != tt.want ||
				w.Header().Get("Content-Type") != "application/x-amz-json-1.1" {
				t.Errorf("got %d %v %s, want %s", w.Code, w.Header(), w.Body, tt.want)
			}
			checkHeaders(t, wire.JSON, w)
		})
	}
}

func TestCBOR(t *testing.T) {
	endpoint := newEndpoint(t, api.Config{})
	for name, tt := range map[string]struct{ url, body string }{
		"usual": {"http://h:9080/service/GameLift/operation/DeleteFleet", "\xa1\x67FleetId\x67fleet-1"},
		"indefinite": {"http://h:9080/service/GameLift/operation/DeleteFleet",
			"\xbf\x67FleetId\x7f\x67fleet-1\xff\xff"},
		"prefix": {"http://h/a/b/service/GameLift/operation/DeleteFleet", "\xa1\x67FleetId\x67fleet-1"},
		"absolute name": {"http://h/service/com.amazonaws.gamelift.GameLift/operation/DeleteFleet",
			"\xa1\x67FleetId\x67fleet-1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRequest(wire.CBOR, "http://h", "", []byte(tt.body))
			r2 := httptest.NewRequest(http.MethodPost, tt.url, strings.NewReader(tt.body))
			r2.Header = r.Header
			sign(t, r2, []byte(tt.body))
			w := do(endpoint, r2)
			checkSame(t, w, doPlain(endpoint, r2, tt.body))
			if w.Code != http.StatusOK || w.Body.Len() != 0 || len(w.Header()["Content-Type"]) != 0 {
				t.Errorf("got %d %v %q", w.Code, w.Header(), w.Body)
			}
			checkHeaders(t, wire.CBOR, w)
		})
	}
}

// deep nests arrays in an unknown member beyond what is read.
func deep(p wire.Protocol) string {
	if p == wire.CBOR {
		return "\xa1\x61x" + strings.Repeat("\x81", 100_000) + "\x00"
	}
	return `{"x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`
}

func TestRefusals(t *testing.T) {
	const sessions = "arn:aws:gamelift:us-west-2::gamesession/fleet-1/custom-home/x"
	unsigned := func(r *http.Request) { r.Header.Del("Authorization") }
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, tt := range []struct {
		name, operation string
		json, cbor      string              // bodies; "-": not in this protocol
		before, after   func(*http.Request) // signing
		kind            fault.Kind
		text            string
	}{
		{"malformed", "ListFleets", `{"Limit":`, "\xa1\x65Limit", nil, nil, fault.Serialization, ""},
		{"wrong type", "ListFleets", `{"Limit":"many"}`, "\xa1\x65Limit\x64many", nil, nil, fault.Serialization,
			"limit"},
		{"no object", "ListFleets", `[]`, "\x80", nil, nil, fault.Serialization, ""},
		{"trailing", "ListFleets", `{}{}`, "\xa0\xa0", nil, nil, fault.Serialization, ""},
		{"deep", "ListFleets", deep(wire.JSON), deep(wire.CBOR), nil, nil, fault.Serialization, ""},
		{"other protocol", "ListFleets", "\xa1\x65Limit\x01", `{"Limit":1}`, nil, nil, fault.Serialization, ""},
		{"constraint", "ListFleets", `{"Limit":0}`, "\xa1\x65Limit\x00", nil, nil, fault.InvalidRequest, "imit"},
		{"required", "CreatePlayerSessions", `{"GameSessionId":"` + sessions + `"}`, "\xa0", nil, nil,
			fault.InvalidRequest, "layerIds"},
		{"refused operation", "CreateBuild", `{}`, "\xa0", nil, nil, fault.InvalidRequest, "builds"},
		{"not found", "DeleteFleet", `{"FleetId":"fleet-none"}`, "\xa1\x67FleetId\x6afleet-none", nil, nil,
			fault.NotFound, "fleet-none"},
		{"unmodelled", "ListAliases", `{}`, "\xa0", nil, nil, fault.InternalService, "Try again"},
		{"panic", "DescribeAlias", `{"AliasId":"alias-1"}`, "\xa1\x67AliasId\x67alias-1", nil, nil,
			fault.InternalService, "Try again"},
		{"unknown operation", "MakeCoffee", `{}`, "\xa0", nil, nil, fault.UnknownOperation, "MakeCoffee"},
		{"other case", "listFleets", `{}`, "\xa0", nil, nil, fault.UnknownOperation, "listFleets"},
		{"known but without handler", "ListLocations", `{}`, "\xa0", nil, nil, fault.UnknownOperation, "ListLocations"},
		{"content type", "ListFleets", `{}`, "\xa0", header("Content-Type", "text/plain"), nil, fault.Serialization,
			"Content-Type"},
		{"no content type", "ListFleets", `{}`, "\xa0", func(r *http.Request) { r.Header.Del("Content-Type") }, nil,
			fault.Serialization, "Content-Type"},
		{"JSON 1.0", "ListFleets", `{}`, "-", header("Content-Type", "application/x-amz-json-1.0"), nil,
			fault.Serialization, "json-1.1"},
		{"compressed", "ListFleets", `{}`, "\xa0", header("Content-Encoding", "gzip"), nil, fault.Serialization,
			"compressed"},
		{"method", "ListFleets", `{}`, "\xa0", func(r *http.Request) { r.Method = http.MethodGet }, nil,
			fault.UnknownOperation, "POST"},
		{"target in CBOR", "ListFleets", "-", "\xa0", header("X-Amz-Target", "GameLift.ListFleets"), nil,
			fault.Serialization, "X-Amz-Target"},
		{"other target in CBOR", "ListFleets", "-", "\xa0", header("X-Amzn-Target", "GameLift.ListFleets"), nil,
			fault.Serialization, "X-Amz-Target"},
		{"no target", "ListFleets", `{}`, "-", func(r *http.Request) { r.Header.Del("X-Amz-Target") }, nil,
			fault.UnknownOperation, "X-Amz-Target"},
		{"two targets", "ListFleets", `{}`, "-", func(r *http.Request) { r.Header.Add("X-Amz-Target", "GameLift.X") },
			nil, fault.UnknownOperation, "one"},
		{"other service", "ListFleets", `{}`, "-", header("X-Amz-Target", "DynamoDB.ListTables"), nil,
			fault.UnknownOperation, "GameLift."},
		{"short path", "ListFleets", "-", "\xa0",
			func(r *http.Request) {
				r.URL.Path = "/GameLift/operation/ListFleets"
			}, nil, fault.UnknownOperation, "path"},
		{"slash at the end", "ListFleets/", "-", "\xa0", nil, nil, fault.UnknownOperation, "path"},
		{"unsigned", "ListFleets", `{}`, "\xa0", nil, unsigned, fault.MissingAuthenticationToken, ""},
		{"bad signature", "ListFleets", "-", "\xa0", nil,
			header("Authorization", "AWS4-HMAC-SHA256 Credential="+accessKey+
				"/20260304/us-west-2/gamelift/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=00"),
			fault.InvalidSignature, "does not match"},
		{"half a signature", "ListFleets", `{}`, "\xa0", nil, header("Authorization", "AWS4-HMAC-SHA256 Credential=x"),
			fault.IncompleteSignature, ""},
		{"changed after signing", "ListFleets", `{}`, "\xa0", nil, func(r *http.Request) { r.Host = "other" },
			fault.InvalidSignature, ""},
		{"old", "ListFleets", `{}`, "\xa0", nil, header("X-Amz-Date", "20260304T050000Z"), fault.InvalidSignature,
			"expired"},
	} {
		for _, p := range []wire.Protocol{wire.JSON, wire.CBOR} {
			body := map[wire.Protocol]string{wire.JSON: tt.json, wire.CBOR: tt.cbor}[p]
			if body == "-" {
				continue
			}
			t.Run(tt.name+"/"+p.String(), func(t *testing.T) {
				r := newRequest(p, "http://localhost:9080", tt.operation, []byte(body))
				if tt.before != nil {
					tt.before(r)
				}
				r.RequestURI = ""
				sign(t, r, []byte(body))
				if tt.after != nil {
					tt.after(r)
				}
				endpoint := newEndpoint(t, api.Config{})
				w := do(endpoint, r)
				checkSame(t, w, doPlain(endpoint, r, body))
				name, message := exception(t, w)
				want := string(tt.kind)
				if models(tt.operation, tt.kind) && p == wire.CBOR {
					want = "com.amazonaws.gamelift#" + want
				}
				if name != want || !strings.Contains(message, tt.text) || w.Code != tt.kind.HTTPStatus() {
					t.Errorf("got %d %s %q, want %s with %q", w.Code, name, message, want, tt.text)
				}
				if strings.Contains(message, secretKey) || strings.Contains(message, "/secret/place") {
					t.Error("the answer tells a secret")
				}
				checkHeaders(t, p, w)
			})
		}
	}
}

func models(operation string, kind fault.Kind) bool {
	info, ok := wire.Lookup(operation)
	return ok && info.Models(kind)
}

func TestBodyLimit(t *testing.T) {
	url := serve(t, api.Config{})
	for name, tt := range map[string]struct {
		size    int
		chunked bool
		kind    fault.Kind
	}{
		"largest":              {api.MaxBody, false, fault.UnrecognizedClient},
		"larger":               {api.MaxBody + 1, false, fault.InvalidRequest},
		"largest, no length":   {listen.MaxBody, true, fault.UnrecognizedClient},
		"larger, no length":    {listen.MaxBody + 1, true, fault.InvalidRequest},
		"much larger, chunked": {2 * api.MaxBody, true, fault.InvalidRequest},
	} {
		for _, p := range []wire.Protocol{wire.JSON, wire.CBOR} {
			t.Run(name+"/"+p.String(), func(t *testing.T) {
				r := newRequest(p, url, "ListFleets", make([]byte, tt.size))
				r.RequestURI = ""
				if tt.chunked {
					r.ContentLength = -1
				}
				r.Header.Set("X-Amz-Date", "20260304T050607Z")
				r.Header.Set("Authorization",
					"AWS4-HMAC-SHA256 Credential=AKIDNONE/20260304/x/gamelift/aws4_request, "+
						"SignedHeaders=host;x-amz-date;x-amz-target, Signature=0")
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				body, _ := io.ReadAll(resp.Body)
				if !bytes.Contains(body, []byte(tt.kind)) || resp.StatusCode != http.StatusBadRequest {
					t.Errorf("got %d %q, want %s", resp.StatusCode, body, tt.kind)
				}
			})
		}
	}
}

// A large body comes into memory only when its head names a known key, and the time is
// near.
func TestLargeBodyNeedsKnownKey(t *testing.T) {
	read := -1
	endpoint := newEndpoint(t, api.Config{Observe: func(_, _ string, _ float64, in, _ int) { read = in }})
	for name, tt := range map[string]struct {
		size      int
		key, date string
		want      fault.Kind
		read      bool
	}{
		"unknown key, large body": {listen.MaxBody + 1, "AKIDNONE", "20260304T050607Z", fault.UnrecognizedClient,
			false},
		"old, large body":         {listen.MaxBody + 1, accessKey, "20260304T040607Z", fault.InvalidSignature, false},
		"known key, large body":   {listen.MaxBody + 1, accessKey, "20260304T050607Z", fault.InvalidSignature, true},
		"unknown key, small body": {listen.MaxBody, "AKIDNONE", "20260304T050607Z", fault.UnrecognizedClient, true},
	} {
		r := newRequest(wire.JSON, "http://h", "ListFleets", make([]byte, tt.size))
		r.Header.Set("X-Amz-Date", tt.date)
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+tt.key+
			"/20260304/x/gamelift/aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature=0")
		w := do(endpoint, r)
		if got, _ := exception(t, w); got != string(tt.want) || (read > 0) != tt.read {
			t.Errorf("%s: %s, %d bytes read", name, got, read)
		}
		if n, _ := r.Body.Read(make([]byte, 1)); n != 0 {
			t.Errorf("%s: something of the body is left, and the client does not see the answer", name)
		}
	}
}

// Bodies have a budget together; who comes when it is spent is throttled, and nothing
// stays spent.
func TestBodiesInMemory(t *testing.T) {
	bodies := listen.NewBudget(1 << 20)
	endpoint := newEndpoint(t, api.Config{Bodies: bodies})
	call := func(size int) string {
		body := append(bytes.Repeat([]byte(" "), size), "{}"...)
		r := newRequest(wire.JSON, "http://h", "ListFleets", body)
		sign(t, r, body)
		w := do(endpoint, r)
		if w.Code == http.StatusOK {
			return ""
		}
		name, _ := exception(t, w)
		return name
	}
	for range 3 {
		if got := call(900_000); got != "" {
			t.Errorf("900 kB: %s", got)
		}
		if got := call(1 << 20); got != string(fault.Throttling) {
			t.Errorf("more than the budget: %s", got)
		}
	}
	if !bodies.Take(1 << 20) {
		t.Fatal("a body that was answered is still in the budget")
	}
	if got := call(10_000); got != string(fault.Throttling) {
		t.Errorf("nothing left: %s", got)
	}
	bodies.Give(1 << 20)
	if got := call(900_000); got != "" {
		t.Errorf("afterwards: %s", got)
	}
}

func TestPresignedQuery(t *testing.T) {
	const body = "\xa1\x67FleetId\x67fleet-1"
	r := newRequest(wire.CBOR, "http://h", "DeleteFleet", []byte(body))
	r.URL.RawQuery = "X-Amz-Expires=60"
	sum := sha256.Sum256([]byte(body))
	cred := aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: secretKey}
	for age, status := range map[time.Duration]int{
		0: http.StatusOK, time.Minute: http.StatusOK, 61 * time.Second: http.StatusBadRequest,
	} {
		url, _, err := v4.NewSigner().PresignHTTP(t.Context(), cred, r, hex.EncodeToString(sum[:]), "gamelift",
			"us-west-2", now.Add(-age))
		if err != nil {
			t.Fatal(err)
		}
		signed := httptest.NewRequest(http.MethodPost, url, strings.NewReader(body))
		signed.Header = r.Header
		if w := do(newEndpoint(t, api.Config{}), signed); w.Code != status {
			t.Errorf("after %v: %d %q, want %d", age, w.Code, w.Body, status)
		}
	}
}

// A body that stops half-way is refused, and says so.
func TestBodyCutShort(t *testing.T) {
	r := newRequest(wire.JSON, "http://h/", "ListFleets", nil)
	r.Body, r.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader(`{"Lim`), broken{})), 12
	w := do(newEndpoint(t, api.Config{}), r)
	if name, message := exception(t, w); name != string(fault.Serialization) || !strings.Contains(message, "in whole") {
		t.Errorf("got %s %q", name, message)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// A request has less than a minute; work that its end cuts short is no failure.
func TestDeadline(t *testing.T) {
	slow := wire.OpListFleets.Handle(func(
		ctx context.Context, _ *wire.ListFleetsInput,
	) (*wire.ListFleetsOutput, error) {
		if end, ok := ctx.Deadline(); !ok || time.Until(end) >= time.Minute {
			t.Errorf("the request has until %v", end)
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	r := newRequest(wire.JSON, "http://h/", "ListFleets", []byte("{}"))
	sign(t, r, []byte("{}"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var log bytes.Buffer
	w := do(newEndpoint(t, api.Config{Handlers: []wire.Handler{slow}, Log: slog.New(slog.NewTextHandler(&log, nil))}),
		r.WithContext(ctx))
	if log.Len() > 0 {
		t.Errorf("a client that has left is in the log: %s", &log)
	}
	if name, _ := exception(t, w); name != string(fault.ServiceUnavailable) || w.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d %s", w.Code, name)
	}
}

// observation is what the metrics hook is told, save the time.
type observation struct {
	operation, exception string
	in, out              int
}

func TestObserveAndLog(t *testing.T) {
	var log bytes.Buffer
	var seen []observation
	endpoint := newEndpoint(t, api.Config{
		Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Observe: func(operation, exception string, seconds float64, in, out int) {
			if seconds < 0 {
				t.Error("negative time")
			}
			seen = append(seen, observation{operation, exception, in, out})
		},
	})
	call := func(operation, body string) *httptest.ResponseRecorder {
		r := newRequest(wire.JSON, "http://h/?private=query", operation, []byte(body))
		sign(t, r, []byte(body))
		return do(endpoint, r)
	}
	lens := []int{
		call("ListFleets", `{"Limit":1}`).Body.Len(), call("MakeCoffee", `{"p":"private body"}`).Body.Len(),
		call("DescribeAlias", `{"AliasId":"alias-1"}`).Body.Len(), call("ListAliases", `{}`).Body.Len(),
	}
	want := []observation{
		{"ListFleets", "", 11, lens[0]}, {api.Unknown, "UnknownOperationException", 0, lens[1]},
		{"DescribeAlias", "InternalServiceException", 21, lens[2]},
		{"ListAliases", "InternalServiceException", 2, lens[3]},
	}
	if len(seen) != len(want) {
		t.Fatalf("seen %v", seen)
	}
	for i := range want {
		if seen[i] != want[i] {
			t.Errorf("seen %v, want %v", seen[i], want[i])
		}
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines for %d requests:\n%s", len(lines), len(want), &log)
	}
	for i, parts := range [][]string{
		{`"DEBUG"`, `"operation":"ListFleets"`, `"principal":"alice"`}, {`"DEBUG"`, `"operation":"unknown"`},
		{`"ERROR"`, "panic: a defect", `"stack":`, "sdk_test.go"}, {`"ERROR"`, "append: disk full"},
	} {
		for _, part := range parts {
			if !strings.Contains(lines[i], part) {
				t.Errorf("line %s has no %s", lines[i], part)
			}
		}
	}
	for _, secret := range []string{secretKey, "Signature=", accessKey, "private"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log tells %s", secret)
		}
	}
}

func TestAttach(t *testing.T) {
	type key struct{}
	var got api.Call
	h := wire.OpListFleets.Handle(func(ctx context.Context, _ *wire.ListFleetsInput) (*wire.ListFleetsOutput, error) {
		got, _ = ctx.Value(key{}).(api.Call)
		return nil, nil
	})
	endpoint := newEndpoint(t, api.Config{Handlers: []wire.Handler{h}, Attach: func(
		ctx context.Context, c api.Call,
	) context.Context {
		return context.WithValue(ctx, key{}, c)
	}})
	r := newRequest(wire.JSON, "http://h/", "ListFleets", nil)
	r.Header.Set("Amz-Sdk-Invocation-Id", "one")
	sign(t, r, nil)
	want := api.Call{Caller: sigv4.Caller{AccessKeyID: accessKey, Principal: "alice", Region: "us-west-2"},
		Invocation: "one", URL: "http://h"}
	if w := do(endpoint, r); w.Code != http.StatusOK || !reflect.DeepEqual(got, want) {
		t.Errorf("%d, %+v", w.Code, got)
	}
}

// A service that does not know its state yet says so, in a way that clients take
// for a reason to try again.
func TestNotReady(t *testing.T) {
	endpoint := newEndpoint(t, api.Config{Ready: func(context.Context) bool { return false }})
	for _, p := range []wire.Protocol{wire.JSON, wire.CBOR} {
		w := do(endpoint, newRequest(p, "http://h/", "ListFleets", nil))
		if name, _ := exception(t, w); name != string(fault.ServiceUnavailable) ||
			w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" {
			t.Errorf("%s: got %d %v %q", p, w.Code, w.Header(), w.Body)
		}
	}
}

func TestNew(t *testing.T) {
	if _, err := api.New(api.Config{}); err == nil {
		t.Error("a door without keys")
	}
	if _, err := api.New(api.Config{Keys: keys, Handlers: append(handlers(), handlers()...)}); err == nil {
		t.Error("two handlers for an operation")
	}
}

// TestUnauthenticatedCallsDoNotFillTheLog answers calls that nobody signed while the
// service starts.
func TestUnauthenticatedCallsDoNotFillTheLog(t *testing.T) {
	var log bytes.Buffer
	clock := clockwork.NewFakeClock()
	endpoint := newEndpoint(t, api.Config{
		Clock: clock, Log: slog.New(slog.NewTextHandler(&log, nil)), Ready: func(context.Context) bool { return false },
	})
	flood := func(count int) {
		for range count {
			do(endpoint, newRequest(wire.JSON, "http://h/", "ListFleets", []byte(`{}`)))
		}
	}
	flood(50)
	clock.Advance(time.Second)
	flood(1)
	if lines := strings.Count(log.String(), "\n"); lines != 2 || !strings.Contains(log.String(), "suppressed=49") {
		t.Errorf("%d lines:\n%.500s", lines, &log)
	}
}
