package control

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
)

// A FleetList is the busiest fleets of a region: those with the most player sessions, then game sessions, first.
type FleetList struct {
	Fleets  []FleetRow `json:"fleets"`
	Omitted int        `json:"omittedFleets,omitempty"` // further ones
	Partial            // of the numbers
}

// A FleetRow is a fleet with its numbers.
type FleetRow struct {
	FleetID string         `json:"fleetId"`
	Name    string         `json:"name,omitempty"`
	Status  catalog.Status `json:"status"`

	Locations []string `json:"locations,omitempty"` // by name
	Aliases   []string `json:"aliases,omitempty"`   // the names of those that lead to it

	Load // of all locations
}

// FleetRows returns at most limit of the fleets that are not deleted and not hidden, the busiest ones, with one short
// read of each shard, of which some may be missing. hidden may be nil.
func (p *Plane) FleetRows(ctx context.Context, hidden func(fleetID string) bool, limit int) (*FleetList, error) {
	list := &FleetList{Fleets: []FleetRow{}}
	loads := map[fleet.ID]*Load{}
	err := lookEach(ctx, &list.Partial, p.Shards(), allCounts, func(rooms []roomCounts) {
		for _, r := range rooms {
			if loads[r.id.Fleet] == nil {
				loads[r.id.Fleet] = new(Load)
			}
			loads[r.id.Fleet].add(r.counts)
		}
	})
	if err != nil {
		return nil, err
	}
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
	shown := min(len(list.Fleets), limit)
	list.Fleets, list.Omitted = list.Fleets[:shown], len(list.Fleets)-shown
	p.addNames(list.Fleets)
	return list, nil
}

// addNames adds the locations and the aliases of fleets.
func (p *Plane) addNames(rows []FleetRow) {
	names := map[string][]string{}
	aliases, _ := p.Catalog().Aliases(catalog.AliasFilter{}, "", math.MaxInt)
	for _, a := range aliases {
		names[a.Routing.Fleet] = append(names[a.Routing.Fleet], a.Name) // of "": those that lead to no fleet
	}
	for i := range rows {
		for _, l := range p.Catalog().FleetLocations(rows[i].FleetID) {
			rows[i].Locations = append(rows[i].Locations, l.Location)
		}
		rows[i].Aliases = slices.Sorted(slices.Values(names[rows[i].FleetID]))
	}
}
