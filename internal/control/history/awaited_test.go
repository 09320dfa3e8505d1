package history

import (
	"context"
	"testing"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// reader is a shard that is only read.
type reader struct{ machine *region.Machine }

func (r reader) Read(_ context.Context, read func(*region.Machine)) error {
	read(r.machine)
	return nil
}

func (reader) Do(context.Context, region.Command) (any, error) { panic("not only read") }

func (reader) Level() int { return fleet.ArchiveLevel }

// TestAwaitedPlayersStay: player sessions that a placement has yet to read stay in memory.
func TestAwaitedPlayersStay(t *testing.T) {
	m := region.New(0, &region.Settings{Shards: 1})
	h := New(Config{Shards: []Shard{reader{m}}})
	awaited := func(g fleet.GameSession) bool {
		t.Helper()
		awaited, err := h.awaited(t.Context(), &g)
		if err != nil {
			t.Fatal(err)
		}
		return awaited
	}
	started := &placement.PlacementStarted{Request: placement.Request{ID: "one"}, At: 1, Deadline: 2}
	m.Apply(event.Fact{Room: region.PlacementsRoom, Body: started})
	if !awaited(fleet.GameSession{Placement: "one"}) {
		t.Error("a pending placement does not wait for its game session")
	}
	for _, g := range []fleet.GameSession{{Placement: "none"}, {Filled: "none"}, {}} {
		if awaited(g) {
			t.Errorf("something waits for %+v", g)
		}
	}
	ended := &placement.PlacementEnded{ID: "one", At: 2, Status: placement.TimedOut}
	m.Apply(event.Fact{Room: region.PlacementsRoom, Body: ended})
	if awaited(fleet.GameSession{Placement: "one"}) {
		t.Error("a placement that has ended waits for its game session")
	}
}
