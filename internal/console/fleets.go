package console

import (
	"net/url"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/wire"
)

// A fleetRow is a fleet with what is used of it.
type fleetRow struct {
	*wire.FleetAttributes
	Use   wire.FleetUtilization
	Known *control.FleetRow // its locations and aliases; nil: not known
}

type fleetsBody struct {
	Fleets    []fleetRow
	Next      string // address; "": this is the last page
	Later     bool   // this is not the first page
	Query     fleetQuery
	Locations []string // that can be chosen
	Columns   columns
	Choices   []columnChoice

	First, Clear, File string // addresses: of the first page, of that without a filter, of the file
}

// A wizardBody is a step of creating a fleet. Each step is a form that has what was entered before, so that back keeps
// it and nothing is stored before the last one.
type wizardBody struct {
	Step                    int // 1 to 3
	Name, Description, Cost string
	Locations               []locationChoice
	Chosen                  []string
	Command                 string // that does the same
	JSON                    string // the input of CreateFleet, for a file
}

type locationChoice struct {
	Name    string
	Checked bool
}

func wizardPage(v *visit) error { return v.wizard(1, nil) }

// wizardSubmit goes on to the next step, back, or creates the fleet.
func wizardSubmit(v *visit) error {
	switch v.form("to") {
	case "2":
		return v.wizard(2, nil)
	case "3":
		if len(v.r.Form["location"]) == 0 {
			return v.wizard(2, invalid("Locations: choose at least one location."))
		}
		return v.wizard(3, nil)
	case "create":
		out, err := call(v, wire.OpCreateFleet, v.newFleet())
		if err != nil {
			return v.wizard(3, err)
		}
		return v.redirect("/console/fleets/" + url.PathEscape(out.FleetAttributes.FleetId) + "?done=fleet-created")
	}
	return v.wizard(1, nil)
}

func (v *visit) newFleet() *wire.CreateFleetInput {
	in := &wire.CreateFleetInput{
		Name: v.form("fleet-name"), Description: v.form("description"), ComputeType: wire.ComputeTypeAnywhere,
	}
	if cost := v.form("cost"); cost != "" {
		in.AnywhereConfiguration = &wire.AnywhereConfiguration{Cost: cost}
	}
	for _, name := range v.r.Form["location"] {
		in.Locations = append(in.Locations, wire.LocationConfiguration{Location: name})
	}
	return in
}

func (v *visit) wizard(step int, refused error) error {
	if err := v.needs("gamelift:CreateFleet"); err != nil {
		return err
	}
	out, err := call(v, wire.OpListLocations, &wire.ListLocationsInput{
		Filters: []wire.LocationFilter{wire.LocationFilterCustom}, Limit: wire.Some[int32](maxChoices)})
	if err != nil {
		return err
	}
	b := wizardBody{Step: step, Name: v.form("fleet-name"), Description: v.form("description"), Cost: v.form("cost"),
		Chosen: v.r.Form["location"]}
	chosen := map[string]bool{}
	for _, name := range b.Chosen {
		chosen[name] = true
	}
	for _, l := range out.Locations {
		b.Locations = append(b.Locations, locationChoice{l.LocationName, chosen[l.LocationName]})
	}
	b.Command = v.fleetCommand(&b)
	b.JSON = formatted(string(wire.OpCreateFleet.AppendInput(nil, wire.JSON, v.newFleet())))
	p := page{Title: "Create fleet", Nav: "/console/fleets", Crumbs: []link{{"Fleets", "/console/fleets"}}, Body: b}
	return v.refused("wizard", p, refused)
}

// maxChoices is how many locations can be chosen from. Source: API reference, ListLocations (Limit).
const maxChoices = 200

// fleetCommand is what creates the same fleet on a command line. There is no Terraform beside it: aws_gamelift_fleet
// needs an ec2_instance_type and has no compute type, so it cannot describe an Anywhere fleet.
// Source: the schema in hashicorp/terraform-provider-aws, internal/service/gamelift/fleet.go.
func (v *visit) fleetCommand(b *wizardBody) string {
	words := []string{"aws", "gamelift", "create-fleet", "--compute-type", "ANYWHERE", "--name", b.Name}
	if b.Description != "" {
		words = append(words, "--description", b.Description)
	}
	words = append(words, "--locations")
	for _, name := range b.Chosen {
		words = append(words, "Location="+name)
	}
	if b.Cost != "" {
		words = append(words, "--anywhere-configuration", "Cost="+b.Cost)
	}
	return shell(words)
}
