package control

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// An agentSocket is an agent's end of a connection.
type agentSocket struct {
	processes.AgentConnection
	w      *world
	pushes chan processes.AgentPush
}

func (w *world) agent(fleetID, compute, token string) *agentSocket {
	w.t.Helper()
	return w.agentAs(fleetID, compute, token, false)
}

// agentAs connects muster agent, or another one.
func (w *world) agentAs(fleetID, compute, token string, muster bool) *agentSocket {
	w.t.Helper()
	a := &agentSocket{w: w, pushes: make(chan processes.AgentPush, 100)}
	var err error
	a.AgentConnection, err = w.agents.ConnectAgent(w.ctx, processes.AgentRequest{
		FleetID: fleetID, ComputeName: compute, Authorization: token, Muster: muster,
		Push: func(p processes.AgentPush) { a.pushes <- p },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(a.Disconnected)
	return a
}

// expect checks the next pushes, in any order.
func (a *agentSocket) expect(want ...processes.AgentPush) {
	a.w.t.Helper()
	var got []string
	for range want {
		select {
		case p := <-a.pushes:
			got = append(got, fmt.Sprintf("%T%v", p, p))
		case <-a.w.ctx.Done():
			a.w.t.Fatalf("got %v, want %v", got, want)
		}
	}
	for _, p := range want {
		if text := fmt.Sprintf("%T%v", p, p); !strings.Contains(strings.Join(got, " "), text) {
			a.w.t.Fatalf("got %v, want %s", got, text)
		}
	}
}

// quiet checks that an agent has been pushed everything: the next push is for a process that becomes ready now.
func (a *agentSocket) quiet(fleetID, compute, token string) {
	a.w.t.Helper()
	marks++
	id := fmt.Sprintf("mark-%d", marks)
	mark := a.w.process(fleetID, compute, token, id)
	a.expect(processes.ProcessRegisteredPush{ProcessID: id, LogPaths: []string{"/local/game/.no-logs"}})
	mark.ok(mark.end())
	a.exited(id, "NORMAL_TERMINATION")
}

var marks int

func (a *agentSocket) exited(process, reason string) {
	a.w.t.Helper()
	if err := a.ProcessExited(a.w.ctx, process, reason, ""); err != nil {
		a.w.t.Fatal(err)
	}
}

func (a *agentSocket) beat(status processes.ComputeStatus, ids ...string) processes.AgentHealth {
	a.w.t.Helper()
	h, err := a.Heartbeat(a.w.ctx, processes.AgentHeartbeat{Status: status, Processes: ids})
	if err != nil {
		a.w.t.Fatal(err)
	}
	return h
}

// TestRuntimePush: a changed runtime configuration is pushed to muster agent alone.
func TestRuntimePush(t *testing.T) {
	w := newWorld(t)
	id := w.fleetAt("custom-a")
	token := w.compute(id, "custom-a", "c1")
	ours, other := w.agentAs(id, "c1", token, true), w.agent(id, "c1", token)
	w.must("UpdateRuntimeConfiguration", object{"FleetId": id, "RuntimeConfiguration": object{
		"ServerProcesses": []object{{"LaunchPath": "/local/game/a", "ConcurrentExecutions": 1}}}})
	ours.expect(processes.RuntimeUpdatedPush{})
	other.quiet(id, "c1", token)
}

func TestAgentConnect(t *testing.T) {
	w := newWorld(t)
	id := w.fleetAt("custom-a")
	token, foreign := w.compute(id, "custom-a", "c1"), w.compute(id, "custom-a", "c2")
	for what, c := range map[string]struct {
		fleet, compute, token string
		kind                  fault.Kind
	}{
		"no fleet":         {"", "c1", token, fault.InvalidRequest},
		"no compute":       {id, "", token, fault.InvalidRequest},
		"no token":         {id, "c1", "", fault.InvalidRequest},
		"unknown fleet":    {"fleet-unknown", "c1", token, fault.AccessDenied},
		"unknown compute":  {id, "c9", token, fault.AccessDenied},
		"garbled token":    {id, "c1", "x", fault.AccessDenied},
		"token of another": {id, "c1", foreign, fault.AccessDenied},
		"signed":           {id, "c1", "SigV4", fault.AccessDenied},
	} {
		_, err := w.agents.ConnectAgent(w.ctx, processes.AgentRequest{FleetID: c.fleet, ComputeName: c.compute,
			Authorization: c.token})
		wantKind(t, what, err, c.kind)
	}
	w.agent("arn:aws:gamelift:us-west-2:111122223333:fleet/"+id, "c1", token)
	w.elapse(3*time.Hour + time.Second)
	_, err := w.agents.ConnectAgent(w.ctx, processes.AgentRequest{FleetID: id, ComputeName: "c1", Authorization: token})
	wantKind(t, "expired token", err, fault.AccessDenied)
}

func TestAgentRuntime(t *testing.T) {
	w := newWorld(t)
	id := w.fleetAt("custom-a")
	a := w.agent(id, "c1", w.compute(id, "custom-a", "c1"))
	_, err := a.RuntimeConfiguration()
	wantKind(t, "a fleet without", err, fault.NotFound)
	servers := []object{{"LaunchPath": "/local/game/server", "ConcurrentExecutions": 2}}
	w.must("UpdateRuntimeConfiguration", object{"FleetId": id,
		"RuntimeConfiguration": object{"ServerProcesses": servers}})
	c, err := a.RuntimeConfiguration()
	if err != nil || len(c.ServerProcesses) != 1 || c.ServerProcesses[0].ConcurrentExecutions.Or(0) != 2 {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestAgentHeartbeat(t *testing.T) {
	w := newWorld(t)
	id := w.fleetAt("custom-a")
	token := w.compute(id, "custom-a", "c1")
	a := w.agent(id, "c1", token)
	want := processes.AgentHealth{Status: processes.ComputeInitializing, Unregistered: []string{"p1"}}
	if got := a.beat(processes.ComputeInitializing, "p1"); !reflect.DeepEqual(got, want) {
		t.Errorf("before a process: %+v", got)
	}
	s := w.process(id, "c1", token, "p1")
	want = processes.AgentHealth{Status: processes.ComputeActive, Unregistered: []string{"p2"}}
	if got := a.beat(processes.ComputeActivating, "p1", "p2"); !reflect.DeepEqual(got, want) {
		t.Errorf("with a process: %+v", got)
	}
	for range fleet.DefaultSettings("").HealthMisses {
		_ = s.heartbeat(false) // the last one ends it
	}
	want = processes.AgentHealth{Status: processes.ComputeInitializing, Unhealthy: []string{"p1"}}
	if got := a.beat(processes.ComputeActive, "p1"); !reflect.DeepEqual(got, want) {
		t.Errorf("with an unhealthy process: %+v", got)
	}
	a.exited("p1", string(fleet.ExitUnhealthy))
	if got := a.beat(processes.ComputeActive, "p1"); len(got.Unhealthy) != 0 {
		t.Errorf("after it has exited: %+v", got)
	}
	if got := w.events(id); strings.Count(got, "SERVER_PROCESS_TERMINATED_UNHEALTHY") != 1 {
		t.Errorf("the events: %s", got)
	}
	_, err := a.Heartbeat(w.ctx, processes.AgentHeartbeat{Status: "Resting"})
	wantKind(t, "an unknown status", err, fault.InvalidRequest)
}

// TestAgentIsTold what becomes of its processes, over each of its sockets.
func TestAgentIsTold(t *testing.T) {
	w := newWorld(t)
	id := w.fleetAt("custom-a")
	token := w.compute(id, "custom-a", "c1")
	a := w.agent(id, "c1", token)
	registered := processes.ProcessRegisteredPush{ProcessID: "p1", LogPaths: []string{"/local/game/.no-logs"}}
	s := w.process(id, "c1", token, "p1")
	a.expect(registered)
	session := w.create(id, nil)
	s.next()
	starting := w.agent(id, "c1", token) // connects while the game session is ACTIVATING
	starting.expect(registered)
	s.ok(s.activate(session))
	activated := processes.SessionActivatedPush{ProcessID: "p1", GameSessionID: session}
	a.expect(activated)
	starting.expect(activated)
	a.Disconnected()
	again := w.agent(id, "c1", token)
	again.expect(registered, activated)
	again.quiet(id, "c1", token)
}

func TestAgentForcesExit(t *testing.T) {
	w := newWorld(t)
	id := w.fleetAt("custom-a")
	token := w.compute(id, "custom-a", "c1")
	a := w.agent(id, "c1", token)
	w.mustDial(processes.ConnectRequest{FleetID: id, ComputeName: "c1", ProcessID: "slow", Authorization: token})
	w.elapse(5*time.Minute + time.Second)
	a.expect(processes.ForceExitPush{ProcessID: "slow", Reason: fleet.ExitReadyTimeout})
	again := w.agent(id, "c1", token) // it has not reported the exit
	again.expect(processes.ForceExitPush{ProcessID: "slow", Reason: fleet.ExitReadyTimeout})
	a.exited("slow", string(fleet.ExitReadyTimeout))
	w.agent(id, "c1", token).quiet(id, "c1", token)

	lost := w.process(id, "c1", token, "lost")
	lost.Disconnected()
	w.elapse(201 * time.Second)
	a.exited("lost", string(fleet.ExitCrashed))

	stuck := w.process(id, "c1", token, "stuck")
	session := w.create(id, nil)
	stuck.next()
	stuck.ok(stuck.activate(session))
	w.must("TerminateGameSession", object{"GameSessionId": session,
		"TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"})
	for range 11 {
		w.elapse(30 * time.Second)
		_ = stuck.heartbeat(true)
	}
	forced := w.agent(id, "c1", token)
	forced.expect(processes.ForceExitPush{ProcessID: "stuck", Reason: fleet.ExitForceTerminated})
	a.exited("stuck", string(fleet.ExitForceTerminated))
	for _, code := range []string{"SERVER_PROCESS_PROCESS_READY_TIMEOUT", "SERVER_PROCESS_CRASHED",
		"SERVER_PROCESS_FORCE_TERMINATED"} {
		if got := w.events(id); strings.Count(got, code) != 1 {
			t.Errorf("the events: %s, want one %s", got, code)
		}
	}
}

// TestLimitsOfProcesses: each limit ends the process with its reason, and gives its fleet event once.
func TestLimitsOfProcesses(t *testing.T) {
	w := newWorld(t, withFleet(func(s *fleet.Settings) {
		s.ReadyTimeout, s.TerminationGrace, s.HealthInterval = 10*time.Second, 20*time.Second, time.Hour
	}))
	id := w.fleetAt("custom-a")
	token := w.compute(id, "custom-a", "c1")
	ended := func(process string, reason fleet.ExitReason) {
		t.Helper()
		a := w.agent(id, "c1", token)
		w.advance("the forced end", time.Second, func() bool {
			for len(a.pushes) > 0 {
				if push := <-a.pushes; push == (processes.ForceExitPush{ProcessID: process, Reason: reason}) {
					return true
				}
			}
			return false
		})
		a.exited(process, string(reason))
		a.exited(process, string(reason)) // repeated
		if got := w.events(id); strings.Count(got, string(reason)) != 1 {
			t.Errorf("%s: the events are %s", reason, got)
		}
	}
	a := w.agent(id, "c1", token)
	for range 8 { // its agent ends it then
		if h := a.beat(processes.ComputeActivating, "silent"); !reflect.DeepEqual(h.Unregistered, []string{"silent"}) {
			t.Errorf("before InitSDK: %+v", h)
		}
	}
	const noInit = "SERVER_PROCESS_SDK_INITIALIZATION_TIMEOUT"
	a.exited("silent", noInit)
	if got := w.events(id); strings.Count(got, noInit) != 1 {
		t.Errorf("the events are %s", got)
	}
	w.mustDial(processes.ConnectRequest{FleetID: id, ComputeName: "c1", ProcessID: "slow", Authorization: token})
	ended("slow", fleet.ExitReadyTimeout)
	stuck := w.process(id, "c1", token, "stuck")
	session := w.active(id, nil, stuck)
	w.must("TerminateGameSession", object{"GameSessionId": session,
		"TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"})
	ended("stuck", fleet.ExitForceTerminated)
	if w.status(session) != "TERMINATED" {
		t.Errorf("the game session is %s", w.status(session))
	}
	hangs := w.process(id, "c1", token, "hangs")
	hangs.ok(hangs.end())
	ended("hangs", fleet.ExitTimeout)
}

// TestBackoffsAreShown: what muster agent reports is shown with its compute, from any node, until it reports none.
func TestBackoffsAreShown(t *testing.T) {
	w := newWorld(t)
	id := w.fleetAt("custom-a")
	a := w.agent(id, "c1", w.compute(id, "custom-a", "c1"))
	shown := func() []BackoffRow {
		list, err := w.ComputeRows(w.ctx, ComputeQuery{FleetID: id, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return list.Computes[0].Backoffs
	}
	report := processes.AgentHeartbeat{Status: processes.ComputeActivating, Backoffs: []processes.AgentBackoff{{
		Wait: 4 * time.Second, Backoff: fleet.Backoff{LaunchPath: "/local/game/s", Process: "p3", ExitCode: -11,
			Crashes: 3, Output: "no map"}}}}
	for range 2 {
		if _, err := a.Heartbeat(w.ctx, report); err != nil {
			t.Fatal(err)
		}
		report.Backoffs[0].Wait = time.Second // of the same crash
	}
	a.beat(processes.ComputeActivating) // of an agent that reports none, such as GameLift's
	want := []BackoffRow{{LaunchPath: "/local/game/s", ProcessID: "p3", ExitCode: -11, Crashes: 3,
		NextTry: w.clock.Now().Add(4 * time.Second).UTC().Truncate(time.Millisecond), Output: "no map"}}
	if got := shown(); !reflect.DeepEqual(got, want) {
		t.Errorf("shown is %+v, want %+v", got, want)
	}
	report.Backoffs = []processes.AgentBackoff{}
	if _, err := a.Heartbeat(w.ctx, report); err != nil || shown() != nil {
		t.Errorf("after the crashes: %+v, %v", shown(), err)
	}
}

// hostedOverNodes has a game session in process p1 of compute c1, with the owner of the room, the agent and the process
// on three nodes.
func hostedOverNodes(t *testing.T) (owner *world, a *agentSocket, s *socket, fleetID, session string) {
	t.Helper()
	n := newNet(t, 3)
	for i := range n.shards {
		n.give(i, 0)
	}
	owner = n.worlds[0]
	fleetID = owner.fleetAt("custom-a")
	token := owner.compute(fleetID, "custom-a", "c1")
	a, s = n.worlds[1].agent(fleetID, "c1", token), n.worlds[2].process(fleetID, "c1", token, "p1")
	a.expect(processes.ProcessRegisteredPush{ProcessID: "p1", LogPaths: []string{"/local/game/.no-logs"}})
	session = owner.create(fleetID, nil)
	s.next()
	s.ok(s.activate(session))
	a.expect(processes.SessionActivatedPush{ProcessID: "p1", GameSessionID: session})
	return owner, a, s, fleetID, session
}

// TestForceTerminate: over three nodes, a game session ends at once if an agent has reported its process.
func TestForceTerminate(t *testing.T) {
	first, a, s, id, session := hostedOverNodes(t)
	force := object{"GameSessionId": session, "TerminationMode": "FORCE_TERMINATE"}
	first.refused(fault.InvalidRequest, "TerminateGameSession", force)
	a.beat(processes.ComputeActive, "p1", "p2")
	got := first.must("TerminateGameSession", force)["GameSession"].(object)
	if got["Status"] != "TERMINATED" || got["StatusReason"] != "FORCE_TERMINATED" {
		t.Errorf("the game session is %v", got)
	}
	a.expect(processes.ForceExitPush{ProcessID: "p1", Reason: fleet.ExitForceTerminated})
	s.wasReplaced()
	a.exited("p1", string(fleet.ExitForceTerminated))
	first.refused(fault.InvalidGameSessionStatus, "TerminateGameSession", force)
	if got := first.events(id); strings.Count(got, "SERVER_PROCESS_FORCE_TERMINATED") != 1 {
		t.Errorf("the events: %s", got)
	}
}

// TestAgentEndsProcessesThatDoNotExit 30 s after ProcessEnding.
func TestAgentEndsProcessesThatDoNotExit(t *testing.T) {
	w := newWorld(t)
	id := w.fleetAt("custom-a")
	token := w.compute(id, "custom-a", "c1")
	a := w.agent(id, "c1", token)
	for _, p := range []string{"prompt", "hangs"} {
		s := w.process(id, "c1", token, p)
		a.expect(processes.ProcessRegisteredPush{ProcessID: p, LogPaths: []string{"/local/game/.no-logs"}})
		s.ok(s.end())
	}
	a.exited("prompt", "NORMAL_TERMINATION")
	a.quiet(id, "c1", token)
	w.advance("the end of the process", time.Second, func() bool { return len(a.pushes) > 0 })
	a.expect(processes.ForceExitPush{ProcessID: "hangs", Reason: fleet.ExitTimeout})
	a.exited("hangs", string(fleet.ExitTimeout))
	if got := w.events(id); strings.Count(got, "SERVER_PROCESS_PROCESS_EXIT_TIMEOUT") != 1 {
		t.Errorf("the events: %s", got)
	}
}

func TestAgentStopsCompute(t *testing.T) {
	w := newWorld(t)
	id := w.fleetAt("custom-a")
	token := w.compute(id, "custom-a", "c1")
	a, s := w.agent(id, "c1", token), w.process(id, "c1", token, "p1")
	a.beat(processes.ComputeInterrupted, "p1")
	if _, ok := s.next().(processes.TerminateProcessPush); !ok {
		t.Error("the process was not asked to end")
	}
	a.beat(processes.ComputeTerminating, "p1")
	a.beat(processes.ComputeTerminated)
	s.wasReplaced()
	if p := s.inRoom(); p.Status != fleet.ProcessEnded || p.End != fleet.EndedWithCompute {
		t.Errorf("the process is %+v", p)
	}
	w.must("DescribeCompute", object{"FleetId": id, "ComputeName": "c1"}) // its agent may start again

	b := w.agent(id, "c1", token)
	w.must("DeregisterCompute", object{"FleetId": id, "ComputeName": "c1"})
	b.expect(processes.StartTerminationPush{})
	if h := b.beat(processes.ComputeTerminating); h.Status != processes.ComputeTerminating {
		t.Errorf("the answer: %+v", h)
	}
	b.exited("p9", string(fleet.ExitCrashed)) // changes nothing
}

// TestAgentOnAnotherNode than its process, and than the owner of the room.
func TestAgentOnAnotherNode(t *testing.T) {
	first, a, s, id, _ := hostedOverNodes(t)
	for _, c := range []string{string(fleet.ExitCrashed), string(fleet.ExitCrashed)} {
		a.exited("p1", c)
	}
	s.wasReplaced()
	if got := first.events(id); strings.Count(got, "SERVER_PROCESS_CRASHED") != 1 {
		t.Errorf("the events: %s", got)
	}
}
