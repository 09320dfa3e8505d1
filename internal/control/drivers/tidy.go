package drivers

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
)

// TidyEvery is the interval of the work that no request waits for.
const TidyEvery = 10 * time.Second

// tidy finishes deletions that stopped half way, moves what has ended to the history, and closes rooms that are not
// needed any more. What fails is repeated the next time.
func (d *Drivers) tidy(ctx context.Context) error {
	ticker := d.cfg.Clock.NewTicker(TidyEvery)
	defer ticker.Stop()
	for {
		d.cfg.FinishDeletions(ctx)
		d.cfg.History.Move(ctx)
		for _, s := range d.cfg.Router.Shards() {
			err := d.closeRooms(ctx, s)
			d.cfg.Router.WarnUnless(err == nil || ctx.Err() != nil,
				"empty fleet location not closed; trying again later", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.Chan():
		}
	}
}

// closable returns the empty rooms of locations that were removed from their fleets. Those with fleet events stay,
// because the events of a deleted fleet can be requested. If there are more than limit rooms, those whose newest event
// is oldest are closed as well: otherwise rooms of deleted fleets could use up the room numbers of the shard.
func closable(rooms []*fleet.Room, left func(fleet.RoomID) bool, limit int) (ids []fleet.RoomID) {
	type remembered struct {
		id     fleet.RoomID
		newest event.Time
	}
	var eventful []remembered
	for _, r := range rooms {
		if !r.Empty() || !left(r.ID()) {
			continue
		}
		if notes := r.FleetEvents(0, 0); len(notes) > 0 {
			eventful = append(eventful, remembered{r.ID(), notes[0].At})
		} else {
			ids = append(ids, r.ID())
		}
	}
	slices.SortStableFunc(eventful, func(a, b remembered) int { return cmp.Compare(a.newest, b.newest) })
	for _, r := range eventful[:min(len(eventful), max(0, len(rooms)-len(ids)-limit))] {
		ids = append(ids, r.id)
	}
	return ids
}

// closeRooms removes the rooms of locations that were removed from their fleets, if they are empty and have no fleet
// event that can be requested.
func (d *Drivers) closeRooms(ctx context.Context, s *router.Shard) error {
	var empty []fleet.RoomID
	left := func(id fleet.RoomID) bool {
		_, ok := d.cfg.Router.Catalog().FleetLocation(string(id.Fleet), id.Location)
		return !ok
	}
	err := s.Read(ctx, func(m *region.Machine) { empty = closable(m.Rooms(), left, region.MaxRooms/2) })
	if err != nil {
		return err
	}
	for _, room := range empty {
		if _, err := s.Do(ctx, region.CloseRoom{Room: room}); err != nil {
			return err
		}
	}
	return nil
}
