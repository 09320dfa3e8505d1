package legacy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// post sends a request as the SDK 4 for C# does.
func (r *rig) post(pid, target string, body []byte, change ...func(*http.Request)) (status int, answer string) {
	r.Helper()
	q, err := http.NewRequestWithContext(r.Context(), http.MethodPost, r.posts, bytes.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	q.Header = http.Header{"Accept": {"application/json"}, "Gamelift-Server-Pid": {pid}, "Gamelift-Target": {target}}
	for _, f := range change {
		f(q)
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		r.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		r.Fatal(err)
	}
	json := resp.Header.Get("Content-Type") == "application/json"
	if want := strings.HasPrefix(string(text), "{"); json != want {
		r.Errorf("%s: Content-Type %s for %s", target, resp.Header.Get("Content-Type"), text)
	}
	return resp.StatusCode, string(text)
}

// TestPosts sends every request by HTTP, with the short names and the full ones.
func TestPosts(t *testing.T) {
	for _, prefix := range []string{"", messagePrefix} {
		r := newRig(t, withCertificate)
		r.open(r.push, pushURL)
		r.received("Connect 4343")
		for _, c := range requestsOf("4343") {
			if status, answer := r.post("4343", prefix+c.message, c.payload); status != 200 || answer != c.answer {
				t.Errorf("%s: %d %s, want %s", c.message, status, answer, c.answer)
			}
			if c.call != "" {
				r.received(c.call)
			}
		}
		r.nothingMore()
	}
}

// TestPostsThatFail are answered with the status that the SDK expects.
func TestPostsThatFail(t *testing.T) {
	r := newRig(t)
	r.open(r.push, pushURL)
	r.received("Connect 4343")
	for _, tt := range []struct {
		err    error
		status int
	}{
		{fault.New(fault.InvalidRequest, "no"), 400}, {fault.New(fault.NotFound, "no"), 400},
		{fault.New(fault.ServiceUnavailable, "no"), 500}, {errors.New("disk"), 500},
	} {
		r.answer = func(string) error { return tt.err }
		if status, answer := r.post("4343", "ReportHealth", nil); status != tt.status || answer != failureOf(tt.err) {
			t.Errorf("%v: %d %s", tt.err, status, answer)
		}
		r.received("Heartbeat false")
	}
	for _, tt := range []struct {
		name, pid, target string
		body              []byte
		change            func(*http.Request)
		status            int
	}{
		{"unknown message", "4343", "Unheard", nil, nil, 400},
		{"no message", "4343", "", nil, nil, 400},
		{"no pID", "", "ReportHealth", nil, nil, 400},
		{"long pID", strings.Repeat("1", maxPID+1), "ReportHealth", nil, nil, 400},
		{"malformed", "4343", "ReportHealth", []byte{0x80}, nil, 400},
		{"too large", "4343", "ReportHealth", make([]byte, maxMessage+1), nil, 413},
		{"GET", "4343", "ReportHealth", nil, func(q *http.Request) { q.Method = http.MethodGet }, 405},
	} {
		change := func(q *http.Request) {
			if tt.change != nil {
				tt.change(q)
			}
		}
		if status, answer := r.post(tt.pid, tt.target, tt.body, change); status != tt.status {
			t.Errorf("%s: %d %s, want %d", tt.name, status, answer, tt.status)
		}
	}
	r.nothingMore()
}

// TestPostsWithoutWebSocket are accepted from a process that hosts a game session, until it ends.
func TestPostsWithoutWebSocket(t *testing.T) {
	r := newRig(t)
	r.refuse = func(processes.LegacyRequest) error { return fault.New(fault.NotFound, "no") }
	if status, answer := r.post("4343", "ReportHealth", nil); status != 400 || !strings.Contains(answer, "ERROR_400") {
		t.Errorf("%d %s", status, answer)
	}
	r.received("Connect 4343 that hosts")
	r.refuse = nil
	for _, call := range []string{"Connect 4343 that hosts", ""} { // the second request needs no connection
		if status, answer := r.post("4343", "ReportHealth", nil); status != 200 {
			t.Errorf("%d %s", status, answer)
		}
		if call != "" {
			r.received(call)
		}
		r.received("Heartbeat false")
	}
	if r.latest().Acknowledges {
		t.Error("pushes over HTTP are acknowledged")
	}
	if status, _ := r.post("4343", "ProcessReady", varint(nil, 2, 7777)); status != 400 {
		t.Errorf("ProcessReady: %d", status)
	}
	if status, _ := r.post("4343", "GameSessionTerminate", text(nil, 1, "g")); status != 200 {
		t.Errorf("GameSessionTerminate: %d", status)
	}
	r.received("Release g", "Disconnected 4343")
	r.latest().Replaced()
	if status, _ := r.post("4343", "ReportHealth", nil); status != 200 {
		t.Errorf("ReportHealth: %d", status)
	}
	r.received("Connect 4343 that hosts", "Heartbeat false")
}

// TestPushesOverWebSocket writes envelopes, and reads nothing from the client.
func TestPushesOverWebSocket(t *testing.T) {
	r := newRig(t)
	ws := r.open(r.push, pushURL)
	r.received("Connect 4343")
	push := r.latest().Push
	terminate := processes.TerminateProcessPush{TerminationTime: time.UnixMilli(1700000500123)}
	push(terminate) // not before ProcessReady
	if status, _ := r.post("4343", "ProcessReady", varint(nil, 2, 7777)); status != 200 {
		t.Fatalf("ProcessReady: %d", status)
	}
	r.received("Activate 4343 7777 []")
	ws.text("451-1[") // ignored
	ws.binary([]byte{4})
	push(game("g"))
	const kind = `{"innerMessage":{"@type":"type.googleapis.com/com.amazon.whitewater.auxproxy.pbuffer.`
	const full = `"gameSession":{"gameSessionId":"g","fleetId":"fleet-1","maxPlayers":0,"joinable":true,` +
		`"gameProperties":[],"ipAddress":"","port":7777}`
	ws.gets(kind + `ActivateGameSession",` + full + `}}`)
	r.clock.Advance(time.Hour)
	r.nothingMore() // nobody has to acknowledge it
	push(processes.UpdateGameSessionPush{GameSession: game("g"), FleetID: "fleet-1", UpdateReason: "BACKFILL_FAILED"})
	ws.gets(kind + `UpdateGameSession",` + full + `,"updateReason":"BACKFILL_FAILED"}}`)
	push(terminate)
	ws.gets(kind + `TerminateProcess","terminationTime":1700000500123}}`)
	if status, _ := r.post("4343", "GameSessionActivate", text(nil, 1, "g")); status != 200 {
		t.Errorf("GameSessionActivate: %d", status)
	}
	r.received("ActivateGameSession g", "Started g true")
}
