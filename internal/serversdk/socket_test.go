package serversdk

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/serversdk/outbox"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	accept = `{"Action":"AcceptPlayerSession","RequestId":"` + cppRequestID +
		`","GameSessionId":"g","PlayerSessionId":"p"}`
	accepted    = `{"Action":"AcceptPlayerSession","RequestId":"` + cppRequestID + `","StatusCode":200}`
	heartbeat   = `{"Action":"HeartbeatServerProcess","RequestId":"h","HealthStatus":true}`
	heartbeaten = `{"Action":"HeartbeatServerProcess","RequestId":"h","StatusCode":200}`
)

func TestRepeatedRequestGetsTheStoredReply(t *testing.T) {
	servers := newFakeServers()
	h := newHarness(t, servers, Metrics{})
	first := h.dial(t, cppQuery)
	first.send(accept)
	first.expect(accepted)
	servers.answer = func(string) error { return fault.New(fault.Conflict, "accepted before") }
	first.send(accept)
	first.expect(accepted)
	connection := servers.next(t)
	first.Close()
	gone(t, connection)

	// A socket of the same process, with the same or another token, still knows.
	second := h.dial(t, cppQuery)
	second.send(accept)
	second.expect(accepted)
	third := h.dial(t, strings.Replace(cppQuery, "3c1b6f0e-5f0a", "another-token", 1))
	third.send(accept)
	third.expect(accepted)
	if got := servers.called(); got != "Accept g p" {
		t.Errorf("carried out:\n%s\nwant one Accept", got)
	}

	// Another process of the same fleet and compute does not.
	other := h.dial(t, strings.Replace(cppQuery, "proc-7", "proc-8", 1))
	other.send(accept)
	other.expect(`{"Action":"AcceptPlayerSession","RequestId":"` + cppRequestID +
		`","StatusCode":409,"ErrorMessage":"ConflictException: accepted before"}`)
}

func TestPendingRequestIsCarriedOutOnce(t *testing.T) {
	servers := newFakeServers()
	servers.holding = true
	h := newHarness(t, servers, Metrics{})
	first := h.dial(t, cppQuery)
	first.send(accept)
	waitFor(t, "the first request", func() bool { return servers.called() != "" })
	second := h.dial(t, cppQuery)
	first.send(accept)
	second.send(accept)
	for _, p := range []*peer{first, second} { // an answered Ping: what was sent before has been handled
		pingpong(p)
	}
	servers.release()
	first.expect(accepted)
	second.expect(accepted)
	first.send(heartbeat)
	first.expect(heartbeaten) // and not a second reply to accept
	if got := servers.called(); got != "Accept g p\nHeartbeat true" {
		t.Errorf("carried out:\n%s", got)
	}
}

// pingpong sends a Ping and a harmless request, and reads until the Pong is there.
func pingpong(p *peer) {
	p.t.Helper()
	pong := false
	p.SetPongHandler(func(data string) error {
		pong = data == "are you there"
		return nil
	})
	if err := p.WriteControl(websocket.PingMessage, []byte("are you there"), noDeadline); err != nil {
		p.t.Fatal(err)
	}
	p.send(`{"Action":"GetFleetRoleCredentials","RequestId":"after-ping"}`)
	if got := p.receive(); !strings.Contains(got, "after-ping") || !pong {
		p.t.Fatalf("received %s, pong %t", got, pong)
	}
}

func TestPingIsAnsweredWhileRequestsWait(t *testing.T) {
	servers := newFakeServers()
	servers.holding = true
	h := newHarness(t, servers, Metrics{})
	p := h.dial(t, csharpQuery)
	for i := range 10 {
		p.send(fmt.Sprintf(`{"Action":"ActivateGameSession","RequestId":"r%d","GameSessionId":"g"}`, i))
	}
	pingpong(p)
	servers.release()
	for i := range 10 {
		p.expect(fmt.Sprintf(`{"Action":"ActivateGameSession","RequestId":"r%d","StatusCode":200}`, i))
	}
}

func TestPushesWaitForTheFirstHeartbeat(t *testing.T) {
	h := newHarness(t, newFakeServers(), Metrics{})
	p := h.dial(t, goQuery)
	push := h.servers.next(t).about.Push
	create := func(id string) string {
		push(processes.CreateGameSessionPush{GameSessionID: id})
		_, data := encodePush(processes.CreateGameSessionPush{GameSessionID: id})
		return string(data)
	}
	activate := func(id string) {
		p.send(`{"Action":"ActivateServerProcess","RequestId":"` + id + `","Port":1}`)
		p.expect(`{"Action":"ActivateServerProcess","RequestId":"` + id + `","StatusCode":200}`)
	}

	activate("a1")
	first := create("g1")
	pingpong(p) // the push has not come
	p.send(heartbeat)
	p.expect(first)
	p.expect(heartbeaten)
	p.expect(create("g2")) // from now on they pass

	activate("a2")
	third := create("g3")
	pingpong(p)
	h.clock.Advance(maxDelay) // no heartbeat
	p.expect(third)
}

