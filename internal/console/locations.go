package console

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/control/latencies"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

type locationsBody struct {
	Locations []locationRow
	Map       *worldMap // nil: no coordinates are known
	Latencies bool      // are for this person
	Name      string    // that was typed
	Next      string
}

// A locationRow is a custom location, or another one to which players report latencies.
type locationRow struct {
	Name, ARN string // ARN: "" for one that is not a custom location
	Position  *position
	Latency   *latencies.Reported // of the last hour; nil: none
}

// Coordinates returns the position in words.
func (r locationRow) Coordinates() string {
	if r.Position == nil {
		return ""
	}
	return fmt.Sprintf("%.1f, %.1f", r.Position.lat, r.Position.lon)
}

// Class returns the class of the dot on the map.
func (r locationRow) Class() string {
	switch {
	case r.Latency == nil:
		return "idle"
	case r.Latency.P50 < 60:
		return "good"
	case r.Latency.P50 < 120:
		return "wait"
	}
	return "bad"
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
	b := locationsBody{Name: name, Next: out.NextToken, Latencies: v.may("muster:PlacementRead", []string{"queue/*"})}
	for _, l := range out.Locations {
		p, err := v.positionOf(l.LocationArn)
		if err != nil {
			return err
		}
		b.Locations = append(b.Locations, locationRow{Name: l.LocationName, ARN: l.LocationArn, Position: p})
	}
	if b.Latencies {
		if err := v.addLatencies(&b); err != nil {
			return err
		}
	}
	b.Map = newWorldMap(b.Locations)
	p := page{Title: "Locations", Nav: "/console/locations", Live: refused == nil, Body: b}
	return v.refused("locations", p, refused)
}

// positionOf returns the coordinates in the tag of a location; nil: it has none, or its tags are not for this person.
func (v *visit) positionOf(arn string) (*position, error) {
	out, err := call(v, wire.OpListTagsForResource, &wire.ListTagsForResourceRequest{ResourceARN: arn})
	switch {
	case fault.Is(err, fault.AccessDenied), fault.Is(err, fault.NotFound): // deleted meanwhile
		return nil, nil
	case err != nil:
		return nil, err
	}
	for _, t := range out.Tags {
		if t.Key == coordinatesTag {
			return parsePosition(t.Value), nil
		}
	}
	return nil, nil
}

// addLatencies adds the latencies of the last hour. Locations that are not custom ones are on the last page.
func (v *visit) addLatencies(b *locationsBody) error {
	var list control.LatencyList
	if err := v.request("GET", "/v1/latency", nil, &list); err != nil {
		return err
	}
	for _, l := range list.Locations {
		i := slices.IndexFunc(b.Locations, func(r locationRow) bool { return r.Name == l.Location })
		switch {
		case i >= 0:
			b.Locations[i].Latency = &l
		case b.Next == "" && !strings.HasPrefix(l.Location, "custom-") && len(b.Locations) < 2*pageSize:
			r := locationRow{Name: l.Location, Latency: &l}
			if p, ok := regionPositions[l.Location]; ok {
				r.Position = &p
			}
			b.Locations = append(b.Locations, r)
		}
	}
	return nil
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
