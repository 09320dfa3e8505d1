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

// A FleetRow is a fleet with its numbers, of all locations.
type FleetRow struct {
	FleetID string         `json:"fleetId"`
	Name    string         `json:"name,omitempty"`
	Status  catalog.Status `json:"status"`

	Computes       int `json:"computes"`
	Processes      int `json:"serverProcesses"`     // ready or hosting
	FreeProcesses  int `json:"freeServerProcesses"` // that can host a game session now
	GameSessions   int `json:"gameSessions"`        // that have not ended
	Activating     int `json:"activatingGameSessions"`
	Players        int `json:"playerSessions"` // RESERVED and ACTIVE
	MaximumPlayers int `json:"maximumPlayerSessions"`
}

// FleetRows returns the busiest fleets that are not deleted and not hidden, with one short read of each shard. hidden
// may be nil.
func (p *Plane) FleetRows(ctx context.Context, hidden func(fleetID string) bool) (*FleetList, error) {
	rooms, err := p.CountsByRoom(ctx)
	if err != nil {
		return nil, err
	}
	sums := map[fleet.ID]fleet.Counts{}
	for room, c := range rooms {
		sum := sums[room.Fleet]
		sum.Add(c)
		sums[room.Fleet] = sum
	}
	list := &FleetList{Fleets: []FleetRow{}}
	fleets, _ := p.Catalog().Fleets("", math.MaxInt)
	for _, f := range fleets {
		if f.Terminated == 0 && (hidden == nil || !hidden(f.ID)) {
			list.Fleets = append(list.Fleets, fleetRow(f, sums[fleet.ID(f.ID)]))
		}
	}
	slices.SortFunc(list.Fleets, func(a, b FleetRow) int {
		return cmp.Or(cmp.Compare(b.Players, a.Players), cmp.Compare(b.GameSessions, a.GameSessions),
			cmp.Compare(a.FleetID, b.FleetID))
	})
	shown := min(len(list.Fleets), maxFleetRows)
	list.Fleets, list.Omitted = list.Fleets[:shown], len(list.Fleets)-shown
	return list, nil
}

func fleetRow(f *catalog.Fleet, c fleet.Counts) FleetRow {
	return FleetRow{
		FleetID: f.ID, Name: f.Attributes.Name, Status: f.Status,
		Computes: c.Computes, Processes: c.Processes, FreeProcesses: c.Waiting, GameSessions: c.Activating + c.Active,
		Activating: c.Activating, Players: c.Players, MaximumPlayers: c.MaximumPlayers,
	}
}
