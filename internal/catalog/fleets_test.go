package catalog

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// arena is a command that creates a fleet at one location.
func arena(change func(c *CreateFleet)) CreateFleet {
	c := CreateFleet{
		ID: "fleet-1", ComputeType: "ANYWHERE", Attributes: Attributes{Name: "arena"}, Locations: []string{"custom-a"},
		EventIDs: []string{"e1", "e2", "e3"},
	}
	if change != nil {
		change(&c)
	}
	return c
}

// arenaLines are the first lines of its log.
func arenaLines() []Event {
	return []Event{
		line("fleet-1", 1, "e1", "FLEET_CREATED", "Fleet fleet-1 was created"),
		line("fleet-1", 2, "e2", "FLEET_STATE_ACTIVE", "Fleet fleet-1 changed state to ACTIVE"),
		line("fleet-1", 3, "e3", "LOCATION_STATE_ACTIVE", "Location custom-a of fleet fleet-1 changed state to ACTIVE"),
	}
}

func TestCreateFleet(t *testing.T) {
	a := []Event{locationMade("custom-a")}
	abc := []Event{locationMade("custom-a"), locationMade("custom-b"), locationMade("custom-c")}
	full := Attributes{
		Name: "arena", Description: "duels", Cost: "0.25", ProtectionPolicy: FullProtection,
		CreationLimit: &CreationLimit{3, 15}, MetricGroups: []string{"duels"},
	}
	runtime := &RuntimeConfiguration{ServerProcesses: []ServerProcess{{"/game", "-x", 50}}, MaxConcurrentActivations: 2,
		ActivationTimeoutSeconds: 30}
	play(t, []scene{
		{name: "defaults", given: a, when: arena(nil), then: append([]Event{fleetMade("fleet-1", "custom-a")},
			arenaLines()...)},
		{name: "everything given", given: a, when: arena(func(c *CreateFleet) {
			c.Attributes, c.Runtime, c.Tags = full, runtime, []Tag{{"k", "v"}}
		}), then: append([]Event{
			&FleetCreated{ID: "fleet-1", At: t0, Locations: []string{"custom-a"}, Runtime: runtime, Attributes: full},
			&ResourceTagged{Resource: "fleet/fleet-1", Tags: []Tag{{"k", "v"}}},
		}, arenaLines()...)},
		{name: "a policy of zeros is none", given: a,
			when: arena(func(c *CreateFleet) { c.CreationLimit = &CreationLimit{} }),
			then: append([]Event{fleetMade("fleet-1", "custom-a")}, arenaLines()...)},
		{name: "no compute type", given: a, when: arena(func(c *CreateFleet) { c.ComputeType = "" }),
			fault: fault.InvalidRequest},
		{name: "containers", given: a, when: arena(func(c *CreateFleet) { c.ComputeType = "CONTAINER" }),
			fault: fault.InvalidRequest,
			text:  "This service offers fleets of compute type ANYWHERE and EC2 only"},
		{name: "no location", given: a, when: arena(func(c *CreateFleet) { c.Locations = nil }),
			fault: fault.InvalidRequest},
		{name: "a Region as location", given: a,
			when:  arena(func(c *CreateFleet) { c.Locations = []string{"us-west-2"} }),
			fault: fault.InvalidRequest},
		{name: "a location twice", given: a, when: arena(func(c *CreateFleet) {
			c.Locations = []string{"custom-a",
				"custom-a"}
		}),
			fault: fault.InvalidRequest, text: "Locations names custom-a more than once"},
		{name: "an unknown location", given: a, when: arena(func(c *CreateFleet) {
			c.Locations = []string{"custom-a",
				"custom-x"}
		}),
			fault: fault.NotFound, text: "Location custom-x not found"},
		{name: "too many locations", given: abc, when: arena(func(c *CreateFleet) {
			c.Locations = []string{"custom-a",
				"custom-b", "custom-c"}
		}),
			fault: fault.LimitExceeded, text: "A fleet can have at most 2 locations"},
		{name: "too many fleets", given: append(a, fleetMade("fleet-2", "custom-a"), fleetMade("fleet-3", "custom-a")),
			when:  arena(nil),
			fault: fault.LimitExceeded, text: "The limit of 2 fleets is reached"},
		{name: "a terminated fleet does not count", given: append(a, fleetMade("fleet-2", "custom-a"),
			fleetMade("fleet-3", "custom-a"),
			&FleetTerminated{Fleet: "fleet-2", At: t0}), when: arena(nil),
			then: append([]Event{fleetMade("fleet-1", "custom-a")}, arenaLines()...)},
		{name: "the same once more", given: append(a, fleetMade("fleet-1", "custom-a")), when: arena(nil)},
		{name: "half a policy", given: a,
			when:  arena(func(c *CreateFleet) { c.CreationLimit = &CreationLimit{SessionsPerCreator: 3} }),
			fault: fault.InvalidRequest},
		{name: "the other half", given: a,
			when:  arena(func(c *CreateFleet) { c.CreationLimit = &CreationLimit{PeriodMinutes: 3} }),
			fault: fault.InvalidRequest},
		{name: "a policy with too many sessions", given: a,
			when: arena(func(c *CreateFleet) { c.CreationLimit = &CreationLimit{11, 60} }), fault: fault.LimitExceeded},
		{name: "a policy with too long a period", given: a,
			when: arena(func(c *CreateFleet) { c.CreationLimit = &CreationLimit{10, 61} }), fault: fault.LimitExceeded},
		{name: "too many processes", given: a, when: arena(func(c *CreateFleet) {
			c.Runtime = &RuntimeConfiguration{ServerProcesses: []ServerProcess{{"/a", "", 25}, {"/b", "", 26}}}
		}), fault: fault.InvalidRequest,
			text: "RuntimeConfiguration asks for 51 server processes on each compute; at " +
				"most 50 are allowed"},
		{name: "processes beyond counting", given: a, when: arena(func(c *CreateFleet) {
			c.Runtime = &RuntimeConfiguration{ServerProcesses: []ServerProcess{{"/a", "", math.MaxInt32},
				{"/b", "", math.MaxInt32}}}
		}), fault: fault.InvalidRequest},
		{name: "bad tags", given: a, when: arena(func(c *CreateFleet) { c.Tags = []Tag{{"a", ""}, {"a", ""}} }),
			fault: fault.TaggingFailed},
		{name: "too few event ids", given: a, when: arena(func(c *CreateFleet) { c.EventIDs = c.EventIDs[:2] }),
			fault: fault.InternalService},
	})
}

