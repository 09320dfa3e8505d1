package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/matcher/matchsim"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func simulating(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.answers["DescribeMatchmakingRuleSets"] = &wire.DescribeMatchmakingRuleSetsOutput{
		RuleSets: []wire.MatchmakingRuleSet{{RuleSetName: "duel", RuleSetBody: example}}}
	w.answers["POST /v1/rulesets/simulate"] = matchsim.Report{Matches: 421,
		Tickets: matchsim.Tickets{Total: 1000, Matched: 842, TimedOut: 150, Unmatchable: 8},
		Waiting: matchsim.Quantiles{P50: 1.25, P90: 17.5, Max: 59.9},
		Rules: []matchsim.Rule{{Name: hostile, Matched: matchsim.Evaluation{Passed: 421, Failed: 333},
			Unmatched: matchsim.Evaluation{Failed: 77}}},
		Attributes:  []matchsim.Attribute{{Name: "skill", Spread: matchsim.Quantiles{P50: 3.5}}},
		Unmatchable: []matchsim.Unmatchable{{Ticket: "t-9", Why: "blue is too small"}}}
	return w
}

// TestSimulator: the form makes the request that it describes, and shows the result.
func TestSimulator(t *testing.T) {
	w := simulating(t)
	w.shows("GET", "/console/rule-sets/duel", nil, 200, `action="/console/rule-sets/duel/simulate#simulator"`,
		`<label for="sim-tickets">`, `value="1000"`)
	const path = "/console/rule-sets/duel/simulate"
	for name, c := range map[string]struct {
		form url.Values
		want []string // in the request
	}{
		"proposals": {nil, []string{`"population":{"parties":0.2,"seed":1,"tickets":1000,"ticketsPerSecond":10}`,
			`"timeoutSeconds":60`}},
		"typed": {url.Values{"tickets": {"007"}, "rate": {"0.5"}, "parties": {"0"}, "seed": {"9007199254740993"},
			"timeout": {"0"}}, []string{
			`"population":{"parties":0,"seed":9007199254740993,"tickets":7,"ticketsPerSecond":0.5}`,
			`"timeoutSeconds":0`}},
		"at once": {url.Values{"at-once": {"yes"}, "rate": {""}}, []string{`"ticketsPerSecond":1000000000`}},
		"lines": {url.Values{"profile": {"{\"TicketId\":\"a\"}\r\n{\"TicketId\":\"b\"}\r\n"}, "tickets": {"x"}},
			[]string{`"tickets":[{"TicketId":"a"},{"TicketId":"b"}]`}},
		"array": {url.Values{"profile": {` [{"TicketId":"a"}]`}}, []string{`"tickets":[{"TicketId":"a"}]`}},
	} {
		body := w.shows("POST", path, c.form, 200, "<dd>421</dd>", "842 <small>of 1,000", "1.2 s", "17.5 s", "59.9 s",
			`<td class="n">333</td><td class="n">754</td><td class="n">77</td>`, "t-9: blue is too small")
		sent := w.inputs["POST /v1/rulesets/simulate"].(string)
		for _, want := range append(c.want, `"ruleSetBody":"{\n`) {
			if !strings.Contains(sent, want) {
				t.Errorf("%s: no %s in %s", name, want, sent)
			}
		}
		if strings.Contains(body, "<script>alert") {
			t.Errorf("%s: a name is markup", name)
		}
	}
	w.shows("POST", path, url.Values{"seed": {"7"}, "timeout": {"90"}}, 200, "muster match generate --rules "+
		"rules.json --tickets 1000 --rate 10 --parties 0.2 --seed 7 |\n  muster match simulate --rules rules.json "+
		"--tickets - --request-timeout 90s")
	w.fails["muster:RuleSetSimulate"] = denied
	if body := w.shows("GET", "/console/rule-sets/duel", nil, 200); strings.Contains(body, "Simulator") {
		t.Error("the form is shown to a person who may not post it")
	}
}

