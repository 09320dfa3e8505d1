package scaling

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
)

// start is the beginning of a minute.
var start = event.At(time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC))

// A run steps a location whose decisions are carried out at once.
type run struct {
	Location
	in  Input
	now event.Time
}

// during steps for a duration, and returns the desired numbers that were decided, in order.
func (r *run) pass(d time.Duration) (decided []int32) {
	for end := r.now.Add(d); r.now < end; r.now = r.now.Add(Interval) {
		if n, ok := r.step(); ok {
			decided = append(decided, n)
		}
	}
	return decided
}

func (r *run) step() (int32, bool) {
	d, ok := r.Step(r.now, r.in)
	if !ok {
		return 0, false
	}
	r.in.Desired = d.Desired
	for _, p := range r.in.Policies {
		if slices.Contains(d.Acted, p.Name) {
			p.Acts = []catalog.ScalingAct{{Location: r.in.Location, At: r.now}}
		}
	}
	return d.Desired, true
}

// a fleet of instances that host 4 game sessions each.
func newRun(desired, maximum int32, policies ...*catalog.ScalingPolicy) *run {
	return &run{now: start, in: Input{Location: "eu", Max: maximum, Desired: desired, Sessions: 4, Policies: policies}}
}

func target(percent float64) *catalog.ScalingPolicy {
	return &catalog.ScalingPolicy{Name: "target", Rule: catalog.ScalingRule{
		Metric: "PercentAvailableGameSessions", Target: percent}}
}

func rule(name, metric, comparison string, threshold float64, periods int32, adjust string,
	by int32) *catalog.ScalingPolicy {
	return &catalog.ScalingPolicy{Name: name, Rule: catalog.ScalingRule{Metric: metric, Comparison: comparison,
		Threshold: threshold, Periods: periods, AdjustmentType: adjust, Adjustment: by}}
}

func TestNeeded(t *testing.T) {
	for _, c := range []struct {
		sessions, perInstance int
		target                float64
		want                  int32
	}{
		{0, 4, 20, 1}, {1, 4, 20, 1}, {3, 4, 20, 1}, {4, 4, 20, 2}, {16, 4, 20, 5}, {17, 4, 20, 6}, {40, 4, 20, 13},
		{40, 1, 50, 80}, {8, 8, 0.5, 2}, {1, 50, 99.9, 20},
	} {
		if got := Needed(c.sessions, c.perInstance, c.target); got != c.want {
			t.Errorf("Needed(%d, %d, %v) = %d, want %d", c.sessions, c.perInstance, c.target, got, c.want)
		}
	}
}

// free reports whether the target is kept.
func (r *run) free(percent float64) bool {
	capacity := float64(r.in.Desired) * float64(r.in.Sessions)
	return r.in.Desired == r.in.Max || 100*(capacity-float64(r.in.Load.sessions())) >= percent*capacity
}

// A ramp from 0 to 40 game sessions and back keeps the target after each step.
func TestTargetFollowsARamp(t *testing.T) {
	for _, maximum := range []int32{100, 13, 7} {
		r := newRun(1, maximum, target(20))
		highest := int32(0)
		for _, sessions := range ramp(40) {
			r.in.Load.Active = sessions
			r.pass(10 * time.Second)
			if !r.free(20) {
				t.Fatalf("%d instances for %d game sessions", r.in.Desired, sessions)
			}
			highest = max(highest, r.in.Desired)
		}
		if want := min(13, maximum); highest != want {
			t.Errorf("at most %d instances, want %d", highest, want)
		}
		r.pass(12 * time.Minute)
		if r.in.Desired != 1 {
			t.Errorf("%d instances remain without game sessions, want 1", r.in.Desired)
		}
	}
}

func ramp(to int) (sessions []int) {
	for n := range to {
		sessions = append(sessions, n)
	}
	for n := to; n >= 0; n-- {
		sessions = append(sessions, n)
	}
	return sessions
}

// Under constant load there is at most one change up and one change down.
func TestTargetDoesNotOscillate(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		r := newRun(1+random.Int32N(30), 1+random.Int32N(60), target(float64(1+random.IntN(98))))
		r.in.Desired = min(r.in.Desired, r.in.Max)
		r.in.Sessions = 1 + random.IntN(50)
		r.in.Load.Active = random.IntN(200)
		changes := r.pass(time.Hour)
		if len(changes) > 1 {
			t.Fatalf("%+v: changed to %v under constant load", r.in, changes)
		}
		if !r.free(r.in.Policies[0].Rule.Target) {
			t.Fatalf("%+v: the target is not kept", r.in)
		}
	}
}

