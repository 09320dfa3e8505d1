package console

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/wire"
)

// A capacityView is the tab with the instances of an EC2-type fleet.
type capacityView struct {
	Locations []locationCapacity
	Policies  []scalingPolicy
	Target    targetForm
	Listed    bool // the person may read the instances
	Instances []control.InstanceRow
	More      bool // there are further instances
	Shortages []control.ShortageRow
	Versions  []control.BuildVersion // builds besides its own
}

// A locationCapacity is the capacity of a fleet at a location.
type locationCapacity struct {
	Location string
	Status   wire.FleetStatus
	Stopped  bool // scaling policies have no effect
	Counts   wire.EC2InstanceCounts
	Zero     int32 // minutes without game sessions after which it has no instances; 0: it never scales to zero

	Min, Desired, Max string // in the form
	Typed             bool   // they were typed
}

// A targetForm is what was typed as a policy that keeps a share of the game servers free.
type targetForm struct{ Policy, Percent string }

type scalingPolicy struct{ wire.ScalingPolicy }

// Rule is when the policy changes the capacity.
func (p scalingPolicy) Rule() string {
	if t := p.TargetConfiguration; t != nil {
		return fmt.Sprintf("%s stays at %g", p.MetricName, t.TargetValue.Or(0))
	}
	return fmt.Sprintf("%s %s %g for %d min: %s %d", p.MetricName, p.ComparisonOperator, p.Threshold.Or(0),
		p.EvaluationPeriods.Or(0), p.ScalingAdjustmentType, p.ScalingAdjustment.Or(0))
}

// capacityParts has what the tab shows.
func (v *visit) capacityParts(b *fleetBody) []part {
	c := &b.Capacity
	parts := []part{
		{"Capacity", func() (err error) {
			c.Locations, err = v.capacityOf(b.FleetId)
			return err
		}},
		{"Scaling policies", func() error {
			out, err := call(v, wire.OpDescribeScalingPolicies, &wire.DescribeScalingPoliciesInput{FleetId: b.FleetId,
				Limit: wire.Some[int32](pageSize)})
			if err != nil {
				return err
			}
			for _, p := range out.ScalingPolicies {
				c.Policies = append(c.Policies, scalingPolicy{p})
			}
			return nil
		}},
	}
	if v.may("muster:BuildRead", []string{"fleet/" + b.FleetId}) {
		parts = append(parts, part{"Further builds", func() error {
			var all control.BuildVersions
			err := v.request("GET", in("fleets", b.FleetId, "builds"), nil, &all)
			c.Versions = all.Versions
			return err
		}})
	}
	if c.Listed = v.may("muster:MachineRead", nil); c.Listed {
		parts = append(parts, part{"Instances", func() error {
			var list control.InstanceList
			path := v.rowsOf("instances") + "&" + url.Values{"fleet": {b.FleetId}}.Encode()
			err := v.request("GET", path, nil, &list)
			c.Instances, c.More, c.Shortages = list.Instances, list.NextToken != "", list.Shortages
			return err
		}})
	}
	return parts
}

// capacityOf returns the capacity of the locations of a fleet.
func (v *visit) capacityOf(id string) (all []locationCapacity, err error) {
	out, err := call(v, wire.OpDescribeFleetLocationAttributes, &wire.DescribeFleetLocationAttributesInput{
		FleetId: id, Limit: wire.Some[int32](pageSize)})
	if err != nil {
		return nil, err
	}
	for _, l := range out.LocationAttributes {
		out, err := call(v, wire.OpDescribeFleetLocationCapacity, &wire.DescribeFleetLocationCapacityInput{FleetId: id,
			Location: l.LocationState.Location})
		if err != nil {
			return nil, err
		}
		one := locationCapacity{Location: l.LocationState.Location, Status: l.LocationState.Status,
			Stopped: len(l.StoppedActions) > 0}
		if c := out.FleetCapacity; c != nil && c.InstanceCounts != nil {
			one.Counts = *c.InstanceCounts
			if z := c.ManagedCapacityConfiguration; z != nil {
				one.Zero = z.ScaleInAfterInactivityMinutes.Or(0)
			}
		}
		for to, n := range map[*string]wire.Opt[int32]{&one.Min: one.Counts.MINIMUM, &one.Max: one.Counts.MAXIMUM,
			&one.Desired: one.Counts.DESIRED} {
			*to = strconv.Itoa(int(n.Or(0)))
		}
		all = append(all, one)
	}
	return all, nil
}

