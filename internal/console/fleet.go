package console

import (
	"slices"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A fleetBody is the page of a fleet. What a tab does not show is empty.
type fleetBody struct {
	fleetRow
	Tab       string
	Tabs      []link
	Locations []locationUse
	Sessions  []sessionRow
	Capacity  capacityView
	Computes  computesView
	Events    []wire.Event // that the graphs mark
	Log       fleetLog
	Tags      []wire.Tag

	TagKey, TagValue string // typed

	Graphs   *graphsView // nil: not for this person
	Location string      // of the graphs; "": all
	Next     string
	Edit     fleetEdit // what is stored, or was typed
	Editing  bool      // it was typed

	stored []field
}

type locationUse struct {
	wire.LocationState
	Use wire.FleetUtilization
}

var fleetTabs = []string{"overview", "metrics", "sessions", "capacity", "computes", "events", "tags"}

var tabTitles = map[string]string{"overview": "Overview", "metrics": "Metrics", "sessions": "Game sessions",
	"capacity": "Capacity", "computes": "Computes", "events": "Events", "tags": "Tags"}

func fleetPage(v *visit) error {
	b, err := v.fleet(v.r.URL.Query().Get("tab"))
	if err != nil {
		return err
	}
	return v.showFleet(b, nil)
}

func (v *visit) showFleet(b *fleetBody, refused error) error {
	p := page{Title: b.Name, Nav: "/console/fleets", Crumbs: []link{{"Fleets", "/console/fleets"}},
		Live: b.Computes.Added == nil && refused == nil, Body: b}
	p.Basis = v.basis(b.stored, refused)
	if b.Tab == "metrics" {
		every, live := v.pace()
		p.Every, p.Live = every, p.Live && live
	}
	return v.refused("fleet", p, refused)
}

// fleet reads a fleet and what a tab shows of it.
func (v *visit) fleet(tab string) (*fleetBody, error) {
	id := v.r.PathValue("fleet")
	ids := []string{id}
	out, err := call(v, wire.OpDescribeFleetAttributes, &wire.DescribeFleetAttributesInput{FleetIds: ids})
	if err != nil {
		return nil, err
	}
	if len(out.FleetAttributes) == 0 {
		return nil, fault.New(fault.NotFound, "Fleet %s does not exist.", id)
	}
	b := &fleetBody{fleetRow: fleetRow{FleetAttributes: &out.FleetAttributes[0]}}
	b.Edit = editOf(b.FleetAttributes)
	b.stored = b.Edit.fields()
	tabs := slices.DeleteFunc(slices.Clone(fleetTabs), func(t string) bool {
		return t == "capacity" && b.ComputeType == wire.ComputeTypeAnywhere
	})
	b.Tab = tabs[max(0, slices.Index(tabs, tab))]
	for _, t := range tabs {
		b.Tabs = append(b.Tabs, link{tabTitles[t], t})
	}
	return b, v.read(append(v.fleetTab(b), part{"Use of the fleet", func() error {
		rows := []fleetRow{b.fleetRow}
		err := v.addUse(rows)
		b.Use = rows[0].Use
		return err
	}})...)
}

// fleetTab has what the tab shows, and the locations to choose from in its forms.
func (v *visit) fleetTab(b *fleetBody) []part {
	locations := part{"Locations", func() (err error) {
		b.Locations, err = v.locationsOf(b.FleetId)
		return err
	}}
	switch b.Tab {
	case "metrics":
		return []part{locations, {"Metrics", func() (err error) {
			b.Location = v.form("location")
			if b.Graphs, err = v.graphs(fleetGraphs, v.fleetDimensions(b.FleetId)...); err != nil {
				return err
			}
			return v.fleetMarks(b)
		}}}
	case "sessions":
		return []part{locations, {"Game sessions", func() error { return v.fleetSessions(b) }}}
	case "capacity":
		return v.capacityParts(b)
	case "computes":
		return []part{locations, {"Computes", func() error { return v.fleetComputes(b) }}}
	case "events":
		return []part{{"Events", func() error { return v.fleetEvents(b) }}}
	case "tags":
		return []part{{"Tags", func() error { return v.fleetTags(b) }}}
	}
	return []part{locations}
}

func (v *visit) fleetSessions(b *fleetBody) error {
	out, err := call(v, wire.OpDescribeGameSessions, &wire.DescribeGameSessionsInput{FleetId: b.FleetId,
		Limit: wire.Some[int32](pageSize), NextToken: v.r.URL.Query().Get("next")})
	if err == nil {
		b.Sessions, b.Next = describedRows(out.GameSessions), out.NextToken
	}
	return err
}

func (v *visit) fleetTags(b *fleetBody) error {
	out, err := call(v, wire.OpListTagsForResource, &wire.ListTagsForResourceRequest{ResourceARN: b.FleetArn})
	if err == nil {
		b.Tags = out.Tags
	}
	return err
}

// locationsOf returns the locations of a fleet with what is used of each.
func (v *visit) locationsOf(id string) (all []locationUse, err error) {
	out, err := call(v, wire.OpDescribeFleetLocationAttributes, &wire.DescribeFleetLocationAttributesInput{
		FleetId: id, Limit: wire.Some[int32](pageSize)})
	if err != nil {
		return nil, err
	}
	for _, l := range out.LocationAttributes {
		use, err := call(v, wire.OpDescribeFleetLocationUtilization, &wire.DescribeFleetLocationUtilizationInput{
			FleetId: id, Location: l.LocationState.Location})
		if err != nil {
			return nil, err
		}
		one := locationUse{LocationState: *l.LocationState}
		if use.FleetUtilization != nil {
			one.Use = *use.FleetUtilization
		}
		all = append(all, one)
	}
	return all, nil
}

func deleteFleet(v *visit) error {
	b, err := v.fleet("")
	if err != nil {
		return err
	}
	if v.form("confirm") != b.Name {
		return v.showFleet(b, invalid("Name: type the name of the fleet, %s, to delete it.", b.Name))
	}
	if _, err := call(v, wire.OpDeleteFleet, &wire.DeleteFleetInput{FleetId: b.FleetId}); err != nil {
		return v.showFleet(b, err)
	}
	return v.redirect("/console/fleets?done=fleet-deleted")
}
