package legacy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A call is a request with the call of the control plane that it causes, and the text of its answer.
type call struct {
	message string
	payload []byte
	call    string
	answer  string
}

// requestsOf returns one request for each message, in an order that a game server may use.
func requestsOf(process string) []call {
	session := slices.Clip(text(nil, 1, "g"))
	player := text(session, 2, "p")
	backfill := slices.Clip(text(text(text(nil, 1, "t"), 2, "g"), 3, "c"))
	return []call{
		{"ProcessReady", varint(text(nil, 1, "/tmp/gs.log"), 2, 7777),
			"Activate " + process + " 7777 [/tmp/gs.log]", ""},
		{"ReportHealth", varint(nil, 1, 1), "Heartbeat true", ""},
		{"ReportHealth", nil, "Heartbeat false", ""},
		{"UpdatePlayerSessionCreationPolicy", text(session, 2, "DENY_ALL"), "Policy g DENY_ALL", ""},
		{"AcceptPlayerSession", player, "Accept g p", ""},
		{"RemovePlayerSession", player, "Remove g p", ""},
		{"DescribePlayerSessionsRequest", varint(session, 6, 10), "Describe {GameSessionID:g PlayerSessionID: " +
			"PlayerID: StatusFilter: NextToken: Limit:10}", `{"nextToken":"","playerSessions":[]}`},
		{"BackfillMatchmakingRequest", within(backfill, 4, text(nil, 1, "ada")), "StartMatchBackfill g c t 1",
			`{"ticketId":"ticket-1"}`},
		{"StopMatchmakingRequest", backfill, "StopMatchBackfill g c t", ""},
		{"GetInstanceCertificate", nil, "", `{"certificatePath":"/c","certificateChainPath":"","privateKeyPath":"",` +
			`"hostName":"","rootCertificatePath":""}`},
		{"GameSessionTerminate", session, "Release g", ""},
		{"ProcessEnding", nil, "Terminate", ""},
	}
}

func withCertificate(c *Config) {
	c.Certificate = func() (Certificate, error) { return Certificate{CertificatePath: "/c"}, nil }
}

// TestRequests sends every request as each client library does.
func TestRequests(t *testing.T) {
	const indented = "451-%d[\r\n  \"%s\",\r\n  {\r\n    \"_placeholder\": true,\r\n    \"num\": 0\r\n  }\r\n]"
	for _, tt := range []struct {
		name, url, first, frame, head string
	}{
		{"C++", cppURL, "", `451-%d["%s",{"_placeholder":true,"num":0}]`, "\x04"},
		{"C++ rebuilt", cppURL, "40", `451-%d["%s",{"_placeholder":true,"num":0}]`, ""},
		{"C#", csharpURL, "", indented, "\x04"},
		{"namespace", csharpURL, "", `451-/,%d["%s",{"num":0,"_placeholder":true}]`, "\x04"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, withCertificate)
			p := r.connect(tt.url)
			if tt.first != "" {
				p.text(tt.first)
			}
			r.received("Connect 4242")
			for i, c := range requestsOf("4242") {
				p.text(fmt.Sprintf(tt.frame, i, messagePrefix+c.message))
				p.binary(append([]byte(tt.head), c.payload...))
				p.gets(string(ackOf(int64(i), true, c.answer)))
				if c.call != "" {
					r.received(c.call)
				}
			}
			p.getsNothing()
			if tt.first != "" {
				for range 3 {
					if err := r.clock.BlockUntilContext(t.Context(), 1); err != nil {
						t.Fatal(err)
					}
					r.clock.Advance(25 * time.Second)
					p.gets("2")
					p.text("3")
				}
			}
		})
	}
}

