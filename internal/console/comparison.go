package console

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/muster-gg/muster/internal/matcher/matchsim"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// rulesInForce returns the names of the rule sets that the first configurations use, other than one.
func (v *visit) rulesInForce(other string) (names []string, err error) {
	out, err := call(v, wire.OpDescribeMatchmakingConfigurations, &wire.DescribeMatchmakingConfigurationsInput{
		Limit: wire.Some[int32](maxConfigurations)})
	switch {
	case fault.Is(err, fault.AccessDenied), fault.Is(err, fault.NotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	for _, c := range out.Configurations {
		if c.RuleSetName != other {
			names = append(names, c.RuleSetName)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// simulateOther runs the simulation with the rule set to compare with.
func (v *visit) simulateOther(s *simulation, body map[string]any) error {
	if s.Against == "" {
		return nil
	}
	r, err := v.findRuleSet(s.Against)
	if err != nil {
		return err
	}
	body["ruleSetBody"] = r.RuleSetBody
	var report matchsim.Report
	if err := v.request(http.MethodPost, in("rulesets", "simulate"), body, &report); err != nil {
		return err
	}
	s.Other = &report
	return nil
}

// A compared figure is of two simulations.
type compared struct{ Label, This, Other string }

// Compared returns the figures side by side.
func (s *simulation) Compared() (rows []compared) {
	if s.Report == nil || s.Other == nil {
		return nil
	}
	add := func(label string, of func(*matchsim.Report) string) {
		rows = append(rows, compared{label, of(s.Report), of(s.Other)})
	}
	count := func(label string, of func(*matchsim.Report) int) {
		add(label, func(r *matchsim.Report) string { return thousands(of(r)) })
	}
	wait := func(label string, of func(*matchsim.Report) float64) {
		add(label, func(r *matchsim.Report) string { return fmt.Sprintf("%.1f s", of(r)) })
	}
	count("Matches", func(r *matchsim.Report) int { return r.Matches })
	count("Tickets matched", func(r *matchsim.Report) int { return r.Tickets.Matched })
	count("Timed out", func(r *matchsim.Report) int { return r.Tickets.TimedOut })
	count("Waiting at the end", func(r *matchsim.Report) int { return r.Tickets.Waiting })
	count("Cannot match at all", func(r *matchsim.Report) int { return r.Tickets.Unmatchable })
	wait("Median waiting time", func(r *matchsim.Report) float64 { return r.Waiting.P50 })
	wait("90 % wait at most", func(r *matchsim.Report) float64 { return r.Waiting.P90 })
	wait("Longest waiting time", func(r *matchsim.Report) float64 { return r.Waiting.Max })
	for _, a := range s.Report.Attributes {
		add("Median difference of players in "+a.Name, func(r *matchsim.Report) string {
			i := slices.IndexFunc(r.Attributes, func(b matchsim.Attribute) bool { return a.Name == b.Name })
			if i < 0 {
				return "–"
			}
			return fmt.Sprintf("%.4g", r.Attributes[i].Spread.P50)
		})
	}
	return rows
}