// TestSimulatorRefuses shows at the field why its value is refused, and what was typed.
func TestSimulatorRefuses(t *testing.T) {
	long := strings.Repeat("ю", 2048)
	for name, c := range map[string]struct {
		form  url.Values
		fails error
		want  []string
	}{
		"too many": {url.Values{"tickets": {"5001"}}, nil,
			[]string{`class="verdict bad" id="problem-tickets">Type a whole number from 1 to 5000.`, `value="5001"`}},
		"no number": {url.Values{"rate": {"NaN"}}, nil,
			[]string{`id="problem-rate">Type a number from 0.001 to 1000000.`, `aria-describedby=" problem-rate"`}},
		"hostile": {url.Values{"parties": {hostile + long}}, nil,
			[]string{`id="problem-parties">`, `="hint-parties problem-parties" aria-invalid="true"`, long}},
		"negative": {url.Values{"seed": {"-1"}}, nil, []string{`id="problem-seed">`}},
		"too long": {url.Values{"timeout": {"43201"}, "profile": {"{}"}}, nil, []string{`id="problem-timeout">`}},
		"not JSON": {url.Values{"profile": {`{} {"a`}}, nil,
			[]string{`id="problem-profile">`, "ticket 2: unexpected EOF"}},
		"not an array": {url.Values{"profile": {`[1,`}}, nil, []string{`id="problem-profile">`}},
		"wrong tickets": {url.Values{"profile": {`{}`}}, fault.New(fault.InvalidRequest, "tickets: line 1: no player."),
			[]string{`id="problem-profile">tickets: line 1: no player.`}},
		"busy": {nil, fault.New(fault.Throttling, "Another simulation is running."),
			[]string{"Another simulation is running."}},
	} {
		w := simulating(t)
		if c.fails != nil {
			w.fails["POST /v1/rulesets/simulate"] = c.fails
		}
		body := w.shows("POST", "/console/rule-sets/duel/simulate", c.form, 400, c.want...)
		if _, sent := w.inputs["POST /v1/rulesets/simulate"]; sent != (c.fails != nil) {
			t.Errorf("%s: sent is %v", name, sent)
		}
		if strings.Contains(body, "<dd>421") || strings.Contains(body, "<script>alert") {
			t.Errorf("%s: %s", name, body)
		}
	}
}

// TestCompare runs the simulation with the rule set of a configuration too, and shows both side by side.
func TestCompare(t *testing.T) {
	w := simulating(t)
	w.answers["DescribeMatchmakingConfigurations"] = &wire.DescribeMatchmakingConfigurationsOutput{
		Configurations: []wire.MatchmakingConfiguration{{RuleSetName: "old"}, {RuleSetName: "duel"},
			{RuleSetName: "old"}}}
	w.shows("GET", "/console/rule-sets/duel", nil, 200, "<option>old</option></select>", "<td>red</td>",
		"<td>distance</td><td>distance at most 5</td>",
		"<td>30 s</td><td>rules[CloseSkill].maxDistance from 5 to 20</td>")
	runs := 0
	w.answers["POST /v1/rulesets/simulate"] = func(*http.Request) any {
		runs++
		return matchsim.Report{Matches: 100 * runs, Waiting: matchsim.Quantiles{P50: float64(runs)},
			Attributes: []matchsim.Attribute{{Name: "skill", Spread: matchsim.Quantiles{P50: float64(runs)}}}[:2-runs]}
	}
	w.shows("POST", "/console/rule-sets/duel/simulate", url.Values{"against": {"old"}}, 200,
		`<option selected>old</option>`, `<th scope="row">Matches</th><td class="n">100</td><td class="n">200</td>`,
		`<td class="n">1.0 s</td><td class="n">2.0 s</td>`,
		`in skill</th><td class="n">1</td><td class="n">–</td>`)
	if runs != 2 {
		t.Errorf("%d simulations", runs)
	}
}