func TestTooManyPendingRequests(t *testing.T) {
	servers := newFakeServers()
	servers.holding = true
	p := newHarness(t, servers, Metrics{}).dial(t, goQuery)
	for i := range maxPending + 1 {
		p.send(fmt.Sprintf(`{"Action":"HeartbeatServerProcess","RequestId":"r%d"}`, i))
	}
	p.expect(`{"Action":"HeartbeatServerProcess","RequestId":"r256","StatusCode":429,` +
		`"ErrorMessage":"ThrottlingException: 256 requests of this process are pending. Wait for replies."}`)
	servers.release()
}

func TestRepliesAreForgottenInTime(t *testing.T) {
	servers := newFakeServers()
	h := newHarness(t, servers, Metrics{})
	p := h.dial(t, cppQuery)
	p.send(accept)
	p.expect(accepted)
	for i := range keptReplies { // as many as are kept push the first one out
		p.send(fmt.Sprintf(`{"Action":"ActivateGameSession","RequestId":"r%d","GameSessionId":"g"}`, i))
		p.receive()
	}
	p.send(accept)
	p.expect(accepted)
	if n := strings.Count(servers.called(), "Accept"); n != 2 {
		t.Errorf("carried out %d times, want 2: the reply was still known", n)
	}

	connection := servers.next(t)
	p.Close()
	gone(t, connection)
	waitFor(t, "the socket to leave", func() bool { return h.sockets() == 0 })
	h.clock.Advance(keptAfter)
	q := h.dial(t, cppQuery)
	q.send(accept)
	q.expect(accepted)
	if n := strings.Count(servers.called(), "Accept"); n != 3 {
		t.Errorf("carried out %d times, want 3: the process was still known", n)
	}
	h.endpoint.processes.mu.Lock()
	defer h.endpoint.processes.mu.Unlock()
	if len(h.endpoint.processes.departed) != 0 || len(h.endpoint.processes.known) != 1 {
		t.Errorf("the registry keeps %d departures and %d processes", len(h.endpoint.processes.departed),
			len(h.endpoint.processes.known))
	}
}

func (h *harness) sockets() int {
	return h.endpoint.sockets.Len()
}

func TestFragmentedMessage(t *testing.T) {
	h := newHarness(t, newFakeServers(), Metrics{})
	p := h.dial(t, cppQuery)
	// The C++ edition breaks messages of more than 1016 bytes; a Ping may come in between.
	long := `{"Action":"ActivateServerProcess","RequestId":"r","LogPaths":["` + strings.Repeat("x", 3000) + `"]}`
	raw := p.NetConn()
	for i := 0; i < len(long); i += 1016 {
		opcode, end := 0, min(i+1016, len(long))
		if i == 0 {
			opcode = websocket.TextMessage
		}
		if _, err := raw.Write(maskedFrame(opcode, end == len(long), long[i:end])); err != nil {
			t.Fatal(err)
		}
		if _, err := raw.Write(maskedFrame(websocket.PingMessage, true, "")); err != nil {
			t.Fatal(err)
		}
	}
	p.expect(`{"Action":"ActivateServerProcess","RequestId":"r","StatusCode":200}`)
}

// maskedFrame is a client's frame with a mask of zeros.
func maskedFrame(opcode int, final bool, payload string) []byte {
	frame := outbox.AppendFrame(nil, opcode, []byte(payload))
	if !final {
		frame[0] &^= 0x80
	}
	frame[1] |= 0x80
	head := len(frame) - len(payload)
	return append(append(frame[:head:head], 0, 0, 0, 0), payload...)
}

func TestSenselessMessagesAreIgnored(t *testing.T) {
	h := newHarness(t, newFakeServers(), Metrics{})
	p := h.dial(t, goQuery)
	for _, message := range []string{
		``, `{`, `[]`, `null`, `"Action"`, `{"Action":"HeartbeatServerProcess"}`, `{"RequestId":"r"}`,
		`{"Action":"HeartbeatServerProcess","RequestId":7}`,
		`{"Action":"HeartbeatServerProcess","RequestId":"r"} trailing`,
		`{"Action":"HeartbeatServerProcess","RequestId":"` + strings.Repeat("r", 200) + `"}`,
	} {
		p.send(message)
	}
	if err := p.WriteMessage(websocket.BinaryMessage, []byte(heartbeat)); err != nil {
		t.Fatal(err)
	}
	p.send(heartbeat)
	p.expect(heartbeaten)
	if n := strings.Count(h.log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings, want 1 per socket:\n%s", n, h.log)
	}
}

