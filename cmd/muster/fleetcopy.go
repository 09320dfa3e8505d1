package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// A fleetCopy makes fleets like another one of compute type EC2.
type fleetCopy struct {
	client    *gamelift.Client
	of        *types.FleetAttributes
	input     gamelift.CreateFleetInput // without BuildId
	locations []types.LocationAttributes
	policies  []types.ScalingPolicy
}

// copyFleet reads a fleet.
func copyFleet(ctx context.Context, client *gamelift.Client, id string) (*fleetCopy, error) {
	c := &fleetCopy{client: client}
	fleets, err := client.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{id}})
	switch {
	case err != nil:
		return nil, apiError(err)
	case len(fleets.FleetAttributes) == 0:
		return nil, fmt.Errorf("fleet %s was deleted", id)
	}
	f := &fleets.FleetAttributes[0]
	if f.ComputeType != types.ComputeTypeEc2 {
		return nil, fmt.Errorf("fleet %s is of compute type %s: only a fleet of compute type EC2 has a build", id,
			f.ComputeType)
	}
	c.of = f
	c.input = gamelift.CreateFleetInput{
		Name: f.Name, Description: f.Description, ComputeType: f.ComputeType, EC2InstanceType: f.InstanceType,
		FleetType: f.FleetType, MetricGroups: f.MetricGroups, CertificateConfiguration: f.CertificateConfiguration,
		NewGameSessionProtectionPolicy: f.NewGameSessionProtectionPolicy,
		ResourceCreationLimitPolicy:    f.ResourceCreationLimitPolicy, InstanceRoleArn: f.InstanceRoleArn,
		InstanceRoleCredentialsProvider: f.InstanceRoleCredentialsProvider, LogPaths: f.LogPaths,
		PlayerGatewayMode: f.PlayerGatewayMode, PlayerGatewayConfiguration: f.PlayerGatewayConfiguration,
	}
	for _, read := range []func(context.Context) error{c.readRuntime, c.readPorts, c.readTags, c.readLocations,
		c.readPolicies} {
		if err := read(ctx); err != nil {
			return nil, fmt.Errorf("read fleet %s: %w", id, apiError(err))
		}
	}
	return c, nil
}

func (c *fleetCopy) readRuntime(ctx context.Context) error {
	out, err := c.client.DescribeRuntimeConfiguration(ctx,
		&gamelift.DescribeRuntimeConfigurationInput{FleetId: c.of.FleetId})
	if err == nil {
		c.input.RuntimeConfiguration = out.RuntimeConfiguration
	}
	return err
}

func (c *fleetCopy) readPorts(ctx context.Context) error {
	out, err := c.client.DescribeFleetPortSettings(ctx,
		&gamelift.DescribeFleetPortSettingsInput{FleetId: c.of.FleetId})
	if err == nil {
		c.input.EC2InboundPermissions = out.InboundPermissions
	}
	return err
}

func (c *fleetCopy) readTags(ctx context.Context) error {
	out, err := c.client.ListTagsForResource(ctx, &gamelift.ListTagsForResourceInput{ResourceARN: c.of.FleetArn})
	if err == nil {
		c.input.Tags = out.Tags
	}
	return err
}

func (c *fleetCopy) readLocations(ctx context.Context) (err error) {
	c.locations, err = fleetLocations(ctx, c.client, *c.of.FleetId)
	for _, l := range c.locations {
		c.input.Locations = append(c.input.Locations, types.LocationConfiguration{Location: l.LocationState.Location})
	}
	return err
}

func (c *fleetCopy) readPolicies(ctx context.Context) (err error) {
	c.policies, err = rowsOf(ctx, gamelift.NewDescribeScalingPoliciesPaginator(c.client,
		&gamelift.DescribeScalingPoliciesInput{FleetId: c.of.FleetId}),
		func(page *gamelift.DescribeScalingPoliciesOutput) []types.ScalingPolicy { return page.ScalingPolicies })
	return err
}

// fleetLocations returns the locations of a fleet.
func fleetLocations(ctx context.Context, client *gamelift.Client, fleet string) ([]types.LocationAttributes, error) {
	return rowsOf(ctx, gamelift.NewDescribeFleetLocationAttributesPaginator(client,
		&gamelift.DescribeFleetLocationAttributesInput{FleetId: &fleet}),
		func(page *gamelift.DescribeFleetLocationAttributesOutput) []types.LocationAttributes {
			return page.LocationAttributes
		})
}

// create creates a fleet of a build.
func (c *fleetCopy) create(ctx context.Context, build string) (id string, err error) {
	in := c.input
	in.BuildId = &build
	out, err := c.client.CreateFleet(ctx, &in)
	if err != nil {
		return "", fmt.Errorf("create a fleet: %w", apiError(err))
	}
	return *out.FleetAttributes.FleetId, nil
}