// changeCapacity stores the numbers of instances of a location.
func changeCapacity(v *visit) error {
	return v.changeLocation("capacity-changed", func(b *fleetBody) error {
		in := &wire.UpdateFleetCapacityInput{FleetId: b.FleetId, Location: v.form("location")}
		var err error
		for name, to := range map[string]*wire.Opt[int32]{"min": &in.MinSize, "max": &in.MaxSize,
			"desired": &in.DesiredInstances} {
			if *to, err = v.number(name, "Capacity: type numbers of instances."); err != nil {
				return err
			}
		}
		_, err = call(v, wire.OpUpdateFleetCapacity, in)
		return err
	})
}

// changeActions stops or starts the scaling of a location.
func changeActions(v *visit) error {
	actions, location := []wire.FleetAction{wire.FleetActionAutoScaling}, v.form("location")
	if v.form("to") == "start" {
		return v.changeLocation("scaling-started", func(b *fleetBody) error {
			_, err := call(v, wire.OpStartFleetActions, &wire.StartFleetActionsInput{FleetId: b.FleetId,
				Actions: actions, Location: location})
			return err
		})
	}
	return v.changeLocation("scaling-stopped", func(b *fleetBody) error {
		_, err := call(v, wire.OpStopFleetActions, &wire.StopFleetActionsInput{FleetId: b.FleetId, Actions: actions,
			Location: location})
		return err
	})
}

// putTarget stores a policy that keeps a share of the places for game sessions free.
func putTarget(v *visit) error {
	return v.changeLocation("target-stored", func(b *fleetBody) error {
		b.Capacity.Target = targetForm{v.form("policy"), v.form("percent")}
		percent, err := strconv.ParseFloat(strings.TrimSpace(v.form("percent")), 64)
		if err != nil {
			return invalid("Percent: type a number.")
		}
		_, err = call(v, wire.OpPutScalingPolicy, &wire.PutScalingPolicyInput{FleetId: b.FleetId,
			Name: v.form("policy"), MetricName: wire.MetricNamePercentAvailableGameSessions,
			PolicyType:          wire.PolicyTypeTargetBased,
			TargetConfiguration: &wire.TargetConfiguration{TargetValue: wire.Some(percent)}})
		return err
	})
}

// deleteScalingPolicy deletes a scaling policy.
func deleteScalingPolicy(v *visit) error {
	return v.changeLocation("scaling-policy-deleted", func(b *fleetBody) error {
		_, err := call(v, wire.OpDeleteScalingPolicy, &wire.DeleteScalingPolicyInput{FleetId: b.FleetId,
			Name: v.form("policy")})
		return err
	})
}

// detachBuild detaches a build that the fleet has besides its own.
func detachBuild(v *visit) error {
	return v.changeLocation("build-detached", func(b *fleetBody) error {
		return v.request("DELETE", in("fleets", b.FleetId, "builds", v.form("version")), nil, nil)
	})
}

// changeLocation changes something of a fleet or of one of its locations. The form that was refused has what was typed.
func (v *visit) changeLocation(done string, change func(*fleetBody) error) error {
	b, err := v.fleet("capacity")
	if err != nil {
		return err
	}
	if err := change(b); err != nil {
		for i := range b.Capacity.Locations {
			l := &b.Capacity.Locations[i]
			if l.Location == v.form("location") && v.r.PostForm.Has("desired") {
				l.Min, l.Desired, l.Max, l.Typed = v.form("min"), v.form("desired"), v.form("max"), true
			}
		}
		return v.showFleet(b, err)
	}
	return v.redirect("/console/fleets/" + url.PathEscape(b.FleetId) + "?tab=capacity&done=" + done)
}
