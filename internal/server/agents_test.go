package server_test

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/mustertest"
)

// message is what an agent sends or receives.
type message = map[string]any

// An agent is what GameLift's agent does on the wire, in order.
type agent struct {
	*mustertest.Service
	conn     *websocket.Conn
	received []message // not taken yet
}

// agentURL is the endpoint that RegisterCompute returns, unencrypted, with an agent's query.
func agentURL(s *mustertest.Service, fleet, compute, token string) string {
	s.Helper()
	c := mustertest.Call(s, s.Client.DescribeCompute, &gamelift.DescribeComputeInput{FleetId: &fleet,
		ComputeName: &compute}).Compute
	if *c.GameLiftAgentEndpoint != s.WSS+"/agent" || *c.GameLiftServiceSdkEndpoint != s.WSS {
		s.Fatalf("the endpoints are %s and %s", *c.GameLiftAgentEndpoint, *c.GameLiftServiceSdkEndpoint)
	}
	q := url.Values{"FleetId": {fleet}, "ComputeName": {compute}, "Authorization": {token}}
	return strings.Replace(*c.GameLiftAgentEndpoint, "wss:", "ws:", 1) + "?" + q.Encode()
}

func dialAgent(s *mustertest.Service, url string) *agent {
	s.Helper()
	conn, _, err := websocket.DefaultDialer.DialContext(s.Context(), url, nil)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(mustertest.Patience))
	return &agent{Service: s, conn: conn}
}

// take waits for a message for which is reports true, and leaves the others.
func (a *agent) take(is func(message) bool) message {
	a.Helper()
	for {
		if i := slices.IndexFunc(a.received, is); i >= 0 {
			m := a.received[i]
			a.received = slices.Delete(a.received, i, i+1)
			return m
		}
		_, data, err := a.conn.ReadMessage()
		if err != nil {
			a.Fatalf("received %v, then %v", a.received, err)
		}
		var m message
		if err := json.Unmarshal(data, &m); err != nil {
			a.Fatalf("%s: %v", data, err)
		}
		a.received = append(a.received, m)
	}
}

// pushed waits for a push about a process.
func (a *agent) pushed(action, process string) message {
	a.Helper()
	return a.take(func(m message) bool {
		return m["Action"] == action && m["ProcessId"] == process && m["RequestId"] == nil
	})
}

// call sends a request and waits for its reply.
func (a *agent) call(action string, fields message) message {
	a.Helper()
	m := message{"Action": action, "RequestId": uuid.NewString()}
	for name, value := range fields {
		m[name] = value
	}
	if err := a.conn.WriteJSON(m); err != nil {
		a.Fatal(err)
	}
	return a.take(func(reply message) bool {
		return reply["RequestId"] == m["RequestId"] && reply["Action"] == action
	})
}

func (a *agent) beat(status string, processes ...string) message {
	a.Helper()
	reply := a.call("SendHeartbeat", message{"Status": status, "ProcessList": processes,
		"HeartbeatTimeMillis": time.Now().UnixMilli()})
	for _, list := range []string{"UnhealthyProcesses", "UnregisteredProcesses"} {
		if _, ok := reply[list].([]any); !ok {
			a.Errorf("%s is %v in %v", list, reply[list], reply)
		}
	}
	return reply
}

func (a *agent) exited(process, reason string) {
	a.Helper()
	reply := a.call("NotifyServerProcessTermination", message{"ProcessId": process, "EventCode": reason,
		"TerminationReason": reason})
	if reply["StatusCode"] != 200.0 {
		a.Fatalf("the report of the end: %v", reply)
	}
}

