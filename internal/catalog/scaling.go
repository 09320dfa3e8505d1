package catalog

import (
	"math"
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// ScalingLevel is the feature level from which fleets have a capacity that changes, scaling policies and port settings.
const ScalingLevel = 9

// A ScalingPolicy changes the desired number of instances at all locations of a fleet.
type ScalingPolicy struct {
	Fleet string       `cbor:"1,keyasint,omitempty"`
	Name  string       `cbor:"2,keyasint,omitempty"`
	Acts  []ScalingAct `cbor:"3,keyasint,omitempty"` // when the policy has last changed a location, by location
	Rule  ScalingRule  `cbor:"4,keyasint"`
}

// A ScalingRule is what a scaling policy does. It follows a target if Target is above 0, and is a rule otherwise.
// Source: API reference, ScalingPolicy.
type ScalingRule struct {
	Metric         string  `cbor:"1,keyasint,omitempty"` // a MetricName of the API
	Target         float64 `cbor:"2,keyasint,omitempty"` // of PercentAvailableGameSessions; above 0 and below 100
	Comparison     string  `cbor:"3,keyasint,omitempty"` // a ComparisonOperatorType
	Threshold      float64 `cbor:"4,keyasint,omitempty"`
	Periods        int32   `cbor:"5,keyasint,omitempty"` // minutes for which the comparison must hold
	AdjustmentType string  `cbor:"6,keyasint,omitempty"` // a ScalingAdjustmentType
	Adjustment     int32   `cbor:"7,keyasint,omitempty"`
}

// A ScalingAct is the last change of a location by a scaling policy.
type ScalingAct struct {
	Location string     `cbor:"1,keyasint,omitempty"`
	At       event.Time `cbor:"2,keyasint,omitempty"`
}

// Acted returns when the policy has last changed a location; zero: never.
func (p *ScalingPolicy) Acted(location string) event.Time {
	for _, a := range p.Acts {
		if a.Location == location {
			return a.At
		}
	}
	return 0
}

// PutScalingPolicy creates a scaling policy of an EC2-type fleet, or replaces the one with its name. NotFound;
// InvalidRequest for an Anywhere fleet, one that is in ERROR or being deleted, an incomplete or contradictory policy,
// a second target, and too many policies (the API models no LimitExceeded here).
type PutScalingPolicy struct {
	Fleet string      `cbor:"1,keyasint,omitzero"`
	Name  string      `cbor:"2,keyasint,omitzero"`
	Rule  ScalingRule `cbor:"3,keyasint"`
}

// DeleteScalingPolicy deletes a scaling policy. NotFound.
type DeleteScalingPolicy struct {
	Fleet string `cbor:"1,keyasint,omitzero"`
	Name  string `cbor:"2,keyasint,omitzero"`
}

// ScalingPolicyPut follows PutScalingPolicy.
type ScalingPolicyPut struct {
	Fleet string      `cbor:"1,keyasint,omitempty"`
	Name  string      `cbor:"2,keyasint,omitempty"`
	Rule  ScalingRule `cbor:"3,keyasint"`
}

// ScalingPolicyDeleted follows DeleteScalingPolicy.
type ScalingPolicyDeleted struct {
	Fleet string `cbor:"1,keyasint,omitempty"`
	Name  string `cbor:"2,keyasint,omitempty"`
}

// ScalingPolicyActed follows Scale: a policy has changed a location.
type ScalingPolicyActed struct {
	Fleet    string     `cbor:"1,keyasint,omitempty"`
	Name     string     `cbor:"2,keyasint,omitempty"`
	Location string     `cbor:"3,keyasint,omitempty"`
	At       event.Time `cbor:"4,keyasint,omitempty"`
}

func (c PutScalingPolicy) decide(s *State, _ event.Time) ([]Event, error) {
	f, err := s.managedFleet(c.Fleet)
	switch {
	case err != nil:
		return nil, err
	case f.Status == StatusError || f.Status == StatusDeleting:
		return nil, fault.New(fault.InvalidRequest, "Fleet %s is %s and cannot get a scaling policy", c.Fleet, f.Status)
	}
	if err := c.Rule.check(); err != nil {
		return nil, err
	}
	if old, ok := s.scalingPolicies.Get(join(c.Fleet, c.Name)); ok && old.Rule == c.Rule {
		return nil, nil
	}
	others := 0
	for _, p := range s.ScalingPolicies(c.Fleet) {
		if p.Name == c.Name {
			continue
		}
		others++
		if c.Rule.Target > 0 && p.Rule.Target > 0 {
			return nil, fault.New(fault.InvalidRequest, "Fleet %s has the target-based policy %q. A fleet can have "+
				"one: change or delete that one.", c.Fleet, p.Name)
		}
	}
	if others >= s.limits.ScalingPoliciesPerFleet {
		return nil, fault.New(fault.InvalidRequest, "A fleet can have at most %d scaling policies",
			s.limits.ScalingPoliciesPerFleet)
	}
	return []Event{&ScalingPolicyPut{Fleet: c.Fleet, Name: c.Name, Rule: c.Rule}}, nil
}

func (c DeleteScalingPolicy) decide(s *State, _ event.Time) ([]Event, error) {
	if _, err := s.LiveFleet(c.Fleet); err != nil {
		return nil, err
	}
	if _, ok := s.scalingPolicies.Get(join(c.Fleet, c.Name)); !ok {
		return nil, fault.New(fault.NotFound, "Fleet %s has no scaling policy %q", c.Fleet, c.Name)
	}
	return []Event{&ScalingPolicyDeleted{Fleet: c.Fleet, Name: c.Name}}, nil
}

// targetMetric is the metric of target-based policies. Source: API reference, PutScalingPolicy.
const targetMetric = "PercentAvailableGameSessions"

// maxPeriods is the longest time for which a rule can count, in minutes: a day.
const maxPeriods = 24 * 60

// check rejects incomplete and contradictory rules; the API model has checked the names.
func (r ScalingRule) check() error {
	switch {
	case r.Target != 0 && (r.Metric != targetMetric || r != ScalingRule{Metric: r.Metric, Target: r.Target}):
		return fault.New(fault.InvalidRequest, "A target-based policy has MetricName %s and a TargetConfiguration, "+
			"and nothing else", targetMetric)
	case r.Target < 0 || r.Target >= 100 || math.IsNaN(r.Target):
		return fault.New(fault.InvalidRequest, "TargetValue is %v; it must be above 0 and below 100 percent", r.Target)
	case r.Target > 0:
		return nil
	case r.Comparison == "" || r.Periods < 1 || r.AdjustmentType == "":
		return fault.New(fault.InvalidRequest, "A rule-based policy has MetricName, ComparisonOperator, Threshold, "+
			"EvaluationPeriods, ScalingAdjustmentType and ScalingAdjustment, and no TargetConfiguration. For a "+
			"target, set PolicyType to TargetBased.")
	case r.Periods > maxPeriods:
		return fault.New(fault.InvalidRequest, "EvaluationPeriods is %d; the maximum is %d minutes", r.Periods,
			maxPeriods)
	case math.IsNaN(r.Threshold) || math.IsInf(r.Threshold, 0):
		return fault.New(fault.InvalidRequest, "Threshold must be a number")
	case r.AdjustmentType == "ExactCapacity" && r.Adjustment < 0:
		return fault.New(fault.InvalidRequest, "ScalingAdjustment is %d; an exact capacity is not negative",
			r.Adjustment)
	}
	return nil
}

func (e *ScalingPolicyPut) apply(s *State) {
	p := &ScalingPolicy{Fleet: e.Fleet, Name: e.Name, Rule: e.Rule}
	s.scalingPolicies.Set(join(e.Fleet, e.Name), p)
}

func (e *ScalingPolicyDeleted) apply(s *State) { s.scalingPolicies.Delete(join(e.Fleet, e.Name)) }

func (e *ScalingPolicyActed) apply(s *State) {
	old, ok := s.scalingPolicies.Get(join(e.Fleet, e.Name))
	if !ok {
		return
	}
	p := *old
	p.Acts = slices.DeleteFunc(slices.Clone(old.Acts), func(a ScalingAct) bool { return a.Location == e.Location })
	p.Acts = append(p.Acts, ScalingAct{e.Location, e.At})
	s.scalingPolicies.Set(join(e.Fleet, e.Name), &p)
}

// ScalingPoliciesAfter returns scaling policies of a fleet with names after the given one, by name. A limit below 1 is
// none; more reports that there are further ones.
func (s *State) ScalingPoliciesAfter(fleet, after string, limit int) (policies []*ScalingPolicy, more bool) {
	return page(&s.scalingPolicies, join(fleet, ""), after, limit, every)
}

// ScalingPolicies returns the scaling policies of a fleet by name.
func (s *State) ScalingPolicies(fleet string) []*ScalingPolicy {
	return entries(&s.scalingPolicies, fleet)
}
