package catalog

import (
	"bytes"
	"testing"

	"github.com/muster-gg/muster/internal/event"
)

// FuzzFacts feeds any bytes that decode to the catalog, events to Apply and
// records to Restore, in any order. However little sense they make, the catalog
// stays consistent, survives a snapshot, and ages out.
func FuzzFacts(f *testing.F) {
	var all bytes.Buffer
	for _, body := range examples() {
		var one bytes.Buffer
		for _, buf := range []*bytes.Buffer{&one, &all} {
			if err := types.Append(buf, event.Fact{Body: body}); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(one.Bytes())
	}
	f.Add(all.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		s := New(smallLimits())
		feed(s, data)
		checkDerived(t, s)
		readAll(s)
		again := decode(t, smallLimits(), encode(t, s))
		checkEqual(t, "snapshot", again, s)
		for range 10 {
			for _, e := range s.Expire(s.Deadline()) {
				s.Apply(e)
			}
			checkDerived(t, s)
		}
	})
}

// feed hands the facts of data to s, up to the first that does not decode.
func feed(s *State, data []byte) {
	for len(data) > 0 {
		fact, rest, err := types.Next(data)
		if err != nil {
			return
		}
		if e, ok := fact.Body.(Event); ok {
			s.Apply(e)
		} else if s.Restore(fact.Body) != nil {
			return
		}
		data = rest
	}
}

// readAll calls every read method and decides a command of each family.
func readAll(s *State) {
	s.Locations("", 1)
	s.Aliases(AliasFilter{}, "", 1)
	s.AccessKeys("", 1)
	s.Queues("", 1)
	s.MatchmakingConfigurations("duel", "", 1)
	s.RuleSets("", 1)
	s.AssignmentsOf("ada")
	s.SubjectsOf("GameDev")
	s.Members("team")
	s.PolicyUsers("Fleets")
	s.UserByInvite(nil)
	s.UserByExternal("https://id.example.com", "42")
	s.RoleByID("AROAEXAMPLE")
	s.ProviderByIssuer("https://id.example.com")
	s.AccessSettings()
	s.ViewsOf("ada")
	s.Builds(every, "", 1)
	s.UncheckedBuilds()
	s.Objects("games", "a", "b", 1)
	s.Machine("box-1")
	s.Machines()
	s.MachineTokens()
	s.AllInstances()
	s.InstancesOf("box-1")
	fleets, _ := s.Fleets("", 5)
	for _, f := range fleets {
		f.ActivationTimeout()
		f.MaxConcurrentActivations()
		s.FleetLocations(f.ID)
		s.Instances(f.ID, "us-west-2")
		s.Computes(f.ID, "", "", 1)
		_, _, _ = s.FleetEvents(f.ID, 0, 0, 0, 1)
	}
	for _, c := range []Command{
		ClaimCreation{"fleet-1", "ada", t0}, ReleaseCreation{"fleet-1", "ada", t0},
		ClaimCompute{"fleet-1", "host/1", "custom-office"},
		TagResource{"fleet/fleet-1", []Tag{{"stage", ""}}}, UntagResource{"fleet/fleet-1", []string{"stage"}},
		RecordFleetEvent{Fleet: "fleet-1", ID: "x"}, FinishFleetDeletion{"fleet-1", "x"}, DeleteFleet{"fleet-1"},
		UpdateFleetAttributes{Fleet: "fleet-1"}, RemoveFleetLocations{"fleet-1", []string{"custom-office"},
			[]string{"x"}},
		UpdateQueue{Name: "harbor"}, DeleteQueue{"harbor"}, UpdateMatchmakingConfiguration{Name: "ladder"},
		DeleteRuleSet{"duel"},
		PutUser{User: User{Name: "ada"}}, SetExternalGroups{"ada", []string{"team"}}, DeleteUser{"ada"},
		DeleteGroup{"team"}, PutRole{Role: Role{Name: "GameDev"}}, PutAssignment{Role: "GameDev", Subject: "@team"},
		DeletePolicy{"Fleets"}, PutProvider{Provider: Provider{Name: "keycloak"}}, UpdateAccessKey{ID: "AKIAEXAMPLE"},
		StartSignIn{SignIn{ID: "signin-2", User: "ada", Kind: SignInSSO, Created: t0, IdleEnds: t0 + day,
			Ends: t0 + day}},
		RotateSignIn{ID: "signin-1", From: 1, IdleEnds: t0 + day},
		TouchSignIn{ID: "signin-1", IdleEnds: t0 + day}, EndSignIn{ID: "signin-1"}, PutAccessSettings{},
		PutView{User: "ada", Title: "busy"}, DeleteView{User: "ada", Title: "busy fleets"},
		FinishBuild{ID: "build-1", Hash: "6b86b273"}, PutObject{Object{Key: "build-1"}}, DeleteBuild{"build-1"},
		DeleteObject{"games", "arena.zip"}, DeleteBucket{"games"},
		CreateMachineToken{Location: "custom-office"}, DeleteMachineToken{"mt-0505050505050505"},
		JoinMachine{Name: "box-1"}, DrainMachine{Name: "box-1"}, DeleteMachine{Name: "box-1", Lost: true},
		CreateManagedFleet{ID: "fleet-2", Managed: Managed{Build: "build-1", Home: "us-west-2"}},
		CreateInstance{ID: "i-1", Fleet: "fleet-1", Location: "custom-office", Machine: "box-1"},
		ReportInstance{ID: "i-0123456789abcdef0", Machine: "box-1",
			InstanceReport: InstanceReport{Stage: StageRunning}},
		ActivateInstance{ID: "i-0123456789abcdef0"}, TerminateInstance{"i-0123456789abcdef0"},
		PutInstanceLog{"i-0123456789abcdef0", "box-1", "x"}, DropInstance{"i-0123456789abcdef0"},
		FailFleet{Fleet: "fleet-1"}, AddFleetLocations{Fleet: "fleet-1", Locations: []string{"us-east-1"}},
		SealAgain{AccessKey: "AKIAEXAMPLE", From: []byte{0, 1, 254, 255}, To: []byte{1}},
	} {
		_, _ = s.Decide(t0, c)
	}
}
