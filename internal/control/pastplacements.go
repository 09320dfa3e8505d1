package control

import (
	"bytes"
	"context"
	"fmt"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// Placements that are over leave memory for the history, where Describe still finds
// them and where their ids stay taken. The entries are q.<placement id>.

func placementSubject(id string) string { return "q." + id }

// archivePlacements moves placements of a shard that have been over for long enough
// into the history: first they are durable there, then the shard forgets them.
func (p *Plane) archivePlacements(ctx context.Context, s *regionShard) error {
	refused := map[string]bool{}
	for {
		var over []*placement.Placement
		before := event.At(p.cfg.Clock.Now().Add(-p.cfg.SessionMemory))
		err := s.Read(ctx, func(m *region.Machine) { over = m.Placements().EndedBefore(before, archiveBatch+len(refused)) })
		if err != nil {
			return err
		}
		ids, err := rememberAll(p, over, refused, func(r *placement.Placement) string { return r.ID },
			func(r *placement.Placement) error { return p.rememberPlacement(ctx, r) })
		if err != nil || len(ids) == 0 {
			return err
		}
		if _, err := s.Do(ctx, region.PlacementCommand{Command: placement.Forget{IDs: ids}}); err != nil {
			return err
		}
	}
}

func (p *Plane) rememberPlacement(ctx context.Context, r *placement.Placement) error {
	var data bytes.Buffer
	if err := region.Events.Append(&data, event.Fact{Room: region.PlacementsRoom, Body: r}); err != nil {
		return err
	}
	return p.cfg.History.Put(ctx, placementSubject(r.ID), data.Bytes())
}

// pastPlacement finds a placement in the history; nil when it is not there.
func (p *Plane) pastPlacement(ctx context.Context, id string) (*placement.Placement, error) {
	data, ok, err := p.cfg.History.Get(ctx, placementSubject(id))
	if err != nil || !ok {
		return nil, err
	}
	fact, _, err := region.Events.Next(data)
	if err != nil {
		return nil, fmt.Errorf("history entry of placement %s: %w", id, err)
	}
	r, ok := fact.Body.(*placement.Placement)
	if !ok {
		return nil, fmt.Errorf("history entry of placement %s is not a placement", id)
	}
	return r, nil
}
