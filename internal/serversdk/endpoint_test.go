package serversdk

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func upgradeHeader() http.Header {
	return http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
		"Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name    string
		servers *fakeServers
		path    string
		header  http.Header
		status  int
		message string
	}{
		{"bad token", refuseWith(fault.New(fault.AccessDenied, "token expired")), "/?" + goQuery, upgradeHeader(), 403,
			"AccessDeniedException: token expired"},
		{"throttled", refuseWith(fault.New(fault.Throttling, "Rate exceeded")), "/?" + goQuery, upgradeHeader(), 429,
			"ThrottlingException: Rate exceeded"},
		{"broken inside", refuseWith(errors.New("disk on fire")), "/?" + goQuery, upgradeHeader(), 500,
			"InternalServiceException: The service could not complete the request. Try again."},
		{"no token", refuseWith(fault.New(fault.InvalidRequest, "Authorization is missing")),
			"/?pID=p&FleetId=f&ComputeId=c", upgradeHeader(), 400, "InvalidRequestException: Authorization is missing"},
		{"no fleet", newFakeServers(), "/?pID=p&ComputeId=c", upgradeHeader(), 400,
			"InvalidRequestException: the query must have pID, FleetId and ComputeId"},
		{"long id", newFakeServers(), "/?FleetId=f&ComputeId=c&pID=" + strings.Repeat("p", 300), upgradeHeader(), 400,
			"InvalidRequestException: pID, FleetId and ComputeId may have at most 256 bytes each"},
		{"no upgrade", newFakeServers(), "/?" + goQuery, http.Header{}, 400,
			"InvalidRequestException: this address is for WebSocket connections of game server processes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			refused := make(chan int, 1)
			h := newHarness(t, tt.servers, Metrics{Refused: func(status int) { refused <- status }})
			resp := get(t, h.http.URL+tt.path, tt.header)
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body)
			want := reply{action: "$connect", id: "$connect", status: tt.status, message: tt.message}.appendTo(nil, nil)
			if resp.StatusCode != tt.status || string(body) != string(want) {
				t.Errorf("answer %d %s, want %d %s", resp.StatusCode, body, tt.status, want)
			}
			if ct := resp.Header.Get("Content-Type"); ct != "application/json; charset=UTF-8" {
				t.Errorf("content type %q", ct)
			}
			if got := <-refused; got != tt.status {
				t.Errorf("metric says %d", got)
			}
			if log := h.log.String(); strings.Contains(log, "3c1b6f0e") || strings.Contains(log, "IdempotencyToken") {
				t.Errorf("the log tells secrets: %s", log)
			}
		})
	}
}

func TestFailedUpgradeDisconnects(t *testing.T) {
	h := newHarness(t, newFakeServers(), Metrics{})
	header := upgradeHeader()
	header.Set("Sec-Websocket-Version", "8")
	resp := get(t, h.http.URL+"/?"+goQuery, header)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d, want 400", resp.StatusCode)
	}
	gone(t, h.servers.next(t))
}

func TestAcceptsEveryPathAndOffer(t *testing.T) {
	h := newHarness(t, newFakeServers(), Metrics{})
	dialer := websocket.Dialer{Subprotocols: []string{"x"}, EnableCompression: true}
	for _, path := range []string{"/", "/base", "/base/"} {
		conn, resp, err := dialer.Dial(h.url(path+"?"+cppQuery), http.Header{"Origin": {"https://elsewhere.example"}})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		defer conn.Close()
		if resp.Header.Get("Sec-WebSocket-Protocol")+resp.Header.Get("Sec-WebSocket-Extensions") != "" {
			t.Errorf("%s: the answer takes up an offer: %v", path, resp.Header)
		}
	}
}

func TestMatches(t *testing.T) {
	for target, want := range map[string]bool{
		"/?" + goQuery: true, "/x/?pID=1": true, "/?pID=": false, "/?pid=1": false, "/": false,
		"/?ComputeName=c&FleetId=f": false,
	} {
		if got := Matches(httptest.NewRequest(http.MethodGet, target, nil)); got != want {
			t.Errorf("Matches(%s) = %t", target, got)
		}
	}
	if Matches(httptest.NewRequest(http.MethodPost, "/?pID=1", nil)) {
		t.Error("Matches takes a POST")
	}
}

func TestWhoConnects(t *testing.T) {
	h := newHarness(t, newFakeServers(), Metrics{})
	h.dial(t, csharpQuery)
	got := h.servers.next(t).about
	got.Push, got.Replaced = nil, nil
	want := processes.ConnectRequest{
		FleetID: "fleet-1", ComputeName: "host-1", ProcessID: "proc-7", SDKVersion: "5.4.0", SDKLanguage: "CSharp",
		IdempotencyToken: "77", Authorization: "3c1b6f0e-5f0a",
	}
	if got.FleetID != want.FleetID || got.ComputeName != want.ComputeName || got.ProcessID != want.ProcessID ||
		got.SDKVersion != want.SDKVersion || got.SDKLanguage != want.SDKLanguage ||
		got.IdempotencyToken != want.IdempotencyToken || got.Authorization != want.Authorization ||
		got.SigV4 != want.SigV4 {
		t.Errorf("connected as %+v, want %+v", got, want)
	}
}