// TestRequestsThatFail answers each request once, with two arguments.
func TestRequestsThatFail(t *testing.T) {
	r := newRig(t)
	p := r.ready()
	for _, answer := range []struct {
		err    error
		status string
	}{{fault.New(fault.InvalidRequest, "no"), "ERROR_400"}, {errors.New("disk"), "ERROR_500"}} {
		r.answer = func(string) error { return answer.err }
		for i, c := range requestsOf("4242") {
			switch c.message {
			case "ProcessReady", "ProcessEnding", "GetInstanceCertificate":
				continue
			}
			p.request(i, c.message, c.payload)
			p.gets(string(ackOf(int64(i), false, failureOf(answer.err))))
			r.received(c.call)
			if !strings.Contains(failureOf(answer.err), answer.status) {
				t.Errorf("failure %s", failureOf(answer.err))
			}
		}
	}
	for i, c := range []call{
		{"GetInstanceCertificate", nil, "", ""},
		{"Unheard", nil, "", ""},
		{"", nil, "", ""},
		{"ReportHealth", []byte{0x80}, "", ""},
		{"AcceptPlayerSession", text(nil, 1, "\xff"), "", ""},
	} {
		p.request(i, c.message, c.payload)
		want := fmt.Sprintf(`43%d[false,"{\"status\":\"ERROR_400\",\"responseData\":\"\",\"errorMessage\":\"`, i)
		if got := p.next(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: received %s", c.message, got)
		}
	}
	p.text(`42["` + messagePrefix + `ReportHealth"]`) // asks for no answer
	r.received("Heartbeat false")
	p.getsNothing()
	r.nothingMore()
}

// TestReadyAfterFailure lets a game server call ProcessReady again.
func TestReadyAfterFailure(t *testing.T) {
	r := newRig(t)
	failed := fault.New(fault.InvalidRequest, "no")
	r.answer = func(string) error { return failed }
	p := r.connect(cppURL)
	p.request(1, "ProcessReady", varint(nil, 2, 7777))
	p.gets(string(ackOf(1, false, failureOf(failed))))
	r.received("Connect 4242", "Activate 4242 7777 []")
	r.answer = func(string) error { return nil }
	p.becomeReady()
}

// TestPushesGoToOneSocket prefers the socket over which no request has come, whichever was opened first.
func TestPushesGoToOneSocket(t *testing.T) {
	for _, second := range []bool{false, true} {
		r := newRig(t)
		asks, gets := r.connect(cppURL), r.connect(cppURL)
		if second {
			asks, gets = gets, asks
		}
		r.received("Connect 4242")
		asks.becomeReady()
		push := r.latest().Push
		push(game("g"))
		gets.gets(startOf(0))
		gets.text("430[true]")
		r.received("Started g true")
		push(game("g")) // it has accepted this one
		push(processes.UpdateGameSessionPush{GameSession: game("g"), FleetID: "fleet-1",
			UpdateReason: "BACKFILL_FAILED"})
		const update = `["UpdateGameSession","{\"gameSession\":{\"gameSessionId\":\"g\",\"fleetId\":\"fleet-1\",` +
			`\"maxPlayers\":0,\"joinable\":true,\"gameProperties\":[],\"ipAddress\":\"\",\"port\":7777},` +
			`\"updateReason\":\"BACKFILL_FAILED\"}"]`
		gets.gets("421" + update)
		gets.text("431[]") // SDKs before 3.2 have no handler
		push(processes.TerminateProcessPush{TerminationTime: time.UnixMilli(1700000500999)})
		gets.gets(`42["TerminateProcess","{\"terminationTime\":1700000500}"]`)
		asks.getsNothing()
		gets.getsNothing()

		_ = gets.Close() // the other one gets the pushes then
		for r.sockets() > 1 {
			asks.getsNothing()
		}
		push(processes.TerminateProcessPush{TerminationTime: time.Unix(1700000600, 0)})
		asks.gets(`42["TerminateProcess","{\"terminationTime\":1700000600}"]`)
		asks.getsNothing()
		r.nothingMore()
	}
}

func (r *rig) sockets() int { return r.endpoint.sockets.Len() }

// TestAcknowledgements are the answers to StartGameSession. "" is none.
func TestAcknowledgements(t *testing.T) {
	for answer, accepted := range map[string]bool{"[true]": true, `[true,""]`: true, "[\r\n  true\r\n]": true,
		"[false]": false, "[]": false, `["true"]`: false, "[1]": false, "[null]": false, "": false} {
		r := newRig(t)
		p := r.ready()
		r.latest().Push(game("g"))
		p.gets(startOf(0))
		p.text("437[true]") // nobody has asked for this one
		if answer == "" {
			r.clock.Advance(30*time.Second - 1)
			p.getsNothing()
			r.nothingMore()
			r.clock.Advance(1)
		} else {
			p.text("430" + answer)
		}
		r.received(fmt.Sprint("Started g ", accepted))
		p.text("430[true]") // too late, or again
		p.getsNothing()
		r.clock.Advance(time.Hour)
		p.getsNothing()
		r.nothingMore()
	}
}