// scale gives an ACTIVE fleet the capacity and the scaling policies of the original as they are now. It returns how
// many instances the fleet needs at each location so that it can take over.
func (c *fleetCopy) scale(ctx context.Context, id string) (needed map[string]int32, err error) {
	needed = map[string]int32{}
	for _, l := range c.locations {
		location := l.LocationState.Location
		out, err := c.client.DescribeFleetLocationCapacity(ctx,
			&gamelift.DescribeFleetLocationCapacityInput{FleetId: c.of.FleetId, Location: location})
		if err != nil {
			return nil, apiError(err)
		}
		counts, zero := out.FleetCapacity.InstanceCounts, out.FleetCapacity.ManagedCapacityConfiguration
		needed[*location] = min(aws.ToInt32(counts.ACTIVE), aws.ToInt32(counts.DESIRED))
		in := &gamelift.UpdateFleetCapacityInput{FleetId: &id, Location: location, DesiredInstances: counts.DESIRED,
			MinSize: counts.MINIMUM, MaxSize: counts.MAXIMUM}
		if zero != nil && zero.ZeroCapacityStrategy == types.ZeroCapacityStrategyScaleToAndFromZero {
			in.MinSize, in.ManagedCapacityConfiguration = nil, zero
		}
		if _, err := c.client.UpdateFleetCapacity(ctx, in); err != nil {
			return nil, fmt.Errorf("set the capacity of location %s: %w", *location, apiError(err))
		}
		if len(l.StoppedActions) == 0 {
			continue
		}
		_, err = c.client.StopFleetActions(ctx, &gamelift.StopFleetActionsInput{FleetId: &id, Location: location,
			Actions: l.StoppedActions})
		if err != nil {
			return nil, fmt.Errorf("stop the scaling of location %s: %w", *location, apiError(err))
		}
	}
	for _, p := range c.policies {
		_, err := c.client.PutScalingPolicy(ctx, &gamelift.PutScalingPolicyInput{
			FleetId: &id, Name: p.Name, MetricName: p.MetricName, PolicyType: p.PolicyType,
			ComparisonOperator: p.ComparisonOperator, EvaluationPeriods: p.EvaluationPeriods,
			ScalingAdjustment: p.ScalingAdjustment, ScalingAdjustmentType: p.ScalingAdjustmentType,
			TargetConfiguration: p.TargetConfiguration, Threshold: p.Threshold,
		})
		if err != nil {
			return nil, fmt.Errorf("put the scaling policy %s: %w", *p.Name, apiError(err))
		}
	}
	return needed, nil
}

// isActive reports whether a fleet and all its locations are ACTIVE. The error of a fleet that has failed is the
// reason.
func (c *fleetCopy) isActive(ctx context.Context, id string) (bool, error) {
	out, err := c.client.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{id}})
	if err != nil {
		return false, err
	}
	if len(out.FleetAttributes) == 0 {
		return false, fmt.Errorf("fleet %s was deleted", id)
	}
	switch out.FleetAttributes[0].Status {
	case types.FleetStatusError:
		return false, c.reason(ctx, id)
	case types.FleetStatusActive:
	default:
		return false, nil
	}
	locations, err := fleetLocations(ctx, c.client, id)
	for _, l := range locations {
		if l.LocationState.Status != types.FleetStatusActive {
			return false, err
		}
	}
	return err == nil, err
}

// reason returns why a fleet has failed: its newest event besides that of its status.
func (c *fleetCopy) reason(ctx context.Context, id string) error {
	out, err := c.client.DescribeFleetEvents(ctx, &gamelift.DescribeFleetEventsInput{FleetId: &id})
	if err != nil {
		return errors.Join(fmt.Errorf("fleet %s has failed", id), apiError(err))
	}
	for _, e := range out.Events {
		if e.EventCode == types.EventCodeFleetStateError {
			continue
		}
		text := fmt.Sprintf("fleet %s has failed: %s: %s", id, e.EventCode, aws.ToString(e.Message))
		if e.PreSignedLogUrl != nil {
			text += "\n  log: " + *e.PreSignedLogUrl
		}
		return errors.New(text)
	}
	return fmt.Errorf("fleet %s has failed", id)
}

// missing returns how many ACTIVE instances a fleet lacks.
func (c *fleetCopy) missing(ctx context.Context, id string, needed map[string]int32) (n int32, err error) {
	for location, want := range needed {
		out, err := c.client.DescribeFleetLocationCapacity(ctx,
			&gamelift.DescribeFleetLocationCapacityInput{FleetId: &id, Location: &location})
		if err != nil {
			return 0, err
		}
		n += max(0, want-aws.ToInt32(out.FleetCapacity.InstanceCounts.ACTIVE))
	}
	return n, nil
}

// unready returns how many ready server processes a fleet lacks: a fleet is ACTIVE with the first. It needs those of
// its runtime configuration on so many instances, and no more than the original has.
func (c *fleetCopy) unready(ctx context.Context, id string, instances int32) (int32, error) {
	ready := map[string]int32{}
	all, err := rowsOf(ctx, gamelift.NewDescribeFleetUtilizationPaginator(c.client,
		&gamelift.DescribeFleetUtilizationInput{FleetIds: []string{*c.of.FleetId, id}}),
		func(page *gamelift.DescribeFleetUtilizationOutput) []types.FleetUtilization {
			return page.FleetUtilization
		})
	for _, u := range all {
		ready[*u.FleetId] = aws.ToInt32(u.ActiveServerProcessCount)
	}
	needed := int32(0)
	for _, p := range c.input.RuntimeConfiguration.ServerProcesses {
		needed += instances * aws.ToInt32(p.ConcurrentExecutions)
	}
	return max(0, min(needed, ready[*c.of.FleetId])-ready[id]), err
}
