package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/wire"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// newGateway makes a gateway over a world and closes it with the test.
func newGateway(t *testing.T, w *world, change ...func(*Config)) *Gateway {
	t.Helper()
	c := Config{Service: w, Region: testRegion}
	for _, f := range change {
		f(&c)
	}
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return g
}

// A testGateway is a gateway with a real socket.
type testGateway struct {
	t      *testing.T
	g      *Gateway
	server *httptest.Server
	client *http.Client
}

// serve serves a gateway on a socket.
func serve(t *testing.T, g *Gateway) *testGateway {
	t.Helper()
	s := httptest.NewServer(g.Handler())
	t.Cleanup(s.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &testGateway{t, g, s, &http.Client{Transport: transport}}
}

// openGateway returns a gateway of a world, with a socket.
func openGateway(t *testing.T, w *world, change ...func(*Config)) *testGateway {
	t.Helper()
	return serve(t, newGateway(t, w, change...))
}

// A reply is an answer in whole.
type reply struct {
	status int
	header http.Header
	text   string
	body   any
}

// ask sends a request; body may be "" for none. Every answer must be a JSON object
// or list, and have a request id.
func (d *testGateway) ask(method, path, body string, header ...string) reply {
	d.t.Helper()
	r := d.raw(method, path, body, header...)
	if err := json.Unmarshal([]byte(r.text), &r.body); err != nil {
		d.t.Fatalf("%s %s: answer %q is no JSON", method, path, r.text)
	}
	switch r.body.(type) {
	case map[string]any, []any:
	default:
		d.t.Fatalf("%s %s: answer %q is neither an object nor a list", method, path, r.text)
	}
	return r
}

func (d *testGateway) raw(method, path, body string, header ...string) reply {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), method, d.server.URL+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := d.client.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	if res.Header.Get(requestIDHeader) == "" {
		d.t.Errorf("%s %s: no request id", method, path)
	}
	return reply{res.StatusCode, res.Header, string(text), nil}
}

func (r reply) object(t *testing.T) map[string]any {
	t.Helper()
	o, ok := r.body.(map[string]any)
	if !ok {
		t.Fatalf("answer %s is no object", r.text)
	}
	return o
}

func (r reply) list(t *testing.T) []any {
	t.Helper()
	o, ok := r.body.([]any)
	if !ok {
		t.Fatalf("answer %s is no list", r.text)
	}
	return o
}

// field is a text in the answer's object; "" if there is none.
func (r reply) field(path ...string) string {
	var at = r.body
	for _, name := range path {
		o, _ := at.(map[string]any)
		at = o[name]
	}
	s, _ := at.(string)
	return s
}

// wantCode checks that an answer is a failure of the given code, in the form of all.
func (r reply) wantCode(t *testing.T, code Code) {
	t.Helper()
	o, _ := r.body.(map[string]any)
	if r.status != code.Status() || r.field("code") != string(code) {
		t.Fatalf("answer %d %s, want %s", r.status, r.text, code)
	}
	if r.field("error") == "" || r.field("requestId") != r.header.Get(requestIDHeader) || len(o) != 3 {
		t.Errorf("answer %s is no error object with the request id %s", r.text, r.header.Get(requestIDHeader))
	}
	if busy := r.status == 429 || r.status == 503; busy != (r.header.Get(retryAfterHeader) != "") {
		t.Errorf("status %d with Retry-After %q", r.status, r.header.Get(retryAfterHeader))
	}
}

func (r reply) wantStatus(t *testing.T, status int) reply {
	t.Helper()
	if r.status != status {
		t.Fatalf("answer %d %s, want %d", r.status, r.text, status)
	}
	return r
}

// createBody is what the older clients send.
func createBody(name, player string, places int) string {
	var b bytes.Buffer
	_ = json.NewEncoder(&b).Encode(map[string]any{"session_name": name, "build_id": 4711, "uuid": player,
		"num_connections": places})
	return b.String()
}

func joinBody(id, player string) string {
	text, _ := json.Marshal(map[string]any{"GameSessionId": id, "uuid": player})
	return string(text)
}

// alive are the world's game sessions that are not over.
func (w *world) alive() []wire.GameSession {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []wire.GameSession
	for _, s := range w.sessions {
		if !ending(s) {
			list = append(list, *s)
		}
	}
	return list
}

// escape returns an id as it is in a path.
func escape(id string) string { return strings.NewReplacer("/", "%2F", ":", "%3A").Replace(id) }
