package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// versioned returns the commands for an ACTIVE fleet and two further builds.
func (w *world) versioned() []Command {
	all := append(w.managed(), ActivateInstance{"i-0", lifecycleIDs()})
	for i := 1; i <= 2; i++ {
		id, hash := fmt.Sprint("build-", i), fmt.Sprint("hash-", i)
		all = append(all, CreateBuild{ID: id, Source: BuildSource{Bucket: "b", Key: "k"}, Hash: hash, Size: 2},
			FinishBuild{ID: id, Hash: hash})
	}
	return all
}

// TestBuildVersions: versions are kept in the order of their names, with the bytes of their builds, until they are
// detached or the fleet has ended; the machines of the fleet get another generation.
func TestBuildVersions(t *testing.T) {
	w, s := &world{now: t0}, New(DefaultLimits())
	for _, c := range w.versioned() {
		do(t, s, t0, c)
	}
	before, _ := s.Machine("box-0")
	for _, c := range []PutBuildVersion{{"fleet-0", "main", "build-1", "e"}, {"fleet-0", "b", "build-1", "e"},
		{"fleet-0", "main", "build-2", "e"}} {
		do(t, s, t0, c)
	}
	for _, id := range []string{"build-1", "build-2"} {
		do(t, s, t0, DeleteBuild{ID: id})
	}
	checkInvariants(t, s)
	f, _ := s.Fleet("fleet-0")
	after, _ := s.Machine("box-0")
	if v := f.Managed.Versions; len(v) != 2 || v[0].Version != "b" || v[0].Build != "build-1" ||
		v[1].Version != "main" || v[1].Files.Hash != "hash-2" || v[1].Attached != t0 || f.Managed.Build != "build-0" {
		t.Errorf("the versions are %+v of build %s", v, f.Managed.Build)
	}
	if after.Generation != before.Generation+3 {
		t.Errorf("generation %d after %d", after.Generation, before.Generation)
	}
	if again, err := s.Decide(t0, PutBuildVersion{"fleet-0", "main", "build-2", "e2"}); err != nil || again != nil {
		t.Errorf("repeated: %v, %v", again, err)
	}
	_, err := f.BuildVersion("c")
	if !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "It has b, main.") {
		t.Errorf("an unknown version: %v", err)
	}
	do(t, s, t0, DeleteBuildVersion{"fleet-0", "b", "e"})
	checkInvariants(t, s)
	if kept := s.ReferredHashes(); slices.Contains(kept, "hash-1") || !slices.Contains(kept, "hash-2") {
		t.Error("the bytes of a version are kept after it, or not with it")
	}
	if events, _, _ := s.FleetEvents("fleet-0", 0, 0, 0, 1); !strings.Contains(events[0].Message, "was detached") {
		t.Errorf("the event is %+v", events[0])
	}
}

func TestBuildVersionRefused(t *testing.T) {
	put := func(fleet, version, build string) Command { return PutBuildVersion{fleet, version, build, "event"} }
	source := BuildSource{Bucket: "b", Key: "k"}
	var many []Command
	for i := range maxBuildVersions {
		many = append(many, put("fleet-0", fmt.Sprint("v", i), "build-1"))
	}
	for name, c := range map[string]struct {
		before  []Command
		command Command
		want    fault.Kind
		text    string
	}{
		"no fleet":   {nil, put("fleet-9", "v", "build-1"), fault.NotFound, "fleet-9"},
		"no build":   {nil, put("fleet-0", "v", "build-9"), fault.NotFound, "build-9"},
		"no name":    {nil, put("fleet-0", "", "build-1"), fault.InvalidRequest, "1 to 64"},
		"a path":     {nil, put("fleet-0", "../v", "build-1"), fault.InvalidRequest, "1 to 64"},
		"long name":  {nil, put("fleet-0", strings.Repeat("v", 65), "build-1"), fault.InvalidRequest, "1 to 64"},
		"too many":   {many, put("fleet-0", "w", "build-1"), fault.LimitExceeded, "v0, v1"},
		"no version": {nil, DeleteBuildVersion{"fleet-0", "v", "event"}, fault.NotFound, "It has none."},
		"not READY": {[]Command{CreateBuild{ID: "build-3", Source: source, Hash: "h", Size: 1}},
			put("fleet-0", "v", "build-3"), fault.NotReady, "READY"},
		"another system": {[]Command{CreateBuild{ID: "build-3", OperatingSystem: "WINDOWS_2022", Source: source,
			Hash: "h", Size: 1}, FinishBuild{ID: "build-3", Hash: "h"}}, put("fleet-0", "v", "build-3"),
			fault.InvalidRequest, "WINDOWS_2022"},
		"being deleted": {[]Command{DeleteFleet{Fleet: "fleet-0"}}, put("fleet-0", "v", "build-1"),
			fault.InvalidFleetStatus, "DELETING"},
		"Anywhere": {[]Command{CreateLocation{Name: "custom-a"}, CreateFleet{ID: "fleet-1", ComputeType: "ANYWHERE",
			Attributes: Attributes{Name: "a"}, Locations: []string{"custom-a"}, EventIDs: lifecycleIDs()}},
			put("fleet-1", "v", "build-1"), fault.InvalidRequest, "ANYWHERE"},
	} {
		t.Run(name, func(t *testing.T) {
			w, s := &world{now: t0}, New(DefaultLimits())
			for _, command := range append(w.versioned(), c.before...) {
				do(t, s, t0, command)
			}
			if _, err := s.Decide(t0, c.command); !fault.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %s with %q", err, c.want, c.text)
			}
		})
	}
}