func TestCreateFleetKeepsNothingOfItsCommand(t *testing.T) {
	s := given(t, DefaultLimits(), locationMade("custom-a"))
	c := arena(func(c *CreateFleet) {
		c.MetricGroups, c.CreationLimit = []string{"duels"}, &CreationLimit{1, 1}
		c.Runtime = &RuntimeConfiguration{ServerProcesses: []ServerProcess{{"/game", "", 1}}}
		c.Tags = []Tag{{"k", "v"}}
	})
	do(t, s, t0, c)
	before := encode(t, s)
	c.MetricGroups[0], c.CreationLimit.PeriodMinutes, c.Runtime.ServerProcesses[0].LaunchPath = "x", 2, "/x"
	c.Tags[0].Value, c.Locations[0] = "x", "custom-x"
	if !reflect.DeepEqual(before, encode(t, s)) {
		t.Error("the catalog shares memory with the command")
	}
	if n := c.EventCount(); n != 3 {
		t.Errorf("EventCount is %d, want 3", n)
	}
}

func TestCost(t *testing.T) {
	for cost, ok := range map[string]bool{
		"0": true, "12345": true, "0.25": true, "12345.12345": true,
		"123456": false, "0.123456": false, ".5": false, "5.": false, "-1": false, "1e3": false, "1.2.3": false,
		"x": false,
		"٣": false, " 1": false,
	} {
		err := Attributes{Cost: cost}.check(DefaultLimits())
		if got := !fault.Is(err, fault.InvalidRequest); got != ok {
			t.Errorf("cost %q: accepted %v, want %v", cost, got, ok)
		}
	}
}

