package console

import "github.com/muster-gg/muster/internal/wire"

// An overviewBody sums up the fleets of a region.
type overviewBody struct {
	Fleets                            []fleetRow
	Sessions, Players, Places, Server int32
	Empty                             bool   // there is no fleet
	Endpoint                          string // of the commands that begin a region
}

func overviewPage(v *visit) error {
	rows, _, err := v.fleetRows("")
	if err != nil {
		return err
	}
	b := overviewBody{Fleets: rows, Empty: len(rows) == 0, Endpoint: v.h.Endpoint}
	for i := range rows {
		u := &rows[i].Use
		b.Sessions += u.ActiveGameSessionCount.Or(0)
		b.Players += u.CurrentPlayerSessionCount.Or(0)
		b.Places += u.MaximumPlayerSessionCount.Or(0)
		b.Server += u.ActiveServerProcessCount.Or(0)
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
