package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/serversdk"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// patience is how long a test waits for a message.
const patience = 20 * time.Second

// fakeAgents is a control plane with one compute, and its only connection.
type fakeAgents struct {
	health processes.AgentHealth
	refuse error // the answer to requests; nil: success
	closed chan struct{}

	mu    sync.Mutex
	push  func(processes.AgentPush)
	calls []string
}

func newFakeAgents() *fakeAgents { return &fakeAgents{closed: make(chan struct{}, 8)} }

func (f *fakeAgents) ConnectAgent(_ context.Context, r processes.AgentRequest) (processes.AgentConnection, error) {
	if r.FleetID != "fleet-1" || r.ComputeName != "box/1" || r.Authorization != "token" {
		return nil, fault.New(fault.AccessDenied, "no")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.push = r.Push
	r.Push(processes.ForceExitPush{ProcessID: "early", Reason: "SERVER_PROCESS_CRASHED"}) // the socket is not open yet
	return f, nil
}

func (f *fakeAgents) call(text ...string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, strings.Join(text, " "))
	return f.refuse
}

func (f *fakeAgents) Heartbeat(_ context.Context, b processes.AgentHeartbeat) (processes.AgentHealth, error) {
	text := []string{"heartbeat", string(b.Status), strings.Join(b.Processes, "+")}
	for _, o := range b.Backoffs {
		text = append(text, fmt.Sprintf("%s %s %s exit %d crash %d wait %s %q", o.LaunchPath, o.Parameters, o.Process,
			o.ExitCode, o.Crashes, o.Wait, o.Output))
	}
	if b.Builds != nil {
		text = append(text, "builds", strings.Join(b.Builds, "+"))
	}
	return f.health, f.call(text...)
}

func (f *fakeAgents) PutLines(stream string, l processes.LogLines) error {
	return f.call("lines", stream, fmt.Sprintf("%q %t %q %t", l.Lines, l.Skipped, l.Problem, l.Ended))
}

func (f *fakeAgents) RuntimeConfiguration() (*wire.RuntimeConfiguration, error) {
	return &wire.RuntimeConfiguration{
		MaxConcurrentGameSessionActivations: wire.Some(int32(2)),
		ServerProcesses: []wire.ServerProcess{
			{LaunchPath: "/local/game/server", Parameters: "--port 7777", ConcurrentExecutions: wire.Some(int32(3))},
			{LaunchPath: "/local/game/other"},
		},
	}, f.call("runtime")
}

func (f *fakeAgents) RoleCredentials(session string) (*processes.RoleKeys, error) {
	if session == "" {
		return nil, f.call("credentials")
	}
	return &processes.RoleKeys{AssumedRoleUserArn: "arn:" + session, AssumedRoleID: "AROA1", AccessKeyID: "ASIA1",
		SecretAccessKey: "secret", SessionToken: "t", Expires: time.UnixMilli(7)}, f.call("credentials", session)
}

func (f *fakeAgents) ProcessExited(_ context.Context, process, reason, detail string) error {
	return f.call(strings.TrimSpace(strings.Join([]string{"exited", process, reason, detail}, " ")))
}

func (f *fakeAgents) Disconnected() { f.closed <- struct{}{} }

func (f *fakeAgents) called() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.calls, "; ")
}

const goodQuery = "?FleetId=fleet-1&ComputeName=box%2F1&Authorization=token"