func TestUpdateFleetAttributes(t *testing.T) {
	limited := plain("arena")
	limited.Description, limited.Cost, limited.CreationLimit = "duels", "1", &CreationLimit{2, 5}
	fleet := []Event{&FleetCreated{ID: "fleet-1", At: t0, Attributes: limited}}
	generous := limited
	generous.CreationLimit = &CreationLimit{1000, 1000}
	renamed := generous
	renamed.Name = "hall"
	with := func(change func(a *Attributes)) []Event {
		a := limited
		change(&a)
		return []Event{&FleetAttributesUpdated{Fleet: "fleet-1", Attributes: a}}
	}
	play(t, []scene{
		{name: "nothing given", given: fleet, when: UpdateFleetAttributes{Fleet: "fleet-1"},
			then: with(func(*Attributes) {})},
		{name: "name alone", given: fleet, when: UpdateFleetAttributes{Fleet: "fleet-1", Name: ptr("hall")},
			then: with(func(a *Attributes) { a.Name = "hall" })},
		{name: "the rest", given: fleet,
			when: UpdateFleetAttributes{Fleet: "fleet-1", Description: ptr("raids"), Cost: ptr("2.5"),
				MetricGroups: []string{"raids"}, CreationLimit: &CreationLimit{4, 6}},
			then: with(func(a *Attributes) {
				a.Description, a.Cost, a.MetricGroups, a.CreationLimit = "raids", "2.5", []string{"raids"},
					&CreationLimit{4, 6}
			})},
		{name: "zeros lift the limit", given: fleet, when: UpdateFleetAttributes{Fleet: "fleet-1",
			CreationLimit: &CreationLimit{}},
			then: with(func(a *Attributes) { a.CreationLimit = nil })},
		{name: "protection", given: fleet, when: UpdateFleetAttributes{Fleet: "fleet-1",
			ProtectionPolicy: ptr(FullProtection), EventID: "e"},
			then: append(with(func(a *Attributes) { a.ProtectionPolicy = FullProtection }),
				line("fleet-1", 1, "e", "FLEET_NEW_GAME_SESSION_PROTECTION_POLICY_UPDATED",
					"Fleet fleet-1 changed the protection policy for new game sessions from NoProtection to "+
						"FullProtection"))},
		{name: "the same protection", given: fleet, when: UpdateFleetAttributes{Fleet: "fleet-1",
			ProtectionPolicy: ptr(NoProtection), EventID: "e"},
			then: with(func(*Attributes) {})},
		{name: "no event id", given: fleet, when: UpdateFleetAttributes{Fleet: "fleet-1",
			ProtectionPolicy: ptr(FullProtection)}, fault: fault.InternalService},
		{name: "a policy from before the limit", given: []Event{fleet[0], &FleetAttributesUpdated{"fleet-1", generous}},
			when: UpdateFleetAttributes{Fleet: "fleet-1", Name: ptr("hall")},
			then: []Event{&FleetAttributesUpdated{"fleet-1", renamed}}},
		{name: "bad cost", given: fleet, when: UpdateFleetAttributes{Fleet: "fleet-1", Cost: ptr("free")},
			fault: fault.InvalidRequest},
		{name: "half a policy", given: fleet, when: UpdateFleetAttributes{Fleet: "fleet-1",
			CreationLimit: &CreationLimit{1, 0}}, fault: fault.InvalidRequest},
		{name: "too large a policy", given: fleet, when: UpdateFleetAttributes{Fleet: "fleet-1",
			CreationLimit: &CreationLimit{1, 61}}, fault: fault.LimitExceeded},
		{name: "unknown", when: UpdateFleetAttributes{Fleet: "fleet-1"}, fault: fault.NotFound,
			text: "Fleet fleet-1 not found"},
		{name: "deleting", given: append(fleet, &FleetDeletionStarted{Fleet: "fleet-1"}),
			when:  UpdateFleetAttributes{Fleet: "fleet-1"},
			fault: fault.InvalidFleetStatus, text: "Fleet fleet-1 is DELETING and must be ACTIVE"},
		{name: "terminated", given: append(fleet, &FleetTerminated{Fleet: "fleet-1", At: t0}),
			when:  UpdateFleetAttributes{Fleet: "fleet-1"},
			fault: fault.NotFound},
	})
}

