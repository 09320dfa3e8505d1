package control

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A branch is an EC2-type fleet with build version "branch", an instance that has its files, and the instance's agent.
type branch struct {
	*world
	fleet string
	box   *box
	in    protocol.Instance
	agent *agentSocket
	idle  *socket // a process of the fleet's own build
}

// versionOf is a request for a game session of a build version.
func versionOf(fleet, version string) object {
	return object{"FleetId": fleet, "MaximumPlayerSessionCount": 2,
		"GameProperties": []object{{"Key": "BuildVersion", "Value": version}}}
}

func newBranch(t *testing.T) *branch {
	w := newWorld(t, withObjects(t))
	build, data := w.readyBuild(t)
	o := w.keep(data)
	w.change(catalog.CreateBuild{ID: "build-2", OperatingSystem: "AMAZON_LINUX_2023",
		Source: catalog.BuildSource{Bucket: "b", Key: "k"}, Hash: o.Hash, Size: o.Size})
	w.change(catalog.FinishBuild{ID: "build-2", Hash: o.Hash})
	b := &branch{world: w, box: w.box("box", 1)}
	b.fleet = w.managedFleet(build, nil)
	b.in = b.box.instance()
	b.box.report(protocol.InstanceState{ID: b.in.ID, Stage: protocol.Running, Build: build})
	b.idle = b.box.serve(b.in, "p1")
	w.await("ACTIVE", func() bool { return w.fleetStatus(b.fleet) == "ACTIVE" })
	put, err := w.PutBuildVersion(w.ctx, w.FleetARN(b.fleet), "branch", BuildVersionInput{BuildID: "build-2"})
	if err != nil || put.BuildID != "build-2" || put.Instances != 1 || put.Ready != 0 {
		t.Fatalf("attached: %+v, %v", put, err)
	}
	w.await("the files are wanted", func() bool {
		v := b.box.instance().Versions
		return len(v) == 1 && v[0].ID == "build-2" && v[0].SHA256 == o.Hash && v[0].Path != ""
	})
	token := b.box.Token(w.ctx, &protocol.TokenRequest{Instance: b.in.ID}).Token
	b.agent = w.agentAs(b.fleet, b.in.ID, token, true)
	b.agent.expect(processes.ProcessRegisteredPush{ProcessID: "p1", LogPaths: []string{"/local/game/.no-logs"}})
	return b
}

// beat reports the builds that the agent has.
func (b *branch) beat(builds ...string) {
	b.t.Helper()
	_, err := b.agent.Heartbeat(b.ctx, processes.AgentHeartbeat{Status: processes.ComputeActive,
		Processes: []string{"p1"}, Builds: builds})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *branch) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// denied checks that a call fails, for a reason with a text.
func (b *branch) denied(operation string, in any, kind fault.Kind, text string) {
	b.t.Helper()
	if _, err := b.call(operation, in); !fault.Is(err, kind) || !strings.Contains(err.Error(), text) {
		b.t.Errorf("%s: got %v, want %s with %q", operation, err, kind, text)
	}
}

// requested waits for the request of a process, and starts it: it is ready on a port.
func (b *branch) requested() *socket {
	b.t.Helper()
	select {
	case p := <-b.agent.pushes:
		start, ok := p.(processes.StartProcessPush)
		if !ok || start.BuildID != "build-2" {
			b.t.Fatalf("%+v was pushed", p)
		}
		return b.box.serve(b.in, start.ProcessID)
	case <-b.ctx.Done():
		b.t.Fatal("no process was requested")
	}
	return nil
}

// TestBuildVersion: a game session with the property gets a process of the build, which its agent starts in place of an
// idle one; one without the property does not get it.
func TestBuildVersion(t *testing.T) {
	b := newBranch(t)
	w := b.world
	b.denied("CreateGameSession", versionOf(b.fleet, "main"), fault.InvalidRequest, "It has branch.")
	b.denied("CreateGameSession", versionOf(b.fleet, "branch"), fault.FleetCapacityExceeded, "files of build build-2")
	b.beat("build-2")

	created := make(chan object, 1)
	go func() { created <- w.must("CreateGameSession", versionOf(b.fleet, "branch")) }()
	process := b.requested()
	b.idle.isAskedToEnd()
	g := at(<-created, "GameSession")
	same(t, at(g, "Status"), `"ACTIVATING"`)
	if port := at(g, "Port"); port == nil {
		t.Errorf("the answer has no port: %v", g)
	}
	push, ok := process.next().(processes.CreateGameSessionPush)
	if !ok || push.GameSessionID != at(g, "GameSessionId") || push.GameProperties["BuildVersion"] != "branch" {
		t.Fatalf("%+v was pushed", push)
	}
	process.ok(process.activate(push.GameSessionID))
	b.denied("CreateGameSession", object{"FleetId": b.fleet, "MaximumPlayerSessionCount": 2},
		fault.FleetCapacityExceeded, "Unable to reserve")

	all, err := w.BuildVersions(w.ctx, b.fleet)
	if err != nil || len(all.Versions) != 1 || all.Versions[0].Version != "branch" {
		t.Fatalf("%+v, %v", all, err)
	}
	if err := w.DeleteBuildVersion(w.ctx, b.fleet, "branch"); err != nil {
		t.Fatal(err)
	}
	same(t, at(w.must("DescribeGameSessions", object{"FleetId": b.fleet}), "GameSessions", 0, "Status"), `"ACTIVE"`)
	b.denied("CreateGameSession", versionOf(b.fleet, "branch"), fault.InvalidRequest, "It has none.")
	if err := w.DeleteBuildVersion(w.ctx, b.fleet, "branch"); !fault.Is(err, fault.NotFound) {
		t.Errorf("detached twice: %v", err)
	}
}

