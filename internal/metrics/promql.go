package metrics

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// labelOf has the label of Prometheus of each dimension that has one.
var labelOf = map[string]string{"FleetId": "fleet", "Location": "location", "QueueName": "queue",
	"ConfigurationName": "configuration"}

// A selector writes PromQL of the columns of an entity.
type selector struct {
	family *family
	labels []string // fleet="fleet-1"
	window string   // of increases
}

// PromQL returns the query of Prometheus for the values that a graph shows of a series, the sums of what is counted and
// otherwise averages; "" if Prometheus has not got them.
func PromQL(s Series, period time.Duration) string {
	of, at, ok := find(s)
	if !ok || of[0].set == byRule {
		return ""
	}
	q := selector{family: of[0].family(), window: fmt.Sprintf("%ds", int(max(period, time.Minute)/time.Second))}
	shown := labels[q.family.columns[at].shownIn(q.family)]
	for _, d := range of[0].dimensions() {
		if !slices.Contains(shown, labelOf[d.Name]) {
			return ""
		}
		q.labels = append(q.labels, fmt.Sprintf("%s=%q", labelOf[d.Name], d.Value))
	}
	return q.expression(at)
}

func (q *selector) expression(at int) string {
	if q.family == fleets {
		switch at {
		case percentIdleInstances:
			return "100 * " + q.sum(idleInstances) + " / " + q.sum(activeInstances)
		case percentHealthyServerProcesses:
			return "100 * " + q.sum(healthyServerProcesses) + " / " + q.sum(activeServerProcesses)
		case percentAvailableGameSessions:
			return "100 * " + q.sum(availableGameSessions) + " / (" + q.sum(activeGameSessions) + " + " +
				q.sum(availableGameSessions) + " + " + q.sum(activeServerProcesses) + " - " +
				q.sum(healthyServerProcesses) + ")"
		case gameSessionInterruptions:
			return q.increase(gameSessionEnds, `reason=~"crashed|unhealthy"`)
		}
	}
	c := &q.family.columns[at]
	switch {
	case c.shown == "":
		return ""
	case c.kind == counter:
		return q.increase(c.shown, quoted(c.label))
	case c.kind == duration:
		return q.increase(c.shown+"_sum", quoted(c.label)) + " / " + q.increase(c.shown+"_count", quoted(c.label))
	}
	return q.sum(at)
}

// sum returns the sum of a gauge over all nodes.
func (q *selector) sum(at int) string {
	c := &q.family.columns[at]
	return "sum(" + q.vector(c.shown, quoted(c.label)) + ")"
}

func (q *selector) increase(name, own string) string {
	return "sum(increase(" + q.vector(name, own) + "[" + q.window + "]))"
}

func (q *selector) vector(name, own string) string {
	all := slices.Clone(q.labels)
	if own != "" {
		all = append(all, own)
	}
	return name + "{" + strings.Join(all, ",") + "}"
}

// quoted returns a label of the catalogue as PromQL has it.
func quoted(label string) string {
	name, value, ok := strings.Cut(label, "=")
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s=%q", name, value)
}
