package console

import (
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/metrics"
	"github.com/muster-gg/muster/internal/wire"
)

// newPool is a console with a configuration in which tickets search.
func newPool(t *testing.T) (*world, *measured) {
	w, m := newMeasured(t)
	w.answers["DescribeMatchmakingConfigurations"] = &wire.DescribeMatchmakingConfigurationsOutput{
		Configurations: []wire.MatchmakingConfiguration{{Name: "duel", RuleSetName: "duel-rules"}}}
	w.answers["DescribeMatchmakingRuleSets"] = &wire.DescribeMatchmakingRuleSetsOutput{
		RuleSets: []wire.MatchmakingRuleSet{{RuleSetName: "duel-rules", RuleSetBody: example}}}
	w.answers["GET /v1/configurations/duel/tickets"] = control.TicketList{Searching: &control.TicketAges{
		Tickets: 1204, More: true, Ages: []control.TicketAge{{FromSeconds: 0, ToSeconds: 5, Tickets: 1200},
			{FromSeconds: 5, ToSeconds: 10}, {FromSeconds: 10, ToSeconds: 20, Tickets: 4}, {FromSeconds: 20}}}}
	m.points = map[string][]metrics.Point{"MatchesCreated": {minute(-11, 50, 6), minute(-10, 20, 6), minute(-1, 5, 6)},
		"RuleEvaluationsPassed": {minute(-61, 5000, 6), minute(-60, 1000, 6), minute(-1, 994, 6)},
		"RuleEvaluationsFailed": {minute(-2, 6, 6)}}
	for _, of := range [][2]string{{"other", "Elsewhere"}, {"duel", "CloseSkill"}} {
		m.listed = append(m.listed, metrics.Series{Metric: "RuleEvaluationsPassed", Dimensions: []metrics.Dimension{
			{Name: "ConfigurationName", Value: of[0]}, {Name: "RuleName", Value: of[1]}}})
	}
	return w, m
}

// TestPool: the page of a configuration counts its tickets by age, its matches and the evaluations of its rules, each
// for those who may see it.
func TestPool(t *testing.T) {
	for name, c := range map[string]struct {
		deny       string
		want, lack []string
	}{
		"everything": {"", []string{"<dd>1,204 <small>or more</small>", "<dd>2.5 <small>in 10 minutes</small>",
			`<td>0 to 5 s</td><td class="n">1,200</td><td><progress max="1200" value="1200" aria-label=`,
			`<td>5 to 10 s</td><td class="n">0</td><td><progress max="1200" value="0"`,
			`<td>CloseSkill</td><td class="n">1,994</td><td class="n">6</td><td class="n">99 %</td>`,
			"<td>30 s</td><td>rules[CloseSkill].maxDistance from 5 to 20</td>"}, []string{"20 s or more", "Elsewhere"}},
		"no tickets": {"muster:TicketRead", []string{"Matches a minute", "CloseSkill"}, []string{"1,204"}},
		"no metrics": {"cloudwatch:GetMetricData", []string{"1,204", "Expansion clock"},
			[]string{"Matches a minute", "Pass rate"}},
		"no rule set": {"DescribeMatchmakingRuleSets", []string{"1,204"}, []string{"Expansion clock"}},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := newPool(t)
			w.fails[c.deny] = denied
			body := w.shows("GET", "/console/matchmaking/duel", nil, 200, c.want...)
			for _, text := range c.lack {
				if strings.Contains(body, text) {
					t.Errorf("the page has %s", text)
				}
			}
		})
	}
}
