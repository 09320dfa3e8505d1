package console

import (
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/control/latencies"
	"github.com/muster-gg/muster/internal/wire"
)

func TestParsePosition(t *testing.T) {
	for text, want := range map[string]*position{
		"50.1,8.7": {50.1, 8.7}, " -33.9 / 151.2 ": {-33.9, 151.2}, "": nil, "1": nil, "1,2,3": nil,
		"x,2": nil, "91,0": nil,
		"0,181": nil, "NaN,0": nil, "0,Inf": nil,
	} {
		if got := parsePosition(text); (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestLocationMap: the map and the table have the locations with their latencies, those of this person alone.
func TestLocationMap(t *testing.T) {
	w := newWorld(t)
	w.answers["ListLocations"] = &wire.ListLocationsOutput{
		Locations: []wire.LocationModel{{LocationName: "custom-home", LocationArn: "arn:l"}}}
	w.answers["ListTagsForResource"] = &wire.ListTagsForResourceResponse{
		Tags: []wire.Tag{{Key: "muster:lat,lon", Value: "50.1,8.7"}}}
	w.answers["GET /v1/latency"] = control.LatencyList{Locations: []latencies.Reported{
		{Location: "ap-southeast-2", Reports: 7, P50: 210, P90: 260},
		{Location: "custom-home", Reports: 40, P50: 31, P90: 58},
		{Location: "custom-gone", Reports: 1, P50: 1, P90: 1}}}
	body := w.shows("GET", "/console/locations", nil, 200, `<circle class="good" cx="377" cy="59" r="5"/>`,
		">custom-home 31 ms</text>", `<circle class="bad" cx="662"`, `<text class="end" x="653"`, "<td>50.1, 8.7</td>",
		`<td class="n">31 ms</td><td class="n">58 ms</td><td class="n">40</td>`, "<td>-33.9, 151.2</td>")
	if strings.Contains(body, "custom-gone") || strings.Count(body, "Delete<span") != 1 {
		t.Errorf("a location that does not exist is shown, or can be deleted: %s", body)
	}
	w.fails["muster:PlacementRead"], w.fails["ListTagsForResource"] = denied, denied
	body = w.shows("GET", "/console/locations", nil, 200, "custom-home")
	if strings.Contains(body, "class=\"land") || strings.Contains(body, " ms</td>") {
		t.Error("latencies or coordinates are shown to a person who may not see them")
	}
}
