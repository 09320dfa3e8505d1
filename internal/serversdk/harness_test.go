package serversdk

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/jonboulle/clockwork"
	"github.com/muster-gg/muster/internal/processes"

	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// The queries of the three editions for the same process.
const (
	goQuery = "Authorization=3c1b6f0e-5f0a&ComputeId=host-1&FleetId=fleet-1&IdempotencyToken=9d3a&" +
		"pID=proc-7&sdkLanguage=Go&sdkVersion=5.6.0"
	cppQuery = "Authorization=3c1b6f0e-5f0a&ComputeId=host-1&FleetId=fleet-1&IdempotencyToken=aB3&" +
		"pID=proc-7&sdkLanguage=Cpp&sdkVersion=5.4.0"
	csharpQuery = "pID=proc-7&sdkVersion=5.4.0&sdkLanguage=CSharp&ComputeId=host-1&FleetId=fleet-1&" +
		"IdempotencyToken=77&Authorization=3c1b6f0e-5f0a"
)

// A harness is an endpoint on a real listener.
type harness struct {
	endpoint *Endpoint
	servers  *fakeServers
	clock    *clockwork.FakeClock
	log      *lockedBuffer
	http     *httptest.Server
}

func newHarness(t *testing.T, servers *fakeServers, metrics Metrics) *harness {
	t.Helper()
	h := &harness{servers: servers, clock: clockwork.NewFakeClock(), log: new(lockedBuffer)}
	h.endpoint = New(Config{
		Servers: servers, Clock: h.clock, Metrics: metrics,
		Log: slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	h.http = httptest.NewServer(h.endpoint)
	t.Cleanup(func() {
		h.http.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := h.endpoint.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return h
}

func (h *harness) url(pathAndQuery string) string {
	return "ws" + strings.TrimPrefix(h.http.URL, "http") + pathAndQuery
}

// A peer is the other end of a socket.
type peer struct {
	*websocket.Conn
	t *testing.T
}

func (h *harness) dial(t *testing.T, query string) *peer {
	t.Helper()
	conn, resp, err := websocket.DefaultDialer.Dial(h.url("/?"+query), nil)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	for _, name := range []string{"Sec-WebSocket-Protocol", "Sec-WebSocket-Extensions"} {
		if v := resp.Header.Get(name); v != "" {
			t.Errorf("the handshake answers %s: %s", name, v)
		}
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	return &peer{conn, t}
}

func (p *peer) send(message string) {
	p.t.Helper()
	if err := p.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
		p.t.Fatalf("send: %v", err)
	}
}

func (p *peer) receive() string {
	p.t.Helper()
	kind, data, err := p.ReadMessage()
	if err != nil {
		p.t.Fatalf("receive: %v", err)
	}
	if kind != websocket.TextMessage {
		p.t.Fatalf("received a message of kind %d", kind)
	}
	return string(data)
}

func (p *peer) expect(want string) {
	p.t.Helper()
	if got := p.receive(); got != want {
		p.t.Fatalf("received\n %s\nwant\n %s", got, want)
	}
}

// expectCut checks that TCP ends without a Close frame.
func (p *peer) expectCut() {
	p.t.Helper()
	frame := false
	p.SetCloseHandler(func(code int, _ string) error {
		frame = true
		p.t.Errorf("received a Close frame with code %d", code)
		return nil
	})
	for {
		_, _, err := p.ReadMessage()
		if err == nil {
			continue
		}
		var timeout interface{ Timeout() bool }
		if errors.As(err, &timeout) && timeout.Timeout() {
			p.t.Fatal("the socket is still open")
		}
		if websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway) || frame {
			p.t.Fatalf("closed by %v, want a cut", err)
		}
		return
	}
}

// gone waits until the control plane has heard that the socket is gone.
func gone(t *testing.T, l *fakeLink) {
	t.Helper()
	select {
	case <-l.gone:
	case <-t.Context().Done():
		t.Fatal("Disconnected was not called")
	case <-time.After(20 * time.Second):
		t.Fatal("Disconnected was not called in time")
	}
}

// waitFor polls until the condition holds.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.After(20 * time.Second)
	for !condition() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("still waiting: %s", what)
		}
	}
}

func get(t *testing.T, url string, header http.Header) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func refuseWith(err error) *fakeServers {
	f := newFakeServers()
	f.refuse = func(processes.ConnectRequest) error { return err }
	return f
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
