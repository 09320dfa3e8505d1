package operator

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/muster-gg/muster/internal/control/audit"
)

// TestOverviewChanges: an overview has changes of the region, and no calls of games and hosts, which a trail may have
// too. Calls that are alike are one change.
func TestOverviewChanges(t *testing.T) {
	w := newWorld(t)
	defer w.runTrail()()
	const gamelift = "gamelift.amazonaws.com"
	for _, r := range []audit.Record{
		{Source: gamelift, Name: "UpdateAlias"}, {Source: gamelift, Name: "CreateGameSession"},
		{Source: gamelift, Name: "CreatePlayerSessions"}, {Source: gamelift, Name: "StartMatchmaking"},
		{Source: gamelift, Name: "DescribeFleetAttributes", ReadOnly: true},
		{Source: gamelift, Name: "DeleteFleet", ErrorCode: "InvalidRequestException"},
		{Source: gamelift, Name: "RegisterCompute"}, {Source: gamelift, Name: "GetComputeAuthToken"},
		{Source: "muster", Name: "UserPut", Resources: []string{"a"}}, {Source: "muster", Name: "UserPut"},
		{Source: "muster", Name: "UserPut"}, {Source: gamelift, Name: "TerminateGameSession"},
	} {
		r.Type, r.Identity.User = "AwsApiCall", "ana"
		w.access.Trail().Record(r)
	}
	if err := w.access.Trail().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	status, body := w.ask("GET", "/v1/overview", "AKID")
	var answer struct{ Changes []Change }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 200 {
		t.Fatal(status, body, err)
	}
	var got []string
	for _, c := range answer.Changes {
		got = append(got, fmt.Sprint(c.Name, " ", c.User, " ", c.Times, c.Resources))
	}
	if want := []string{"UserPut ana 3 []", "UpdateAlias ana 0 []"}; !slices.Equal(got, want) {
		t.Errorf("changes %v, want %v", got, want)
	}
}
