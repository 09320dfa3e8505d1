package catalog

import (
	"slices"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestShortage: a shortage is announced when it begins and when it ends, and its beginning has a fleet event.
func TestShortage(t *testing.T) {
	s := scaled(t, Capacity{0, 5, 4})
	set := func(missing int32, reason string) {
		t.Helper()
		do(t, s, t0, SetShortage{"fleet-1", "eu", missing, reason, "e-" + reason})
	}
	set(0, "")
	if len(s.Announcements(0, 9)) > 0 {
		t.Error("an announcement without a shortage")
	}
	set(2, "full")
	set(3, "fuller")
	set(0, "")
	set(0, "")
	want := []Announcement{{1, t0, "fleet-1", "eu", 4, Shortage{2, "full", t0}},
		{2, t0, "fleet-1", "eu", 4, Shortage{}}}
	var got []Announcement
	for _, a := range s.Announcements(0, 9) {
		got = append(got, *a)
	}
	if !slices.Equal(got, want) {
		t.Errorf("announced %+v, want %+v", got, want)
	}
	var messages []string
	s.fleetEvents.Scan(func(_ string, e *FleetEvent) bool {
		messages = append(messages, e.Code+" "+e.Message)
		return true
	})
	if !slices.Equal(messages, []string{"GENERIC_EVENT Location eu has 2 instances fewer than desired. full"}) {
		t.Errorf("the fleet events are %q", messages)
	}
	if list := s.Announcements(1, 9); len(list) != 1 || list[0].Seq != 2 || len(s.Announcements(0, 1)) != 1 {
		t.Error("the announcements after the first are not the second alone")
	}
	do(t, s, t0, TrimAnnouncements{2})
	restored := decode(t, smallLimits(), encode(t, s))
	do(t, restored, t0, SetShortage{"fleet-1", "eu", 1, "full", "e-3"})
	if list := restored.Announcements(0, 9); len(list) != 1 || list[0].Seq != 3 {
		t.Errorf("after a snapshot: %+v", list)
	}
	for _, c := range []struct {
		do   Command
		kind fault.Kind
	}{
		{SetShortage{Fleet: "fleet-1", Location: "asia", Missing: 1}, fault.NotFound},
		{SetShortage{Fleet: "fleet-a", Location: "eu", Missing: 1}, fault.InvalidRequest},
		{TrimAnnouncements{3}, fault.InvalidRequest},
	} {
		_, err := s.Decide(t0, c.do)
		wantFault(t, err, c.kind, "")
	}
}
