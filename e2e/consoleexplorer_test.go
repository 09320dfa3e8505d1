package e2e

import (
	"cmp"
	"encoding/json"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster"
)

var (
	explored = regexp.MustCompile(`href="/console/api/([A-Za-z0-9]+)"`)
	sampled  = regexp.MustCompile(`(?s)<textarea id="body"[^>]*>(.*?)</textarea>`)
	refused  = regexp.MustCompile(`<p class="alert" role="alert"><strong>(\w+)</strong>: (.*?)</p>`)
	answered = regexp.MustCompile(`(?s)It succeeded\.</p>\s*<div class="command"><pre[^>]*>(.*?)</pre>`)
)

// afterwards are operations that run after all others, in this order: they end what samples created, or what others
// need.
var afterwards = []string{
	"StopMatchmaking", "StartMatchBackfill", "StopGameSessionPlacement", "TerminateGameSession", "UntagResource",
	"DeregisterCompute", "DeleteAlias", "DeleteBuild", "DeleteFleet", "DeleteFleetLocations", "DeleteLocation",
	"DeleteMatchmakingConfiguration", "DeleteMatchmakingRuleSet", "DeleteGameSessionQueue",
}

// absent are operations on what the region has none of: EC2-type fleets, and logs of game sessions that have ended.
var absent = []string{"DescribeInstances", "PutScalingPolicy", "DeleteScalingPolicy", "StartFleetActions",
	"StopFleetActions", "UpdateFleetCapacity", "UpdateFleetPortSettings", "GetGameSessionLogUrl"}

// TestConsoleExplorer: in a region with one of each, every operation but those absent succeeds in the explorer with its
// sample input, and shows the members that the answer of the same call to another such region has.
func TestConsoleExplorer(t *testing.T) {
	t.Parallel()
	open := func(c *muster.Config) { c.OpenConsole = "on" }
	shown, called := start(t, open), start(t, open)
	shown.seedExplorer(t)
	called.seedExplorer(t)
	_, _, list := shown.visit(t, "/console/api")
	var operations []string
	for _, m := range explored.FindAllStringSubmatch(list, -1) {
		operations = append(operations, m[1])
	}
	if len(operations) < 60 {
		t.Fatalf("the explorer has %d operations", len(operations))
	}
	operations = slices.DeleteFunc(operations, func(name string) bool { return slices.Contains(absent, name) })
	slices.SortStableFunc(operations, func(a, b string) int {
		return cmp.Compare(slices.Index(afterwards, a), slices.Index(afterwards, b))
	})
	for _, name := range operations {
		input := shown.sampleOf(t, name)
		page := shown.explore(t, name, input)
		answer, body := called.send(t, request{operation: name, body: called.sampleOf(t, name)})
		var want map[string]any
		if err := json.Unmarshal(body, &want); len(body) > 0 && err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("%s %s: %s, %v: %s", name, input, answer.Status, err, body)
			continue
		}
		got := answered.FindStringSubmatch(page)
		var members map[string]any
		if got == nil || got[1] != "" && json.Unmarshal([]byte(html.UnescapeString(got[1])), &members) != nil ||
			!slices.Equal(membersOf(members), membersOf(want)) {
			t.Errorf("%s %s: the explorer shows %v %v, want the members of %s", name, input, got,
				refused.FindStringSubmatch(page), body)
		}
	}
}

// seedExplorer creates one of each, with a free server process, and a match that waits for its players.
func (s *service) seedExplorer(t *testing.T) {
	t.Helper()
	c := s.client()
	fleet := s.newFleet(t)
	compute := s.newCompute(t, fleet, home, "pc")
	s.launch(t, compute, behaviour{})
	s.join(t, s.newActiveSession(t, fleet, home), "ada")
	s.newMatchmaker(t, fleet, types.BackfillModeManual)
	s.launch(t, compute, behaviour{port: 7778})
	call(t, c.StartGameSessionPlacement, &gamelift.StartGameSessionPlacementInput{PlacementId: new("placed"),
		GameSessionQueueName: new("duel"), MaximumPlayerSessionCount: new(int32(8)),
		DesiredPlayerSessions: []types.DesiredPlayerSession{{PlayerId: new("bo")}}})
	eventually(t, "the placement is FULFILLED", func() bool {
		return s.placement(t, "placed").Status == types.GameSessionPlacementStateFulfilled
	})
	s.launch(t, compute, behaviour{port: 7779})
	s.seek(t, "cy")
	s.seek(t, "dee")
	s.awaitTicket(t, "cy", types.MatchmakingConfigurationStatusCompleted)
	s.launch(t, compute, behaviour{port: 7780})
	call(t, c.CreateBuild, &gamelift.CreateBuildInput{Name: new("game")})
	call(t, c.CreateAlias, &gamelift.CreateAliasInput{Name: new("live"), RoutingStrategy: &types.RoutingStrategy{
		Type: types.RoutingStrategyTypeSimple, FleetId: &fleet}})
	call(t, c.UpdateMatchmakingConfiguration, &gamelift.UpdateMatchmakingConfigurationInput{Name: new("duel"),
		AcceptanceRequired: new(true), AcceptanceTimeoutSeconds: new(int32(600))})
	s.seek(t, "ada")
	s.seek(t, "bo")
	s.awaitTicket(t, "ada", types.MatchmakingConfigurationStatusRequiresAcceptance)
}

// sampleOf returns the sample of an operation, as soon as it has a value in each member.
func (s *service) sampleOf(t testing.TB, operation string) (input string) {
	t.Helper()
	eventually(t, "a sample of "+operation, func() bool {
		_, _, page := s.visit(t, "/console/api/"+operation)
		found := sampled.FindStringSubmatch(page)
		if found == nil {
			t.Fatalf("%s has no sample", operation)
		}
		input = html.UnescapeString(found[1])
		return !strings.Contains(input, `""`)
	})
	return input
}

// explore runs an operation in the explorer, and confirms it.
func (s *service) explore(t testing.TB, operation, input string) (page string) {
	t.Helper()
	form := url.Values{"body": {input}, "confirm": {operation}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.HTTP+"/console/api/"+operation,
		strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := s.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v: %s", operation, answer.Status, err, text)
	}
	return string(text)
}

// membersOf returns the paths of all members of a value, each once.
func membersOf(value any) []string {
	all := map[string]bool{}
	var visit func(path string, value any)
	visit = func(path string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for name, each := range v {
				all[path+name] = true
				visit(path+name+".", each)
			}
		case []any:
			for _, each := range v {
				visit(path, each)
			}
		}
	}
	visit("", value)
	return slices.Sorted(maps.Keys(all))
}
