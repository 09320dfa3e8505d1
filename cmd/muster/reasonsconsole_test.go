package main

import (
	"html"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/mustertest"
)

// A reasonsRegion is a service whose console and /v1 are compared. Its clock goes on while a test waits.
type reasonsRegion struct {
	*mustertest.Service
	clock *clockwork.FakeClock
	v1    *operatorCall
}

func newReasonsRegion(t *testing.T) *reasonsRegion {
	r := &reasonsRegion{clock: clockwork.NewFakeClockAt(time.Now())}
	r.Service = mustertest.Start(t, func(c *muster.Config) {
		c.Shards, c.OpenConsole, c.Clock, c.ClockSkew = 1, "on", r.clock, 24*time.Hour
	})
	r.v1 = &operatorCall{app: &app{environ: rootEnviron(r.Service)}}
	if err := r.v1.complete(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// eventually waits until an answer of /v1 is as it shall be.
func (r *reasonsRegion) eventually(t *testing.T, what, path string, answer any, reached func() bool) {
	t.Helper()
	mustertest.Eventually(t, what, func() bool {
		r.clock.Advance(200 * time.Millisecond)
		err := r.v1.ask(t.Context(), path, answer)
		if err != nil && strings.Contains(err.Error(), "has just been matched") { // between two states
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
		return reached()
	})
}

var tag = regexp.MustCompile("<[^>]*>")

// page returns the text of a page of the console.
func (r *reasonsRegion) page(t *testing.T, path string) string {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.HTTP+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := r.Web.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", path, answer.StatusCode, err)
	}
	return html.UnescapeString(tag.ReplaceAllString(string(body), ""))
}

// compare checks that the reason of a situation is in the answer of /v1, and that the page has all of the answer.
func (r *reasonsRegion) compare(t *testing.T, reason, path string, answer []string) {
	t.Helper()
	if all := strings.Join(answer, "\n"); !strings.Contains(all, reason) {
		t.Fatalf("the answer has no %q:\n%s", reason, all)
	}
	page := r.page(t, path)
	for _, text := range answer {
		if text = strings.TrimSuffix(text, "."); !strings.Contains(page, text) {
			t.Errorf("%s has no %q:\n%s", path, text, page)
		}
	}
}

// placementReasons returns the texts of a trail, with the name of the fleet.
func placementReasons(t *control.PlacementTrail) (all []string) {
	all = append(all, string(t.Status), t.Reason)
	for _, c := range t.Candidates {
		all = append(all, c.Location, c.Dropped)
	}
	for _, s := range t.Steps {
		all = append(all, string(s.Kind), s.Text)
	}
	if t.Waiting != nil {
		for _, l := range t.Waiting.Lines {
			all = append(all, "a free server process in "+l.Location+" of Arena")
		}
	}
	return all
}

// TestConsolePlacementReasons: the page of a placement names the reason that GET /v1/placements/{id} has.
func TestConsolePlacementReasons(t *testing.T) {
	r := newReasonsRegion(t)
	arena, other := r.Fleet("custom-a", "custom-b"), r.Fleet("custom-c")
	arn := func(fleet string) []types.GameSessionQueueDestination {
		return []types.GameSessionQueueDestination{
			{DestinationArn: new("arn:aws:gamelift:" + r.Region + "::fleet/" + fleet)}}
	}
	for name, to := range map[string][]types.GameSessionQueueDestination{
		"games": arn(arena), "near": arn(arena), "empty": nil, "deleted": arn(other)} {
		in := &gamelift.CreateGameSessionQueueInput{Name: &name, Destinations: to, TimeoutInSeconds: new(int32(10))}
		if name == "near" {
			in.PlayerLatencyPolicies = []types.PlayerLatencyPolicy{
				{MaximumIndividualPlayerLatencyMilliseconds: new(int32(50))}}
		}
		mustertest.Call(t, r.Client.CreateGameSessionQueue, in)
	}
	mustertest.Call(t, r.Client.DeleteFleet, &gamelift.DeleteFleetInput{FleetId: &other})
	for _, c := range []struct {
		name, queue string
		step        string // that the trail ends with
		reason      string
	}{
		{"refused", "games", "REFUSED", "No server process is registered there"},
		{"no-capacity", "games", "WAITING", "a free server process in custom-b of Arena"},
		{"latency", "near", "WAITING", "player ada reports 80 ms, the policy allows 50 ms"},
		{"no-destination", "empty", "WAITING", "the queue has no destinations"},
		{"all-deleted", "deleted", "WAITING", "Fleet " + other},
		{"time-out", "games", "TIMED_OUT", "TIMED_OUT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			mustertest.Call(t, r.Client.StartGameSessionPlacement, &gamelift.StartGameSessionPlacementInput{
				PlacementId: &c.name, GameSessionQueueName: &c.queue, MaximumPlayerSessionCount: new(int32(2)),
				PlayerLatencies: []types.PlayerLatency{latencyOf("custom-a", 80), latencyOf("custom-b", 90)}})
			var trail control.PlacementTrail
			r.eventually(t, c.step, "/v1/placements/"+c.name, &trail, func() bool {
				n := len(trail.Steps)
				if trail.EndTime != nil {
					trail.Waiting = nil // of an answer before
				}
				return n > 0 && string(trail.Steps[n-1].Kind) == c.step &&
					(trail.Waiting != nil || trail.EndTime != nil)
			})
			r.compare(t, c.reason, "/console/placements/"+c.name, placementReasons(&trail))
		})
	}
}