// TestSocketIsLostBeforeTheAcknowledgement does not end the game session, which may have started.
func TestSocketIsLostBeforeTheAcknowledgement(t *testing.T) {
	r := newRig(t)
	asks := r.ready()
	gets := r.connect(cppURL)
	r.latest().Push(game("g"))
	gets.gets(startOf(0))
	_ = gets.Close()
	r.received("Unknown g")
	asks.getsNothing()
	r.nothingMore()
	_ = asks.Close()
	r.received("Disconnected 4242")
}

// TestEnds tells lost sockets from a crash.
func TestEnds(t *testing.T) {
	for _, tt := range []struct {
		name             string
		ending           bool
		first, last, end string
	}{
		{"both cut", false, "", "", "Disconnected 4242"},
		{"both left", false, "41", "41", "Crashed 4242"},
		{"both left with the type of Engine.IO", false, "1", "1", "Crashed 4242"},
		{"the last one cut", false, "41", "", "Disconnected 4242"},
		{"left after ProcessEnding", true, "41", "41", "Disconnected 4242"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			a := r.ready()
			b := r.connect(cppURL)
			if tt.ending {
				a.request(2, "ProcessEnding", nil)
				a.gets(`432[true,""]`)
				r.received("Terminate")
				a.request(3, "ReportHealth", varint(nil, 1, 1)) // some SDKs go on
				a.gets(`433[true,""]`)
			}
			for _, p := range []struct {
				peer
				word string
			}{{a, tt.first}, {b, tt.last}} {
				if p.word != "" {
					p.text(p.word)
				}
				r.nothingMore()
				_ = p.WriteControl(websocket.CloseMessage, nil, time.Time{})
				p.isClosed()
			}
			r.received(tt.end)
			r.nothingMore()
		})
	}
}

// TestReconnect connects the process again. A game session that the control plane repeats is pushed after a while,
// unless the game server activates it before.
func TestReconnect(t *testing.T) {
	for _, activates := range []bool{false, true} {
		r := newRig(t)
		p := r.ready()
		_ = p.Close()
		r.received("Disconnected 4242")
		r.past.Ready = true
		r.during = func(l processes.LegacyRequest) { l.Push(game("g")) }
		p = r.connect(cppURL)
		r.received("Connect 4242")
		if activates {
			p.request(1, "GameSessionActivate", text(nil, 1, "g"))
			p.gets(`431[true,""]`)
			r.received("ActivateGameSession g", "Started g true")
		}
		r.clock.Advance(10*time.Second - 1)
		p.getsNothing()
		r.clock.Advance(1)
		if !activates {
			p.gets(startOf(0))
			p.text("430[true]")
			r.received("Started g true")
		}
		p.getsNothing()
		r.latest().Push(processes.TerminateProcessPush{TerminationTime: time.Unix(1, 0)}) // it was ready before
		p.gets(`42["TerminateProcess","{\"terminationTime\":1}"]`)
		r.nothingMore()
	}
}

// TestEndedWhileAway tells a game server to end whose process has ended in the service meanwhile.
func TestEndedWhileAway(t *testing.T) {
	r := newRig(t)
	r.past.Ended = true
	p := r.connect(cppURL)
	p.request(1, "ReportHealth", varint(nil, 1, 1))
	p.gets(fmt.Sprintf(`42["TerminateProcess","{\"terminationTime\":%d}"]`, r.clock.Now().Unix()))
	if got := p.next(); !strings.HasPrefix(got, `431[false,`) {
		t.Errorf("received %s", got)
	}
}

