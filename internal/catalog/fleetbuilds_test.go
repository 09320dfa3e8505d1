package catalog

import (
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestSetFleetBuild: the fleet, its instances and what is wanted of their machine change with the build.
func TestSetFleetBuild(t *testing.T) {
	w, s := &world{now: t0}, New(DefaultLimits())
	for _, c := range append(w.managed(), CreateBuild{ID: "build-1", Source: BuildSource{
		Bucket: "b", Key: "k"}, Hash: "hash-1", Size: 2}, FinishBuild{ID: "build-1", Hash: "hash-1"},
		ActivateInstance{"i-0", lifecycleIDs()}) {
		do(t, s, t0, c)
	}
	before, _ := s.Machine("box-0")
	do(t, s, t0, SetFleetBuild{"fleet-0", "build-1", true, "event"})
	checkInvariants(t, s)
	f, _ := s.Fleet("fleet-0")
	i, _ := s.Instance("i-0")
	after, _ := s.Machine("box-0")
	if m := f.Managed; m.Build != "build-1" || m.Files.Hash != "hash-1" || m.Files.Size != 2 || !m.Now ||
		i.Build != "build-1" || after.Generation <= before.Generation {
		t.Errorf("fleet %+v, instance %+v, generation %d after %d", m, i, after.Generation, before.Generation)
	}
	events, _, _ := s.FleetEvents("fleet-0", 0, 0, 0, 1)
	if want := "changed from build-0 to build-1"; events[0].Code != codeGeneric ||
		!strings.Contains(events[0].Message, want) {
		t.Errorf("the event is %+v, want %q", events[0], want)
	}
	if again, err := s.Decide(t0, SetFleetBuild{"fleet-0", "build-1", true, "event-2"}); err != nil || again != nil {
		t.Errorf("repeated: %v, %v", again, err)
	}
	do(t, s, t0, SetFleetBuild{"fleet-0", "build-1", false, "event-2"})
	if f, _ := s.Fleet("fleet-0"); f.Managed.Now {
		t.Error("game sessions still do not delay the change")
	}
}

func TestSetFleetBuildRefused(t *testing.T) {
	source := BuildSource{Bucket: "b", Key: "k"}
	active := ActivateInstance{"i-0", lifecycleIDs()}
	for name, c := range map[string]struct {
		before       []Command
		fleet, build string
		want         fault.Kind
		text         string
	}{
		"no fleet":   {[]Command{active}, "fleet-9", "build-0", fault.NotFound, "fleet-9"},
		"no build":   {[]Command{active}, "fleet-0", "build-9", fault.NotFound, "build-9"},
		"not ACTIVE": {nil, "fleet-0", "build-0", fault.InvalidFleetStatus, "DOWNLOADING"},
		"being deleted": {[]Command{active, DeleteFleet{Fleet: "fleet-0"}}, "fleet-0", "build-0",
			fault.InvalidFleetStatus, "DELETING"},
		"not READY": {[]Command{active, CreateBuild{ID: "build-1", Source: source, Hash: "h", Size: 1}}, "fleet-0",
			"build-1", fault.NotReady, "READY"},
		"another system": {[]Command{active, CreateBuild{ID: "build-1", OperatingSystem: "WINDOWS_2022",
			Source: source, Hash: "h", Size: 1}, FinishBuild{ID: "build-1", Hash: "h"}}, "fleet-0", "build-1",
			fault.InvalidRequest, "WINDOWS_2022"},
		"protected": {[]Command{active, TagResource{Resource: fleetKind + "fleet-0", Tags: []Tag{ProtectTag}}},
			"fleet-0", "build-0", fault.InvalidRequest, "muster:protect=true"},
		"Anywhere": {[]Command{CreateLocation{Name: "custom-a"}, CreateFleet{ID: "fleet-1", ComputeType: "ANYWHERE",
			Attributes: Attributes{Name: "a"}, Locations: []string{"custom-a"}, EventIDs: lifecycleIDs()}}, "fleet-1",
			"build-0", fault.InvalidRequest, "ANYWHERE"},
	} {
		t.Run(name, func(t *testing.T) {
			w, s := &world{now: t0}, New(DefaultLimits())
			for _, command := range append(w.managed(), c.before...) {
				do(t, s, t0, command)
			}
			_, err := s.Decide(t0, SetFleetBuild{c.fleet, c.build, false, "event"})
			if !fault.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %s with %q", err, c.want, c.text)
			}
		})
	}
}
