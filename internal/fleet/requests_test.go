package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// of is a command that creates a game session on a process of another build.
func of(id, build string) CreateGameSession {
	c := creation(id)
	c.Build, c.Process = build, "p-"+id
	return c
}

// equipped has the agent of an idle process report two builds.
func equipped(w *world) {
	idle(w)
	w.do(ReportBuilds{Compute: "host-1", Builds: []string{"build-1", "build-2"}})
}

// requested has a process requested with its game session.
func requested(w *world) { equipped(w); w.do(of("game", "build-1")) }

// arrived has the requested process connected, and the one ended that has yielded.
func arrived(w *world) {
	requested(w)
	w.do(EndProcess{key("a")})
	w.do(ConnectProcess{ProcessKey: key("p-game"), SDKVersion: "5.3.0", SDKLanguage: "Go"})
}

func TestReportBuilds(t *testing.T) {
	many := make([]string, MaxBuilds+1)
	runCases(t, []commandCase{
		{"new ones", idle, when(ReportBuilds{"host-1", []string{"build-1"}}), "BuildsChanged", "", ""},
		{"the same", equipped, when(ReportBuilds{"host-1", []string{"build-1", "build-2"}}), "", "", ""},
		{"none", equipped, when(ReportBuilds{Compute: "host-1"}), "BuildsChanged", "", ""},
		{"too many", idle, when(ReportBuilds{"host-1", many}), "", fault.InvalidRequest, "at most 20"},
		{"no compute", idle, when(ReportBuilds{Compute: "host-9"}), "", fault.NotFound, "host-9"},
	})
}

func TestRequestProcess(t *testing.T) {
	used := of("game", "build-1")
	used.Process = "a"
	busy := of("game", "build-1")
	busy.MaxActivations = 0
	runCases(t, []commandCase{
		{"on an idle slot", equipped, when(of("game", "build-1")),
			"ProcessRequested ProcessAskedToEnd GameSessionCreated", "", ""},
		{"again", requested, when(of("game", "build-1")), "", "", ""},
		{"no files", equipped, when(of("game", "build-9")), "", fault.FleetCapacityExceeded, "files of build build-9"},
		{"no idle process", requested, when(of("game-2", "build-1")), "", fault.FleetCapacityExceeded, "idle process"},
		{"the activations that are allowed", equipped, when(busy), "", fault.FleetCapacityExceeded, "idle process"},
		{"a process with that id", equipped, when(used), "", fault.Conflict, "exists already"},
		{"own build, after it has yielded", requested, when(creation("game-2")), "", fault.FleetCapacityExceeded,
			"Unable"},
		{"ready before it has connected", requested, when(ReadyProcess{ProcessKey: key("p-game"), Port: 9}), "",
			fault.NotFound, "not known"},
		{"connects", requested, when(ConnectProcess{ProcessKey: key("p-game")}), "ProcessResumed", "", ""},
		{"ready", arrived, when(ReadyProcess{ProcessKey: key("p-game"), Port: 9}),
			"ProcessBecameReady GameSessionHosted", "", ""},
		{"its exit ends the game session", requested, when(ExitProcess{ProcessKey: key("p-game"),
			Reason: ExitCrashed}), "GameSessionEnded FleetEventAdded ProcessHasEnded ProcessExited", "", ""},
		{"terminated before it has connected", requested, when(TerminateGameSession{"game"}),
			"GameSessionTerminating GameSessionEnded ProcessHasEnded", "", ""},
		{"terminated before it is ready", arrived, when(TerminateGameSession{"game"}),
			"GameSessionTerminating ProcessAskedToEnd", "", ""},
		{"a closed compute keeps it", requested, when(CloseCompute{Name: "host-1", For: time.Minute}), "ComputeClosed",
			"", ""},
		{"so does a compute without idle processes", requested, when(StopCompute{Name: "host-1", Idle: true}), "", "",
			""},
	})
}

// TestRequestedProcess: the game session is shown with the port of its process, which hosts no other one, and the slot
// is that of the fleet's own build afterwards.
func TestRequestedProcess(t *testing.T) {
	w := newWorld(t)
	arrived(w)
	if g := w.session("game"); g.Status != Activating || g.Port != 0 || g.IPAddress != "10.0.0.1" {
		t.Errorf("before its process is ready: %+v", g)
	}
	w.do(ReadyProcess{ProcessKey: key("p-game"), Port: 9})
	p := w.process(key("p-game"))
	if g := w.session("game"); g.Port != 9 || p.Build != "build-1" || p.SDKVersion != "5.3.0" || p.Requested {
		t.Errorf("%+v is on %+v", g, p)
	}
	w.do(ActivateGameSession{ProcessKey: key("p-game"), GameSession: "game"})
	if n := w.room.RequestableFor("build-1", 9); n != 0 {
		t.Errorf("%d further ones can be requested without an idle process", n)
	}
	w.ready(key("b"))
	if n := w.room.RequestableFor("build-1", 9); n != 1 {
		t.Errorf("%d processes can be requested on one idle slot", n)
	}
	// A process of another build that gets free, as those on server SDK 4 do, is not offered to anyone.
	w.do(ReleaseProcess{ProcessKey: key("p-game"), GameSession: "game"})
	if w.process(key("p-game")).TerminateBy == 0 || w.room.WaitingProcesses() != 1 {
		t.Errorf("a process of another build waits for game sessions: %+v", w.process(key("p-game")))
	}
	if g := w.do(creation("own")).(*GameSession); g.Host != key("b") {
		t.Errorf("a game session of the own build is on %v", g.Host)
	}
}

// TestRequestedProcessIsLate: a request that is not answered ends with its game session.
func TestRequestedProcessIsLate(t *testing.T) {
	w := newWorld(t)
	requested(w)
	events := w.wait(10 * time.Minute)
	if g := w.session("game"); !g.HasEnded() {
		t.Errorf("after ten minutes: %+v", g)
	}
	got := strings.Join(names(events), " ")
	if !strings.Contains(got, "GameSessionEnded FleetEventAdded ProcessHasEnded") {
		t.Errorf("the events are %s", got)
	}
}

// TestSlotTaken: a process that its agent has started in the slot of a requested one yields, too.
func TestSlotTaken(t *testing.T) {
	w := newWorld(t)
	requested(w)
	w.ready(key("other")) // the one that yields has not ended: this is in another slot
	if w.process(key("other")).TerminateBy != 0 {
		t.Error("a process in another slot has yielded")
	}
	w.do(EndProcess{key("a")})
	w.ready(key("b"))
	if w.process(key("b")).TerminateBy == 0 {
		t.Error("the process in the slot does not yield")
	}
	w.do(SuperviseProcesses{Compute: "host-1", IDs: []string{"p-game"}})
	w.ready(key("c"))
	if w.process(key("c")).TerminateBy != 0 {
		t.Error("a process has yielded after the requested one was started")
	}
}
