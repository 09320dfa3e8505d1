package console

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/wire"
)

var (
	listed  = regexp.MustCompile(`<tr id="f-([a-z]+)">`)
	headers = regexp.MustCompile(`<th scope="col"[^>]*>(?:<a [^>]*>)?([A-Z][a-z ]+)`)
)

// newFleetList is a console of three fleets.
func newFleetList(t *testing.T) *world {
	w := newWorld(t)
	at := w.clock.Now()
	w.answers["DescribeFleetAttributes"] = &wire.DescribeFleetAttributesOutput{FleetAttributes: []wire.FleetAttributes{
		{FleetId: "one", Name: "Arena", Description: "of the east", Status: wire.FleetStatusActive,
			ComputeType: wire.ComputeTypeAnywhere, CreationTime: at},
		{FleetId: "two", Name: "lab", Status: wire.FleetStatusError, ComputeType: wire.ComputeTypeAnywhere,
			CreationTime: at.Add(-time.Hour)},
		{FleetId: "three", Name: "=lobby", Status: wire.FleetStatusActive, ComputeType: wire.ComputeTypeEc2,
			CreationTime: at.Add(-time.Minute)},
	}}
	w.answers["ListFleets"] = &wire.ListFleetsOutput{FleetIds: []string{"one", "two", "three"}}
	use := func(id string, sessions, players int32) wire.FleetUtilization {
		return wire.FleetUtilization{FleetId: id, ActiveGameSessionCount: wire.Some(sessions),
			CurrentPlayerSessionCount: wire.Some(players)}
	}
	w.answers["DescribeFleetUtilization"] = &wire.DescribeFleetUtilizationOutput{
		FleetUtilization: []wire.FleetUtilization{use("one", 2, 9), use("two", 0, 0), use("three", 7, 8)}}
	w.answers["GET /v1/fleets"] = control.FleetList{Fleets: []control.FleetRow{
		{FleetID: "one", Locations: []string{"custom-a", "custom-b"}, Aliases: []string{"live"}},
		{FleetID: "two", Locations: []string{"custom-b"}},
	}}
	return w
}

// TestFleetList: the page and its file have the fleets that match the query, in its order.
func TestFleetList(t *testing.T) {
	w := newFleetList(t)
	for query, want := range map[string][]string{
		"":                                   {"one", "two", "three"},
		"text=LAB":                           {"two"},
		"text=east":                          {"one"},
		"text=thre":                          {"three"},
		"status=ACTIVE":                      {"one", "three"},
		"type=EC2":                           {"three"},
		"location=custom-b":                  {"one", "two"},
		"location=custom-b&status=ERROR":     {"two"},
		"text=nothing":                       nil,
		"sort=name":                          {"three", "one", "two"},
		"sort=-name":                         {"two", "one", "three"},
		"sort=-sessions":                     {"three", "one", "two"},
		"sort=players":                       {"two", "three", "one"},
		"sort=-created":                      {"one", "three", "two"},
		"sort=-players&status=ACTIVE&text=a": {"one"},
		"sort=name&next=1":                   {"one", "two"},
	} {
		body := w.shows("GET", "/console/fleets?"+query, nil, 200)
		var got []string
		for _, m := range listed.FindAllStringSubmatch(body, -1) {
			got = append(got, m[1])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s lists %v, want %v", query, got, want)
		}
		if want == nil && !strings.Contains(body, "“nothing” in its name") {
			t.Errorf("%s does not say why it is empty", query)
		}
		if strings.Contains(query, "next") {
			continue // a file has all rows
		}
		file := strings.Split(strings.TrimSpace(w.do("GET", "/console/fleets.csv?"+query, nil).Body.String()), "\n")
		for i, id := range want {
			if len(file) != len(want)+1 || !strings.Contains(file[i+1], id) {
				t.Errorf("the file of %s has %q, want %v", query, file, want)
			}
		}
	}
	for query, want := range map[string]string{
		"status=BUSY": "status: choose one of the list", "type=X": "type: choose",
		"sort=type": "sort: &#34;type&#34; is no column", "sort=name&next=x": "next: &#34;x&#34; is no row",
	} {
		w.shows("GET", "/console/fleets?"+query, nil, 400, want)
	}
}

// TestFleetColumns: the page has the columns that were chosen, and says by which one it is sorted.
func TestFleetColumns(t *testing.T) {
	w := newFleetList(t)
	columns := func(query string) string { return titlesOf(w, "/console/fleets?"+query) }
	all := "Name|Status|Type|Locations|Aliases|Processes|Game sessions|Players|Used"
	for query, want := range map[string]string{"": all, "columns=players,locations": "Name|Locations|Players",
		"columns=created": "Name|Created",
		"columns=nothing": all} {
		if got := columns(query); got != want {
			t.Errorf("%q has the columns %s, want %s", query, got, want)
		}
	}
	w.shows("GET", "/console/fleets?sort=-players&text=a", nil, 200, `aria-sort="descending"`,
		`href="/console/fleets?sort=players&amp;text=a"`)
	out := w.do("GET", "/console/fleets?columns=status&columns=players&sort=name", nil)
	to := out.Header().Get("Location")
	if out.Code != 303 || to != "/console/fleets?columns=status%2Cplayers&sort=name" {
		t.Errorf("the form leads to %d %s", out.Code, to)
	}
	w.fails["muster:OverviewRead"] = denied
	if got := columns(""); strings.Contains(got, "Locations") || strings.Contains(got, "Aliases") {
		t.Errorf("a person without the permission sees the columns %s", got)
	}
}