// TestSamePID keeps processes apart that send the pID of their parent.
func TestSamePID(t *testing.T) {
	r := newRig(t)
	a := r.ready()
	a.request(2, "ProcessReady", varint(nil, 2, 7777))
	a.gets(`432[true,""]`)
	r.nothingMore()
	b, c := r.connect(cppURL), r.connect(cppURL)
	b.request(1, "ProcessReady", varint(nil, 2, 8888))
	b.gets(`431[true,""]`)
	r.received("Connect 4242.2", "Activate 4242.2 8888 []")
	r.latest().Push(game("g"))
	b.gets(startOf(0))
	b.text("430[true]")
	r.received("Started g true")
	c.request(1, "ProcessReady", varint(nil, 2, 9999))
	c.gets(`431[true,""]`)
	r.received("Connect 4242.3", "Activate 4242.3 9999 []")
	a.getsNothing()
	_ = b.Close()
	r.received("Disconnected 4242.2")
	c.text("41")
	_ = c.Close()
	r.received("Crashed 4242.3")
	a.request(3, "ReportHealth", varint(nil, 1, 1))
	a.gets(`433[true,""]`)
	r.received("Heartbeat true")
}

// TestTerminateBeforeReady is not pushed: the port to Node.js would crash.
func TestTerminateBeforeReady(t *testing.T) {
	r := newRig(t)
	p := r.connect(cppURL)
	r.received("Connect 4242")
	terminate := processes.TerminateProcessPush{TerminationTime: time.Unix(1700000500, 0)}
	r.latest().Push(terminate)
	p.getsNothing()
	p.becomeReady()
	r.latest().Push(terminate)
	p.gets(`42["TerminateProcess","{\"terminationTime\":1700000500}"]`)
}

// TestTooManyRequests rejects requests beyond the limit, and answers each of the others once.
func TestTooManyRequests(t *testing.T) {
	r := newRig(t)
	p := r.ready()
	r.mu.Lock()
	r.holding = true
	r.mu.Unlock()
	for i := range maxPending {
		p.request(i, "AcceptPlayerSession", nil)
		r.received("Accept  ")
	}
	p.request(maxPending, "AcceptPlayerSession", nil)
	if got := p.next(); !strings.HasPrefix(got, fmt.Sprintf(`43%d[false,"{\"status\":\"ERROR_400\"`, maxPending)) {
		t.Errorf("received %s", got)
	}
	p.getsNothing()
	r.release()
	for i := range maxPending {
		p.gets(fmt.Sprintf(`43%d[true,""]`, i))
	}
	p.request(1, "AcceptPlayerSession", nil)
	p.gets(`431[true,""]`)
	r.received("Accept  ")
}

// TestTooManySockets rejects sockets beyond the limit of one game server.
func TestTooManySockets(t *testing.T) {
	r := newRig(t)
	for range maxSockets {
		r.connect(cppURL)
	}
	r.refuses(r.socketIO, cppURL, nil, http.StatusTooManyRequests)
	r.connect(strings.Replace(cppURL, "4242", "4243", 1))
}

// refuses checks that a WebSocket is not accepted.
func (r *rig) refuses(base, path string, header http.Header, want int) {
	r.Helper()
	ws, answer, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(base, "http")+path, header)
	if err == nil {
		_ = ws.Close()
		r.Errorf("%s: accepted, want status %d", path, want)
		return
	}
	if answer == nil {
		r.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != want {
		r.Errorf("%s: %s, want %d", path, answer.Status, want)
	}
}