// start starts a game server as an agent does: all that it knows is in its environment.
func (a *agent) start(on gameserver.ServerParameters, id string) *gameserver.Server {
	a.Helper()
	environment := map[string]string{
		"GAMELIFT_SDK_WEBSOCKET_URL": on.WebSocketURL, "GAMELIFT_SDK_AUTH_TOKEN": on.AuthToken,
		"GAMELIFT_SDK_FLEET_ID": on.FleetID, "GAMELIFT_SDK_HOST_ID": on.HostID, "GAMELIFT_SDK_PROCESS_ID": id,
	}
	server := gameserver.New(gameserver.Config{Getenv: func(name string) string { return environment[name] }})
	a.Cleanup(func() { server.Close(); server.Wait() })
	if err := server.Connect(a.Context(), gameserver.ServerParameters{}); err != nil {
		a.Fatal(err)
	}
	if err := server.ProcessReady(a.Context(), gameserver.ProcessParameters{
		Port:               7777,
		OnStartGameSession: func(gameserver.GameSession) { a.Report(server.ActivateGameSession(context.Background())) },
		OnProcessTerminate: func() {
			a.Report(server.ProcessEnding(context.Background()))
			server.Close()
		},
	}); err != nil {
		a.Fatal(err)
	}
	return server
}

// eventCodes returns the codes of a fleet's events.
func eventCodes(s *mustertest.Service, fleet string) (codes []types.EventCode) {
	s.Helper()
	out := mustertest.Call(s, s.Client.DescribeFleetEvents, &gamelift.DescribeFleetEventsInput{FleetId: &fleet})
	for _, e := range out.Events {
		codes = append(codes, e.EventCode)
	}
	return codes
}

func count(codes []types.EventCode, code types.EventCode) (n int) {
	for _, c := range codes {
		if c == code {
			n++
		}
	}
	return n
}

// TestAgent follows an agent through the life of its processes, over real sockets.
func TestAgent(t *testing.T) {
	s := mustertest.Start(t)
	fleet := s.Fleet("custom-lab")
	on := s.Compute(fleet, "custom-lab", "box-1")
	where := agentURL(s, fleet, "box-1", on.AuthToken)
	a := dialAgent(s, where)

	if reply := a.beat("Initializing"); reply["Status"] != "Initializing" {
		t.Errorf("the first heartbeat: %v", reply)
	}
	if reply := a.call("DescribeRuntimeConfiguration", nil); reply["StatusCode"] != 404.0 {
		t.Errorf("a fleet without a runtime configuration: %v", reply)
	}
	mustertest.Call(s, s.Client.UpdateRuntimeConfiguration, &gamelift.UpdateRuntimeConfigurationInput{FleetId: &fleet,
		RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: []types.ServerProcess{
			{LaunchPath: new("/local/game/server"), ConcurrentExecutions: new(int32(1))},
		}}})
	if reply := a.call("DescribeRuntimeConfiguration", nil); reply["StatusCode"] != 200.0 ||
		len(reply["ServerProcesses"].([]any)) != 1 {
		t.Errorf("the runtime configuration: %v", reply)
	}

	id := uuid.NewString()
	server := a.start(on, id)
	if push := a.pushed("NotifyProcessRegistered", id); len(push["LogPaths"].([]any)) == 0 {
		t.Errorf("the registration: %v", push)
	}
	if reply := a.beat("Activating", id, "unknown"); reply["Status"] != "Active" ||
		!slices.Equal(reply["UnregisteredProcesses"].([]any), []any{"unknown"}) {
		t.Errorf("a heartbeat with a process: %v", reply)
	}
	session := *mustertest.Call(s, s.Client.CreateGameSession, &gamelift.CreateGameSessionInput{FleetId: &fleet,
		Location: new("custom-lab"), MaximumPlayerSessionCount: new(int32(2))}).GameSession.GameSessionId
	if push := a.pushed("NotifyGameSessionActivated", id); push["GameSessionId"] != session {
		t.Errorf("the game session: %v", push)
	}

	a.conn.Close() // the agent reconnects
	a = dialAgent(s, where)
	a.pushed("NotifyProcessRegistered", id)
	a.pushed("NotifyGameSessionActivated", id)

	server.Close() // it crashes
	a.exited(id, "SERVER_PROCESS_CRASHED")
	a.exited(id, "SERVER_PROCESS_CRASHED")
	if codes := eventCodes(s, fleet); count(codes, types.EventCodeServerProcessCrashed) != 1 {
		t.Errorf("the events after a crash: %v", codes)
	}
	found := mustertest.Call(s, s.Client.DescribeGameSessions, &gamelift.DescribeGameSessionsInput{
		GameSessionId: &session}).GameSessions
	if len(found) != 1 || found[0].Status != types.GameSessionStatusTerminated {
		t.Errorf("the game session after the crash: %+v", found)
	}

	a.exited("never-started", "SERVER_PROCESS_INVALID_PATH")
	if codes := eventCodes(s, fleet); count(codes, types.EventCodeServerProcessInvalidPath) != 1 {
		t.Errorf("the events: %v", codes)
	}
	for _, ended := range []string{id, "never-started"} {
		q := url.Values{"pID": {ended}, "FleetId": {fleet}, "ComputeId": {"box-1"}, "Authorization": {on.AuthToken},
			"IdempotencyToken": {uuid.NewString()}, "sdkVersion": {"5.6.0"}, "sdkLanguage": {"Go"}}
		_, resp, err := websocket.DefaultDialer.DialContext(s.Context(), s.WS+"?"+q.Encode(), nil)
		if err == nil || resp == nil || resp.StatusCode != 403 {
			t.Errorf("process %s, which has ended, connects: %v, %v", ended, resp, err)
		}
	}
}

