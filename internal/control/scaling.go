package control

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/wire"
)

// UpdateFleetCapacity changes the limits and the desired number of instances of an EC2-type fleet at a location, and
// whether it scales to and from zero.
func (p *Plane) UpdateFleetCapacity(ctx context.Context,
	in *wire.UpdateFleetCapacityInput) (*wire.UpdateFleetCapacityOutput, error) {
	command := catalog.SetCapacity{
		Fleet: fleetID(in.FleetId), Location: cmp.Or(in.Location, p.names.Region),
		Min: given(in.MinSize), Max: given(in.MaxSize), Desired: given(in.DesiredInstances),
		ZeroMinutes: zeroMinutes(in.ManagedCapacityConfiguration), EventID: uuid.NewString(),
	}
	if err := p.Change(ctx, command); err != nil {
		return nil, err
	}
	out := &wire.UpdateFleetCapacityOutput{FleetId: command.Fleet, FleetArn: p.FleetARN(command.Fleet),
		Location: command.Location}
	if l, ok := p.Catalog().FleetLocation(command.Fleet, command.Location); ok {
		out.ManagedCapacityConfiguration = managedCapacity(l.ZeroMinutes)
	}
	return out, nil
}

// defaultZeroMinutes is the default of ScaleInAfterInactivityMinutes. Source: API reference.
const defaultZeroMinutes = 30

// zeroMinutes returns the time after which a location scales to zero; 0: never. It is nil for an unchanged one.
func zeroMinutes(c *wire.ManagedCapacityConfiguration) *int32 {
	if c == nil {
		return nil
	}
	var minutes int32
	if c.ZeroCapacityStrategy == wire.ZeroCapacityStrategyScaleToAndFromZero {
		minutes = c.ScaleInAfterInactivityMinutes.Or(defaultZeroMinutes)
	}
	return &minutes
}

func managedCapacity(minutes int32) *wire.ManagedCapacityConfiguration {
	if minutes == 0 {
		return &wire.ManagedCapacityConfiguration{ZeroCapacityStrategy: wire.ZeroCapacityStrategyManual}
	}
	return &wire.ManagedCapacityConfiguration{
		ZeroCapacityStrategy:          wire.ZeroCapacityStrategyScaleToAndFromZero,
		ScaleInAfterInactivityMinutes: wire.Some(minutes),
	}
}

// PutScalingPolicy creates or replaces a scaling policy, which is in force at all locations of the fleet at once.
func (p *Plane) PutScalingPolicy(ctx context.Context,
	in *wire.PutScalingPolicyInput) (*wire.PutScalingPolicyOutput, error) {
	rule, err := scalingRule(in)
	if err != nil {
		return nil, err
	}
	err = p.Change(ctx, catalog.PutScalingPolicy{Fleet: fleetID(in.FleetId), Name: in.Name, Rule: rule})
	if err != nil {
		return nil, err
	}
	return &wire.PutScalingPolicyOutput{Name: in.Name}, nil
}

// scalingRule converts a policy. The type is optional in the API model: without it a TargetConfiguration decides.
func scalingRule(in *wire.PutScalingPolicyInput) (r catalog.ScalingRule, err error) {
	targeted := in.PolicyType == wire.PolicyTypeTargetBased || in.PolicyType == "" && in.TargetConfiguration != nil
	switch {
	case !targeted && in.TargetConfiguration != nil:
		return r, invalid("TargetConfiguration does not apply to rule-based policies. Set PolicyType to TargetBased.")
	case !targeted && (!in.Threshold.IsSet() || !in.ScalingAdjustment.IsSet()):
		return r, invalid("A rule-based policy needs Threshold and ScalingAdjustment")
	case targeted && in.TargetConfiguration == nil:
		return r, invalid("A target-based policy needs a TargetConfiguration")
	case targeted && in.TargetConfiguration.TargetValue.Or(0) <= 0:
		return r, invalid("TargetValue is %v; it must be above 0 and below 100 percent",
			in.TargetConfiguration.TargetValue.Or(0))
	}
	r = catalog.ScalingRule{
		Metric: string(in.MetricName), Comparison: string(in.ComparisonOperator), Threshold: in.Threshold.Or(0),
		Periods: in.EvaluationPeriods.Or(0), AdjustmentType: string(in.ScalingAdjustmentType),
		Adjustment: in.ScalingAdjustment.Or(0),
	}
	if targeted {
		r.Target = in.TargetConfiguration.TargetValue.Or(0)
	}
	return r, nil
}

// DeleteScalingPolicy deletes a scaling policy of a fleet.
func (p *Plane) DeleteScalingPolicy(ctx context.Context, in *wire.DeleteScalingPolicyInput) error {
	return p.Change(ctx, catalog.DeleteScalingPolicy{Fleet: fleetID(in.FleetId), Name: in.Name})
}

