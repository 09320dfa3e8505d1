package control

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// createManagedFleet creates an EC2-type fleet. Machines of its locations get its instances from then on.
func (p *Plane) createManagedFleet(ctx context.Context, in *wire.CreateFleetInput) (*wire.CreateFleetOutput, error) {
	if err := p.checkManaged(in); err != nil {
		return nil, err
	}
	if err := p.checkInstanceRole(in); err != nil {
		return nil, err
	}
	b, err := p.startableBuild(in.BuildId)
	if err != nil {
		return nil, err
	}
	command := catalog.CreateManagedFleet{
		ID: "fleet-" + uuid.NewString(), Attributes: attributesFrom(in), Runtime: managedRuntime(in),
		Managed: managedFrom(in), Tags: tagsFrom(in.Tags), EventID: uuid.NewString(),
	}
	command.Managed.Build, command.Managed.Home = b.ID, p.cfg.Region
	for _, l := range in.Locations {
		command.Locations = append(command.Locations, l.Location)
	}
	if err := p.Change(ctx, command); err != nil {
		return nil, err
	}
	locations := []string{p.cfg.Region}
	for _, l := range command.Locations {
		if l != p.cfg.Region {
			locations = append(locations, l)
		}
	}
	return p.fleetCreated(ctx, command.ID, locations)
}

// checkManaged rejects requests that name what this service does not have, or leave out what it needs.
func (p *Plane) checkManaged(in *wire.CreateFleetInput) error {
	switch {
	case in.ScriptId != "":
		return invalid("Realtime scripts are not run by this service. Give a BuildId.")
	case in.BuildId == "":
		return invalid("BuildId is required for fleets of compute type EC2")
	case in.EC2InstanceType == "":
		return invalid("EC2InstanceType is required for fleets of compute type EC2")
	case in.PeerVpcAwsAccountId != "" || in.PeerVpcId != "":
		return invalid("PeerVpcId and PeerVpcAwsAccountId do not apply: there are no VPCs. Leave them out.")
	case in.AnywhereConfiguration != nil:
		return invalid("AnywhereConfiguration does not apply to fleets of compute type EC2. Leave it out.")
	case generates(in.CertificateConfiguration) && p.cfg.Certify == nil:
		return invalid("CertificateType GENERATED needs the CA of the service, which it does not have with the " +
			"setting tls-cert. Use DISABLED, or start the service without tls-cert.")
	}
	if _, ok := p.cfg.InstanceTypes.NeedOf(string(in.EC2InstanceType)); !ok {
		return unknownType(string(in.EC2InstanceType))
	}
	return nil
}

func generates(c *wire.CertificateConfiguration) bool {
	return c != nil && c.CertificateType == wire.CertificateTypeGenerated
}

func unknownType(name string) error {
	return invalid("EC2InstanceType %s is not known to this service", name)
}

// managedRuntime returns the runtime configuration of a new fleet, which older clients give as a launch path.
func managedRuntime(in *wire.CreateFleetInput) *catalog.RuntimeConfiguration {
	if in.RuntimeConfiguration == nil && in.ServerLaunchPath != "" {
		return &catalog.RuntimeConfiguration{ServerProcesses: []catalog.ServerProcess{{
			LaunchPath: in.ServerLaunchPath, Parameters: in.ServerLaunchParameters, ConcurrentExecutions: 1}}}
	}
	return runtimeFrom(in.RuntimeConfiguration)
}

func managedFrom(in *wire.CreateFleetInput) catalog.Managed {
	m := catalog.Managed{
		InstanceType: string(in.EC2InstanceType), FleetType: string(in.FleetType),
		Ports:       portsFrom(in.EC2InboundPermissions),
		Certificate: string(wire.CertificateTypeDisabled), RoleARN: in.InstanceRoleArn,
		Credentials: string(in.InstanceRoleCredentialsProvider), LaunchPath: in.ServerLaunchPath,
		LaunchParameters: in.ServerLaunchParameters,
	}
	if m.FleetType == "" {
		m.FleetType = string(wire.FleetTypeOnDemand)
	}
	if c := in.CertificateConfiguration; c != nil {
		m.Certificate = string(c.CertificateType)
	}
	return m
}

func portsFrom(in []wire.IpPermission) (ports []catalog.PortRange) {
	for _, p := range in {
		ports = append(ports, catalog.PortRange{From: p.FromPort.Or(0), To: p.ToPort.Or(0), IPRange: p.IpRange,
			Protocol: string(p.Protocol)})
	}
	return ports
}

// addManaged adds the attributes that only an EC2-type fleet has.
func (sh shapes) addManaged(a *wire.FleetAttributes, m *catalog.Managed) {
	a.ComputeType = wire.ComputeTypeEc2
	a.BuildId, a.BuildArn = m.Build, arn.Build(sh.names.Region, sh.names.Account, m.Build)
	a.InstanceType, a.FleetType = wire.EC2InstanceType(m.InstanceType), wire.FleetType(m.FleetType)
	a.OperatingSystem = wire.OperatingSystem(m.Files.OperatingSystem)
	a.InstanceRoleArn = m.RoleARN
	a.ServerLaunchPath, a.ServerLaunchParameters = m.LaunchPath, m.LaunchParameters
	a.PlayerGatewayMode = cmp.Or(a.PlayerGatewayMode, wire.PlayerGatewayModeDisabled)
	a.InstanceRoleCredentialsProvider = wire.InstanceRoleCredentialsProvider(m.Credentials)
	a.CertificateConfiguration = &wire.CertificateConfiguration{CertificateType: wire.CertificateType(m.Certificate)}
}
