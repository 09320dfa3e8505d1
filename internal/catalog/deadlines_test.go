package catalog

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/muster-gg/muster/internal/event"
)

func TestExpire(t *testing.T) {
	retention := event.Time(0).Add(Retention)
	s := given(t, DefaultLimits(), append(claimedAt(t0, t0+minute),
		line("fleet-1", 1, "a", "GENERIC_EVENT", ""), line("fleet-1", 2, "b", "GENERIC_EVENT", ""),
		&FleetEventRecorded{FleetEvent{Fleet: "fleet-1", Number: 3, ID: "c", At: t0 + day}},
		fleetMade("fleet-2"), &FleetTerminated{Fleet: "fleet-2", At: t0 + 2*day},
	)...)
	steps := []struct {
		deadline event.Time
		want     []Event
	}{
		{t0 + 10*minute, []Event{&CreationsExpired{"fleet-1", "ada", t0}}},
		{t0 + 11*minute, []Event{&CreationsExpired{"fleet-1", "ada", t0 + minute}}},
		{t0 + retention, []Event{&FleetEventsExpired{"fleet-1", 2}}},
		{t0 + day + retention, []Event{&FleetEventsExpired{"fleet-1", 3}}},
		{t0 + 2*day + retention, []Event{&FleetForgotten{"fleet-2"}}},
	}
	for _, step := range steps {
		if s.Deadline() != step.deadline {
			t.Fatalf("deadline %d, want %d", s.Deadline(), step.deadline)
		}
		if early := s.Expire(step.deadline - 1); early != nil {
			t.Fatalf("too early:\n%s", dump(early))
		}
		got := s.Expire(step.deadline)
		if !reflect.DeepEqual(got, step.want) {
			t.Fatalf("got\n%s\nwant\n%s", dump(got), dump(step.want))
		}
		for _, e := range got {
			s.Apply(e)
		}
		checkDerived(t, s)
	}
	if s.Deadline() != 0 {
		t.Errorf("deadline %d remains", s.Deadline())
	}
	if _, ok := s.Fleet("fleet-2"); ok {
		t.Error("the terminated fleet is still there")
	}
	if _, ok := s.Fleet("fleet-1"); !ok {
		t.Error("the live fleet is gone")
	}
}

func TestForgottenFleetTakesItsEvents(t *testing.T) {
	s := given(t, DefaultLimits(), fleetMade("fleet-1"), &FleetTerminated{Fleet: "fleet-1", At: t0},
		&FleetEventRecorded{FleetEvent{Fleet: "fleet-1", Number: 1, ID: "late", At: t0 + day}},
		&FleetForgotten{"fleet-1"})
	if n := len(encode(t, s)); n != 0 || s.Deadline() != 0 {
		t.Errorf("%d bytes and deadline %d remain", n, s.Deadline())
	}
}

func TestExpireIsBounded(t *testing.T) {
	s := given(t, DefaultLimits(), limitedFleet())
	for i := range maxExpired + 10 {
		s.Apply(&CreationClaimed{"fleet-1", fmt.Sprint("creator-", i), t0})
	}
	for _, want := range []int{maxExpired, 10, 0} {
		events := s.Expire(t0 + day)
		if len(events) != want {
			t.Fatalf("got %d events, want %d", len(events), want)
		}
		for _, e := range events {
			s.Apply(e)
		}
	}
}

func TestDueSortsAsTimeDoes(t *testing.T) {
	times := []event.Time{-1 << 63, -5, -1, 0, 1, t0, 1<<63 - 1}
	for i, at := range times {
		key := due(at, dueFleet, "id")
		if back, kind, id := parseDue(key); back != at || kind != dueFleet || id != "id" {
			t.Errorf("due(%d) reads back as %d %c %s", at, back, kind, id)
		}
		if i > 0 && due(times[i-1], dueFleet, "id") >= key {
			t.Errorf("%d does not sort before %d", times[i-1], at)
		}
	}
}
