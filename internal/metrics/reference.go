package metrics

import "strings"

// A ReferenceRow describes a metric of CloudWatch, for the reference.
type ReferenceRow struct{ Metric, Unit, Statistics, Dimensions, Prometheus, Help string }

// Reference returns the metrics of CloudWatch in the order of the catalogue.
func Reference() (rows []ReferenceRow) {
	for _, f := range []*family{fleets, queues, matchmakings, rules} {
		for i := range f.base {
			c := &f.columns[i]
			if c.name == "" {
				continue
			}
			row := ReferenceRow{c.name, c.unit, statistics[c.kind], setNames(c.sets), c.shown, c.title()}
			if f == queues && i == placedAt {
				row.Metric, row.Dimensions = c.name+"LOCATION", setNames(queueOnly)
			}
			if label, value, ok := strings.Cut(c.label, "="); ok {
				row.Prometheus += "{" + label + `="` + value + `"}`
			}
			row.Help = strings.ToUpper(c.help[:1]) + c.help[1:] + "."
			rows = append(rows, row)
		}
	}
	return rows
}

// statistics are those of a kind that are meaningful.
var statistics = map[kind]string{
	gauge: "Average, Minimum, Maximum", counter: "Sum", ratio: "Average, Minimum, Maximum",
	duration: "Average, Minimum, Maximum, SampleCount, percentiles",
}

func setNames(sets []set) string {
	var names []string
	for _, s := range sets {
		names = append(names, "("+strings.Join(dimensions[s], ", ")+")")
	}
	return strings.Join(names, " ")
}