// A short dip does not remove instances, and what is removed leaves as many as the dip has needed at most.
func TestTargetHoldsBeforeItRemoves(t *testing.T) {
	r := newRun(10, 20, target(20))
	r.in.Load.Active = 10 // needs 4
	if got := r.pass(4*time.Minute + 50*time.Second); got != nil {
		t.Fatalf("changed to %v before five minutes", got)
	}
	r.in.Load.Active = 32 // needs 10
	r.pass(Interval)
	r.in.Load.Active = 10
	if got := r.pass(4*time.Minute + 50*time.Second); got != nil {
		t.Fatalf("changed to %v although the load was back", got)
	}
	r.in.Load.Active = 20 // needs 7
	if got := r.pass(time.Minute); !slices.Equal(got, []int32{7}) {
		t.Fatalf("changed to %v, want one change to 7", got)
	}
}

func TestTargetRestsAtZero(t *testing.T) {
	r := newRun(0, 20, target(20))
	r.in.Load.Active = 4 // on instances that are being ended
	if got := r.pass(time.Hour); got != nil {
		t.Errorf("changed to %v", got)
	}
}

// The two rules of the API reference's example.
func TestRules(t *testing.T) {
	less := func() *catalog.ScalingPolicy {
		return rule("less", "PercentIdleInstances", "GreaterThanThreshold", 20, 15, percentChange, -10)
	}
	more := rule("more", "AvailableGameSessions", "LessThanOrEqualToThreshold", 2, 1, "ChangeInCapacity", 2)
	for _, c := range []struct {
		name   string
		policy *catalog.ScalingPolicy
		load   Load
		during time.Duration
		want   []int32
	}{
		{"before 15 minutes", less(), Load{Instances: 10, IdleInstances: 3}, 15 * time.Minute, nil},
		{"after 15 minutes", less(), Load{Instances: 10, IdleInstances: 3}, 15*time.Minute + Interval, []int32{27}},
		{"again after 10 minutes", less(), Load{Instances: 10, IdleInstances: 3}, 25*time.Minute + Interval,
			[]int32{27, 24}},
		{"at the threshold", less(), Load{Instances: 10, IdleInstances: 2}, time.Hour, nil},
		{"without instances", less(), Load{}, time.Hour, nil},
		{"each minute but the wait", more, Load{Available: 2}, 11*time.Minute + Interval, []int32{32, 34}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRun(30, 100, c.policy)
			r.in.Load = c.load
			if got := r.pass(c.during); !slices.Equal(got, c.want) {
				t.Errorf("changed to %v, want %v", got, c.want)
			}
		})
	}
}

func TestRuleCountsConsecutiveWholeMinutes(t *testing.T) {
	policy := rule("more", "CurrentPlayerSessions", "GreaterThanOrEqualToThreshold", 100, 3, "ChangeInCapacity", 1)
	r := newRun(1, 9, policy)
	r.now = start.Add(30 * time.Second) // half a minute does not count
	r.in.Load.Players = 100
	if got := r.pass(3*time.Minute + 30*time.Second); got != nil {
		t.Fatalf("changed to %v within three whole minutes", got)
	}
	if got := r.pass(Interval); !slices.Equal(got, []int32{2}) {
		t.Fatalf("changed to %v, want 2", got)
	}
	// One minute whose average is below restarts the count.
	policy.Acts = nil
	r.in.Load.Players = 99
	r.pass(time.Minute)
	r.in.Load.Players = 100
	if got := r.pass(2*time.Minute + 50*time.Second); got != nil {
		t.Fatalf("changed to %v although a minute was below", got)
	}
	// A changed rule counts from its next whole minute on.
	policy.Rule.Adjustment = 3
	if got := r.pass(3 * time.Minute); got != nil {
		t.Fatalf("changed to %v although the rule is new", got)
	}
	// Minutes without steps are a gap.
	r.now = r.now.Add(3 * time.Minute)
	if got := r.pass(3 * time.Minute); got != nil {
		t.Fatalf("changed to %v although minutes are missing", got)
	}
	if got := r.pass(time.Minute); !slices.Equal(got, []int32{5}) {
		t.Fatalf("changed to %v, want 5", got)
	}
}

func TestRuleComparesTheAverage(t *testing.T) {
	r := newRun(1, 9, rule("more", "QueueDepth", "GreaterThanThreshold", 5, 1, exactCapacity, 4))
	for _, depth := range []int{0, 0, 0, 12, 12, 12} { // 6 on average
		r.in.Load.QueueDepth = depth
		r.pass(Interval)
	}
	r.in.Load.QueueDepth = 0
	if got := r.pass(Interval); !slices.Equal(got, []int32{4}) {
		t.Errorf("changed to %v, want 4", got)
	}
}

