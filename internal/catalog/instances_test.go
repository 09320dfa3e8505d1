package catalog

import (
	"reflect"
	"slices"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// home is the location of EC2-type fleets that is the region itself.
const home = "us-west-2"

// ids are enough for the fleet events of any stage.
func lifecycleIDs() (ids []string) {
	for i := range MaxLifecycleEvents {
		ids = append(ids, string(rune('a'+i)))
	}
	return ids
}

var managedRuntime = &RuntimeConfiguration{ServerProcesses: []ServerProcess{{"/local/game/server", "", 2}}}

func (w *world) instance() string { return w.some("i-", 5) }

// managed returns commands that give the world a build, a machine and a fleet with an instance.
func (w *world) managed() []Command {
	return []Command{
		CreateBuild{ID: "build-0", Source: BuildSource{Bucket: "b", Key: "k"}, Hash: "hash-0", Size: 1},
		FinishBuild{ID: "build-0", Hash: "hash-0"},
		CreateMachineToken{tokenHash(1), home, w.now + minute},
		JoinMachine{Name: "box-0", Location: home, Key: machineKey(1), Offer: offer, Token: tokenHash(1)},
		CreateManagedFleet{ID: "fleet-0", Attributes: Attributes{Name: "arena"}, Runtime: managedRuntime,
			Managed: Managed{Build: "build-0", InstanceType: "c5.large", Home: home}, EventID: w.id()},
		CreateInstance{"i-0", "fleet-0", home, "box-0", lifecycleIDs(), 0},
	}
}

func (w *world) instanceCommand() Command {
	id, machine := w.instance(), w.some("box-", 2)
	switch w.r.IntN(24) {
	case 0, 1, 2:
		return CreateManagedFleet{ID: w.fleet(), Attributes: Attributes{Name: "arena"}, Locations: w.locations(),
			Runtime: managedRuntime, Managed: Managed{Build: w.build(), InstanceType: "c5.large", Home: home},
			Tags: w.tags(), EventID: w.id()}
	case 3, 4, 5, 6:
		location := home
		if w.chance(3) {
			location = w.location()
		}
		var generation uint64
		if w.chance(3) {
			generation = w.r.Uint64N(4)
		}
		return CreateInstance{id, w.fleet(), location, machine, lifecycleIDs(), generation}
	case 7, 8, 9:
		stages := [...]InstanceStage{StageWaiting, StageDownloading, StageExtracting, StageInstalling, StageValidating,
			StageBuilding, StageRunning, StageFailed, StageEnded}
		r := InstanceReport{Stage: stages[w.r.IntN(len(stages))], Installed: w.chance(4)}
		if r.Stage == StageFailed || w.chance(9) {
			r.Code, r.Message = codeLaunchPathMissing, "There is no file server"
		}
		return ReportInstance{id, machine, lifecycleIDs(), r}
	case 10, 11:
		return ActivateInstance{id, lifecycleIDs()}
	case 12:
		return TerminateInstance{id}
	case 13:
		return DropInstance{id}
	case 14:
		return PutInstanceLog{id, machine, w.hash()}
	case 15, 16:
		return SetFleetBuild{w.some("fleet-", 2), w.some("build-", 2), w.chance(2), w.id()}
	case 20, 21, 22, 23:
		if w.chance(3) {
			return DeleteBuildVersion{w.some("fleet-", 2), w.some("v", 2), w.id()}
		}
		return PutBuildVersion{w.some("fleet-", 2), w.some("v", 2), w.some("build-", 2), w.id()}
	case 17:
		return SetAliasWeights{w.some("alias-", 3), []AliasWeight{{w.fleet(), 90}, {w.fleet(), 10}}}
	}
	return FailFleet{w.fleet(), codeActivationFailed, "No process was ready in time", lifecycleIDs()}
}

// checkInstances holds what is true of the instances of every reachable catalog.
func checkInstances(t *testing.T, s *State) {
	t.Helper()
	for _, i := range s.AllInstances() {
		f, err := s.LiveFleet(i.Fleet)
		if err != nil || f.Managed == nil || i.Machine == "" {
			t.Errorf("instance %+v: fleet %+v, %v", i, f, err)
		}
		if at, ok := s.ComputeLocation(i.Fleet, i.ID); !ok || at != i.Location {
			t.Errorf("the name of instance %s is at %q", i.ID, at)
		}
	}
}

// stage reports a stage of the instance of managed.
func stage(stage InstanceStage) ReportInstance {
	return ReportInstance{"i-0", "box-0", lifecycleIDs(), InstanceReport{Stage: stage}}
}

func failure(at InstanceStage, code string) ReportInstance {
	return ReportInstance{"i-0", "box-0", lifecycleIDs(), InstanceReport{Stage: at, Code: code, Message: "why"}}
}

// TestLifecycle: whatever stages are reported, the fleet events are in one order.
func TestLifecycle(t *testing.T) {
	ready := ActivateInstance{"i-0", lifecycleIDs()}
	installed := ReportInstance{"i-0", "box-0", lifecycleIDs(), InstanceReport{Stage: StageRunning, Installed: true}}
	begun := []string{"FLEET_CREATED", codeStateDownloading}
	validating := []string{codeExtracting, codeStateValidating, codeValidatingRuntime}
	installs := []string{codeExtracting, codeRunningInstaller, codeCompletedInstaller, codeStateValidating,
		codeValidatingRuntime}
	active := []string{codeStateBuilding, codeStateActivating, codeFleetStateActive}
	for name, c := range map[string]struct {
		commands []Command
		status   Status
		location Status
		codes    []string
	}{
		"created": {nil, StatusDownloading, StatusDownloading, begun},
		"each stage": {[]Command{stage(StageDownloading), stage(StageExtracting), stage(StageInstalling),
			stage(StageValidating), stage(StageBuilding), stage(StageRunning), ready}, StatusActive, StatusActive,
			slices.Concat(begun, installs, active)},
		"no stage": {[]Command{ready}, StatusActive, StatusActive, slices.Concat(begun, validating, active)},
		"a stage before": {[]Command{stage(StageBuilding), stage(StageDownloading)}, StatusBuilding, StatusBuilding,
			slices.Concat(begun, validating, active[:1])},
		"installed meanwhile": {[]Command{installed, ready}, StatusActive, StatusActive,
			slices.Concat(begun, installs, active)},
		"no download": {[]Command{failure(StageFailed, codeDownloadFailed)}, StatusError, StatusError,
			slices.Concat(begun, []string{codeDownloadFailed, codeStateError})},
		"the installer": {[]Command{failure(StageFailed, codeFailedInstaller)}, StatusError, StatusError,
			slices.Concat(begun, installs[:2], []string{codeFailedInstaller, codeStateError})},
		"no launch path": {[]Command{failure(StageFailed, codeLaunchPathMissing)}, StatusError, StatusError,
			slices.Concat(begun, validating, []string{codeLaunchPathMissing, codeStateError})},
		"crashes": {[]Command{failure(StageRunning, codeActivationFailed)}, StatusError, StatusError,
			slices.Concat(begun, validating, active[:2], []string{codeActivationFailed, codeStateError})},
		"an unknown failure": {[]Command{failure(StageFailed, "")}, StatusError, StatusError,
			slices.Concat(begun, []string{codeInitFailed, codeStateError})},
		"crashes of an ACTIVE fleet": {[]Command{ready, failure(StageRunning, codeActivationFailed)}, StatusActive,
			StatusActive, slices.Concat(begun, validating, active)},
		"another build that cannot run": {[]Command{ready, CreateBuild{ID: "build-1",
			Source: BuildSource{Bucket: "b", Key: "k"}, Hash: "hash-1", Size: 1}, FinishBuild{ID: "build-1",
			Hash: "hash-1"}, SetFleetBuild{"fleet-0", "build-1", false, "e"}, ReportInstance{"i-0", "box-0",
			lifecycleIDs(), InstanceReport{Stage: StageRunning, Code: codeFailedInstaller, Runs: "build-0"}}},
			StatusActive, StatusActive, slices.Concat(begun, validating, active, []string{codeGeneric,
				codeFailedInstaller})},
		"no process in time": {[]Command{FailFleet{"fleet-0", codeActivationFailed, "why", lifecycleIDs()}},
			StatusError, StatusError, slices.Concat(begun, []string{codeActivationFailed, codeStateError})},
	} {
		t.Run(name, func(t *testing.T) {
			w, s := &world{now: t0}, New(DefaultLimits())
			for _, command := range append(w.managed(), c.commands...) {
				do(t, s, t0, command)
			}
			checkInvariants(t, s)
			var codes []string
			events, _, err := s.FleetEvents("fleet-0", 0, 0, 0, 0)
			for _, e := range slices.Backward(events) {
				codes = append(codes, e.Code)
			}
			f, _ := s.Fleet("fleet-0")
			l, _ := s.FleetLocation("fleet-0", home)
			if err != nil || !reflect.DeepEqual(codes, c.codes) || f.Status != c.status || l.Status != c.location {
				t.Errorf("%s, location %s, %v, %v; want %s, %s, %v", f.Status, l.Status, codes, err, c.status,
					c.location, c.codes)
			}
		})
	}
}

// TestChosenMachine: an instance begins on the machine as it was when it was chosen, and no machine takes over the
// instances of one that had its name.
func TestChosenMachine(t *testing.T) {
	w, s := &world{now: t0}, New(DefaultLimits())
	for _, command := range w.managed() {
		do(t, s, t0, command)
	}
	m, _ := s.Machine("box-0")
	create := CreateInstance{"i-1", "fleet-0", home, "box-0", lifecycleIDs(), m.Generation - 1}
	if _, err := s.Decide(t0, create); !fault.Is(err, fault.Conflict) {
		t.Errorf("a machine that has changed: %v", err)
	}
	create.Generation = m.Generation
	do(t, s, t0, create)
	do(t, s, t0, DeleteMachine{"box-0", true})
	do(t, s, t0, CreateMachineToken{tokenHash(2), home, t0 + minute})
	join := JoinMachine{Name: "box-0", Location: home, Key: machineKey(2), Offer: offer, Token: tokenHash(2)}
	if _, err := s.Decide(t0, join); !fault.Is(err, fault.NotReady) {
		t.Errorf("a machine with the name of one that has instances: %v", err)
	}
	do(t, s, t0, DropInstance{"i-0"})
	do(t, s, t0, DropInstance{"i-1"})
	do(t, s, t0, join)
}
