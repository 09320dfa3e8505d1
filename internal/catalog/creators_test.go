package catalog

import (
	"testing"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// limitedFleet allows two game sessions in ten minutes.
func limitedFleet() Event {
	a := plain("arena")
	a.CreationLimit = &CreationLimit{SessionsPerCreator: 2, PeriodMinutes: 10}
	return &FleetCreated{ID: "fleet-1", At: t0 - day, Attributes: a}
}

func claimedAt(at ...event.Time) (events []Event) {
	events = append(events, limitedFleet())
	for _, t := range at {
		events = append(events, &CreationClaimed{"fleet-1", "ada", t})
	}
	return events
}

func TestClaimCreation(t *testing.T) {
	claim := ClaimCreation{"fleet-1", "ada", t0}
	yes := []Event{&CreationClaimed{"fleet-1", "ada", t0}}
	play(t, []scene{
		{name: "the first", given: claimedAt(), when: claim, then: yes},
		{name: "the last", given: claimedAt(t0 - minute), when: claim, then: yes},
		{name: "the same moment again", given: claimedAt(t0), when: claim, then: yes},
		{name: "one too many", given: claimedAt(t0-10*minute+1, t0-minute), when: claim,
			fault: fault.LimitExceeded,
			text:  "The creator has reached the fleet's limit of 2 new game sessions in 10 minutes"},
		{name: "the window has slid on", given: claimedAt(t0-10*minute, t0-minute), when: claim, then: yes},
		{name: "another creator", given: claimedAt(t0, t0), when: ClaimCreation{"fleet-1", "bob", t0},
			then: []Event{&CreationClaimed{"fleet-1", "bob", t0}}},
		{name: "no creator", given: claimedAt(), when: ClaimCreation{Fleet: "fleet-1", At: t0},
			fault: fault.InvalidRequest},
		{name: "no policy", given: []Event{fleetMade("fleet-1")}, when: claim},
		{name: "no policy and no creator", given: []Event{fleetMade("fleet-1")},
			when: ClaimCreation{Fleet: "fleet-1", At: t0}},
		{name: "deleting", given: append(claimedAt(), &FleetDeletionStarted{Fleet: "fleet-1"}), when: claim,
			fault: fault.InvalidFleetStatus},
		{name: "unknown", when: claim, fault: fault.NotFound},
	})
}

func TestReleaseCreation(t *testing.T) {
	release := ReleaseCreation{"fleet-1", "ada", t0}
	play(t, []scene{
		{name: "a claim", given: claimedAt(t0, t0), when: release,
			then: []Event{&CreationReleased{"fleet-1", "ada", t0}}},
		{name: "another moment", given: claimedAt(t0 - 1), when: release},
		{name: "another creator", given: claimedAt(t0), when: ReleaseCreation{"fleet-1", "bob", t0}},
		{name: "no policy", given: []Event{fleetMade("fleet-1")}, when: release},
		{name: "unknown fleet", when: release},
	})
	s := given(t, DefaultLimits(), claimedAt(t0, t0)...)
	do(t, s, t0, release)
	do(t, s, t0, ClaimCreation{"fleet-1", "ada", t0})
	if _, err := s.Decide(t0, ClaimCreation{"fleet-1", "ada", t0}); !fault.Is(err, fault.LimitExceeded) {
		t.Errorf("one release gave back more than one: %v", err)
	}
}

func TestPolicyChangesWhatIsKept(t *testing.T) {
	s := given(t, DefaultLimits(), claimedAt(t0, t0+5*minute)...)
	deadline := func(want event.Time) {
		t.Helper()
		checkDerived(t, s)
		if s.Deadline() != want {
			t.Errorf("deadline %d, want %d", s.Deadline(), want)
		}
	}
	deadline(t0 + 10*minute)
	do(t, s, t0+5*minute, UpdateFleetAttributes{Fleet: "fleet-1", CreationLimit: &CreationLimit{2, 20}})
	deadline(t0 + 20*minute)
	if _, err := s.Decide(t0+19*minute, ClaimCreation{"fleet-1", "ada", t0 + 19*minute}); !fault.Is(err,
		fault.LimitExceeded) {
		t.Errorf("a longer period: %v", err)
	}
	do(t, s, t0+5*minute, UpdateFleetAttributes{Fleet: "fleet-1", CreationLimit: &CreationLimit{2, 1}})
	deadline(t0 + minute)
	do(t, s, t0+5*minute, ClaimCreation{"fleet-1", "ada", t0 + 5*minute})
	do(t, s, t0+5*minute, UpdateFleetAttributes{Fleet: "fleet-1", CreationLimit: &CreationLimit{}})
	deadline(0)
	do(t, s, t0+5*minute, UpdateFleetAttributes{Fleet: "fleet-1", CreationLimit: &CreationLimit{1, 60}})
	if events := do(t, s, t0+5*minute, ClaimCreation{"fleet-1", "ada", t0 + 5*minute}); len(events) != 1 {
		t.Error("a lifted policy did not forget what it had counted")
	}
}