func TestMessageSizes(t *testing.T) {
	h := newHarness(t, newFakeServers(), Metrics{})
	p := h.dial(t, goQuery)
	p.send(`{"Action":"HeartbeatServerProcess","RequestId":"h","Padding":"` + strings.Repeat("x", 1<<20) + `"}`)
	p.expect(heartbeaten)
	p.send(`{"Action":"HeartbeatServerProcess","RequestId":"h2","Padding":"` + strings.Repeat("x", maxMessage) + `"}`)
	p.expectCut()

	q := h.dial(t, goQuery)
	h.servers.next(t)
	connection := h.servers.next(t)
	data := strings.Repeat("y", 2<<20)
	connection.about.Push(processes.CreateGameSessionPush{GameSessionID: "g", GameSessionData: data})
	if got := q.receive(); !strings.Contains(got, data) {
		t.Errorf("a push of %d bytes came as %d bytes", len(data), len(got))
	}
}

func TestSlowReaderIsCut(t *testing.T) {
	slow := make(chan struct{}, 1)
	h := newHarness(t, newFakeServers(), Metrics{Slow: func() { slow <- struct{}{} }})
	p := h.dial(t, goQuery)
	connection := h.servers.next(t)
	push := processes.CreateGameSessionPush{GameSessionData: strings.Repeat("z", 1<<20)}
	for cut := false; !cut; {
		connection.about.Push(push)
		select {
		case <-slow:
			cut = true
		case <-t.Context().Done():
			t.Fatal("never cut")
		default:
		}
	}
	gone(t, connection)
	p.expectCut()
	connection.about.Push(push) // no harm
}

func TestSocketAfterTerminate(t *testing.T) {
	h := newHarness(t, newFakeServers(), Metrics{})
	p := h.dial(t, goQuery)
	p.send(`{"Action":"TerminateServerProcess","RequestId":"r"}`)
	p.expect(`{"Action":"TerminateServerProcess","RequestId":"r","StatusCode":200}`)
	if err := h.clock.BlockUntilContext(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	h.clock.Advance(linger - 1)
	pingpong(p) // still open
	h.clock.Advance(1)
	p.expectCut()
	gone(t, h.servers.next(t))
}

func TestReplacedSocketAnswersAndIsCutLater(t *testing.T) {
	h := newHarness(t, newFakeServers(), Metrics{})
	p := h.dial(t, goQuery)
	connection := h.servers.next(t)
	connection.about.Replaced()
	connection.about.Push(processes.TerminateProcessPush{}) // not over this socket any more
	p.send(heartbeat)
	p.expect(heartbeaten)
	h.clock.Advance(linger)
	p.expectCut()
	gone(t, connection)
}

func TestForgottenProcessIsToldAndCut(t *testing.T) {
	servers := newFakeServers()
	servers.answer = func(string) error { return fault.New(fault.NotFound, "no such process") }
	p := newHarness(t, servers, Metrics{}).dial(t, goQuery)
	p.send(heartbeat)
	p.expect(`{"Action":"HeartbeatServerProcess","RequestId":"h","StatusCode":404,` +
		`"ErrorMessage":"NotFoundException: no such process"}`)
	p.expectCut()
	gone(t, servers.next(t))
}

func TestCloseOfThePeerIsEchoed(t *testing.T) {
	for _, code := range []int{
		websocket.CloseNormalClosure, websocket.CloseGoingAway, websocket.CloseNoStatusReceived,
	} {
		h := newHarness(t, newFakeServers(), Metrics{})
		p := h.dial(t, cppQuery)
		if err := p.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, "Websocket client "+
			"closing"), noDeadline); err != nil {
			t.Fatal(err)
		}
		if _, _, err := p.ReadMessage(); !websocket.IsCloseError(err, code) {
			t.Errorf("answer to Close %d: %v", code, err)
		}
		gone(t, h.servers.next(t))
	}
}

func TestOpenedAndClosedAreCounted(t *testing.T) {
	opened, closed := make(chan struct{}, 1), make(chan struct{}, 1)
	h := newHarness(t, newFakeServers(), Metrics{Opened: func() { opened <- struct{}{} },
		Closed: func() { closed <- struct{}{} }})
	p := h.dial(t, goQuery)
	<-opened
	p.Close() // as the Go edition leaves: without a Close frame
	<-closed
	gone(t, h.servers.next(t))
}

// noDeadline is for control frames that may take as long as they need.
var noDeadline time.Time
