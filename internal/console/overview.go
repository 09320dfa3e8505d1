package console

import "github.com/muster-gg/muster/internal/wire"

// An overviewBody sums up the fleets of a region.
type overviewBody struct {
	Fleets   []fleetRow // the first ones
	More     bool       // there are others
	Total    totals
	Endpoint string // of the commands that begin a region
}

// totals are those of all fleets.
type totals struct{ Fleets, Sessions, Players, Places, Processes int64 }

func overviewPage(v *visit) error {
	rows, next, err := v.fleetRows("")
	if err != nil {
		return err
	}
	b := overviewBody{Fleets: rows, More: next != "", Endpoint: v.h.Endpoint}
	if b.Total, err = v.totals(); err != nil {
		return err
	}
	return v.show("overview", page{Title: "Overview", Nav: "/console/", Live: true, Body: b})
}

// totals adds up what is used of all fleets.
func (v *visit) totals() (t totals, err error) {
	in := &wire.DescribeFleetUtilizationInput{Limit: wire.Some[int32](maxUtilization)}
	for {
		out, err := call(v, wire.OpDescribeFleetUtilization, in)
		if err != nil {
			return t, err
		}
		for i := range out.FleetUtilization {
			u := &out.FleetUtilization[i]
			t.Fleets++
			t.Sessions += int64(u.ActiveGameSessionCount.Or(0))
			t.Players += int64(u.CurrentPlayerSessionCount.Or(0))
			t.Places += int64(u.MaximumPlayerSessionCount.Or(0))
			t.Processes += int64(u.ActiveServerProcessCount.Or(0))
		}
		if in.NextToken = out.NextToken; in.NextToken == "" {
			return t, nil
		}
	}
}

// maxUtilization is how many fleets one call adds up.
const maxUtilization = 100

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
