package control

import (
	"context"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
)

// counts sums the numbers of a fleet, or of one of its locations.
func (cr *catalogReader) counts(ctx context.Context, id, location string) (fleet.Counts, error) {
	rooms, err := cr.Rooms(ctx, id, location)
	var sum fleet.Counts
	for _, r := range rooms {
		sum.Add(r.Counts())
	}
	return sum, err
}

// Counts sums the numbers of the whole region.
func (cr *catalogReader) Counts(ctx context.Context) (fleet.Counts, error) {
	var sum fleet.Counts
	for _, s := range cr.Shards() {
		err := s.Read(ctx, func(m *region.Machine) {
			for _, r := range m.Rooms() {
				sum.Add(r.Counts())
			}
		})
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}
