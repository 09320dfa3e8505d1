package catalog

import (
	"reflect"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestAddFleetLocations(t *testing.T) {
	base := []Event{locationMade("custom-a"), locationMade("custom-b"), locationMade("custom-c"),
		fleetMade("fleet-1", "custom-a")}
	add := func(names ...string) AddFleetLocations {
		return AddFleetLocations{Fleet: "fleet-1", Locations: names, EventIDs: []string{"e1", "e2"}}
	}
	play(t, []scene{
		{name: "one more", given: base, when: add("custom-b"), then: []Event{
			&FleetLocationsAdded{Fleet: "fleet-1", Locations: []string{"custom-b"}},
			line("fleet-1", 1, "e1", "LOCATION_STATE_ACTIVE",
				"Location custom-b of fleet fleet-1 changed state to ACTIVE")}},
		{name: "present", given: base, when: add("custom-a"), fault: fault.Conflict,
			text: "Fleet fleet-1 already has location custom-a"},
		{name: "present but deleting", given: append(base, &FleetLocationRemovalStarted{"fleet-1", "custom-a"}),
			when: add("custom-a"), fault: fault.Conflict},
		{name: "twice", given: base, when: add("custom-b", "custom-b"), fault: fault.InvalidRequest},
		{name: "none", given: base, when: add(), fault: fault.InvalidRequest},
		{name: "a Region", given: base, when: add("eu-west-1"), fault: fault.InvalidRequest},
		{name: "unknown location", given: base, when: add("custom-x"), fault: fault.NotFound,
			text: "Location custom-x not found"},
		{name: "over the limit", given: base, when: add("custom-b", "custom-c"), fault: fault.LimitExceeded},
		{name: "too few event ids", given: base, when: AddFleetLocations{Fleet: "fleet-1",
			Locations: []string{"custom-b"}},
			fault: fault.InternalService},
		{name: "deleting fleet", given: append(base, &FleetDeletionStarted{Fleet: "fleet-1"}), when: add("custom-b"),
			fault: fault.InvalidFleetStatus},
		{name: "unknown fleet", when: add("custom-b"), fault: fault.NotFound, text: "Fleet fleet-1 not found"},
	})
}

func TestRemoveFleetLocations(t *testing.T) {
	base := []Event{locationMade("custom-a"), locationMade("custom-b"), fleetMade("fleet-1", "custom-a", "custom-b")}
	remove := func(names ...string) RemoveFleetLocations {
		return RemoveFleetLocations{Fleet: "fleet-1", Locations: names, EventIDs: []string{"e1", "e2"}}
	}
	deletingB := line("fleet-1", 1, "e1", "LOCATION_STATE_DELETING",
		"Location custom-b of fleet fleet-1 changed state to DELETING")
	play(t, []scene{
		{name: "one", given: base, when: remove("custom-b"),
			then: []Event{&FleetLocationRemovalStarted{"fleet-1", "custom-b"}, deletingB}},
		{name: "all", given: base, when: remove("custom-a", "custom-b"), then: []Event{
			&FleetLocationRemovalStarted{"fleet-1", "custom-a"}, &FleetLocationRemovalStarted{"fleet-1", "custom-b"},
			line("fleet-1", 1, "e1", "LOCATION_STATE_DELETING",
				"Location custom-a of fleet fleet-1 changed state to DELETING"),
			line("fleet-1", 2, "e2", "LOCATION_STATE_DELETING",
				"Location custom-b of fleet fleet-1 changed state to DELETING")}},
		{name: "one that is deleting stays so", given: append(base,
			&FleetLocationRemovalStarted{"fleet-1", "custom-a"}),
			when: remove("custom-a", "custom-b"),
			then: []Event{&FleetLocationRemovalStarted{"fleet-1", "custom-b"}, deletingB}},
		{name: "one that the catalog has lost", given: append(base, &LocationDeleted{Name: "custom-b"}),
			when: remove("custom-b"),
			then: []Event{&FleetLocationRemovalStarted{"fleet-1", "custom-b"}, deletingB}},
		{name: "not in the fleet", given: base, when: remove("custom-a", "custom-x"), fault: fault.NotFound,
			text: "Fleet fleet-1 has no location custom-x"},
		{name: "twice", given: base, when: remove("custom-a", "custom-a"), fault: fault.InvalidRequest},
		{name: "too few event ids", given: base, when: RemoveFleetLocations{Fleet: "fleet-1",
			Locations: []string{"custom-a"}}, fault: fault.InternalService},
		{name: "deleting fleet", given: append(base, &FleetDeletionStarted{Fleet: "fleet-1"}), when: remove("custom-a"),
			fault: fault.InvalidFleetStatus},
		{name: "unknown fleet", when: remove("custom-a"), fault: fault.NotFound},
	})
}

func TestFinishFleetLocationRemoval(t *testing.T) {
	base := []Event{locationMade("custom-a"), fleetMade("fleet-1", "custom-a")}
	finish := FinishFleetLocationRemoval{Fleet: "fleet-1", Location: "custom-a", EventID: "e"}
	deleting := append(base[:2:2], &FleetLocationRemovalStarted{"fleet-1", "custom-a"})
	done := []Event{&FleetLocationRemoved{"fleet-1", "custom-a"},
		line("fleet-1", 1, "e", "LOCATION_STATE_DELETED",
			"Location custom-a of fleet fleet-1 changed state to DELETED")}
	play(t, []scene{
		{name: "a deleting location", given: deleting, when: finish, then: done},
		{name: "in a deleting fleet", given: append(deleting[:3:3], &FleetDeletionStarted{Fleet: "fleet-1"}),
			when: finish,
			then: done},
		{name: "again", given: append(deleting[:3:3], &FleetLocationRemoved{"fleet-1", "custom-a"}), when: finish},
		{name: "not deleting", given: base, when: finish, fault: fault.InvalidRequest},
		{name: "no event id", given: deleting, when: FinishFleetLocationRemoval{Fleet: "fleet-1", Location: "custom-a"},
			fault: fault.InternalService},
		{name: "unknown fleet", when: finish, fault: fault.NotFound},
	})
}

func TestRemovedLocationReleasesItsComputes(t *testing.T) {
	s := given(t, DefaultLimits(), locationMade("custom-a"), locationMade("custom-b"),
		fleetMade("fleet-1", "custom-a", "custom-b"),
		&ComputeClaimed{"fleet-1", "one", "custom-a"}, &ComputeClaimed{"fleet-1", "two", "custom-b"},
		&ComputeClaimed{"fleet-1", "three", "custom-a"},
		&FleetLocationRemoved{"fleet-1", "custom-a"})
	claims, _ := s.Computes("fleet-1", "", "", 0)
	if want := []*ComputeClaim{{"fleet-1", "two", "custom-b"}}; !reflect.DeepEqual(claims, want) {
		t.Errorf("claims %v remain, want %v", claims, want)
	}
}

func TestFleetLocationStatus(t *testing.T) {
	s := given(t, DefaultLimits(), locationMade("custom-a"), locationMade("custom-b"),
		fleetMade("fleet-1", "custom-b", "custom-a"), fleetMade("fleet-10", "custom-b"))
	statuses := func() (list []string) {
		for _, l := range s.FleetLocations("fleet-1") {
			list = append(list, l.Location+" "+string(l.Status))
		}
		return list
	}
	steps := []struct {
		event Event
		want  []string
	}{
		{&LocationDeleted{Name: "custom-a"}, []string{"custom-a NOT_FOUND", "custom-b ACTIVE"}},
		{&FleetLocationRemovalStarted{"fleet-1", "custom-b"}, []string{"custom-a NOT_FOUND", "custom-b DELETING"}},
		{locationMade("custom-a"), []string{"custom-a ACTIVE", "custom-b DELETING"}},
		{&FleetDeletionStarted{Fleet: "fleet-1"}, []string{"custom-a DELETING", "custom-b DELETING"}},
		{&FleetTerminated{Fleet: "fleet-1", At: t0}, nil},
	}
	for _, step := range steps {
		s.Apply(step.event)
		if got := statuses(); !reflect.DeepEqual(got, step.want) {
			t.Errorf("after %s: %v, want %v", types.Name(step.event), got, step.want)
		}
	}
	if _, ok := s.FleetLocation("fleet-1", "custom-a"); ok {
		t.Error("a terminated fleet has a location")
	}
}
