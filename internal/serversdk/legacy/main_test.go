package legacy

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/processes"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// patience is how long a test waits for what must happen. It is real time.
const patience = 20 * time.Second

// A control is a control plane that records every call. Its zero value, with calls, accepts everything.
type control struct {
	refuse func(processes.LegacyRequest) error // nil accepts
	during func(processes.LegacyRequest)       // called within ConnectLegacy
	answer func(call string) error             // nil: no error
	past   processes.LegacyPast
	page   processes.PlayerSessionPage
	calls  chan string

	mu       sync.Mutex
	requests []processes.LegacyRequest
	holding  bool // answers wait in held
	held     []func()
}

func (c *control) ConnectLegacy(_ context.Context, r processes.LegacyRequest) (processes.LegacyConnection, error) {
	call := "Connect " + r.ProcessID
	if r.HostingOnly {
		call += " that hosts"
	}
	c.calls <- call
	if c.refuse != nil {
		if err := c.refuse(r); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	c.requests = append(c.requests, r)
	c.mu.Unlock()
	if c.during != nil {
		c.during(r)
	}
	return &attached{c, r, c.past}, nil
}

func (c *control) LegacyState(context.Context, processes.Key) (s processes.LegacyState) {
	s.Status, s.Connected = fleet.ProcessIdle, true
	return s
}

// latest returns the request of the last connection.
func (c *control) latest() processes.LegacyRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests[len(c.requests)-1]
}

// record records a call and answers it, at once or when released.
func (c *control) record(call string, done func(error)) {
	var err error
	if c.answer != nil {
		err = c.answer(call)
	}
	c.mu.Lock()
	holding := c.holding
	if holding {
		c.held = append(c.held, func() { done(err) })
	}
	c.mu.Unlock()
	c.calls <- call
	if !holding {
		done(err)
	}
}

// release answers what was held, and holds nothing more.
func (c *control) release() {
	c.mu.Lock()
	held := c.held
	c.held, c.holding = nil, false
	c.mu.Unlock()
	for _, answer := range held {
		answer()
	}
}

// An attached is a connection of a control.
type attached struct {
	*control
	request processes.LegacyRequest
	past    processes.LegacyPast
}

func (a *attached) Key() processes.Key { return processes.Key{} }

func (a *attached) Before() processes.LegacyPast { return a.past }

func (a *attached) Activate(r processes.ProcessReady, done func(error)) {
	a.record(fmt.Sprintf("Activate %s %d %v", a.request.ProcessID, r.Port, r.LogPaths), done)
}

func (a *attached) Heartbeat(healthy bool, done func(error)) {
	a.record(fmt.Sprint("Heartbeat ", healthy), done)
}

func (a *attached) ActivateGameSession(gs string, done func(error)) {
	a.record("ActivateGameSession "+gs, done)
}

func (a *attached) AcceptPlayerSession(gs, ps string, done func(error)) {
	a.record("Accept "+gs+" "+ps, done)
}

func (a *attached) RemovePlayerSession(gs, ps string, done func(error)) {
	a.record("Remove "+gs+" "+ps, done)
}

func (a *attached) UpdatePlayerSessionCreationPolicy(gs, policy string, done func(error)) {
	a.record("Policy "+gs+" "+policy, done)
}

func (a *attached) DescribePlayerSessions(q processes.PlayerSessionQuery,
	done func(processes.PlayerSessionPage, error)) {
	a.record(fmt.Sprintf("Describe %+v", q), func(err error) { done(a.page, err) })
}

func (a *attached) StartMatchBackfill(b processes.MatchBackfill, done func(string, error)) {
	call := fmt.Sprintf("StartMatchBackfill %s %s %s %d", b.GameSessionArn, b.ConfigurationArn, b.TicketID,
		len(b.Players))
	a.record(call, func(err error) { done("ticket-1", err) })
}

func (a *attached) StopMatchBackfill(gs, configuration, ticket string, done func(error)) {
	a.record("StopMatchBackfill "+gs+" "+configuration+" "+ticket, done)
}

func (a *attached) ComputeCertificate(done func(path, compute string, err error)) { done("", "", nil) }

func (a *attached) RoleCredentials(_, _ string, done func(*processes.RoleKeys, error)) {
	done(nil, nil)
}

func (a *attached) Terminate(done func(error)) { a.record("Terminate", done) }

func (a *attached) Release(gs string, done func(error)) { a.record("Release "+gs, done) }

func (a *attached) Started(gs string, err error) {
	a.calls <- fmt.Sprint("Started ", gs, " ", err == nil)
}

func (a *attached) Unknown(gs string, _ error) { a.calls <- "Unknown " + gs }

func (a *attached) Crashed() { a.calls <- "Crashed " + a.request.ProcessID }

func (a *attached) Disconnected() { a.calls <- "Disconnected " + a.request.ProcessID }

// A rig is an endpoint on three real listeners.
type rig struct {
	*testing.T
	*control
	endpoint              *Endpoint
	clock                 *clockwork.FakeClock
	log                   *lockedBuffer
	socketIO, posts, push string // URLs of the three ports, with the scheme http
}