func TestDeleteFleet(t *testing.T) {
	fleet := []Event{fleetMade("fleet-1", "custom-a")}
	play(t, []scene{
		{name: "a fleet", given: fleet, when: DeleteFleet{Fleet: "fleet-1"},
			then: []Event{&FleetDeletionStarted{Fleet: "fleet-1"}}},
		{name: "twice", given: append(fleet, &FleetDeletionStarted{Fleet: "fleet-1"}),
			when:  DeleteFleet{Fleet: "fleet-1"},
			fault: fault.InvalidFleetStatus},
		{name: "after its end", given: append(fleet, &FleetTerminated{Fleet: "fleet-1", At: t0}),
			when: DeleteFleet{Fleet: "fleet-1"}, fault: fault.NotFound},
		{name: "unknown", when: DeleteFleet{Fleet: "fleet-1"}, fault: fault.NotFound, text: "Fleet fleet-1 not found"},
	})
}

func TestFinishFleetDeletion(t *testing.T) {
	fleet := []Event{fleetMade("fleet-1", "custom-a")}
	finish := FinishFleetDeletion{Fleet: "fleet-1", EventID: "e"}
	play(t, []scene{
		{name: "a deleting fleet", given: append(fleet, &FleetDeletionStarted{Fleet: "fleet-1"}), when: finish,
			then: []Event{
				&FleetTerminated{Fleet: "fleet-1", At: t0},
				line("fleet-1", 1, "e", "FLEET_DELETED", "Fleet fleet-1 was deleted")}},
		{name: "again", given: append(fleet, &FleetTerminated{Fleet: "fleet-1", At: t0}), when: finish},
		{name: "not deleting", given: fleet, when: finish, fault: fault.InvalidFleetStatus},
		{name: "no event id", given: append(fleet, &FleetDeletionStarted{Fleet: "fleet-1"}),
			when: FinishFleetDeletion{Fleet: "fleet-1"}, fault: fault.InternalService},
		{name: "unknown", when: finish, fault: fault.NotFound},
	})
}

func TestTerminatedFleetHoldsNothing(t *testing.T) {
	s := given(t, DefaultLimits(), locationMade("custom-a"))
	do(t, s, t0, arena(func(c *CreateFleet) {
		c.Tags, c.CreationLimit, c.Runtime = []Tag{{"k", "v"}}, &CreationLimit{1,
			1}, &RuntimeConfiguration{ActivationTimeoutSeconds: 1}
	}))
	do(t, s, t0, CreateAlias{ID: "alias-1", Name: "a", Routing: Routing{Type: RoutingSimple, Fleet: "fleet-1"}})
	do(t, s, t0, ClaimCompute{Fleet: "fleet-1", Name: "host", Location: "custom-a"})
	do(t, s, t0, ClaimCreation{Fleet: "fleet-1", Creator: "ada", At: t0})
	do(t, s, t0, DeleteFleet{Fleet: "fleet-1"})
	if l, ok := s.FleetLocation("fleet-1", "custom-a"); !ok || l.Status != StatusDeleting {
		t.Errorf("location of a deleting fleet: %v %v", l, ok)
	}
	do(t, s, t0+second, FinishFleetDeletion{Fleet: "fleet-1", EventID: "e"})
	checkDerived(t, s)

	if _, err := s.LiveFleet("fleet-1"); !fault.Is(err, fault.NotFound) {
		t.Errorf("LiveFleet: %v", err)
	}
	if f, ok := s.Fleet("fleet-1"); !ok || f.Status != StatusTerminated || f.Terminated != t0+second ||
		f.Runtime != nil {
		t.Errorf("Fleet: %+v %v", f, ok)
	}
	if fleets, _ := s.Fleets("", 0); len(fleets) != 0 {
		t.Errorf("Fleets lists %v", fleets)
	}
	if l := s.FleetLocations("fleet-1"); l != nil {
		t.Errorf("locations %v remain", l)
	}
	if _, ok := s.ComputeLocation("fleet-1", "host"); ok {
		t.Error("the compute's name is still claimed")
	}
	if s.Tags("fleet/fleet-1") != nil || s.Taggable("fleet/fleet-1") || s.creators.Len() != 0 {
		t.Error("tags or creators remain")
	}
	if events, _, err := s.FleetEvents("fleet-1", 0, 0, 0, 0); err != nil || len(events) != 4 ||
		events[0].Code != "FLEET_DELETED" {
		t.Errorf("events %v, %v", events, err)
	}
	if fleet, err := s.ResolveAlias("alias-1"); fleet != "fleet-1" || err != nil {
		t.Errorf("the alias leads to %q, %v", fleet, err)
	}
}