func serve(t *testing.T, agents *fakeAgents, metrics serversdk.Metrics) (url string) {
	t.Helper()
	e := New(Config{Agents: agents, Log: slog.New(slog.DiscardHandler), Metrics: metrics})
	server := httptest.NewServer(e)
	t.Cleanup(func() {
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return "ws" + strings.TrimPrefix(server.URL, "http") + Path
}

type peer struct {
	*websocket.Conn
	t *testing.T
}

// dial connects an agent, and takes the push that was queued before.
func dial(t *testing.T, url string) *peer {
	t.Helper()
	conn, _, err := websocket.DefaultDialer.Dial(url+goodQuery, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	p := &peer{conn, t}
	p.expect(`{"Action":"ForceExitServerProcess","ProcessId":"early","TerminationReason":"SERVER_PROCESS_CRASHED"}`)
	return p
}

func (p *peer) send(message string) {
	p.t.Helper()
	if err := p.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) expect(want string) {
	p.t.Helper()
	_, got, err := p.ReadMessage()
	if err != nil {
		p.t.Fatalf("instead of %s: %v", want, err)
	}
	if string(got) != want {
		p.t.Fatalf("received\n %s\nwant\n %s", got, want)
	}
}

func TestRequests(t *testing.T) {
	agents := newFakeAgents()
	agents.health = processes.AgentHealth{Status: processes.ComputeActive, Unregistered: []string{"p2"}}
	p := dial(t, serve(t, agents, serversdk.Metrics{}))
	for _, c := range []struct{ send, expect, call string }{
		{`{"Action":"SendHeartbeat","RequestId":"h1","Status":"Active","ProcessList":["p1","p2"],` +
			`"HeartbeatTimeMillis":1}`,
			`{"Action":"SendHeartbeat","RequestId":"h1","StatusCode":200,"Status":"Active","UnhealthyProcesses":[],` +
				`"UnregisteredProcesses":["p2"]}`, "heartbeat Active p1+p2"},
		{`{"action":"SendHeartbeat","requestid":"h2","Status":"Active","ProcessList":null}`,
			`{"Action":"SendHeartbeat","RequestId":"h2","StatusCode":200,"Status":"Active","UnhealthyProcesses":[],` +
				`"UnregisteredProcesses":["p2"]}`, "heartbeat Active "},
		{`{"Action":"SendHeartbeat","RequestId":"h3","Status":"Active","ProcessList":"p1"}`,
			`{"Action":"SendHeartbeat","RequestId":"h3","StatusCode":400,"ErrorMessage":"InvalidRequestException: ` +
				`ProcessList has a value of the wrong type","UnhealthyProcesses":[],"UnregisteredProcesses":[]}`, ""},
		{`{"Action":"SendHeartbeat","RequestId":"h4","Status":"Active","Backoffs":[{"LaunchPath":"/s",` +
			`"Parameters":"a","ProcessId":"p9","ExitCode":3221225477,"Crashes":2,"WaitMillis":1900,` +
			`"Output":"no map"}]}`,
			`{"Action":"SendHeartbeat","RequestId":"h4","StatusCode":200,"Status":"Active","UnhealthyProcesses":[],` +
				`"UnregisteredProcesses":["p2"]}`,
			`heartbeat Active  /s a p9 exit 3221225477 crash 2 wait 1.9s "no map"`},
		{`{"Action":"SendHeartbeat","RequestId":"h5","Status":"Active","Backoffs":[{"LaunchPath":"/s",` +
			`"ProcessId":"p"}]}`,
			`{"Action":"SendHeartbeat","RequestId":"h5","StatusCode":400,"ErrorMessage":"InvalidRequestException: ` +
				`Crashes of a back-off must be at least 1","UnhealthyProcesses":[],"UnregisteredProcesses":[]}`, ""},
		{`{"Action":"SendHeartbeat","RequestId":"h6","Status":"Active","Builds":["build-1","build-2"]}`,
			`{"Action":"SendHeartbeat","RequestId":"h6","StatusCode":200,"Status":"Active","UnhealthyProcesses":[],` +
				`"UnregisteredProcesses":["p2"]}`, "heartbeat Active  builds build-1+build-2"},
		{`{"Action":"SendHeartbeat","RequestId":"h7","Status":"Active","Builds":[""]}`,
			`{"Action":"SendHeartbeat","RequestId":"h7","StatusCode":400,"ErrorMessage":"InvalidRequestException: ` +
				`Builds may have 20 elements of 1 to 128 bytes","UnhealthyProcesses":[],"UnregisteredProcesses":[]}`,
			""},
		{`{"Action":"DescribeRuntimeConfiguration","RequestId":"d1"}`,
			`{"Action":"DescribeRuntimeConfiguration","RequestId":"d1","StatusCode":200,"ServerProcesses":[` +
				`{"LaunchPath":"/local/game/server","Parameters":"--port 7777","ConcurrentExecutions":3},` +
				`{"LaunchPath":"/local/game/other","ConcurrentExecutions":1}],` +
				`"MaxConcurrentGameSessionActivations":2}`, "runtime"},
		{`{"Action":"GetFleetRoleCredentials","RequestId":"c1"}`,
			`{"Action":"GetFleetRoleCredentials","RequestId":"c1","StatusCode":200,"AssumedRoleUserArn":"",` +
				`"AssumedRoleId":"","AccessKeyId":"","SecretAccessKey":"","SessionToken":"","Expiration":0}`,
			"credentials"},
		{`{"Action":"GetFleetRoleCredentials","RequestId":"c2","RoleSessionName":"GameLiftAgentSession-aB3dE"}`,
			`{"Action":"GetFleetRoleCredentials","RequestId":"c2","StatusCode":200,` +
				`"AssumedRoleUserArn":"arn:GameLiftAgentSession-aB3dE","AssumedRoleId":"AROA1","AccessKeyId":"ASIA1",` +
				`"SecretAccessKey":"secret","SessionToken":"t","Expiration":7}`,
			"credentials GameLiftAgentSession-aB3dE"},
		{`{"Action":"GetFleetRoleCredentials","RequestId":"c3","RoleSessionName":"a b"}`,
			`{"Action":"GetFleetRoleCredentials","RequestId":"c3","StatusCode":400,"ErrorMessage":` +
				`"InvalidRequestException: RoleSessionName must have 2 to 64 letters, digits or _+=,.@-"}`, ""},
		{`{"Action":"NotifyServerProcessTermination","RequestId":"n1","ProcessId":"p1","EventCode":null,` +
			`"TerminationReason":"NORMAL_TERMINATION"}`,
			`{"Action":"NotifyServerProcessTermination","RequestId":"n1","StatusCode":200}`,
			"exited p1 NORMAL_TERMINATION"},
		{`{"Action":"NotifyServerProcessTermination","RequestId":"n1","ProcessId":"p1","EventCode":null,` +
			`"TerminationReason":"NORMAL_TERMINATION"}`, // repeated: answered, and not carried out
			`{"Action":"NotifyServerProcessTermination","RequestId":"n1","StatusCode":200}`, ""},
		{`{"Action":"NotifyServerProcessTermination","RequestId":"n2"}`,
			`{"Action":"NotifyServerProcessTermination","RequestId":"n2","StatusCode":400,"ErrorMessage":` +
				`"InvalidRequestException: ProcessId must have 1 to 128 bytes"}`, ""},
		{`{"Action":"Dance","RequestId":"x1"}`,
			`{"Action":"Dance","RequestId":"x1","StatusCode":400,"ErrorMessage":` +
				`"InvalidRequestException: there is no action \"Dance\""}`, ""},
	} {
		before := agents.called()
		p.send(c.send)
		p.expect(c.expect)
		if got := strings.TrimPrefix(strings.TrimPrefix(agents.called(), before), "; "); got != c.call {
			t.Errorf("%s called %q, want %q", c.send, got, c.call)
		}
	}
}

// TestGarbage is ignored as long as it cannot be answered, and the socket stays.
func TestGarbage(t *testing.T) {
	agents := newFakeAgents()
	p := dial(t, serve(t, agents, serversdk.Metrics{}))
	for _, garbage := range []string{
		"", "{", "[]", "null", `"text"`, `{"Action":"SendHeartbeat"}`, `{"RequestId":"r"}`,
		`{"Action":1,"RequestId":"r"}`,
		`{"Action":"SendHeartbeat","RequestId":"` + strings.Repeat("r", maxName+1) + `"}`,
	} {
		p.send(garbage)
	}
	binary := []byte(`{"Action":"SendHeartbeat","RequestId":"b"}`)
	if err := p.WriteMessage(websocket.BinaryMessage, binary); err != nil {
		t.Fatal(err)
	}
	p.send(`{"Action":"Dance","RequestId":"last"}`)
	p.expect(`{"Action":"Dance","RequestId":"last","StatusCode":400,"ErrorMessage":` +
		`"InvalidRequestException: there is no action \"Dance\""}`)
	p.send(`{"Action":"SendHeartbeat","RequestId":"` + strings.Repeat("r", maxMessage) + `"}`)
	if _, _, err := p.ReadMessage(); err == nil {
		t.Error("a message that is too long was accepted")
	}
	<-agents.closed
}

func TestFailuresHaveBothLists(t *testing.T) {
	agents := newFakeAgents()
	agents.refuse = fault.New(fault.NotFound, "gone")
	p := dial(t, serve(t, agents, serversdk.Metrics{}))
	p.send(`{"Action":"SendHeartbeat","RequestId":"h1","Status":"Active"}`)
	p.expect(`{"Action":"SendHeartbeat","RequestId":"h1","StatusCode":404,"ErrorMessage":"NotFoundException: gone",` +
		`"UnhealthyProcesses":[],"UnregisteredProcesses":[]}`)
	p.send(`{"Action":"DescribeRuntimeConfiguration","RequestId":"d1"}`)
	p.expect(`{"Action":"DescribeRuntimeConfiguration","RequestId":"d1","StatusCode":404,` +
		`"ErrorMessage":"NotFoundException: gone"}`)
}

func TestPushes(t *testing.T) {
	agents := newFakeAgents()
	p := dial(t, serve(t, agents, serversdk.Metrics{}))
	for _, c := range []struct {
		push   processes.AgentPush
		expect string
	}{
		{processes.ProcessRegisteredPush{ProcessID: "p", LogPaths: []string{"/local/game/logs"}},
			`{"Action":"NotifyProcessRegistered","ProcessId":"p","LogPaths":["/local/game/logs"]}`},
		{processes.SessionActivatedPush{ProcessID: "p", GameSessionID: "arn:g"},
			`{"Action":"NotifyGameSessionActivated","ProcessId":"p","GameSessionId":"arn:g"}`},
		{processes.ForceExitPush{ProcessID: "p", Reason: "SERVER_PROCESS_CRASHED"},
			`{"Action":"ForceExitServerProcess","ProcessId":"p","TerminationReason":"SERVER_PROCESS_CRASHED"}`},
		{processes.StartTerminationPush{}, `{"Action":"StartComputeTermination"}`},
		{processes.RuntimeUpdatedPush{}, `{"Action":"NotifyRuntimeConfigurationUpdated"}`},
		{processes.StartProcessPush{ProcessID: "p", BuildID: "build-1"},
			`{"Action":"StartServerProcess","ProcessId":"p","BuildId":"build-1"}`},
	} {
		agents.push(c.push)
		p.expect(c.expect)
	}
}

func TestHandshake(t *testing.T) {
	url := serve(t, newFakeAgents(), serversdk.Metrics{})
	for query, want := range map[string]int{
		"?FleetId=fleet-1&ComputeName=box%2F1&Authorization=other": 403,
		"?FleetId=fleet-2&ComputeName=box%2F1&Authorization=token": 403,
		"": 403,
		"?FleetId=fleet-1&Authorization=token&ComputeName=" + strings.Repeat("b", maxID+1): 400,
	} {
		_, resp, err := websocket.DefaultDialer.Dial(url+query, nil)
		if err == nil || resp == nil || resp.StatusCode != want {
			t.Fatalf("%s: got %v, %v, want status %d", query, resp, err, want)
		}
		var body struct{ Action, ErrorMessage string }
		err = json.NewDecoder(resp.Body).Decode(&body)
		if err != nil || body.Action != "$connect" || body.ErrorMessage == "" {
			t.Errorf("%s: the body is %+v, %v", query, body, err)
		}
	}
	resp, err := http.Get(strings.Replace(url, "ws:", "http:", 1) + goodQuery)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 400 {
		t.Errorf("a plain GET: status %d", resp.StatusCode)
	}
}

func TestMatches(t *testing.T) {
	for url, want := range map[string]bool{
		"/agent":                        true,
		"/agent/?FleetId=f":             true,
		"/base/agent?x=1&ComputeName=c": true,
		"/":                             false,
		"/agents":                       false,
		"/base/agent?pID=p":             false, // a server process of a service with such a public URL
	} {
		if got := Matches(httptest.NewRequest(http.MethodGet, url, nil)); got != want {
			t.Errorf("%s: %v", url, got)
		}
	}
	if Matches(httptest.NewRequest(http.MethodPost, "/agent", nil)) {
		t.Error("a POST matches")
	}
}

// TestBackpressure: an agent that does not read loses its socket, and blocks nothing before.
func TestBackpressure(t *testing.T) {
	agents := newFakeAgents()
	slow := make(chan struct{}, 1)
	dial(t, serve(t, agents, serversdk.Metrics{Slow: func() { slow <- struct{}{} }}))
	push := processes.ProcessRegisteredPush{ProcessID: "p", LogPaths: []string{strings.Repeat("x", 1<<20)}}
	for range 64 { // more than the buffers of the kernel and the queue hold
		agents.push(push)
	}
	<-slow
	<-agents.closed
}

func TestCloseIsEchoed(t *testing.T) {
	agents := newFakeAgents()
	p := dial(t, serve(t, agents, serversdk.Metrics{}))
	message := websocket.FormatCloseMessage(1000, "GameLift Agent requested WebSocket closure")
	if err := p.WriteMessage(websocket.CloseMessage, message); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.ReadMessage(); !websocket.IsCloseError(err, 1000) {
		t.Errorf("got %v", err)
	}
	<-agents.closed
}

// FuzzDecode: any bytes are ignored, refused or read within the bounds.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"Action":"SendHeartbeat","RequestId":"b","Backoffs":[{"LaunchPath":"/s","ProcessId":"p","Crashes":1}]}`,
		`{"Action":"SendHeartbeat","RequestId":"h1","Status":"Active","ProcessList":["p1"],"HeartbeatTimeMillis":1}`,
		`{"Action":"SendHeartbeat","RequestId":"h1","Status":"Active","Builds":["build-1"]}`,
		`{"Action":"NotifyServerProcessTermination","RequestId":"n1","ProcessId":"p","TerminationReason":"X"}`,
		`{"action":"DescribeRuntimeConfiguration","REQUESTID":"d"}`, `{"Action":{}}`, `[`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, ignored, invalid := decodeRequest(data)
		if ignored != nil {
			return
		}
		if !isName(r.Action) || !isName(r.RequestId) {
			t.Errorf("%q without an envelope is answered", data)
		}
		if invalid == nil && (len(r.ProcessList) > maxProcesses && r.Action == actionHeartbeat ||
			len(r.Backoffs) > fleet.MaxBackoffs && r.Action == actionHeartbeat ||
			len(r.Builds) > fleet.MaxBuilds && r.Action == actionHeartbeat ||
			r.Action == actionProcessExited && !isName(r.ProcessId)) {
			t.Errorf("%q is out of bounds", data)
		}
		if !json.Valid(encode(refusal(&r, invalid))) {
			t.Errorf("the reply to %q is no JSON", data)
		}
	})
}