// Rules that act in one minute act in the order of their names, and only then the limits apply.
func TestRulesInOneMinute(t *testing.T) {
	always := func(name, adjust string, by int32) *catalog.ScalingPolicy {
		return rule(name, "IdleInstances", "GreaterThanOrEqualToThreshold", 0, 1, adjust, by)
	}
	for _, c := range []struct {
		name     string
		policies []*catalog.ScalingPolicy
		want     []int32
	}{
		{"sum", []*catalog.ScalingPolicy{always("a", "ChangeInCapacity", 3), always("b", percentChange, 50)},
			[]int32{8}},
		{"order", []*catalog.ScalingPolicy{always("a", percentChange, 50), always("b", "ChangeInCapacity", 3)},
			[]int32{6}},
		{"over the limit and back", []*catalog.ScalingPolicy{
			always("a", exactCapacity, 50), always("b", "ChangeInCapacity", -44)}, []int32{6}},
		{"the limits", []*catalog.ScalingPolicy{always("a", "ChangeInCapacity", 50)}, []int32{10}},
		{"below zero", []*catalog.ScalingPolicy{always("a", "ChangeInCapacity", -50)}, []int32{1}},
		{"at least one", []*catalog.ScalingPolicy{always("a", percentChange, 1)}, []int32{3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRun(2, 10, c.policies...)
			r.in.Min = 1
			if got := r.pass(2 * time.Minute); !slices.Equal(got, c.want) {
				t.Errorf("changed to %v, want %v", got, c.want)
			}
		})
	}
}

// A rule that could not change anything does not begin its wait.
func TestRuleAtTheLimitDoesNotWait(t *testing.T) {
	r := newRun(4, 4, rule("more", "QueueDepth", "GreaterThanThreshold", 0, 1, "ChangeInCapacity", 1))
	r.in.Load.QueueDepth = 1
	r.pass(5 * time.Minute)
	r.in.Max = 8
	if got := r.pass(time.Minute); !slices.Equal(got, []int32{5}) {
		t.Errorf("changed to %v, want 5", got)
	}
}

func TestStoppedLocation(t *testing.T) {
	r := newRun(4, 9, target(20), rule("more", "QueueDepth", "GreaterThanThreshold", 0, 1, "ChangeInCapacity", 1))
	r.in.Stopped, r.in.ZeroIdle = true, 5*time.Minute
	r.in.Load = Load{QueueDepth: 3}
	if got := r.pass(time.Hour); got != nil {
		t.Errorf("changed to %v", got)
	}
}

func TestToAndFromZero(t *testing.T) {
	r := newRun(1, 3, target(20))
	r.in.ZeroIdle = 5 * time.Minute
	r.in.Load.Active = 1
	if got := r.pass(time.Hour); got != nil {
		t.Fatalf("changed to %v with a game session", got)
	}
	r.in.Load.Active = 0
	if got := r.pass(4*time.Minute + 50*time.Second); got != nil {
		t.Fatalf("changed to %v before five minutes", got)
	}
	if got := r.pass(time.Hour); !slices.Equal(got, []int32{0}) {
		t.Fatalf("changed to %v, want 0 once", got)
	}
	r.in.Load.Requested = true
	if got, _ := r.step(); got != 1 {
		t.Fatalf("changed to %d with a request, want 1 at once", got)
	}
	r.in.Load.Requested = false
	if got := r.pass(4*time.Minute + 50*time.Second); got != nil {
		t.Fatalf("changed to %v although there was a request", got)
	}
	if got := r.pass(time.Minute); !slices.Equal(got, []int32{0}) {
		t.Fatalf("changed to %v, want 0 again", got)
	}
	r.in.ZeroIdle, r.in.Load.Requested = 0, true // MANUAL
	if got := r.pass(time.Hour); got != nil {
		t.Errorf("changed to %v by itself", got)
	}
}

// All names of the API model are known.
func TestNames(t *testing.T) {
	for name, metric := range metrics {
		load := Load{Instances: 4, IdleInstances: 1, Activating: 2, Active: 3, Available: 5, Activatable: 2, Players: 7,
			MaximumPlayers: 20, QueueDepth: 9, QueueWait: 90 * time.Second}
		want := [metricCount]float64{activatingGameSessions: 2, activeGameSessions: 3, activeInstances: 3,
			availableGameSessions: 5, availablePlayerSessions: 13, currentPlayerSessions: 7, idleInstances: 1,
			percentAvailableGameSessions: 50, percentIdleInstances: 25, queueDepth: 9, waitTimeMetric: 90,
			concurrentActivatableGameSessions: 2}
		if v, ok := load.value(metric); !ok || v != want[metric] {
			t.Errorf("%s = %v, want %v", name, v, want[metric])
		}
	}
}