func TestFleetsPage(t *testing.T) {
	s := given(t, DefaultLimits(), fleetMade("fleet-1"), fleetMade("fleet-2"), fleetMade("fleet-3"),
		fleetMade("fleet-4"),
		&FleetTerminated{Fleet: "fleet-3", At: t0})
	if page, more := s.Fleets("fleet-1", 1); len(page) != 1 || page[0].ID != "fleet-2" || !more {
		t.Errorf("got %v, more %v", page, more)
	}
	if page, more := s.Fleets("fleet-2", 1); len(page) != 1 || page[0].ID != "fleet-4" || more {
		t.Errorf("got %v, more %v", page, more)
	}
}

func TestUpdateRuntimeConfiguration(t *testing.T) {
	fleet := []Event{fleetMade("fleet-1", "custom-a")}
	runtime := RuntimeConfiguration{ServerProcesses: []ServerProcess{{"/game", "", 50}}, ActivationTimeoutSeconds: 5}
	updated := []Event{&RuntimeConfigurationUpdated{Fleet: "fleet-1", Runtime: &runtime}}
	play(t, []scene{
		{name: "a fleet", given: fleet, when: UpdateRuntimeConfiguration{"fleet-1", runtime}, then: updated},
		{name: "a deleting fleet", given: append(fleet, &FleetDeletionStarted{Fleet: "fleet-1"}),
			when: UpdateRuntimeConfiguration{"fleet-1", runtime}, then: updated},
		{name: "too many processes", given: fleet,
			when: UpdateRuntimeConfiguration{"fleet-1",
				RuntimeConfiguration{ServerProcesses: []ServerProcess{{"/game", "",
					51}}}},
			fault: fault.InvalidRequest},
		{name: "terminated", given: append(fleet, &FleetTerminated{Fleet: "fleet-1", At: t0}),
			when: UpdateRuntimeConfiguration{"fleet-1", runtime}, fault: fault.NotFound},
		{name: "unknown", when: UpdateRuntimeConfiguration{"fleet-1", runtime}, fault: fault.NotFound},
	})
}

func TestRuntimeDefaults(t *testing.T) {
	for _, f := range []*Fleet{{}, {Runtime: &RuntimeConfiguration{}}} {
		if f.ActivationTimeout() != 10*time.Minute || f.MaxConcurrentActivations() != math.MaxInt32 {
			t.Errorf("got %v and %d", f.ActivationTimeout(), f.MaxConcurrentActivations())
		}
	}
	f := &Fleet{Runtime: &RuntimeConfiguration{ActivationTimeoutSeconds: 30, MaxConcurrentActivations: 2}}
	if f.ActivationTimeout() != 30*time.Second || f.MaxConcurrentActivations() != 2 {
		t.Errorf("got %v and %d", f.ActivationTimeout(), f.MaxConcurrentActivations())
	}
}
