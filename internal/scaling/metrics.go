package scaling

import (
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
)

// The metrics of rules. Source: API model, MetricName.
const (
	activatingGameSessions = iota
	activeGameSessions
	activeInstances
	availableGameSessions
	availablePlayerSessions
	currentPlayerSessions
	idleInstances
	percentAvailableGameSessions
	percentIdleInstances
	queueDepth
	waitTimeMetric
	concurrentActivatableGameSessions
	metricCount
)

var metrics = map[string]int{
	"ActivatingGameSessions":            activatingGameSessions,
	"ActiveGameSessions":                activeGameSessions,
	"ActiveInstances":                   activeInstances,
	"AvailableGameSessions":             availableGameSessions,
	"AvailablePlayerSessions":           availablePlayerSessions,
	"CurrentPlayerSessions":             currentPlayerSessions,
	"IdleInstances":                     idleInstances,
	"PercentAvailableGameSessions":      percentAvailableGameSessions,
	"PercentIdleInstances":              percentIdleInstances,
	"QueueDepth":                        queueDepth,
	"WaitTime":                          waitTimeMetric,
	"ConcurrentActivatableGameSessions": concurrentActivatableGameSessions,
}

// comparisons are the operators of rules. Source: API model, ComparisonOperatorType.
var comparisons = map[string]func(value, threshold float64) bool{
	"GreaterThanOrEqualToThreshold": func(v, t float64) bool { return v >= t },
	"GreaterThanThreshold":          func(v, t float64) bool { return v > t },
	"LessThanThreshold":             func(v, t float64) bool { return v < t },
	"LessThanOrEqualToThreshold":    func(v, t float64) bool { return v <= t },
}

// An average is the average of a metric over a minute.
type average struct {
	sum   float64
	count int
}

// value returns the value of a metric, unless it is a share of nothing.
func (l Load) value(metric int) (v float64, ok bool) {
	switch metric {
	case activatingGameSessions:
		v = float64(l.Activating)
	case activeGameSessions:
		v = float64(l.Active)
	case activeInstances: // those that run a game session, unlike the metric of this name in CloudWatch
		v = float64(l.Instances - l.IdleInstances)
	case availableGameSessions:
		v = float64(l.Available)
	case availablePlayerSessions:
		v = float64(l.MaximumPlayers - l.Players)
	case currentPlayerSessions:
		v = float64(l.Players)
	case idleInstances:
		v = float64(l.IdleInstances)
	case percentAvailableGameSessions:
		return share(l.Available, l.Available+l.sessions())
	case percentIdleInstances:
		return share(l.IdleInstances, l.Instances)
	case queueDepth:
		v = float64(l.QueueDepth)
	case waitTimeMetric:
		v = l.QueueWait.Seconds()
	case concurrentActivatableGameSessions:
		v = float64(l.Activatable)
	}
	return v, true
}

// share returns part of whole in percent.
func share(part, whole int) (percent float64, ok bool) {
	if whole == 0 {
		return 0, false
	}
	return 100 * float64(part) / float64(whole), true
}

// add adds the numbers of a step to the averages of the minute.
func (l *Location) add(load Load) {
	for m := range l.sums {
		if v, ok := load.value(m); ok {
			l.sums[m].sum += v
			l.sums[m].count++
		}
	}
}

// endMinute counts the past minute if it has ended, and returns the names of the rules whose comparison has held for
// long enough.
func (l *Location) endMinute(now event.Time, in Input) (met []string) {
	minute := now - now%event.Time(time.Minute.Milliseconds())
	if minute == l.minute {
		return nil
	}
	next := make(map[string]streak, len(in.Policies))
	for _, p := range in.Policies {
		if p.Rule.Target > 0 {
			continue
		}
		s, known := l.streaks[p.Name]
		if !known || s.rule != p.Rule || minute.Sub(l.minute) != time.Minute || !l.whole {
			next[p.Name] = streak{rule: p.Rule}
			continue
		}
		s.minutes++
		if !l.holds(p.Rule) {
			s.minutes = 0
		}
		next[p.Name] = s
		if s.minutes >= max(1, p.Rule.Periods) {
			met = append(met, p.Name)
		}
	}
	// The first minute counts if it is observed from near its beginning.
	l.whole = now.Sub(minute) < Interval
	l.minute, l.sums, l.streaks = minute, [metricCount]average{}, next
	return met
}

// holds reports whether a rule's comparison holds for the average of the minute.
func (l *Location) holds(r catalog.ScalingRule) bool {
	metric, known := metrics[r.Metric]
	compare, ok := comparisons[r.Comparison]
	if !known || !ok || l.sums[metric].count == 0 {
		return false
	}
	return compare(l.sums[metric].sum/float64(l.sums[metric].count), r.Threshold)
}
