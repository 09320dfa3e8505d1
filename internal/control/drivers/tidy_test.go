package drivers

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
)

// Fleet events of deleted fleets keep their rooms, but not so many that numbers run out.
func TestClosable(t *testing.T) {
	settings := fleet.DefaultSettings("us-west-2")
	now := event.At(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC))
	room := func(name string, computes int, events ...time.Duration) *fleet.Room {
		r := fleet.NewRoom(fleet.RoomID{Fleet: fleet.ID(name)}, fleet.Address{}, &settings)
		for i := range computes {
			_, _, err := r.Handle(now, fleet.RegisterCompute{Name: fmt.Sprint(i), IPAddress: "10.0.0.1"})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, at := range events {
			r.Apply(&fleet.FleetEventAdded{At: now.Add(at)})
		}
		return r
	}
	rooms := []*fleet.Room{
		room("used", 1), room("empty", 0), room("recent", 0, time.Hour, 9*time.Hour), room("old", 0, 2*time.Hour),
		room("kept", 0, time.Hour),
		room("used-with-events", 1, time.Hour), room("middle", 0, 3*time.Hour),
	}
	left := func(id fleet.RoomID) bool { return id.Fleet != "kept" }
	for limit, want := range map[int][]string{
		9: {"empty"}, 6: {"empty"}, 5: {"empty", "old"}, 4: {"empty", "old", "middle"},
		3: {"empty", "old", "middle", "recent"}, 0: {"empty", "old", "middle", "recent"},
	} {
		var got []string
		for _, id := range closable(rooms, left, limit) {
			got = append(got, string(id.Fleet))
		}
		if !slices.Equal(got, want) {
			t.Errorf("of at most %d rooms, %v are closed, want %v", limit, got, want)
		}
	}
}
