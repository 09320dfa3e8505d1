package console

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/muster-gg/muster/internal/wire"
)

// A fleetEdit is the settings of a fleet that can be changed, as a form has them.
type fleetEdit struct{ Name, Description, Protection, Creator, Period, Group, Cost string }

func editOf(a *wire.FleetAttributes) fleetEdit {
	e := fleetEdit{Name: a.Name, Description: a.Description, Protection: string(a.NewGameSessionProtectionPolicy),
		Group: strings.Join(a.MetricGroups, " ")}
	if l := a.ResourceCreationLimitPolicy; l != nil {
		e.Creator, e.Period = fmt.Sprint(l.NewGameSessionsPerCreator.Or(0)), fmt.Sprint(l.PolicyPeriodInMinutes.Or(0))
	}
	if c := a.AnywhereConfiguration; c != nil {
		e.Cost = c.Cost
	}
	return e
}

func (e *fleetEdit) fields() []field {
	return []field{{"Name", e.Name}, {"Description", e.Description}, {"Protection", e.Protection},
		{"Game sessions of a creator", e.Creator}, {"Minutes", e.Period}, {"Metric group", e.Group}, {"Cost", e.Cost}}
}

// changeFleet changes the settings that differ from the stored ones.
func changeFleet(v *visit) error {
	b, err := v.fleet("overview")
	if err != nil {
		return err
	}
	stored := b.Edit
	b.Editing, b.Edit = true, fleetEdit{Name: v.form("fleet-name"), Description: lined(v.form("description")),
		Protection: v.form("protection"), Creator: v.form("creator"), Period: v.form("period"),
		Group: strings.TrimSpace(v.form("group")), Cost: v.form("cost")}
	if err := v.edited("Fleet "+b.FleetId, stored.fields(), b.Edit.fields()); err != nil {
		return v.showFleet(b, err)
	}
	in, err := v.fleetChange(b.FleetId, &stored, &b.Edit)
	if err == nil {
		_, err = call(v, wire.OpUpdateFleetAttributes, in)
	}
	if err != nil {
		return v.showFleet(b, err)
	}
	return v.redirect("/console/fleets/" + url.PathEscape(b.FleetId) + "?done=fleet-changed")
}

// fleetChange returns the input with the members that change. The API has no way to remove one.
func (v *visit) fleetChange(id string, stored, typed *fleetEdit) (*wire.UpdateFleetAttributesInput, error) {
	after := typed.fields()
	for i, f := range stored.fields() {
		if f.Text != "" && after[i].Text == "" {
			return nil, invalid("%s: it can be changed and not removed; type a value.", f.Label)
		}
	}
	in := &wire.UpdateFleetAttributesInput{FleetId: id}
	set := func(to *string, before, after string) {
		if before != after {
			*to = after
		}
	}
	set(&in.Name, stored.Name, typed.Name)
	set(&in.Description, lined(stored.Description), lined(typed.Description))
	set((*string)(&in.NewGameSessionProtectionPolicy), stored.Protection, typed.Protection)
	if typed.Group != stored.Group {
		in.MetricGroups = []string{typed.Group}
	}
	if typed.Cost != stored.Cost {
		in.AnywhereConfiguration = &wire.AnywhereConfiguration{Cost: typed.Cost}
	}
	if typed.Creator == stored.Creator && typed.Period == stored.Period {
		return in, nil
	}
	sessions, err := v.number("creator", "NewGameSessionsPerCreator: type a number of game sessions.")
	if err != nil {
		return nil, err
	}
	minutes, err := v.number("period", "PolicyPeriodInMinutes: type a number of minutes.")
	in.ResourceCreationLimitPolicy = &wire.ResourceCreationLimitPolicy{NewGameSessionsPerCreator: sessions,
		PolicyPeriodInMinutes: minutes}
	return in, err
}
