//go:build unix

package soak

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/muster-gg/muster/e2e/report"
)

// verdictTable is the outcome of a soak. Of one that was too short to be judged
// it holds no verdicts.
func verdictTable(verdicts []verdict, judged bool) report.Table {
	t := report.Table{{"", "unit", "start", "middle", "end", "change", "slope/min", "allowed", "verdict"}}
	for _, v := range verdicts {
		word := "flat"
		switch {
		case v.name == yardstick:
			word = ""
		case !judged:
			word = "too short"
		case v.grows:
			word = "grows"
		case !v.flat:
			word = "GROWS"
		}
		allowed := "at most " + shortNumber(v.most)
		if v.name == yardstick || v.grows {
			allowed = ""
		}
		t = append(t, []string{
			v.name, v.unit, shortNumber(v.start), shortNumber(v.middle), shortNumber(v.end), change(v.start, v.end),
			signed(v.perMinute), allowed, word,
		})
	}
	return t
}

func change(from, to float64) string {
	if from == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.1f %%", 100*(to/from-1))
}

func signed(v float64) string {
	if math.Abs(v) < 0.005 || math.IsNaN(v) {
		return "0"
	}
	if v > 0 {
		return "+" + shortNumber(v)
	}
	return shortNumber(v)
}

// inWords lists counts, the largest first.
func inWords(counts map[string]int) string {
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = fmt.Sprintf("%d %s", counts[name], name)
	}
	return strings.Join(parts, ", ")
}
