package console

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/metrics"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The times over which the page of a configuration counts.
const (
	matchesOver = 10 * time.Minute
	rulesOver   = time.Hour
)

// An ageBar is a bar of the histogram of ages.
type ageBar struct {
	Text    string
	Tickets int
	Most    int // of all bars
}

// ageBars returns the bars of counted ages: from the youngest to the oldest that has tickets.
func ageBars(counted *control.TicketAges) (bars []ageBar) {
	if counted == nil || counted.Tickets == 0 {
		return nil
	}
	most, last := 0, 0
	for i, a := range counted.Ages {
		if a.Tickets > 0 {
			most, last = max(most, a.Tickets), i
		}
	}
	for _, a := range counted.Ages[:last+1] {
		text := fmt.Sprintf("%d to %d s", a.FromSeconds, a.ToSeconds)
		if a.ToSeconds == 0 {
			text = fmt.Sprintf("%d s or more", a.FromSeconds)
		}
		bars = append(bars, ageBar{text, a.Tickets, most})
	}
	return bars
}

// A passRate is how often a rule passed.
type passRate struct {
	Rule           string
	Passed, Failed int64
}

// Percent returns the share that passed, rounded down: 100 means that nothing failed.
func (p passRate) Percent() int64 { return 100 * p.Passed / max(1, p.Passed+p.Failed) }

// matchRates reads the matches a minute and the pass rates of the rules; nothing for people who may not read metrics.
func (v *visit) matchRates(b *configurationBody) error {
	if v.h.Metrics == nil || !v.h.Access.Permits(v.id, v.from, readMetrics) {
		return nil
	}
	matches, err := v.sumOf(metrics.Series{Metric: "MatchesCreated", Dimensions: []metrics.Dimension{
		{Name: "ConfigurationName", Value: b.Name}}}, matchesOver)
	if err != nil {
		return err
	}
	b.MatchesPerMinute = fmt.Sprintf("%.1f", matches/matchesOver.Minutes())
	for _, s := range v.h.Metrics.Named("RuleEvaluationsPassed", "ConfigurationName", "RuleName") {
		if s.Dimensions[0].Value == b.Name {
			if err := v.addPassRate(b, s); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(b.Rules, func(x, y passRate) int {
		return cmp.Or(cmp.Compare(x.Percent(), y.Percent()), cmp.Compare(x.Rule, y.Rule))
	})
	return nil
}

// addPassRate adds the rule of a series, if it was evaluated.
func (v *visit) addPassRate(b *configurationBody, passed metrics.Series) error {
	yes, err := v.sumOf(passed, rulesOver)
	if err != nil {
		return err
	}
	no, err := v.sumOf(metrics.Series{Metric: "RuleEvaluationsFailed", Dimensions: passed.Dimensions}, rulesOver)
	if err == nil && yes+no > 0 {
		b.Rules = append(b.Rules, passRate{passed.Dimensions[1].Value, int64(yes), int64(no)})
	}
	return err
}

// sumOf returns the sum of a counter over a time that ends with the last whole minute.
func (v *visit) sumOf(s metrics.Series, over time.Duration) (sum float64, err error) {
	to := v.h.Clock.Now().Truncate(time.Minute)
	points, err := v.h.Metrics.Points(v.ctx, s, to.Add(-over), to, time.Minute)
	for _, p := range points {
		sum += p.Sum
	}
	return sum, err
}

// expansionsOf returns how the rule set of a configuration expands; nothing for people who may not read the rule set.
func (v *visit) expansionsOf(ruleSet string) ([]outlinedStep, error) {
	out, err := call(v, wire.OpDescribeMatchmakingRuleSets,
		&wire.DescribeMatchmakingRuleSetsInput{Names: []string{ruleSet}})
	if fault.Is(err, fault.AccessDenied) || fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil || len(out.RuleSets) == 0 {
		return nil, err
	}
	if o := outlineOf(out.RuleSets[0].RuleSetBody); o != nil {
		return o.Expansions, nil
	}
	return nil, nil
}
