package legacy

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/processes"
)

// A plane is a control plane that accepts everything and records it.
type plane struct {
	processes.LegacyConnection // for what the tests do not call

	request processes.LegacyRequest
	past    processes.LegacyPast
	resume  func(processes.LegacyRequest) // called within ConnectLegacy
	calls   chan string
}

func (p *plane) ConnectLegacy(_ context.Context, r processes.LegacyRequest) (processes.LegacyConnection, error) {
	p.request = r
	if p.resume != nil {
		p.resume(r)
	}
	p.calls <- "Connect " + r.ProcessID
	return &connection{plane: p, id: r.ProcessID}, nil
}

func (p *plane) LegacyState(context.Context, processes.Key) processes.LegacyState {
	return processes.LegacyState{}
}

type connection struct {
	*plane
	id string
}

func (c *connection) Before() processes.LegacyPast { return c.past }
func (c *connection) Activate(r processes.ProcessReady, done func(error)) {
	c.calls <- fmt.Sprintf("Activate %s %d", c.id, r.Port)
	done(nil)
}

func (c *connection) Heartbeat(healthy bool, done func(error)) {
	c.calls <- fmt.Sprint("Heartbeat ", healthy)
	done(nil)
}
func (c *connection) ActivateGameSession(_ string, done func(error)) { done(nil) }
func (c *connection) Terminate(done func(error))                     { done(nil) }
func (c *connection) Started(id string, err error) {
	c.calls <- fmt.Sprint("Started ", id, " ", err == nil)
}
func (c *connection) Unknown(id string, _ error) { c.calls <- "Unknown " + id }
func (c *connection) Crashed()                   { c.calls <- "Crashed" }
func (c *connection) Disconnected()              { c.calls <- "Disconnected" }

func (p *plane) expect(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-p.calls:
		if got != want {
			t.Fatalf("the control plane received %q, want %q", got, want)
		}
	case <-time.After(time.Minute):
		t.Fatalf("the control plane did not receive %q", want)
	}
}

// A world is an endpoint with its clients.
type world struct {
	*testing.T
	*plane
	clock *clockwork.FakeClock
	url   string
}

func newWorld(t *testing.T, change ...func(*Config)) *world {
	w := &world{T: t, plane: &plane{calls: make(chan string, 100)}, clock: clockwork.NewFakeClock()}
	c := Config{Servers: w.plane, Clock: w.clock, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&c)
	}
	e := New(c)
	server := httptest.NewServer(e.SocketIO())
	w.url = "ws" + strings.TrimPrefix(server.URL, "http")
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return w
}

// A client is a socket of a game server, as raw frames.
type client struct {
	*world
	*websocket.Conn
}

// dial opens a socket in the manner of the SDK for C++, and reads what the service sends first.
func (w *world) dial() client {
	w.Helper()
	ws, _, err := websocket.DefaultDialer.Dial(w.url+
		"/socket.io/?EIO=4&transport=websocket&t=1700000000&pID=4242&sdkLanguage=Cpp&sdkVersion=3.4.1", nil)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = ws.Close() })
	c := client{w, ws}
	if open := c.read(); !strings.HasPrefix(open, `0{"sid":"`) {
		w.Fatalf("received %s", open)
	}
	c.receives("40")
	return c
}

func (c client) read() string {
	c.Helper()
	_, data, err := c.ReadMessage()
	if err != nil {
		c.Fatal(err)
	}
	return string(data)
}

func (c client) receives(want string) {
	c.Helper()
	if got := c.read(); got != want {
		c.Fatalf("received %s, want %s", got, want)
	}
}

func (c client) send(text string) {
	c.Helper()
	if err := c.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		c.Fatal(err)
	}
}

// ask sends a request, with the 4 of Engine.IO 3 before its attachment.
func (c client) ask(id int, message string, payload []byte) {
	c.Helper()
	c.send(fmt.Sprintf(`451-%d["%s%s",{"_placeholder":true,"num":0}]`, id, messagePrefix, message))
	if err := c.WriteMessage(websocket.BinaryMessage, append([]byte{4}, payload...)); err != nil {
		c.Fatal(err)
	}
}

