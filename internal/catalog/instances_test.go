package catalog

import (
	"testing"
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
		CreateInstance{"i-0", "fleet-0", home, "box-0", lifecycleIDs()},
	}
}

func (w *world) instanceCommand() Command {
	id, machine := w.instance(), w.some("box-", 2)
	switch w.r.IntN(16) {
	case 0, 1, 2:
		return CreateManagedFleet{ID: w.fleet(), Attributes: Attributes{Name: "arena"}, Locations: w.locations(),
			Runtime: managedRuntime, Managed: Managed{Build: w.build(), InstanceType: "c5.large", Home: home},
			Tags: w.tags(), EventID: w.id()}
	case 3, 4, 5, 6:
		location := home
		if w.chance(3) {
			location = w.location()
		}
		return CreateInstance{id, w.fleet(), location, machine, lifecycleIDs()}
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