func latencyOf(location string, ms float32) types.PlayerLatency {
	return types.PlayerLatency{PlayerId: new("ada"), RegionIdentifier: &location, LatencyInMilliseconds: &ms}
}

// skilledDuel let players meet whose skills are close, or any after a long time.
const skilledDuel = `{"ruleLanguageVersion":"1.0",
"playerAttributes":[{"name":"skill","type":"number"}],
"teams":[{"name":"red","minPlayers":1,"maxPlayers":1},{"name":"blue","minPlayers":1,"maxPlayers":1}],
"rules":[{"name":"CloseSkill","type":"distance","maxDistance":5,
"measurements":["avg(teams[red].players.attributes[skill])"],
"referenceValue":"avg(teams[blue].players.attributes[skill])"}],
"expansions":[{"target":"rules[CloseSkill].maxDistance","steps":[{"waitTimeSeconds":9000,"value":40}]}]}`

// ticketReasons returns the texts of an explanation.
func ticketReasons(x *control.TicketExplanation) (all []string) {
	all = append(all, string(x.Status))
	if e := x.Explanation; e != nil {
		all = append(all, e.Missing)
		for _, r := range e.Rejections {
			all = append(all, r.Rule, r.Example)
		}
		if e.Next != nil {
			for _, c := range e.Next.Changes {
				all = append(all, c.Target+" changes from "+c.From+" to "+c.To, c.Target+" "+c.From+" → "+c.To)
			}
		}
	}
	if m := x.Match; m != nil {
		all = append(append(append(all, m.ID), m.Tickets...), m.Accepted...)
		all = append(all, "No answer from "+strings.Join(m.Unanswered, ", "))
	}
	return all
}

// TestConsoleTicketReasons: the page of a ticket names the reason that GET /v1/tickets/{id}/explain has.
func TestConsoleTicketReasons(t *testing.T) {
	r := newReasonsRegion(t)
	mustertest.Call(t, r.Client.CreateMatchmakingRuleSet,
		&gamelift.CreateMatchmakingRuleSetInput{Name: new("duel-rules"), RuleSetBody: new(skilledDuel)})
	for _, name := range []string{"alone", "apart", "accepted"} {
		mustertest.Call(t, r.Client.CreateMatchmakingConfiguration, &gamelift.CreateMatchmakingConfigurationInput{
			Name: &name, RuleSetName: new("duel-rules"), FlexMatchMode: types.FlexMatchModeStandalone,
			RequestTimeoutSeconds: new(int32(10000)), AcceptanceRequired: new(name == "accepted"),
			AcceptanceTimeoutSeconds: new(int32(600))})
	}
	for ticket, of := range map[string]struct {
		configuration string
		skill         float64
	}{"t1": {"alone", 10}, "t2": {"apart", 10}, "t3": {"apart", 30}, "t4": {"accepted", 10}, "t5": {"accepted", 11}} {
		mustertest.Call(t, r.Client.StartMatchmaking, &gamelift.StartMatchmakingInput{TicketId: &ticket,
			ConfigurationName: &of.configuration, Players: []types.Player{{PlayerId: new("p-" + ticket),
				PlayerAttributes: map[string]types.AttributeValue{"skill": {N: &of.skill}}}}})
	}
	var x control.TicketExplanation
	r.eventually(t, "a match", "/v1/tickets/t4/explain", &x, func() bool { return x.Match != nil })
	mustertest.Call(t, r.Client.AcceptMatch, &gamelift.AcceptMatchInput{TicketId: new("t4"),
		PlayerIds: []string{"p-t4"}, AcceptanceType: types.AcceptanceTypeAccept})
	for _, c := range []struct{ name, ticket, reason string }{
		{"a team lacks players", "t1", "0 of at least 1 players"},
		{"a rule fails", "t2", "rule CloseSkill does not hold: distance 20, at most 5"},
		{"an expansion comes", "t3", "rules[CloseSkill].maxDistance changes from 5 to 40"},
		{"waits for acceptance", "t5", "No answer from p-t5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var x control.TicketExplanation
			if err := r.v1.ask(t.Context(), "/v1/tickets/"+c.ticket+"/explain", &x); err != nil {
				t.Fatal(err)
			}
			r.compare(t, c.reason, "/console/tickets/"+c.ticket, ticketReasons(&x))
		})
	}
}