func (c client) ready() {
	c.Helper()
	c.ask(1, "ProcessReady", varint(nil, 2, 7777))
	c.receives(`431[true,""]`)
	c.expect(c.T, "Activate 4242 7777")
}

func (w *world) push(id string) {
	w.request.Push(processes.CreateGameSessionPush{GameSessionID: id, FleetID: "fleet-1", Port: 7777})
}

const session = `["StartGameSession","{\"gameSession\":{\"gameSessionId\":\"g\",\"fleetId\":\"fleet-1\",` +
	`\"maxPlayers\":0,\"joinable\":true,\"gameProperties\":[],\"ipAddress\":\"\",\"port\":7777}}"]`

// TestTwoSockets pushes over the socket that sends no requests, and answers each request once.
func TestTwoSockets(t *testing.T) {
	w := newWorld(t)
	a := w.dial()
	w.expect(t, "Connect 4242")
	b := w.dial()
	a.ready()
	a.ask(2, "Unheard", nil)
	a.receives(`432[false,"{\"status\":\"ERROR_400\",\"responseData\":\"\",\"errorMessage\":\"unknown message \\\"` +
		messagePrefix + `Unheard\\\"\"}"]`)
	w.push("g")
	b.receives("420" + session)
	b.send("430[true]")
	w.expect(t, "Started g true")
	a.ask(3, "ProcessEnding", nil)
	a.receives(`433[true,""]`)
	w.request.Push(processes.TerminateProcessPush{TerminationTime: time.Unix(1700000500, 0)})
	b.receives(`42["TerminateProcess","{\"terminationTime\":1700000500}"]`)
	b.send("2")
	b.receives("3")
}

// TestStartIsNotAccepted fails a start after false, an empty acknowledgement and none.
func TestStartIsNotAccepted(t *testing.T) {
	w := newWorld(t)
	a := w.dial()
	w.expect(t, "Connect 4242")
	a.ready()
	for i, answer := range []string{"[false]", "[]", ""} {
		w.push("g")
		a.receives(fmt.Sprint("42", i) + session)
		if answer != "" {
			a.send(fmt.Sprint("43", i) + answer)
		} else {
			w.clock.Advance(30 * time.Second)
		}
		w.expect(t, "Started g false")
	}
	w.push("g")
	a.receives("423" + session)
	_ = a.Close()
	w.expect(t, "Unknown g") // it may have started
	w.expect(t, "Disconnected")
}

// TestLeaving treats a game server that leaves without ProcessEnding as crashed.
func TestLeaving(t *testing.T) {
	w := newWorld(t)
	a := w.dial()
	w.expect(t, "Connect 4242")
	a.ready()
	a.send("41")
	_ = a.Close()
	w.expect(t, "Crashed")
}

// TestRepeatedStart pushes a game session to a reconnected process only after a while.
func TestRepeatedStart(t *testing.T) {
	w := newWorld(t)
	w.past.Ready = true
	w.resume = func(r processes.LegacyRequest) {
		r.Push(processes.CreateGameSessionPush{GameSessionID: "g", FleetID: "fleet-1", Port: 7777})
	}
	a := w.dial()
	w.expect(t, "Connect 4242")
	a.send("2")
	a.receives("3") // and nothing before
	w.clock.Advance(10 * time.Second)
	a.receives("420" + session)
}

