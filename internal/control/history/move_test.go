package history

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// keeper is a shard that only has placements.
type keeper struct{ placements []*placement.Placement }

func (k *keeper) Read(_ context.Context, read func(*region.Machine)) error {
	read(nil)
	return nil
}

func (k *keeper) Do(_ context.Context, c region.Command) (any, error) {
	forget := c.(region.PlacementCommand).Command.(placement.Forget)
	k.placements = slices.DeleteFunc(k.placements, func(p *placement.Placement) bool {
		return slices.Contains(forget.IDs, p.ID)
	})
	return nil, nil
}

func (k *keeper) Level() int { return region.MaxLevel }

// TestRefusedEntryBlocksNoOther: a record that is too large for the history stays in memory, and no other one.
func TestRefusedEntryBlocksNoOther(t *testing.T) {
	clock := clockwork.NewFakeClock()
	h := New(Config{Entries: memory.NewHistory(clock, 0), Clock: clock, Log: slog.New(slog.DiscardHandler)})
	k := &keeper{}
	for _, id := range []string{"a", "b", "c", "d"} {
		k.placements = append(k.placements, &placement.Placement{Request: placement.Request{ID: id}, Ended: 1})
	}
	k.placements[1].Data = strings.Repeat("x", 5<<20)
	err := move(t.Context(), h, k, records[*placement.Placement]{
		room: region.PlacementsRoom,
		ended: func(_ *region.Machine, n int) []*placement.Placement {
			return k.placements[:min(2, n, len(k.placements))]
		},
		id:   func(p *placement.Placement) string { return p.ID },
		name: placementSubject,
		forget: func(ids []string) region.Command {
			return region.PlacementCommand{Command: placement.Forget{IDs: ids}}
		},
	})
	if err != nil || len(k.placements) != 1 || k.placements[0].ID != "b" {
		t.Errorf("%v, %d placements in memory", err, len(k.placements))
	}
	for id, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if p, err := h.Placement(t.Context(), id); err != nil || (p != nil) != want || want && p.ID != id {
			t.Errorf("%s: %+v, %v", id, p, err)
		}
	}
	if p, err := h.Ticket(t.Context(), "a"); p != nil || err != nil {
		t.Errorf("a placement is found as ticket %v, %v", p, err)
	}
}

// TestEntryOfAnotherKind is an error, and not an entry that is missing.
func TestEntryOfAnotherKind(t *testing.T) {
	h := New(Config{Entries: memory.NewHistory(clockwork.NewFakeClock(), time.Hour)})
	if err := h.put(t.Context(), ticketSubject("a.b"), region.PlacementsRoom, &placement.Placement{}); err != nil {
		t.Fatal(err)
	}
	if ticket, err := h.Ticket(t.Context(), "a.b"); err == nil || ticket != nil {
		t.Errorf("got %v, %v", ticket, err)
	}
}
