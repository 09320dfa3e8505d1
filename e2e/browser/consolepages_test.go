package browser_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/e2e/people"
	"github.com/muster-gg/muster/mustertest"
)

// hostilePlayer is the id of a player that attacks pages: markup, marks that turn the direction of text, and length.
var hostilePlayer = hostile + "\u202egnp.ecilA\u202c" + strings.Repeat("x", 900)

// hostileText is a text of 4 kB.
var hostileText = hostile + "\u202e" + strings.Repeat(" </pre>", 570)

const ruleSet = `{"name":"duel","ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],` +
	`"teams":[{"name":"red","minPlayers":1,"maxPlayers":1},{"name":"blue","minPlayers":1,"maxPlayers":1}],` +
	`"rules":[{"name":"Near","type":"distance","measurements":["avg(teams[red].players.attributes[skill])"],` +
	`"referenceValue":"avg(teams[blue].players.attributes[skill])","maxDistance":5}],` +
	`"expansions":[{"target":"rules[Near].maxDistance","steps":[{"waitTimeSeconds":590,"value":900}]}]}`

// A regionPage is a page, and texts that it shows.
type regionPage struct {
	path  string
	shows []string
}

// regionPages are pages of a region that fill has filled, with the ids of the placement and the build.
func regionPages(placement, build string) []regionPage {
	return []regionPage{
		{"/console/", []string{"Overview"}},
		{"/console/queues", []string{"ranked"}},
		{"/console/queues/ranked", []string{"Free processes", "Test a placement", "At most 60 ms"}},
		{"/console/placements/" + placement, []string{"PENDING", "It waits"}},
		{"/console/matchmaking", []string{"duel"}},
		{"/console/matchmaking/create", []string{"Time-out of a ticket"}},
		{"/console/matchmaking/duel", []string{"required within 30 s", "<i>map"}},
		{"/console/tickets/ken", []string{"Why it waits", "distance 90, at most 5", "from 5 to 900"}},
		{"/console/rule-sets", []string{"duel"}},
		{"/console/rule-sets/duel", []string{"maxDistance", "Simulator"}},
		{"/console/rule-sets/create?from=duel", []string{"Save as new"}},
		{"/console/events", []string{"MatchmakingSearching"}},
		{"/console/builds", []string{"INITIALIZED", hostile}},
		{"/console/builds/" + build, []string{"It waits for its files", "Delete build"}},
		{"/console/instances", []string{"No instance", "aws gamelift create-fleet"}},
		{"/console/output", []string{"Which output?"}},
		{"/console/machines", []string{"No machine", "muster machine token create"}},
		{"/console/cluster", []string{"This service runs alone", "NATS", "Append p50"}},
		{"/console/settings", []string{"open-console"}},
		{"/console/audit", []string{"CreateFleet", "UserPut"}},
		{"/console/log", []string{"muster is ready"}},
		{"/console/users", []string{"vera", "read-only"}},
		{"/console/users/vera", []string{"Unassign", "Sign-in sessions"}},
		{"/console/groups", []string{"testers"}},
		{"/console/roles", []string{"administrator"}},
		{"/console/roles/administrator", []string{"built-in"}},
		{"/console/roles/create", []string{"Policies"}},
		{"/console/policies", []string{"MusterViewer"}},
		{"/console/policies/MusterViewer", []string{"ConsoleUse"}},
		{"/console/policies/create", []string{"Document"}},
		{"/console/keys", []string{"root key"}},
		{"/console/providers", []string{"https://id.example.com"}},
		{"/console/providers/corp", []string{"/signin/oidc/corp/callback", "Delete identity provider"}},
		{"/console/providers/create", []string{"Claim with the groups"}},
		{"/console/api", []string{"StartMatchmaking"}},
		{"/console/api/StartGameSessionPlacement", []string{"Members of the input"}},
	}
}

// TestConsolePages checks the pages of queues, matchmaking, the region and access, which show hostile texts.
func TestConsolePages(t *testing.T) {
	t.Parallel()
	s := people.Start(t, func(c *muster.Config) { c.OpenConsole = "on" })
	placement := fill(t, s)
	p := open(t, s)
	build := *mustertest.Call(t, s.Client.ListBuilds, &gamelift.ListBuildsInput{}).Builds[0].BuildId
	for _, page := range regionPages(placement, build) {
		p.Go(page.path, 200)
		p.Shows(page.shows...)
		p.Check("pages" + strings.NewReplacer("/", "-", "?", "-", "=", "-", placement, "id", build, "id").Replace(
			strings.TrimPrefix(page.path, "/console")))
	}
}

// TestConsolePrinted: a page on paper has its content, without navigation and forms, and nothing moves for
// people who want that.
func TestConsolePrinted(t *testing.T) {
	t.Parallel()
	s := people.Start(t, func(c *muster.Config) { c.OpenConsole = "on" })
	placement := fill(t, s)
	p := open(t, s)
	p.Go("/console/placements/"+placement, 200)
	for _, each := range []string{"Candidates", "Copy id", "Cancel placement", "Rule sets"} {
		p.Shows(each)
		if got := strings.Contains(p.Printed(), each); got != (each == "Candidates") {
			t.Errorf("%s on paper: %t", each, got)
		}
	}
	if got := p.Animation("changed"); got != "none" {
		t.Errorf("what has changed moves: %s", got)
	}
}

