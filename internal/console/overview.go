package console

import (
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/wire"
)

// An overviewBody sums up the fleets of a region.
type overviewBody struct {
	Fleets   []fleetRow    // the first ones
	More     bool          // there are others
	State    *regionState  // nil: not for this person
	Graphs   *graphsView   // of the region; nil: not for this person
	Placed   *placedFigure // nil: not for this person
	Endpoint string        // of the commands that begin a region
}

// Columns are those of the fleets.
func (overviewBody) Columns() columns { return fleetColumns.without(knownOfFleets) }

// A regionState is the answer of GET /v1/overview.
type regionState struct {
	control.Overview
	Changes []struct {
		Time       time.Time
		Name, User string
		Resources  []string
		Times      int // 0: once
	}
}

func overviewPage(v *visit) error {
	b := overviewBody{Endpoint: v.h.Endpoint}
	err := v.readAny(
		part{"Fleets", func() error {
			rows, next, err := v.knownFleetRows("")
			b.Fleets, b.More = rows, next != ""
			return err
		}},
		part{"State of the region", func() (err error) {
			b.State, err = v.regionState()
			return err
		}},
		part{"Metrics", func() (err error) {
			if b.Graphs, err = v.regionGraphs("ActiveGameSessions", "CurrentPlayerSessions"); err != nil {
				return err
			}
			b.Placed, err = v.placed()
			return err
		}},
	)
	if err != nil {
		return err
	}
	return v.show("overview", page{Title: "Overview", Nav: "/console/", Live: true, Body: b})
}

// regionState reads the state of the region; nil: not for this person.
func (v *visit) regionState() (*regionState, error) {
	if !v.may("muster:OverviewRead", nil) {
		return nil, nil
	}
	state := new(regionState)
	if err := v.request("GET", "/v1/overview", nil, state); err != nil {
		return nil, err
	}
	v.partial("State of the region", state.Partial)
	return state, nil
}

// pageSize is how many rows a list shows.
const pageSize = 50

// fleetRows returns a page of the fleets, with what is used of them.
func (v *visit) fleetRows(token string) (rows []fleetRow, next string, err error) {
	if rows, next, err = v.fleetsOf(token); err == nil {
		err = v.addUse(rows)
	}
	return rows, next, err
}

// knownFleetRows is fleetRows for a page, which shows the fleets without what is used if that is not answered.
func (v *visit) knownFleetRows(token string) (rows []fleetRow, next string, err error) {
	if rows, next, err = v.fleetsOf(token); err != nil {
		return nil, "", err
	}
	return rows, next, v.read(part{"Use of the fleets", func() error { return v.addUse(rows) }})
}

// fleetsOf returns a page of the fleets.
func (v *visit) fleetsOf(token string) (rows []fleetRow, next string, err error) {
	list, err := call(v, wire.OpListFleets, &wire.ListFleetsInput{Limit: wire.Some[int32](pageSize), NextToken: token})
	if err != nil || len(list.FleetIds) == 0 {
		return nil, "", err
	}
	rows, err = v.describeFleets(list.FleetIds)
	return rows, list.NextToken, err
}

// describeFleets returns fleets without those that do not exist, and without what is used of them: see addUse.
func (v *visit) describeFleets(ids []string) (rows []fleetRow, err error) {
	attributes, err := call(v, wire.OpDescribeFleetAttributes, &wire.DescribeFleetAttributesInput{FleetIds: ids})
	if err != nil {
		return nil, err
	}
	for i := range attributes.FleetAttributes {
		rows = append(rows, fleetRow{FleetAttributes: &attributes.FleetAttributes[i]})
	}
	return rows, nil
}

// addUse adds what is used of fleets.
func (v *visit) addUse(rows []fleetRow) error {
	if len(rows) == 0 {
		return nil
	}
	var ids []string
	for _, r := range rows {
		ids = append(ids, r.FleetId)
	}
	out, err := call(v, wire.OpDescribeFleetUtilization, &wire.DescribeFleetUtilizationInput{FleetIds: ids})
	if err != nil {
		return err
	}
	used := map[string]wire.FleetUtilization{}
	for _, u := range out.FleetUtilization {
		used[u.FleetId] = u
	}
	for i := range rows {
		rows[i].Use = used[rows[i].FleetId]
	}
	return nil
}