// TestRefused rejects web pages, handshakes without a valid pID, and what the control plane rejects.
func TestRefused(t *testing.T) {
	r := newRig(t)
	for _, origin := range []string{"http://localhost:5757", "https://example.com", "null"} {
		header := http.Header{"Origin": {origin}}
		r.refuses(r.socketIO, cppURL, header, http.StatusForbidden)
		r.refuses(r.push, pushURL, header, http.StatusForbidden)
		if status, _ := r.post("1", "ReportHealth", nil, func(q *http.Request) { q.Header = header }); status != 403 {
			t.Errorf("POST: status %d", status)
		}
	}
	for _, pid := range []string{"", "pID=", "pID=" + strings.Repeat("1", maxPID+1), "pID=1%0A2", "pID=%C3%A4"} {
		r.refuses(r.socketIO, "/socket.io/?EIO=4&transport=websocket&"+pid, nil, http.StatusBadRequest)
		r.refuses(r.push, "/?"+pid, nil, http.StatusBadRequest)
	}
	r.nothingMore()
	for err, status := range map[error]int{fault.New(fault.InvalidRequest, "no"): 400, errors.New("disk"): 500} {
		r.refuse = func(processes.LegacyRequest) error { return err }
		r.refuses(r.socketIO, cppURL, nil, status)
		r.refuses(r.push, pushURL, nil, status)
		r.received("Connect 4242", "Connect 4343")
	}
	r.endpoint.mu.Lock()
	defer r.endpoint.mu.Unlock()
	if n := len(r.endpoint.servers); n != 0 {
		t.Errorf("%d servers are remembered", n)
	}
}

// TestOriginOfTheSDK accepts what the SDK for C# 3.x sends in its handshake: an Origin that no browser has.
func TestOriginOfTheSDK(t *testing.T) {
	r := newRig(t)
	for _, origin := range []string{"ws://127.0.0.1:5757", "127.0.0.1", ""} {
		ws, answer, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(r.socketIO, "http")+csharpURL,
			http.Header{"Origin": {origin}})
		if err != nil {
			t.Fatalf("Origin %q: %v", origin, err)
		}
		_ = answer.Body.Close()
		_ = ws.Close()
		r.received("Connect 4242", "Disconnected 4242")
	}
}

// TestLiveness keeps a client that talks without pings, and closes one that is silent. These times are real.
func TestLiveness(t *testing.T) {
	r := newRig(t, func(c *Config) { c.PingInterval, c.PingTimeout = 750*time.Millisecond, 750*time.Millisecond })
	p := r.open(r.socketIO, cppURL)
	p.next()
	p.gets("40")
	r.received("Connect 4242")
	for began := time.Now(); time.Since(began) < 2*time.Second; {
		p.request(7, "ReportHealth", varint(nil, 1, 1))
		p.gets(`437[true,""]`)
		r.received("Heartbeat true")
	}
	p.isClosed()
	r.received("Disconnected 4242")
}

// TestNextRunWithTheSameID pushes a game session to a new process although its id is that of an earlier one.
func TestNextRunWithTheSameID(t *testing.T) {
	r := newRig(t)
	for range 2 {
		p := r.ready()
		r.latest().Push(game("g"))
		p.gets(startOf(0))
		p.text("430[true]")
		r.received("Started g true")
		p.request(2, "ProcessEnding", nil)
		p.gets(`432[true,""]`)
		r.received("Terminate")
		_ = p.Close()
		r.received("Disconnected 4242")
	}
}

// TestNewRunAfterFailure lets a game server call ProcessReady again after its new process could not be connected.
func TestNewRunAfterFailure(t *testing.T) {
	r := newRig(t)
	p := r.ready()
	p.request(2, "ProcessEnding", nil)
	p.gets(`432[true,""]`)
	r.received("Terminate")
	failed := errors.New("disk")
	r.refuse = func(processes.LegacyRequest) error { return failed }
	p.request(3, "ProcessReady", varint(nil, 2, 7777))
	p.gets(string(ackOf(3, false, failureOf(failed))))
	r.received("Connect 4242")
	r.refuse = nil
	p.request(4, "ProcessReady", varint(nil, 2, 7777))
	p.gets(`434[true,""]`)
	r.received("Connect 4242", "Activate 4242 7777 []")
}

// TestEndingFails keeps a process whose end could not be stored.
func TestEndingFails(t *testing.T) {
	r := newRig(t)
	p := r.ready()
	failed := errors.New("disk")
	r.answer = func(string) error { return failed }
	p.request(2, "ProcessEnding", nil)
	p.gets(string(ackOf(2, false, failureOf(failed))))
	r.received("Terminate")
	r.answer = nil
	p.request(3, "ProcessEnding", nil)
	p.gets(`433[true,""]`)
	r.received("Terminate")
}

