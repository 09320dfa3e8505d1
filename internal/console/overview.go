package console

import (
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/wire"
)

// An overviewBody sums up the fleets of a region.
type overviewBody struct {
	Fleets   []fleetRow   // the first ones
	More     bool         // there are others
	State    *regionState // nil: not for this person
	Graphs   *graphsView  // of the region; nil: not for this person
	Endpoint string       // of the commands that begin a region
}

// A regionState is the answer of GET /v1/overview.
type regionState struct {
	control.Overview
	Changes []struct {
		Time       time.Time
		Name, User string
	}
}

func overviewPage(v *visit) error {
	rows, next, err := v.fleetRows("")
	if err != nil {
		return err
	}
	b := overviewBody{Fleets: rows, More: next != "", Endpoint: v.h.Endpoint}
	if v.may("muster:OverviewRead", nil) {
		b.State = new(regionState)
		if err := v.request("GET", "/v1/overview", nil, b.State); err != nil {
			return err
		}
	}
	b.Graphs, err = v.regionGraphs("ActiveGameSessions", "CurrentPlayerSessions", "AvailableGameSessions")
	if err != nil {
		return err
	}
	return v.show("overview", page{Title: "Overview", Nav: "/console/", Live: true, Body: b})
}

// pageSize is how many rows a list shows.
const pageSize = 50

// fleetRows returns a page of the fleets, with what is used of them.
func (v *visit) fleetRows(token string) (rows []fleetRow, next string, err error) {
	list, err := call(v, wire.OpListFleets, &wire.ListFleetsInput{Limit: wire.Some[int32](pageSize), NextToken: token})
	if err != nil || len(list.FleetIds) == 0 {
		return nil, "", err
	}
	attributes, err := call(v, wire.OpDescribeFleetAttributes,
		&wire.DescribeFleetAttributesInput{FleetIds: list.FleetIds})
	if err != nil {
		return nil, "", err
	}
	use, err := call(v, wire.OpDescribeFleetUtilization, &wire.DescribeFleetUtilizationInput{FleetIds: list.FleetIds})
	if err != nil {
		return nil, "", err
	}
	used := map[string]wire.FleetUtilization{}
	for _, u := range use.FleetUtilization {
		used[u.FleetId] = u
	}
	for i := range attributes.FleetAttributes {
		a := &attributes.FleetAttributes[i]
		rows = append(rows, fleetRow{a, used[a.FleetId]})
	}
	return rows, list.NextToken, nil
}
