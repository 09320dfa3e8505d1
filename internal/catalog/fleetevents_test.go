package catalog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestRecordFleetEvent(t *testing.T) {
	fleet := []Event{fleetMade("fleet-1")}
	crash := RecordFleetEvent{Fleet: "fleet-1", ID: "e", Code: "SERVER_PROCESS_CRASHED", Message: "gone",
		At:    t0 - second,
		Count: 2}
	crashed := func(number uint64) Event {
		return &FleetEventRecorded{FleetEvent{"fleet-1", number, "e", "SERVER_PROCESS_CRASHED", "gone", t0 - second, 2,
			""}}
	}
	play(t, []scene{
		{name: "the first", given: fleet, when: crash, then: []Event{crashed(1)}},
		{name: "a further", given: append(fleet, line("fleet-1", 1, "d", "GENERIC_EVENT", "")), when: crash,
			then: []Event{crashed(2)}},
		{name: "beside another fleet's", given: append(fleet, line("fleet-0", 7, "e", "", ""),
			line("fleet-2", 8, "e", "", "")), when: crash, then: []Event{crashed(1)}},
		{name: "the same id", given: append(fleet, crashed(1)), when: crash},
		{name: "no time is now", given: fleet, when: RecordFleetEvent{Fleet: "fleet-1", ID: "e", Code: "GENERIC_EVENT",
			Message: "m"},
			then: []Event{line("fleet-1", 1, "e", "GENERIC_EVENT", "m")}},
		{name: "terminated", given: append(fleet, &FleetTerminated{Fleet: "fleet-1", At: t0}), when: crash,
			then: []Event{crashed(1)}},
		{name: "no id", given: fleet, when: RecordFleetEvent{Fleet: "fleet-1", Code: "GENERIC_EVENT"},
			fault: fault.InternalService},
		{name: "unknown", when: crash, fault: fault.NotFound},
	})
}

func TestFleetEventsAreBounded(t *testing.T) {
	s := given(t, DefaultLimits(), fleetMade("fleet-1"))
	for i := range event.Time(maxFleetEvents + 5) {
		do(t, s, t0, RecordFleetEvent{Fleet: "fleet-1", ID: fmt.Sprint(i), Code: "GENERIC_EVENT", At: t0 + i})
	}
	checkDerived(t, s)
	events, _, err := s.FleetEvents("fleet-1", 0, 0, 0, 0)
	if err != nil || len(events) != maxFleetEvents || events[0].Number != maxFleetEvents+5 ||
		events[maxFleetEvents-1].Number != 6 {
		t.Errorf("%d events, %v", len(events), err)
	}
	if want := (t0 + 5).Add(Retention); s.Deadline() != want {
		t.Errorf("deadline %d, want that of the oldest left, %d", s.Deadline(), want)
	}
}

func TestFleetEventsQuery(t *testing.T) {
	s := given(t, DefaultLimits(), fleetMade("fleet-1"), fleetMade("fleet-2"))
	for i := range event.Time(9) {
		do(t, s, t0, RecordFleetEvent{Fleet: "fleet-1", ID: fmt.Sprint(i + 1), At: t0 + i + 1})
		do(t, s, t0, RecordFleetEvent{Fleet: "fleet-2", ID: fmt.Sprint(i + 1), At: t0 + i + 1})
	}
	for _, q := range []struct {
		start, end event.Time
		before     uint64
		limit      int
		want       string
	}{
		{0, 0, 0, 0, "987654321"},
		{t0 + 3, 0, 0, 0, "9876543"},
		{0, t0 + 3, 0, 0, "321"},
		{t0 + 3, t0 + 5, 0, 0, "543"},
		{t0 + 3, t0 + 3, 0, 0, "3"},
		{t0 + 3, t0 + 5, 0, 3, "543"},
		{0, 0, 0, 3, "987+"},
		{0, 0, 7, 3, "654+"},
		{0, 0, 4, 3, "321"},
		{0, 0, 1, 3, ""},
		{t0 + 5, 0, 7, 1, "6+"},
		{t0 + 50, 0, 0, 0, ""},
	} {
		events, more, err := s.FleetEvents("fleet-1", q.start, q.end, q.before, q.limit)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, e := range events {
			got.WriteString(e.ID)
		}
		if more {
			got.WriteString("+")
		}
		if got.String() != q.want {
			t.Errorf("%+v: got %q", q, got.String())
		}
	}
	_, _, err := s.FleetEvents("fleet-1", t0+1, t0, 0, 0)
	wantFault(t, err, fault.InvalidRequest, "StartTime is after EndTime")
	_, _, err = s.FleetEvents("fleet-3", 0, 0, 0, 0)
	wantFault(t, err, fault.NotFound, "Fleet fleet-3 not found")
}
