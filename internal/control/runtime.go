package control

import (
	"context"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/wire"
)

// DescribeRuntimeConfiguration returns the runtime configuration of a fleet; an empty answer for a fleet that was
// deleted. Source: API reference.
func (cr *catalogReader) DescribeRuntimeConfiguration(_ context.Context, in *wire.DescribeRuntimeConfigurationInput) (
	*wire.DescribeRuntimeConfigurationOutput, error,
) {
	id := fleetID(in.FleetId)
	f, ok := cr.Catalog().Fleet(id)
	if !ok {
		return nil, notFound("Fleet %s not found", id)
	}
	return &wire.DescribeRuntimeConfigurationOutput{RuntimeConfiguration: runtimeTo(f.Runtime)}, nil
}

// UpdateRuntimeConfiguration replaces the runtime configuration of a fleet.
func (p *Plane) UpdateRuntimeConfiguration(ctx context.Context, in *wire.UpdateRuntimeConfigurationInput) (
	*wire.UpdateRuntimeConfigurationOutput, error,
) {
	runtime := runtimeFrom(in.RuntimeConfiguration)
	command := catalog.UpdateRuntimeConfiguration{Fleet: fleetID(in.FleetId), Runtime: *runtime}
	if err := p.Change(ctx, command); err != nil {
		return nil, err
	}
	return &wire.UpdateRuntimeConfigurationOutput{RuntimeConfiguration: runtimeTo(runtime)}, nil
}
