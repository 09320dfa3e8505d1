package console

import (
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A selectionBody is the fleets that were selected, with what is lost if they are deleted.
type selectionBody struct {
	Fleets                       []fleetRow
	Confirm                      string // what must be typed to delete them
	Sessions, Players, Processes int
	MayDelete, MayTag            bool // all of them
	Key, Value                   string
}

func selectionPage(v *visit) error { return v.selection(nil) }

// selected returns the ids of the fleets that were selected, each once.
func (v *visit) selected() []string {
	return slices.Compact(slices.Sorted(slices.Values(v.r.Form["fleet"])))
}

func (v *visit) selection(refused error) error {
	ids := v.selected()
	if len(ids) == 0 {
		return v.redirect("/console/fleets?done=none-selected")
	}
	if len(ids) > pageSize {
		return invalid("fleet: select at most %d fleets.", pageSize)
	}
	rows, err := v.describeFleets(ids)
	if err == nil {
		err = v.read(part{"Use of the fleets", func() error { return v.addUse(rows) }})
	}
	if err != nil {
		return err
	}
	b := selectionBody{Fleets: rows, Confirm: "delete " + plural(len(rows), "fleet"), MayDelete: len(rows) > 0,
		MayTag: len(rows) > 0, Key: v.form("tag-key"), Value: v.form("tag-value")}
	for _, f := range rows {
		b.Sessions += int(f.Use.ActiveGameSessionCount.Or(0))
		b.Players += int(f.Use.CurrentPlayerSessionCount.Or(0))
		b.Processes += int(f.Use.ActiveServerProcessCount.Or(0))
		b.MayDelete = b.MayDelete && v.may("gamelift:DeleteFleet", []string{f.FleetArn})
		b.MayTag = b.MayTag && v.may("gamelift:TagResource", []string{f.FleetArn})
	}
	return v.refused("fleetselection", page{Title: "Selected fleets", Nav: "/console/fleets", Body: b,
		Crumbs: []link{{"Fleets", "/console/fleets"}}}, refused)
}

// tagSelection puts a tag on each of the selected fleets.
func tagSelection(v *visit) error {
	tag := []wire.Tag{{Key: v.form("tag-key"), Value: v.form("tag-value")}}
	return v.eachSelected("fleets-tagged", func(f fleetRow) error {
		_, err := call(v, wire.OpTagResource, &wire.TagResourceRequest{ResourceARN: f.FleetArn, Tags: tag})
		return err
	})
}

// deleteSelection deletes the selected fleets.
func deleteSelection(v *visit) error {
	if want := "delete " + plural(len(v.selected()), "fleet"); v.form("confirm") != want {
		return v.selection(invalid("Type “%s” to delete them.", want))
	}
	return v.eachSelected("fleets-deleted", func(f fleetRow) error {
		_, err := call(v, wire.OpDeleteFleet, &wire.DeleteFleetInput{FleetId: f.FleetId})
		return err
	})
}

// eachSelected does something to each of the selected fleets. If it fails for some, the page names them.
func (v *visit) eachSelected(done string, do func(fleetRow) error) error {
	rows, err := v.describeFleets(v.selected())
	if err != nil {
		return err
	}
	var first *fault.Error
	var failed []string
	for _, f := range rows {
		if err := do(f); err != nil {
			if first == nil {
				first = fault.Of(err)
			}
			failed = append(failed, f.label())
		}
	}
	if first == nil {
		return v.redirect("/console/fleets?done=" + done)
	}
	return v.selection(&fault.Error{Kind: first.Kind, Err: first.Err, Message: "It failed for " +
		strings.Join(failed, ", ") + ", and was done to the others. " + first.Message})
}

// label is the name of a fleet; its id, if it has none.
func (f fleetRow) label() string {
	if f.Name != "" {
		return f.Name
	}
	return f.FleetId
}
