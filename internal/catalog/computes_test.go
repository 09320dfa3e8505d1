package catalog

import (
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestClaimCompute(t *testing.T) {
	base := []Event{locationMade("custom-a"), locationMade("custom-b"), fleetMade("fleet-1", "custom-a", "custom-b"),
		fleetMade("fleet-2", "custom-a")}
	claim := ClaimCompute{Fleet: "fleet-1", Name: "host", Location: "custom-a"}
	claimed := &ComputeClaimed{"fleet-1", "host", "custom-a"}
	play(t, []scene{
		{name: "a free name", given: base, when: claim, then: []Event{claimed}},
		{name: "the name of another fleet", given: append(base, &ComputeClaimed{"fleet-2", "host", "custom-a"}),
			when: claim,
			then: []Event{claimed}},
		{name: "the same again", given: append(base, claimed), when: claim},
		{name: "the same again at the limit", given: append(base, claimed, &ComputeClaimed{"fleet-1", "x", "custom-a"}),
			when: claim},
		{name: "elsewhere", given: append(base, claimed), when: ClaimCompute{"fleet-1", "host", "custom-b"},
			fault: fault.Conflict, text: "Compute host of fleet fleet-1 is registered at location custom-a"},
		{name: "released", given: append(base, claimed, &ComputeReleased{"fleet-1", "host"}),
			when: ClaimCompute{"fleet-1", "host", "custom-b"},
			then: []Event{&ComputeClaimed{"fleet-1", "host", "custom-b"}}},
		{name: "over the limit", given: append(base, &ComputeClaimed{"fleet-1", "x", "custom-a"},
			&ComputeClaimed{"fleet-1", "y", "custom-b"}), when: claim,
			fault: fault.LimitExceeded, text: "The limit of 2 computes in fleet fleet-1 is reached"},
		{name: "no location", given: base, when: ClaimCompute{Fleet: "fleet-1", Name: "host"},
			fault: fault.InvalidRequest, text: "Location is required for Anywhere compute type."},
		{name: "foreign location", given: base, when: ClaimCompute{"fleet-2", "host", "custom-b"},
			fault: fault.InvalidRequest, text: "Location custom-b is not an active location of fleet fleet-2"},
		{name: "deleting location", given: append(base, &FleetLocationRemovalStarted{"fleet-1", "custom-a"}),
			when:  claim,
			fault: fault.InvalidRequest},
		{name: "deleted location", given: append(base, &LocationDeleted{Name: "custom-a"}), when: claim,
			fault: fault.InvalidRequest},
		{name: "deleting fleet", given: append(base, &FleetDeletionStarted{Fleet: "fleet-1"}), when: claim,
			fault: fault.InvalidFleetStatus},
		{name: "terminated fleet", given: append(base, &FleetTerminated{Fleet: "fleet-1", At: t0}), when: claim,
			fault: fault.NotFound},
		{name: "unknown fleet", when: claim, fault: fault.NotFound, text: "Fleet fleet-1 not found"},
	})
}

func TestReleaseCompute(t *testing.T) {
	play(t, []scene{
		{name: "a claimed name", given: []Event{fleetMade("fleet-1", "custom-a"),
			&ComputeClaimed{"fleet-1", "host", "custom-a"}},
			when: ReleaseCompute{"fleet-1", "host"}, then: []Event{&ComputeReleased{"fleet-1", "host"}}},
		{name: "a free name", given: []Event{fleetMade("fleet-1", "custom-a")},
			when: ReleaseCompute{"fleet-1", "host"}},
		{name: "an unknown fleet", when: ReleaseCompute{"fleet-1", "host"}},
	})
}

func TestComputes(t *testing.T) {
	s := given(t, DefaultLimits(), fleetMade("fleet-1", "custom-a", "custom-b"), fleetMade("fleet-10", "custom-a"),
		&ComputeClaimed{"fleet-1", "a/1", "custom-a"}, &ComputeClaimed{"fleet-1", "a/2", "custom-b"},
		&ComputeClaimed{"fleet-1", "b", "custom-a"},
		&ComputeClaimed{"fleet-10", "c", "custom-a"})
	if l, ok := s.ComputeLocation("fleet-1", "a/2"); l != "custom-b" || !ok {
		t.Errorf("a/2 is at %q, %v", l, ok)
	}
	if l, ok := s.ComputeLocation("fleet-1", "c"); l != "" || ok {
		t.Errorf("c is at %q, %v", l, ok)
	}
	if claims, more := s.Computes("fleet-1", "", "a/1", 1); len(claims) != 1 || claims[0].Name != "a/2" || !more {
		t.Errorf("got %v, more %v", claims, more)
	}
	if claims, more := s.Computes("fleet-1", "custom-a", "a/1", 1); len(claims) != 1 || claims[0].Name != "b" || more {
		t.Errorf("got %v, more %v", claims, more)
	}
}