// TestSamePIDWithTwoSockets keeps the sockets of two processes together.
func TestSamePIDWithTwoSockets(t *testing.T) {
	r := newRig(t)
	a, pushesA := r.connect(cppURL), r.connect(cppURL)
	r.received("Connect 4242")
	a.becomeReady()
	first := r.latest().Push
	b, pushesB := r.connect(cppURL), r.connect(cppURL)
	b.request(1, "ProcessReady", varint(nil, 2, 8888))
	b.gets(`431[true,""]`)
	r.received("Connect 4242.2", "Activate 4242.2 8888 []")
	r.latest().Push(game("g"))
	pushesB.gets(startOf(0))
	first(game("g"))
	pushesA.gets(startOf(0))
}

// TestNotReady rejects requests until the service can be used.
func TestNotReady(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Ready = func(context.Context) bool { return false } })
	r.refuses(r.socketIO, cppURL, nil, http.StatusServiceUnavailable)
	r.refuses(r.push, pushURL, nil, http.StatusServiceUnavailable)
	if status, _ := r.post("1", "ReportHealth", nil); status != http.StatusServiceUnavailable {
		t.Errorf("POST: status %d", status)
	}
}

// TestOversized closes only the socket that has sent too much.
func TestOversized(t *testing.T) {
	r := newRig(t)
	p := r.ready()
	p.text("2" + strings.Repeat("x", maxMessage-1)) // as much as is allowed
	p.gets("3" + strings.Repeat("x", maxMessage-1))
	bad := r.connect(cppURL)
	bad.text(`451-1["` + messagePrefix + `ReportHealth",{}]`)
	bad.binary(make([]byte, maxMessage+1))
	bad.isClosed()
	worse := r.connect(cppURL)
	worse.binary([]byte{4}) // without a request
	worse.isClosed()
	p.request(2, "ReportHealth", nil)
	p.gets(`432[true,""]`)
	r.received("Heartbeat false")
	r.nothingMore()
}

// TestControlFrames answers WebSocket pings, and the Close frame of a client.
func TestControlFrames(t *testing.T) {
	r := newRig(t)
	r.connect(cppURL).pings()
	r.open(r.push, pushURL).pings()
	for _, p := range []peer{r.connect(cppURL), r.open(r.push, pushURL)} {
		code := websocket.CloseGoingAway
		answer := websocket.FormatCloseMessage(code, "")
		if err := p.WriteControl(websocket.CloseMessage, answer, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := p.ReadMessage(); !websocket.IsCloseError(err, code) {
			t.Errorf("answer to Close: %v", err)
		}
	}
}

// pings sends a ping of WebSocket, and checks that the next frame is the pong. Nothing can be read afterwards.
func (p peer) pings() {
	p.Helper()
	errPong := errors.New("pong")
	p.SetPongHandler(func(data string) error {
		if data != "are you there" {
			p.Errorf("pong %q", data)
		}
		return errPong
	})
	if err := p.WriteControl(websocket.PingMessage, []byte("are you there"), time.Time{}); err != nil {
		p.Fatal(err)
	}
	if _, data, err := p.ReadMessage(); !errors.Is(err, errPong) {
		p.Fatalf("received %s, %v", data, err)
	}
}

// TestClose closes all sockets without a Close frame, and accepts no more.
func TestClose(t *testing.T) {
	r := newRig(t)
	a := r.ready()
	b, c := r.connect(cppURL), r.open(r.push, pushURL)
	r.received("Connect 4343")
	r.close()
	for _, p := range []peer{a, b, c} {
		if _, _, err := p.ReadMessage(); err == nil || websocket.IsCloseError(err, websocket.CloseNormalClosure) {
			t.Errorf("the socket ends with %v", err)
		}
	}
	left := map[string]bool{<-r.calls: true, <-r.calls: true}
	if !left["Disconnected 4242"] || !left["Disconnected 4343"] {
		t.Errorf("received %v", left)
	}
	r.refuses(r.socketIO, cppURL, nil, http.StatusServiceUnavailable)
}

// TestCloseWaits waits for the handlers that run.
func TestCloseWaits(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.endpoint.sockets.Running.Add(1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.endpoint.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Close returns %v", err)
	}
	r.endpoint.sockets.Running.Done()
}
