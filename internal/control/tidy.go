package control

import (
	"context"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
)

// tidyEvery is how often the region is looked through for what no request
// waits for.
const tidyEvery = 10 * time.Second

// tidy finishes deletions that stopped half way, moves game sessions that are
// over into the history and closes rooms that nobody needs any more. What
// fails is tried again the next time.
func (p *Plane) tidy(ctx context.Context) error {
	ticker := p.cfg.Clock.NewTicker(tidyEvery)
	defer ticker.Stop()
	for {
		p.finishDeletions(ctx)
		failed := false
		for _, s := range p.shards {
			err := p.archive(ctx, s)
			failed = failed || err != nil
			p.unsettled = p.unsettled || failed
			p.logUnless(err == nil || ctx.Err() != nil, "finished game sessions not moved to the history; trying again later", "err", err)
			err = p.archivePlacements(ctx, s)
			p.logUnless(err == nil || ctx.Err() != nil, "finished placements not moved to the history; trying again later", "err", err)
			err = p.closeRooms(ctx, s)
			p.logUnless(err == nil || ctx.Err() != nil, "empty fleet location not closed; trying again later", "err", err)
		}
		err := p.archiveTickets(ctx)
		p.logUnless(err == nil || ctx.Err() != nil, "finished tickets not moved to the history; trying again later", "err", err)
		p.unsettled = failed
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.Chan():
		}
	}
}

// closeRooms removes the rooms of locations that have left their fleets, when
// nothing is in them any more, and no fleet event that can yet be asked for.
func (p *Plane) closeRooms(ctx context.Context, s *regionShard) error {
	var empty []fleet.RoomID
	err := s.Read(ctx, func(m *region.Machine) {
		for _, r := range m.Rooms() {
			if r.Empty() && len(r.Notes(0, 0)) == 0 {
				empty = append(empty, r.ID())
			}
		}
	})
	if err != nil {
		return err
	}
	for _, room := range empty {
		if _, ok := p.catalog().FleetLocation(string(room.Fleet), room.Location); ok {
			continue
		}
		if _, err := s.Do(ctx, region.CloseRoom{Room: room}); err != nil {
			return err
		}
	}
	return nil
}