func TestCloseCutsSocketsAndRefusesOthers(t *testing.T) {
	servers := newFakeServers()
	h := newHarness(t, servers, Metrics{})
	a, b := h.dial(t, goQuery), h.dial(t, cppQuery)
	first, second := servers.next(t), servers.next(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := h.endpoint.Close(ctx); err != nil {
		t.Fatal(err)
	}
	a.expectCut()
	b.expectCut()
	gone(t, first)
	gone(t, second)
	resp := get(t, h.http.URL+"/?"+goQuery, upgradeHeader())
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("after Close: status %d, want 503", resp.StatusCode)
	}
}

func TestCutSocketsMayComeBack(t *testing.T) {
	servers := newFakeServers()
	h := newHarness(t, servers, Metrics{})
	socket := h.dial(t, goQuery)
	connection := servers.next(t)
	for open := 0; open == 0; runtime.Gosched() { // the client sees it slightly earlier than the endpoint
		open = h.endpoint.sockets.Len()
	}
	h.endpoint.CloseSockets()
	socket.expectCut()
	gone(t, connection)
	h.dial(t, goQuery)
	servers.next(t)
}

func TestOverTLS(t *testing.T) {
	h := newHarness(t, newFakeServers(), Metrics{})
	secure := httptest.NewTLSServer(h.endpoint)
	defer secure.Close()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		dialer := websocket.Dialer{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: version,
			MaxVersion: version}}
		conn, _, err := dialer.Dial("wss"+strings.TrimPrefix(secure.URL, "https")+"/?"+cppQuery, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := &peer{conn, t}
		p.send(`{"Action":"HeartbeatServerProcess","RequestId":"r1","HealthStatus":true}`)
		p.expect(`{"Action":"HeartbeatServerProcess","RequestId":"r1","StatusCode":200}`)
		l := h.servers.next(t)
		l.about.Replaced()
		if err := h.clock.BlockUntilContext(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		h.clock.Advance(linger)
		p.expectCut()
		gone(t, l)
		conn.Close()
	}
}

// TestRefusalsDoNotFillTheLog refuses many handshakes of clients that nobody knows.
func TestRefusalsDoNotFillTheLog(t *testing.T) {
	h := newHarness(t, refuseWith(fault.New(fault.AccessDenied, "token expired")), Metrics{})
	flood := func(count int) {
		for range count {
			long := strings.Repeat("x", 4000)
			r := httptest.NewRequest(http.MethodGet, "/?pID="+long+"&FleetId="+long+"&ComputeId="+long, nil)
			r.Header = upgradeHeader()
			h.endpoint.ServeHTTP(httptest.NewRecorder(), r)
		}
	}
	flood(50)
	h.clock.Advance(time.Second)
	flood(1)
	lines := strings.Split(strings.TrimSpace(h.log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[1], "suppressed=49") || len(lines[0]) > 1000 {
		t.Errorf("%d lines of %d bytes, the last one %.300q", len(lines), len(lines[0]), lines[len(lines)-1])
	}
}

// TestDialedURL keeps what a process has dialed: it may be sent back there.
func TestDialedURL(t *testing.T) {
	for _, c := range []struct {
		path      string
		encrypted bool
		forwarded string
		want      string
	}{
		{"/", false, "", "ws://"},
		{"//", false, "", "ws://"}, // the C++ edition
		{"/base/", false, "", "ws:///base"},
		{"/", true, "", "wss://"},
		{"/", false, "https", "wss://"}, // a proxy has ended TLS
		{"/", false, "http", "ws://"},
	} {
		h := newHarness(t, newFakeServers(), Metrics{})
		server := httptest.NewUnstartedServer(h.endpoint)
		server.Config.ConnContext = listen.Proxies(nil).ConnContext
		inner := server.Listener
		server.Listener = replaying{inner}
		if c.encrypted {
			certified := httptest.NewTLSServer(h.endpoint) // for its certificate
			certified.Close()
			server.Listener = replaying{tls.NewListener(inner, certified.TLS)}
		}
		server.Start()
		defer server.Close()
		header := http.Header{}
		if c.forwarded != "" {
			header.Set("X-Forwarded-Proto", c.forwarded)
		}
		host := inner.Addr().String()
		scheme := map[bool]string{false: "ws://", true: "wss://"}[c.encrypted]
		dialer := websocket.Dialer{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		conn, _, err := dialer.Dial(scheme+host+c.path+"?"+goQuery, header)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		want := strings.Replace(c.want, "://", "://"+host, 1)
		if got := h.servers.next(t).about.Endpoint; got != want {
			t.Errorf("%s, forwarded as %q: %q, want %q", c.path, c.forwarded, got, want)
		}
	}
}

// A replaying listener hides a connection's type, as a server does that has read from it.
type replaying struct{ net.Listener }

func (l replaying) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return listen.Replay(c, nil), nil
}
