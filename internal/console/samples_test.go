package console

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

var sampleText = regexp.MustCompile(`(?s)<textarea id="body"[^>]*>(.*?)</textarea>`)

// sampleIn returns the sample on the page of an operation, without white space.
func (w *world) sampleIn(query string) string {
	w.Helper()
	page := w.shows("GET", "/console/api/"+query, nil, 200)
	found := sampleText.FindStringSubmatch(page)
	if found == nil {
		w.Fatalf("%s has no sample", query)
	}
	return compact(html.UnescapeString(found[1]))
}

// TestSamples: samples name what exists and the person may see; those that end something name what samples created.
func TestSamples(t *testing.T) {
	const first, second = `{"FleetId":"fleet-1"}`, `{"FleetId":"fleet-2"}`
	fleets := &wire.DescribeFleetAttributesOutput{FleetAttributes: []wire.FleetAttributes{
		{FleetId: "fleet-2", Name: "sample-1"}, {FleetId: "fleet-1", Name: "Arena"}}}
	sessions := control.SessionList{GameSessions: []control.ListedSession{
		{GameSessionArn: "arn:full", Players: 2, Maximum: 2}, {GameSessionArn: "arn:free", Players: 1, Maximum: 2}}}
	w := newWorld(t, func(*Config) {})
	w.answers["DescribeFleetAttributes"], w.answers["GET /v1/game-sessions"] = fleets, sessions
	w.answers["ListCompute"] = &wire.ListComputeOutput{ComputeList: []wire.Compute{{ComputeName: "pc"}}}
	for query, want := range map[string]string{
		"DescribeFleetEvents":       first,
		"SearchGameSessions":        first,
		"DeleteFleet":               second,
		"DeleteFleet?body=" + first: first, // of the page that one came from
		"DescribeCompute":           `{"FleetId":"fleet-1","ComputeName":"pc"}`,
		"DeregisterCompute":         `{"FleetId":"fleet-1","ComputeName":""}`,
		"UpdateGameSession":         `{"GameSessionId":"arn:full"}`,
		"TerminateGameSession":      `{"GameSessionId":"","TerminationMode":"TRIGGER_ON_PROCESS_TERMINATE"}`,
		"DescribeAlias":             `{"AliasId":""}`, // there is none
		"ListFleets":                `{}`,
	} {
		w.calls = nil
		if got := w.sampleIn(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
		if len(w.calls) > 2 {
			t.Errorf("%s makes the calls %v", query, w.calls)
		}
	}
	if got := w.sampleIn("CreatePlayerSession"); !strings.HasPrefix(got,
		`{"GameSessionId":"arn:free","PlayerId":"sample-`) {
		t.Errorf("CreatePlayerSession: %s", got)
	}
	w.fails["gamelift:DescribeFleetAttributes"] = fault.New(fault.AccessDenied, "no")
	w.calls = nil
	if got := w.sampleIn("DescribeFleetEvents"); got != `{"FleetId":""}` || len(w.calls) > 0 {
		t.Errorf("without permission: %s, calls %v", got, w.calls)
	}
}
