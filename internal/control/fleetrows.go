package control

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
)

// maxFleetRows is the maximum number of rows in a FleetList.
const maxFleetRows = 100

// A FleetList is the busiest fleets of a region: those with the most player sessions, then game sessions, first.
type FleetList struct {
	Fleets  []FleetRow `json:"fleets"`
	Omitted int        `json:"omittedFleets,omitempty"` // further ones
}

// A FleetRow is a fleet with its numbers.
type FleetRow struct {
	FleetID string         `json:"fleetId"`
	Name    string         `json:"name,omitempty"`
	Status  catalog.Status `json:"status"`

	Load // of all locations
}

// FleetRows returns the busiest fleets that are not deleted and not hidden, with one short read of each shard. hidden
// may be nil.
func (p *Plane) FleetRows(ctx context.Context, hidden func(fleetID string) bool) (*FleetList, error) {
	rooms, err := p.CountsByRoom(ctx)
	if err != nil {
		return nil, err
	}
	loads := map[fleet.ID]*Load{}
	for room, c := range rooms {
		if loads[room.Fleet] == nil {
			loads[room.Fleet] = new(Load)
		}
		loads[room.Fleet].add(c)
	}
	list := &FleetList{Fleets: []FleetRow{}}
	fleets, _ := p.Catalog().Fleets("", math.MaxInt)
	for _, f := range fleets {
		if f.Terminated != 0 || hidden != nil && hidden(f.ID) {
			continue
		}
		row := FleetRow{FleetID: f.ID, Name: f.Attributes.Name, Status: f.Status}
		if l := loads[fleet.ID(f.ID)]; l != nil { // it has rooms
			row.Load = *l
		}
		list.Fleets = append(list.Fleets, row)
	}
	slices.SortFunc(list.Fleets, func(a, b FleetRow) int {
		return cmp.Or(cmp.Compare(b.Players, a.Players), cmp.Compare(b.GameSessions, a.GameSessions),
			cmp.Compare(a.FleetID, b.FleetID))
	})
	shown := min(len(list.Fleets), maxFleetRows)
	list.Fleets, list.Omitted = list.Fleets[:shown], len(list.Fleets)-shown
	return list, nil
}
