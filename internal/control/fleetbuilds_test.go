package control

import (
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestSetFleetBuild: idle processes of the build before are asked to end, and those with a game session only if they
// are to end at once. The machine gets the other build; a failure is an event of the fleet.
func TestSetFleetBuild(t *testing.T) {
	w := newWorld(t, withObjects(t))
	build, data := w.readyBuild(t)
	o := w.keep(data)
	for _, id := range []string{"build-2", "build-3"} {
		w.change(catalog.CreateBuild{ID: id, OperatingSystem: "AMAZON_LINUX_2023",
			Source: catalog.BuildSource{Bucket: "b", Key: "k"}, Hash: o.Hash, Size: o.Size})
		w.change(catalog.FinishBuild{ID: id, Hash: o.Hash})
	}
	b := w.box("box", 1)
	id := w.managedFleet(build, nil)
	in := b.instance()
	state := protocol.InstanceState{ID: in.ID, Stage: protocol.Running, Build: build}
	b.report(state)
	idle, busy := b.serve(in, "p1"), b.serve(in, "p2")
	w.await("ACTIVE", func() bool { return w.fleetStatus(id) == "ACTIVE" })
	w.must("CreateGameSession", object{"FleetId": id, "MaximumPlayerSessionCount": 2})
	session := at(w.must("DescribeGameSessions", object{"FleetId": id}), "GameSessions", 0, "GameSessionId")
	_, err := w.read(w.ctx, fleet.RoomID{Fleet: fleet.ID(id), Location: testRegion}, func(r *fleet.Room) {
		p, _ := r.Process(fleet.ProcessKey{Compute: in.ID, ID: "p1"})
		if p.Status == fleet.ProcessHosting {
			idle, busy = busy, idle
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	busy.next() // CreateGameSession

	if _, err := w.SetFleetBuild(w.ctx, id, FleetBuildInput{BuildID: "build-9"}); !fault.Is(err, fault.NotFound) {
		t.Errorf("an unknown build: %v", err)
	}
	got, err := w.SetFleetBuild(w.ctx, w.FleetARN(id), FleetBuildInput{BuildID: "build-2"})
	if err != nil || got.BuildID != "build-2" || got.Instances != 1 || got.Replaced != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	w.await("the build is wanted", func() bool { return b.instance().Build.ID == "build-2" })
	same(t, at(w.must("DescribeFleetAttributes", object{"FleetIds": []string{id}}), "FleetAttributes", 0, "BuildId"),
		`"build-2"`)
	state.Failure = &protocol.Failure{Code: "FLEET_CREATION_FAILED_INSTALLER", Message: "exit status 3"}
	b.report(state)
	if got, _ := w.FleetBuild(w.ctx, id); len(got.Failures) != 1 || got.Failures[0].Reason != "exit status 3" {
		t.Errorf("%+v", got)
	}
	codes := strings.Join(w.codes(id), " ")
	if !strings.HasSuffix(codes, "GENERIC_EVENT FLEET_CREATION_FAILED_INSTALLER") {
		t.Errorf("the events are %s", codes)
	}

	state.Failure, state.Build, state.Outdated = nil, "build-2", []string{"p1", "p2", "starting"}
	b.report(state)
	idle.isAskedToEnd()
	if got, _ := w.FleetBuild(w.ctx, id); got.Replaced != 1 || got.Outdated != 3 || len(got.Failures) != 0 {
		t.Errorf("%+v", got)
	}
	same(t, at(w.must("DescribeGameSessions", object{"GameSessionId": session}), "GameSessions", 0, "Status"),
		`"ACTIVATING"`)
	idle.ok(idle.end())
	if _, err := w.SetFleetBuild(w.ctx, id, FleetBuildInput{BuildID: "build-3", Now: true}); err != nil {
		t.Fatal(err)
	}
	state.Build, state.Outdated = "build-3", []string{"p2", "p1"}
	b.report(state)
	busy.isAskedToEnd()
}

func (s *socket) isAskedToEnd() {
	s.w.t.Helper()
	if p, ok := s.next().(processes.TerminateProcessPush); !ok {
		s.w.t.Errorf("%+v was pushed", p)
	}
}
