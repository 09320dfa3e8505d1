package agent

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/muster-gg/muster/internal/agent/plan"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// patience is how long a test waits for a message.
const patience = 20 * time.Second

// A fakeService accepts an agent, and hands what it sends to the test.
type fakeService struct {
	*testing.T
	url      string
	requests chan received
	tokens   chan string // of the sockets that were opened

	mu    sync.Mutex
	calls int // of AuthToken
}

// A received request with the socket that it came from.
type received struct {
	request
	on *websocket.Conn
}

func newFakeService(t *testing.T) *fakeService {
	f := &fakeService{T: t, requests: make(chan received, 64), tokens: make(chan string, 64)}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.url = "ws" + strings.TrimPrefix(server.URL, "http") + "/agent"
	return f
}

func (f *fakeService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("FleetId") != "fleet-1" || q.Get("ComputeName") != "box/1" {
		http.Error(w, `{"ErrorMessage":"no"}`, http.StatusForbidden)
		return
	}
	conn, err := new(websocket.Upgrader).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	f.tokens <- q.Get("Authorization")
	for {
		_, data, err := conn.ReadMessage()
		if err != nil {
			conn.Close()
			return
		}
		var m request
		if err := json.Unmarshal(data, &m); err != nil {
			f.Errorf("%s: %v", data, err)
		}
		f.requests <- received{m, conn}
	}
}

func (f *fakeService) Register(context.Context) (Endpoints, error) {
	return Endpoints{SDK: "wss://sdk", Agent: f.url + "?x=1"}, nil
}

func (f *fakeService) AuthToken(context.Context) (string, time.Time, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	return "token", time.Now().Add(time.Hour), nil
}

func (f *fakeService) tokenCalls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// take returns the next request, which must have an action.
func (f *fakeService) take(action string) received {
	f.Helper()
	select {
	case r := <-f.requests:
		if r.Action != action {
			f.Fatalf("received %+v, want %s", r.request, action)
		}
		return r
	case <-time.After(patience):
		f.Fatalf("no %s", action)
	}
	return received{}
}

func (f *fakeService) send(to received, message map[string]any) {
	f.Helper()
	if message["Action"] == nil {
		message["Action"], message["RequestId"], message["StatusCode"] = to.Action, to.RequestId, 200
	}
	if err := to.on.WriteJSON(message); err != nil {
		f.Fatal(err)
	}
}

func (f *fakeService) opened(token string) {
	f.Helper()
	select {
	case got := <-f.tokens:
		if got != token {
			f.Errorf("a socket was opened with %q, want %q", got, token)
		}
	case <-time.After(patience):
		f.Fatal("no socket was opened")
	}
}

// run runs an agent. The returned function stops it and waits.
func (f *fakeService) run(change ...func(*Config)) (stop func()) {
	f.Helper()
	data, err := os.MkdirTemp("", "m")
	if err != nil {
		f.Fatal(err)
	}
	cfg := Config{API: f, Fleet: "fleet-1", Compute: "box/1", Data: data,
		Supervisor: func(string) *exec.Cmd { return exec.Command("/does/not/exist") },
		Log:        slog.New(slog.NewTextHandler(f.Output(), nil))}
	for _, c := range change {
		c(&cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, cfg) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			f.Errorf("Run: %v", err)
		}
		_ = os.RemoveAll(data) // of the test alone
	})
	return stop
}

// TestSockets: the agent reconnects when its socket is lost, and overlaps sockets when it is asked to.
func TestSockets(t *testing.T) {
	f := newFakeService(t)
	stop := f.run()
	f.opened("token")
	beat := f.take(actionHeartbeat)
	if beat.Status != "Initializing" || beat.ProcessList == nil || len(beat.ProcessList) != 0 {
		t.Errorf("the first heartbeat is %+v", beat.request)
	}
	f.send(beat, map[string]any{"Status": "Initializing", "UnhealthyProcesses": nil, "UnregisteredProcesses": nil})
	f.send(f.take(actionRuntime), map[string]any{"ServerProcesses": []any{}})

	beat.on.Close()
	f.opened("token")
	read := f.take(actionRuntime) // it may have changed meanwhile
	f.send(read, map[string]any{"ServerProcesses": []any{}})

	f.send(read, map[string]any{"Action": pushRefresh, "RefreshConnectionEndpoint": f.url, "AuthToken": "other",
		"ExpirationTime": "1"})
	f.opened("other")
	for next := read; next.on == read.on; { // until the agent has taken the new socket; the old one is read
		f.send(read, map[string]any{"Action": pushRuntime})
		next = f.take(actionRuntime)
		f.send(next, map[string]any{"ServerProcesses": []any{}})
	}
	if n := f.tokenCalls(); n != 1 {
		t.Errorf("%d calls of GetComputeAuthToken", n)
	}

	go stop()
	for _, status := range []string{"Terminating", "Terminated"} {
		beat := f.take(actionHeartbeat)
		if beat.Status != status && beat.Status != "Terminated" {
			t.Errorf("the heartbeat of the end is %+v", beat.request)
		}
		f.send(beat, map[string]any{"Status": status})
		if beat.Status == "Terminated" && status != "Terminated" {
			break
		}
	}
	stop()
}

// TestReport: the end of a process is reported until the service has it, under the same id.
func TestReport(t *testing.T) {
	f := newFakeService(t)
	stop := f.run(func(c *Config) {
		c.Runtime = []plan.Entry{{LaunchPath: "/does/not/exist", Count: 1}}
	})
	f.opened("token")
	f.send(f.take(actionHeartbeat), map[string]any{"Status": "Active"})
	first := f.take(actionProcessExited)
	if first.TerminationReason != string(plan.InvalidPath) || *first.EventCode != string(plan.InvalidPath) {
		t.Errorf("the report is %+v", first.request)
	}
	first.on.Close()
	f.opened("token")
	again := f.take(actionProcessExited)
	if again.RequestId != first.RequestId || again.ProcessId != first.ProcessId {
		t.Errorf("the report is repeated as %+v, was %+v", again.request, first.request)
	}
	f.send(again, map[string]any{})

	f.send(again, map[string]any{"Action": pushTermination})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for r := range f.requests { // the heartbeats, and what else has been sent
			_ = r.on.WriteJSON(map[string]any{"Action": r.Action, "RequestId": r.RequestId, "StatusCode": 200})
		}
	}()
	stop()
	close(f.requests)
	<-ended
}

func TestRefused(t *testing.T) {
	f := newFakeService(t)
	err := Run(t.Context(), Config{API: f, Fleet: "fleet-2", Compute: "box/1", Data: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "403: no") || strings.Contains(err.Error(), "token") {
		t.Errorf("Run: %v", err)
	}
}
