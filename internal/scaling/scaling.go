// Package scaling decides how many instances a location of a fleet should have: by scaling policies, and to and from
// zero. It is pure: the caller passes the live numbers of the location and the time, and carries out the decision.
//
// Target tracking keeps a share of the game sessions that the instances can host free. It counts what the runtime
// configuration specifies, not the processes that are ready: otherwise processes that crash would add instances. It
// adds instances at once, and removes them when for holdTime fewer have been enough. At zero instances it rests, and it
// keeps the last one: only the strategy for zero, a rule or UpdateFleetCapacity lead there and back.
//
// A rule compares the average of a metric over each whole minute. The minutes must be consecutive and complete; a
// minute in which the metric has no value counts as one in which the comparison does not hold.
package scaling

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
)

const (
	// Interval is the time between two steps of a location.
	Interval = 10 * time.Second

	// holdTime is how long fewer instances must be enough until target tracking removes some.
	holdTime = 5 * time.Minute

	// waitTime is how long a rule does not act at a location after it has. Source: developer guide of 2022.
	waitTime = 10 * time.Minute
)

// An Input is a location of a fleet as it is.
type Input struct {
	Location string
	Min, Max int32 // limits of Desired
	Desired  int32
	Stopped  bool          // AUTO_SCALING is suspended
	ZeroIdle time.Duration // how long the location has instances without activity; 0: it does not scale to zero
	Sessions int           // that an instance can host by the runtime configuration
	Policies []*catalog.ScalingPolicy
	Load     Load
}

// A Load is the live numbers of a location.
type Load struct {
	Instances      int // that are ACTIVE
	IdleInstances  int // of them: without a game session
	Activating     int // game sessions
	Active         int // game sessions
	Available      int // game sessions that ready processes can host
	Activatable    int // of them: within the limit for activations
	Players        int // player sessions, active and reserved
	MaximumPlayers int // of all game sessions
	QueueDepth     int // placements that wait and prefer this fleet
	QueueWait      time.Duration
	Requested      bool // a placement waits that this location could host
}

// A Decision is a new desired number of instances.
type Decision struct {
	Desired int32
	Reason  string   // for the fleet event
	Acted   []string // rules whose wait begins
}

// A Location keeps what the decisions about a location depend on besides its Input. The zero value is one without past:
// minutes and times begin with its first Step. It is lost when another node leads; then they begin again.
type Location struct {
	minute  event.Time // the beginning of the minute that is being averaged
	whole   bool       // it has been observed from its beginning
	sums    [metricCount]average
	streaks map[string]streak // by policy

	fewer  event.Time // since when target tracking needs fewer instances; 0: it does not
	peak   int32      // the most that it has needed since then
	active event.Time // when there was last a game session or a request, or no instance
}

// A streak is the number of whole minutes in which a rule's comparison held.
type streak struct {
	rule    catalog.ScalingRule
	minutes int32
}

// Requested is the reason of a decision that scales a location from zero.
const Requested = "a game session was requested"

// Step returns the decision at a time, if there is one. It must be called at least once a minute; at intervals of
// Interval the averages are exact.
func (l *Location) Step(now event.Time, in Input) (Decision, bool) {
	l.observe(now, in)
	ended := l.endMinute(now, in)
	l.add(in.Load)
	if in.Stopped {
		l.fewer = 0
		return Decision{}, false
	}
	if d, ok := l.zero(now, in); ok {
		return d, true
	}
	d := Decision{Desired: in.Desired}
	var reasons []string
	for _, p := range in.Policies {
		switch {
		case p.Rule.Target > 0:
		case slices.Contains(ended, p.Name) && now.Sub(p.Acted(in.Location)) >= waitTime:
			d.Desired = adjusted(d.Desired, p.Rule)
			d.Acted = append(d.Acted, p.Name)
			reasons = append(reasons, p.Name)
		}
	}
	for _, p := range in.Policies {
		if p.Rule.Target > 0 && l.track(now, p.Rule.Target, in, &d.Desired) {
			reasons = append(reasons, p.Name)
		}
	}
	d.Desired = min(max(d.Desired, in.Min), in.Max)
	if d.Desired == in.Desired {
		return Decision{}, false
	}
	d.Reason = "scaling policy " + strings.Join(reasons, ", ")
	return d, true
}

// observe notes activity.
func (l *Location) observe(now event.Time, in Input) {
	if l.active == 0 || in.Desired == 0 || in.Load.sessions() > 0 || in.Load.Requested {
		l.active = now
	}
}

// zero decides about scaling to and from zero.
func (l *Location) zero(now event.Time, in Input) (Decision, bool) {
	switch {
	case in.ZeroIdle == 0:
		return Decision{}, false
	case in.Desired == 0 && in.Load.Requested && in.Max > 0:
		return Decision{Desired: 1, Reason: Requested}, true
	case in.Desired > 0 && now.Sub(l.active) >= in.ZeroIdle:
		return Decision{Desired: 0, Reason: "there was no game session and no request for one for " +
			in.ZeroIdle.String()}, true
	}
	return Decision{}, false
}

// track changes desired so that target percent of the game sessions are free, and reports whether it did.
func (l *Location) track(now event.Time, target float64, in Input, desired *int32) bool {
	if *desired == 0 || in.Sessions == 0 {
		l.fewer = 0
		return false
	}
	needed := min(max(Needed(in.Load.sessions(), in.Sessions, target), in.Min), in.Max)
	switch {
	case needed > *desired:
		l.fewer = 0
		*desired = needed
		return true
	case needed == *desired:
		l.fewer = 0
		return false
	case l.fewer == 0:
		l.fewer, l.peak = now, needed
		return false
	}
	l.peak = max(l.peak, needed)
	if now.Sub(l.fewer) < holdTime {
		return false
	}
	l.fewer = 0
	*desired = l.peak
	return true
}

// rounding is more than the error of a division: 5.000000001 instances are 5.
const rounding = 1e-9

// Needed returns the number of instances that leave target percent free, each hosting perInstance game sessions; at
// least 1.
func Needed(sessions, perInstance int, target float64) int32 {
	n := math.Ceil(float64(sessions)*100/(float64(perInstance)*(100-target)) - rounding)
	return int32(min(max(n, 1), math.MaxInt32))
}

// adjusted returns the number of instances that a rule leads to; it may be outside of the limits.
func adjusted(desired int32, r catalog.ScalingRule) int32 {
	n := int64(r.Adjustment)
	switch r.AdjustmentType {
	case exactCapacity:
	case percentChange:
		n = int64(desired) + percentOf(int64(desired), n)
	default:
		n += int64(desired)
	}
	return int32(min(max(n, 0), math.MaxInt32))
}

const (
	exactCapacity = "ExactCapacity"
	percentChange = "PercentChangeInCapacity"
)

// percentOf rounds away from zero, to at least 1: a rule that fires has an effect.
func percentOf(n, percent int64) int64 {
	switch product := n * percent; {
	case percent > 0:
		return max(1, (product+99)/100)
	case percent < 0:
		return min(-1, (product-99)/100)
	}
	return 0
}

func (l Load) sessions() int { return l.Activating + l.Active }