// TestConsoleKeys goes through the keys of the console: the palette, the list of keys, rows, pages, and the colours,
// which the next page keeps.
func TestConsoleKeys(t *testing.T) {
	t.Parallel()
	s := people.Start(t, func(c *muster.Config) { c.OpenConsole = "on" })
	for _, name := range []string{"custom-attic", "custom-home"} {
		mustertest.Call(t, s.Client.CreateLocation, &gamelift.CreateLocationInput{LocationName: aws.String(name)})
	}
	p := open(t, s)
	p.Go("/console/", 200)
	p.Press("?")
	p.Shows("next and previous row", "exports the list")
	p.Check("keys")
	p.Press("\x1b")
	p.Loads(200, func() { p.Press("gl") })
	p.Is("Locations", "")
	p.Shows("custom-attic", "custom-home")
	p.Press("j")
	if got := p.Focused(); !strings.Contains(got, "Copy arn") && !strings.Contains(got, "Delete custom-attic") {
		t.Errorf("j leads to %s", got)
	}
	p.Press("j")
	if got := p.Focused(); !strings.Contains(got, "home") {
		t.Errorf("j j leads to %s", got)
	}
	p.Palette()
	p.Press("dark")
	p.Shows("Colours: Dark")
	p.Check("palette")
	p.Loads(200, func() { p.Press("\r") })
	p.Is("Locations", "")
	p.Go("/console/queues", 200)
	if got := p.Theme(); got != "dark" {
		t.Errorf("the theme of the next page is %q", got)
	}
}

// fill fills a region with what the pages show, and returns the id of a placement that waits.
func fill(t *testing.T, s *people.Service) string {
	t.Helper()
	mustertest.Call(t, s.Client.CreateLocation, &gamelift.CreateLocationInput{LocationName: aws.String("custom-home")})
	fleet := mustertest.Call(t, s.Client.CreateFleet, &gamelift.CreateFleetInput{Name: aws.String(hostile),
		Description: aws.String(hostile), ComputeType: types.ComputeTypeAnywhere,
		Locations: []types.LocationConfiguration{{Location: aws.String("custom-home")}}}).FleetAttributes
	queue := mustertest.Call(t, s.Client.CreateGameSessionQueue, &gamelift.CreateGameSessionQueueInput{
		Name: aws.String("ranked"), TimeoutInSeconds: aws.Int32(600), CustomEventData: aws.String(hostile),
		Destinations: []types.GameSessionQueueDestination{{DestinationArn: fleet.FleetArn}},
		PlayerLatencyPolicies: []types.PlayerLatencyPolicy{
			{MaximumIndividualPlayerLatencyMilliseconds: aws.Int32(60), PolicyDurationSeconds: aws.Int32(30)},
			{MaximumIndividualPlayerLatencyMilliseconds: aws.Int32(120)}}}).GameSessionQueue
	mustertest.Call(t, s.Client.CreateMatchmakingRuleSet, &gamelift.CreateMatchmakingRuleSetInput{
		Name: aws.String("duel"), RuleSetBody: aws.String(ruleSet)})
	mustertest.Call(t, s.Client.CreateMatchmakingConfiguration, &gamelift.CreateMatchmakingConfigurationInput{
		Name: aws.String("duel"), RuleSetName: aws.String("duel"), Description: aws.String(hostile),
		GameSessionQueueArns: []string{*queue.GameSessionQueueArn}, RequestTimeoutSeconds: aws.Int32(600),
		AcceptanceRequired: aws.Bool(true), AcceptanceTimeoutSeconds: aws.Int32(30),
		GameSessionData: aws.String(hostileText),
		GameProperties:  []types.GameProperty{{Key: aws.String("<i>map"), Value: aws.String("<b>x")}}})
	for id, skill := range map[string]float64{"ken": 10, "lea": 100} {
		mustertest.Call(t, s.Client.StartMatchmaking, &gamelift.StartMatchmakingInput{
			ConfigurationName: aws.String("duel"), TicketId: aws.String(id), Players: []types.Player{{
				PlayerId:         aws.String(hostilePlayer[:len(hostilePlayer)-3] + id),
				LatencyInMs:      map[string]int32{"custom-home": 20},
				PlayerAttributes: map[string]types.AttributeValue{"skill": {N: aws.Float64(skill)}}}}})
	}
	mustertest.Call(t, s.Client.CreateBuild, &gamelift.CreateBuildInput{Name: aws.String(hostile),
		Version: aws.String(hostile), Tags: []types.Tag{{Key: aws.String("branch"), Value: aws.String("main")}}})
	s.AddUser("vera", "read-only")
	s.Manage("POST", "groups", map[string]any{"name": "testers", "description": hostile})
	s.Manage("POST", "keys", map[string]any{"service": "backend", "name": hostile})
	s.Manage("PUT", "providers/corp", map[string]any{"issuer": "https://id.example.com", "clientId": hostile,
		"signIn": true})
	placement := mustertest.Call(t, s.Client.StartGameSessionPlacement, &gamelift.StartGameSessionPlacementInput{
		PlacementId: aws.String("first"), GameSessionQueueName: aws.String("ranked"),
		MaximumPlayerSessionCount: aws.Int32(4), GameSessionName: aws.String(hostile),
		PlayerLatencies: []types.PlayerLatency{{PlayerId: aws.String(hostilePlayer),
			RegionIdentifier: aws.String("custom-home"), LatencyInMilliseconds: aws.Float32(31)}}})
	return url.PathEscape(*placement.GameSessionPlacement.PlacementId)
}