func newRig(t *testing.T, change ...func(*Config)) *rig {
	t.Helper()
	r := &rig{T: t, control: &control{calls: make(chan string, 4*maxPending)}, clock: clockwork.NewFakeClock(),
		log: &lockedBuffer{}}
	c := Config{Servers: r.control, Clock: r.clock,
		Log: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, f := range change {
		f(&c)
	}
	r.endpoint = New(c)
	for url, h := range map[*string]http.Handler{&r.socketIO: r.endpoint.SocketIO(), &r.posts: r.endpoint.Calls(),
		&r.push: r.endpoint.Pushes()} {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		*url = server.URL
	}
	t.Cleanup(r.close)
	return r
}

func (r *rig) close() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.endpoint.Close(ctx); err != nil {
		r.Errorf("Close: %v", err)
	}
}

// received checks the next call that the control plane has received.
func (r *rig) received(want ...string) {
	r.Helper()
	for _, w := range want {
		select {
		case got := <-r.calls:
			if got != w {
				r.Fatalf("the control plane received %q, want %q", got, w)
			}
		case <-time.After(patience):
			r.Fatalf("the control plane did not receive %q", w)
		}
	}
}

// nothingMore checks that the control plane has received nothing else.
func (r *rig) nothingMore() {
	r.Helper()
	select {
	case got := <-r.calls:
		r.Fatalf("the control plane also received %q", got)
	default:
	}
}

// A peer is the other end of a WebSocket.
type peer struct {
	*rig
	*websocket.Conn
}

const (
	cppURL    = "/socket.io/?EIO=4&transport=websocket&t=1700000000&pID=4242&sdkLanguage=Cpp&sdkVersion=3.4.1"
	csharpURL = "/socket.io/?pID=4242&sdkVersion=3.4.0&sdkLanguage=CSharp&EIO=3&transport=websocket"
	pushURL   = "/?pID=4343&sdkVersion=4.0.2&sdkLanguage=CSharp"
)

// open opens a WebSocket.
func (r *rig) open(base, path string) peer {
	r.Helper()
	ws, answer, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(base, "http")+path, nil)
	if err != nil {
		r.Fatal(err)
	}
	_ = answer.Body.Close()
	r.Cleanup(func() { _ = ws.Close() })
	_ = ws.SetReadDeadline(time.Now().Add(patience))
	return peer{r, ws}
}

// connect opens a socket for socket.io, and reads what the service sends first.
func (r *rig) connect(path string) peer {
	r.Helper()
	p := r.open(r.socketIO, path)
	if open := p.next(); !strings.HasPrefix(open, `0{"sid":"`) ||
		!strings.HasSuffix(open, `","upgrades":[],"pingInterval":25000,"pingTimeout":60000}`) {
		r.Fatalf("received %s", open)
	}
	p.gets("40")
	return p
}

// ready is a server that is connected with one socket, and has called ProcessReady.
func (r *rig) ready() peer {
	r.Helper()
	p := r.connect(cppURL)
	r.received("Connect 4242")
	p.becomeReady()
	return p
}

func (p peer) becomeReady() {
	p.Helper()
	p.request(1, "ProcessReady", varint(nil, 2, 7777))
	p.gets(`431[true,""]`)
	p.received("Activate 4242 7777 []")
}

func (p peer) next() string {
	p.Helper()
	kind, data, err := p.ReadMessage()
	if err != nil {
		p.Fatal(err)
	}
	if kind != websocket.TextMessage {
		p.Fatalf("received a message of kind %d", kind)
	}
	return string(data)
}

func (p peer) gets(want string) {
	p.Helper()
	if got := p.next(); got != want {
		p.Fatalf("received\n %s\nwant\n %s", got, want)
	}
}

// getsNothing checks that nothing has been sent but the answer to a ping of Engine.IO.
func (p peer) getsNothing() {
	p.Helper()
	p.text("2x")
	p.gets("3x")
}

func (p peer) text(data string) {
	p.Helper()
	if err := p.WriteMessage(websocket.TextMessage, []byte(data)); err != nil {
		p.Fatal(err)
	}
}

func (p peer) binary(data []byte) {
	p.Helper()
	if err := p.WriteMessage(websocket.BinaryMessage, data); err != nil {
		p.Fatal(err)
	}
}

// request sends a request as the SDK for C++ does.
func (p peer) request(id int, message string, payload []byte) {
	p.Helper()
	p.text(fmt.Sprintf(`451-%d["%s%s",{"_placeholder":true,"num":0}]`, id, messagePrefix, message))
	p.binary(append([]byte{4}, payload...))
}

// isClosed checks that the service has closed the socket.
func (p peer) isClosed() {
	p.Helper()
	for {
		_, _, err := p.ReadMessage()
		if err == nil {
			continue
		}
		if timeout, ok := err.(interface{ Timeout() bool }); ok && timeout.Timeout() {
			p.Fatal("the socket is open")
		}
		return
	}
}

func game(id string) processes.CreateGameSessionPush {
	return processes.CreateGameSessionPush{GameSessionID: id, FleetID: "fleet-1", Port: 7777}
}

// startOf is the push of game("g") with the id of an acknowledgement.
func startOf(ack int) string { return fmt.Sprint("42", ack) + session }

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

// session are the arguments of StartGameSession for game.
const session = `["StartGameSession","{\"gameSession\":{\"gameSessionId\":\"g\",\"fleetId\":\"fleet-1\",` +
	`\"maxPlayers\":0,\"joinable\":true,\"gameProperties\":[],\"ipAddress\":\"\",\"port\":7777}}"]`