// TestReadyAgain tells a repeated ProcessReady from that of another process, and of a new one.
func TestReadyAgain(t *testing.T) {
	w := newWorld(t)
	a := w.dial()
	w.expect(t, "Connect 4242")
	a.ready()
	a.ask(2, "ProcessReady", varint(nil, 2, 7777))
	a.receives(`432[true,""]`)
	b := w.dial()
	b.ask(1, "ProcessReady", varint(nil, 2, 8888))
	b.receives(`431[true,""]`)
	w.expect(t, "Connect 4242.2")
	w.expect(t, "Activate 4242.2 8888")
	_ = a.Close()
	w.expect(t, "Disconnected")
	c := w.dial()
	w.expect(t, "Connect 4242")
	w.past.Ready = true
	c.ask(1, "ProcessReady", varint(nil, 2, 9999))
	c.receives(`431[true,""]`)
	w.expect(t, "Crashed")
	w.expect(t, "Connect 4242")
	w.expect(t, "Activate 4242 9999")
}

// TestLiveness keeps a client that talks without pings, and closes one that is silent. These times are real.
func TestLiveness(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.PingInterval, c.PingTimeout = 750*time.Millisecond, 750*time.Millisecond })
	a := w.dial()
	w.expect(t, "Connect 4242")
	a.ready()
	for began := time.Now(); time.Since(began) < 2*time.Second; {
		a.ask(7, "ReportHealth", varint(nil, 1, 1))
		a.receives(`437[true,""]`)
		w.expect(t, "Heartbeat true")
	}
	if _, _, err := a.ReadMessage(); err == nil {
		t.Error("the socket of a silent client is open")
	}
	w.expect(t, "Disconnected")
}

// TestEngineIO4 sends pings to a client that really speaks Engine.IO 4, whose attachments have no 4 before them.
func TestEngineIO4(t *testing.T) {
	w := newWorld(t)
	a := w.dial()
	w.expect(t, "Connect 4242")
	a.send("40")
	a.send("451-0[\r\n  \"" + messagePrefix + "ReportHealth\",\r\n  {\r\n    \"_placeholder\": true\r\n  }\r\n]")
	if err := a.WriteMessage(websocket.BinaryMessage, nil); err != nil {
		t.Fatal(err)
	}
	a.receives(`430[true,""]`)
	w.expect(t, "Heartbeat false")
	w.clock.Advance(25 * time.Second)
	a.receives("2")
}

// TestHostileFrames closes the socket that sends them, and no other.
func TestHostileFrames(t *testing.T) {
	w := newWorld(t)
	good := w.dial()
	w.expect(t, "Connect 4242")
	for _, text := range []string{"x", "42{", "452-1[]", `451-1["a",{}]`, strings.Repeat("4", maxMessage+1)} {
		bad := w.dial()
		bad.send(text)
		if text == `451-1["a",{}]` {
			bad.send("2") // instead of the attachment
		}
		if _, _, err := bad.ReadMessage(); err == nil {
			t.Errorf("%.20q: the socket is open", text)
		}
	}
	good.send("2")
	good.receives("3")
}

// TestRefusals rejects what is no game server.
func TestRefusals(t *testing.T) {
	w := newWorld(t)
	for query, want := range map[string]int{
		"/socket.io/?EIO=3&transport=polling&pID=1": 400, "/socket.io/?EIO=3&transport=websocket": 400, "/": 404,
	} {
		answer, err := http.Get("http" + strings.TrimPrefix(w.url, "ws") + query)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %s, want %d", query, answer.Status, want)
		}
	}
}

// AcceptPlayerSession is never answered.
func (c *connection) AcceptPlayerSession(string, string, func(error)) { c.calls <- "Accept" }

// TestFlood answers requests beyond the limit with an error.
func TestFlood(t *testing.T) {
	w := newWorld(t)
	w.calls = make(chan string, maxPending+10)
	a := w.dial()
	w.expect(t, "Connect 4242")
	for range maxPending {
		a.ask(1, "AcceptPlayerSession", nil)
	}
	a.ask(2, "AcceptPlayerSession", nil)
	if got := a.read(); !strings.HasPrefix(got, `432[false,"{\"status\":\"ERROR_400\"`) {
		t.Errorf("received %s", got)
	}
	other := w.dial()
	other.send("2")
	other.receives("3")
}