// TestAgentEndsCompute: processes end when their compute is interrupted, and an agent when its compute is deregistered.
func TestAgentEndsCompute(t *testing.T) {
	s := mustertest.Start(t)
	fleet := s.Fleet("custom-lab")
	on := s.Compute(fleet, "custom-lab", "box-1")
	a := dialAgent(s, agentURL(s, fleet, "box-1", on.AuthToken))
	server := a.start(on, "p1")
	a.pushed("NotifyProcessRegistered", "p1")
	a.beat("Interrupted", "p1")
	<-server.Done() // OnProcessTerminate has ended it
	a.exited("p1", "NORMAL_TERMINATION")
	if codes := eventCodes(s, fleet); count(codes, types.EventCodeServerProcessCrashed) != 0 {
		t.Errorf("the events: %v", codes)
	}
	mustertest.Call(s, s.Client.DeregisterCompute, &gamelift.DeregisterComputeInput{FleetId: &fleet,
		ComputeName: new("box-1")})
	a.take(func(m message) bool { return m["Action"] == "StartComputeTermination" })
	if reply := a.beat("Terminating"); reply["StatusCode"] != 200.0 {
		t.Errorf("the last heartbeat: %v", reply)
	}
}

// TestAgentsMeetTheService that stops: they reconnect when it is back.
func TestAgentsMeetTheService(t *testing.T) {
	s := mustertest.Start(t)
	fleet := s.Fleet("custom-lab")
	on := s.Compute(fleet, "custom-lab", "box-1")
	where := agentURL(s, fleet, "box-1", on.AuthToken)
	a := dialAgent(s, where)
	a.start(on, "p1")
	a.pushed("NotifyProcessRegistered", "p1")
	s.Stop()
	if _, _, err := a.conn.ReadMessage(); err == nil || websocket.IsCloseError(err, 1000, 1001) {
		t.Errorf("the socket ended with %v", err)
	}
	s.Resume()
	a = dialAgent(s, where)
	a.pushed("NotifyProcessRegistered", "p1")
	if reply := a.beat("Active", "p1"); reply["Status"] != "Active" {
		t.Errorf("a heartbeat after a restart: %v", reply)
	}
	if _, resp, err := websocket.DefaultDialer.DialContext(s.Context(), where+"x", nil); err == nil ||
		resp.StatusCode != 403 {
		t.Errorf("a wrong token is accepted: %v", err)
	}
}