// TestBuildVersionFails: CreateGameSession fails with its process.
func TestBuildVersionFails(t *testing.T) {
	b := newBranch(t)
	b.beat("build-2")
	failed := make(chan error, 1)
	go func() {
		_, err := b.call("CreateGameSession", versionOf(b.fleet, "branch"))
		failed <- err
	}()
	start := (<-b.agent.pushes).(processes.StartProcessPush)
	b.agent.exited(start.ProcessID, "SERVER_PROCESS_CRASHED")
	if err := <-failed; !fault.Is(err, fault.FleetCapacityExceeded) || !strings.Contains(err.Error(), "branch") {
		t.Errorf("after the crash of its process: %v", err)
	}
}

// TestBuildVersionLate: CreateGameSession does not wait longer than half a minute, and the port follows.
func TestBuildVersionLate(t *testing.T) {
	b := newBranch(t)
	b.beat("build-2")
	created := make(chan object, 1)
	go func() { created <- b.must("CreateGameSession", versionOf(b.fleet, "branch")) }()
	var g object
	b.await("an answer without a port", func() bool {
		b.clock.Advance(hostLimit)
		select {
		case g = <-created:
			return true
		case <-time.After(time.Millisecond):
			return false
		}
	})
	if port := at(g, "GameSession", "Port"); port != nil {
		t.Errorf("the port is %v", port)
	}
}

// TestBuildVersionPlacement: a placement with the property waits until a process can be requested, and has its port.
func TestBuildVersionPlacement(t *testing.T) {
	b := newBranch(t)
	w := b.world
	w.must("CreateGameSessionQueue", object{"Name": "q", "TimeoutInSeconds": 600,
		"Destinations": []object{{"DestinationArn": w.FleetARN(b.fleet)}}})
	in := versionOf("", "branch")
	delete(in, "FleetId")
	in["GameSessionQueueName"], in["PlacementId"] = "q", "placed"
	other := versionOf("", "main")
	delete(other, "FleetId")
	other["GameSessionQueueName"], other["PlacementId"] = "q", "other"
	b.denied("StartGameSessionPlacement", other, fault.InvalidRequest, "They have branch.")
	w.must("StartGameSessionPlacement", in)
	b.beat("build-2")
	process := b.requested()
	push := process.next().(processes.CreateGameSessionPush)
	process.ok(process.activate(push.GameSessionID))
	var placed object
	w.await("FULFILLED", func() bool {
		placed = at(w.must("DescribeGameSessionPlacement", object{"PlacementId": "placed"}),
			"GameSessionPlacement").(object)
		return placed["Status"] == "FULFILLED"
	})
	if placed["Port"] == nil {
		t.Errorf("the placement has no port: %v", placed)
	}
}

// place starts a placement of a build version in queue "q", as a call that may be repeated.
func (b *branch) place(id, version string) error {
	in := versionOf("", version)
	delete(in, "FleetId")
	in["GameSessionQueueName"], in["PlacementId"] = "q", id
	_, err := b.callAs(WithCall(b.ctx, Call{Principal: "AKIA1", Invocation: id}), "StartGameSessionPlacement", in)
	return err
}

// plain creates a fleet without versions on a machine of its own, and returns its idle process.
func (b *branch) plain() (fleet string, idle *socket) {
	b.t.Helper()
	other := b.world.box("plain", 2)
	fleet = b.managedFleet(b.in.Build.ID, nil)
	in := other.instance()
	other.report(protocol.InstanceState{ID: in.ID, Stage: protocol.Running, Build: in.Build.ID})
	idle = other.serve(in, "plain")
	b.await("ACTIVE", func() bool { return b.fleetStatus(fleet) == "ACTIVE" })
	return fleet, idle
}