// DescribeScalingPolicies lists the scaling policies of a fleet by name. A policy is in force at all locations, so a
// location only shows in the answer; all policies are ACTIVE, so another status finds none.
func (cr *catalogReader) DescribeScalingPolicies(_ context.Context,
	in *wire.DescribeScalingPoliciesInput) (*wire.DescribeScalingPoliciesOutput, error) {
	f, err := cr.liveFleet(in.FleetId)
	if err != nil {
		return nil, err
	}
	if _, ok := cr.Catalog().FleetLocation(f.ID, in.Location); in.Location != "" && !ok {
		return nil, notFound("Fleet %s has no location %s", f.ID, in.Location)
	}
	pages := cr.secrets.Pages("DescribeScalingPolicies", f.ID, in.Location, string(in.StatusFilter))
	policies, next, err := page(pages, in.NextToken, func(after string) ([]*catalog.ScalingPolicy, bool) {
		if in.StatusFilter != "" && in.StatusFilter != wire.ScalingStatusTypeActive {
			return nil, false
		}
		return cr.Catalog().ScalingPoliciesAfter(f.ID, after, pageSize(in.Limit))
	}, func(p *catalog.ScalingPolicy) string { return p.Name })
	if err != nil {
		return nil, err
	}
	list := shown(policies, func(policy *catalog.ScalingPolicy) *wire.ScalingPolicy {
		shown := cr.scalingPolicy(policy)
		shown.Location = in.Location
		return shown
	})
	return &wire.DescribeScalingPoliciesOutput{ScalingPolicies: list, NextToken: next}, nil
}

func (sh shapes) scalingPolicy(p *catalog.ScalingPolicy) *wire.ScalingPolicy {
	shown := &wire.ScalingPolicy{
		FleetId: p.Fleet, FleetArn: sh.names.FleetARN(p.Fleet), Name: p.Name, Status: wire.ScalingStatusTypeActive,
		MetricName: wire.MetricName(p.Rule.Metric), PolicyType: wire.PolicyTypeTargetBased,
	}
	if p.Rule.Target > 0 {
		shown.TargetConfiguration = &wire.TargetConfiguration{TargetValue: wire.Some(p.Rule.Target)}
		return shown
	}
	shown.PolicyType = wire.PolicyTypeRuleBased
	shown.ComparisonOperator = wire.ComparisonOperatorType(p.Rule.Comparison)
	shown.Threshold, shown.EvaluationPeriods = wire.Some(p.Rule.Threshold), wire.Some(p.Rule.Periods)
	shown.ScalingAdjustmentType = wire.ScalingAdjustmentType(p.Rule.AdjustmentType)
	shown.ScalingAdjustment = wire.Some(p.Rule.Adjustment)
	return shown
}

// StopFleetActions suspends scaling of a fleet at a location. The capacity can still be changed by requests.
func (p *Plane) StopFleetActions(ctx context.Context,
	in *wire.StopFleetActionsInput) (*wire.StopFleetActionsOutput, error) {
	id := fleetID(in.FleetId)
	err := p.Change(ctx, catalog.StopScaling{Fleet: id, Location: cmp.Or(in.Location, p.names.Region), Stopped: true})
	if err != nil {
		return nil, err
	}
	return &wire.StopFleetActionsOutput{FleetId: id, FleetArn: p.FleetARN(id)}, nil
}

// StartFleetActions resumes scaling of a fleet at a location.
func (p *Plane) StartFleetActions(ctx context.Context,
	in *wire.StartFleetActionsInput) (*wire.StartFleetActionsOutput, error) {
	id := fleetID(in.FleetId)
	err := p.Change(ctx, catalog.StopScaling{Fleet: id, Location: cmp.Or(in.Location, p.names.Region)})
	if err != nil {
		return nil, err
	}
	return &wire.StartFleetActionsOutput{FleetId: id, FleetArn: p.FleetARN(id)}, nil
}

// UpdateFleetPortSettings adds and removes inbound permissions of an EC2-type fleet, at all locations at once.
func (p *Plane) UpdateFleetPortSettings(ctx context.Context,
	in *wire.UpdateFleetPortSettingsInput) (*wire.UpdateFleetPortSettingsOutput, error) {
	id := fleetID(in.FleetId)
	err := p.Change(ctx, catalog.UpdatePorts{Fleet: id, Authorize: portsFrom(in.InboundPermissionAuthorizations),
		Revoke: portsFrom(in.InboundPermissionRevocations)})
	if err != nil {
		return nil, err
	}
	return &wire.UpdateFleetPortSettingsOutput{FleetId: id, FleetArn: p.FleetARN(id)}, nil
}

// inboundPermissions returns the permissions of a fleet; none for an Anywhere fleet.
func inboundPermissions(f *catalog.Fleet) []wire.IpPermission {
	permissions := []wire.IpPermission{}
	if f.Managed == nil {
		return permissions
	}
	for _, p := range f.Managed.Ports {
		permissions = append(permissions, wire.IpPermission{FromPort: wire.Some(p.From), ToPort: wire.Some(p.To),
			IpRange: p.IPRange, Protocol: wire.IpProtocol(p.Protocol)})
	}
	return permissions
}
