package console

import (
	"strings"

	"github.com/muster-gg/muster/internal/wire"
)

type locationsBody struct {
	Locations []wire.LocationModel
	Name      string // that was typed
	Next      string
}

func locationsPage(v *visit) error { return v.locations("", nil) }

// locations shows the locations, with the name that was typed and why it was refused.
func (v *visit) locations(name string, refused error) error {
	out, err := call(v, wire.OpListLocations, &wire.ListLocationsInput{
		Filters: []wire.LocationFilter{wire.LocationFilterCustom}, Limit: wire.Some[int32](pageSize),
		NextToken: v.r.URL.Query().Get("next")})
	if err != nil {
		return err
	}
	p := page{Title: "Locations", Nav: "/console/locations", Live: refused == nil,
		Body: locationsBody{out.Locations, name, out.NextToken}}
	return v.refused("locations", p, refused)
}

func createLocation(v *visit) error {
	name := strings.TrimSpace(v.form("location-name"))
	full := name
	if !strings.HasPrefix(name, "custom-") {
		full = "custom-" + name
	}
	if _, err := call(v, wire.OpCreateLocation, &wire.CreateLocationInput{LocationName: full}); err != nil {
		return v.locations(name, err)
	}
	return v.redirect("/console/locations?done=location-created")
}

func deleteLocation(v *visit) error {
	in := &wire.DeleteLocationInput{LocationName: v.r.PathValue("name")}
	if _, err := call(v, wire.OpDeleteLocation, in); err != nil {
		return v.locations("", err)
	}
	return v.redirect("/console/locations?done=location-deleted")
}