// TestBuildVersionDetached: a placement waits while its version is detached, also if its call is repeated, and
// continues when the version is attached again. Another one waits until its time has passed.
func TestBuildVersionDetached(t *testing.T) {
	b := newBranch(t)
	b.box.serve(b.in, "p2")
	b.agent.expect(processes.ProcessRegisteredPush{ProcessID: "p2", LogPaths: []string{"/local/game/.no-logs"}})
	b.queueOf("q", b.FleetARN(b.fleet))
	b.must("UpdateGameSessionQueue", object{"Name": "q", "TimeoutInSeconds": 20})
	wait := func(id string) {
		b.t.Helper()
		for range 2 {
			b.ok(b.place(id, "branch"))
			b.placed(id, "waiting")
			if err := b.DeleteBuildVersion(b.ctx, b.fleet, "branch"); err != nil && !fault.Is(err, fault.NotFound) {
				t.Fatal(err)
			}
		}
	}
	attach := func() {
		b.t.Helper()
		_, err := b.PutBuildVersion(b.ctx, b.fleet, "branch", BuildVersionInput{BuildID: "build-2"})
		b.ok(err)
	}
	wait("late")
	b.beat("build-2")
	b.elapse(20 * time.Second)
	b.placed("late", "TIMED_OUT")
	b.ok(b.place("late", "branch"))
	wantKind(t, "another call", b.place("new", "branch"), fault.InvalidRequest)

	b.beat([]string{}...) // the files are removed
	attach()
	wait("p")
	b.beat("build-2")
	attach()
	start := (<-b.agent.pushes).(processes.StartProcessPush)
	b.agent.exited(start.ProcessID, "SERVER_PROCESS_CRASHED") // the next attempt
	b.requested().serve()
	b.placed("p", "FULFILLED")
}

// TestBuildVersionMatch: the game session of a match gets a process of the version that its configuration names, in the
// fleet of the queue that has it, as soon as one can be requested. Without such a fleet the tickets fail.
func TestBuildVersionMatch(t *testing.T) {
	b := newBranch(t)
	plain, idle := b.plain()
	b.queueOf("games", b.FleetARN(plain), b.FleetARN(b.fleet))
	a := &arcade{world: b.world}
	a.configure("duel", duelRules, object{"GameProperties": versionOf("", "branch")["GameProperties"]})
	a.seek("duel", "t1", "ada")
	a.seek("duel", "t2", "bob")
	a.becomes("PLACING", "t1", "t2")
	a.placed("t1")
	b.beat("build-2")
	process := b.requested()
	push, ok := process.next().(processes.CreateGameSessionPush)
	if !ok || push.GameProperties["BuildVersion"] != "branch" || push.MatchmakerData == "" {
		t.Fatalf("%+v was pushed", push)
	}
	process.ok(process.activate(push.GameSessionID))
	a.becomes("COMPLETED", "t1", "t2")
	to := at(a.ticketNow("t2"), "GameSessionConnectionInfo")
	if text(to, "GameSessionArn") != push.GameSessionID || at(to, "Port") == nil ||
		text(to, "MatchedPlayerSessions", 0, "PlayerId") != "bob" {
		t.Errorf("the connection is %v", to)
	}
	b.idle.isAskedToEnd()
	idle.quiet()

	a.must("UpdateMatchmakingConfiguration", object{"Name": "duel",
		"GameProperties": versionOf("", "main")["GameProperties"]})
	a.seek("duel", "t3", "cid")
	a.seek("duel", "t4", "dee")
	a.becomes("FAILED", "t3", "t4")
	if one := a.ticketNow("t3"); !strings.Contains(text(one, "StatusMessage"), "They have branch.") {
		t.Errorf("the ticket is %v", one)
	}
	idle.quiet()
}

// TestBuildVersionStates: what machines report of the files of versions is shown.
func TestBuildVersionStates(t *testing.T) {
	b := newBranch(t)
	state := protocol.InstanceState{ID: b.in.ID, Stage: protocol.Running, Build: b.in.Build.ID,
		Versions: []protocol.VersionState{{Build: "build-2", Failure: &protocol.Failure{Code: "GENERIC_EVENT",
			Message: "no space"}}}}
	b.box.report(state)
	all, err := b.BuildVersions(b.ctx, b.fleet)
	if v := all.Versions[0]; err != nil || v.Ready != 0 || len(v.Failures) != 1 || v.Failures[0].Reason != "no space" {
		t.Errorf("%+v, %v", all, err)
	}
	state.Versions[0].Failure = nil
	b.box.report(state)
	all, _ = b.BuildVersions(b.ctx, b.fleet)
	if v := all.Versions[0]; v.Ready != 1 || len(v.Failures) != 0 || !slices.ContainsFunc(b.codes(b.fleet),
		func(code string) bool { return code == "GENERIC_EVENT" }) {
		t.Errorf("%+v", all)
	}
	anywhere := b.fleetAt("custom-a")
	_, err = b.PutBuildVersion(b.ctx, anywhere, "branch", BuildVersionInput{BuildID: "build-2"})
	if !fault.Is(err, fault.InvalidRequest) || !strings.Contains(err.Error(), "ANYWHERE") {
		t.Errorf("an Anywhere fleet: %v", err)
	}
}
