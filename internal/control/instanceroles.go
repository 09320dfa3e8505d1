package control

import (
	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// checkInstanceRole rejects a role that the instances of a new fleet cannot have.
func (p *Plane) checkInstanceRole(in *wire.CreateFleetInput) error {
	if in.InstanceRoleArn != "" {
		return p.CheckInstanceRole(in.InstanceRoleArn)
	}
	if in.InstanceRoleCredentialsProvider != "" {
		return invalid("InstanceRoleCredentialsProvider needs an InstanceRoleArn. Give one, or leave both out.")
	}
	return nil
}

// wantedRole returns the role of the instances of a fleet; "": they have none, or one that was deleted or is of AWS.
func (p *Plane) wantedRole(f *catalog.Fleet) string {
	if f.Managed.RoleARN == "" || p.CheckInstanceRole(f.Managed.RoleARN) != nil {
		return ""
	}
	return f.Managed.RoleARN
}

func hasRoleFile(f *catalog.Fleet) bool {
	return f.Managed.Credentials == string(wire.InstanceRoleCredentialsProviderSharedCredentialFile)
}

// instanceKeys returns keys of the role of an instance for its machine.
func (p *Plane) instanceKeys(i *catalog.Instance) (*protocol.RoleKeys, error) {
	f, ok := p.Catalog().Fleet(i.Fleet)
	if !ok || f.Managed == nil || f.Managed.RoleARN == "" {
		return nil, invalid("Instance %s has no role: its fleet has no InstanceRoleArn.", i.ID)
	}
	t, err := p.InstanceRole(access.InstanceRole{RoleArn: f.Managed.RoleARN, Instance: i.ID, SessionName: i.ID})
	if err != nil {
		return nil, err
	}
	return &protocol.RoleKeys{AccessKeyID: t.AccessKeyID, SecretAccessKey: t.SecretAccessKey,
		SessionToken: t.SessionToken, Expires: t.Expires.UnixMilli()}, nil
}

// computeRole returns keys of the role of a compute: nil if it is no instance, or its fleet has no role. The ARN role
// must be the fleet's; "" is any.
func (p *Plane) computeRole(room fleet.RoomID, compute, role, session string) (*processes.RoleKeys, error) {
	view := p.Catalog()
	i, ok := view.Instance(compute)
	if !ok || i.Fleet != string(room.Fleet) { // a compute of an Anywhere fleet may have any name
		return nil, nil
	}
	f, ok := view.Fleet(i.Fleet)
	if !ok || f.Managed == nil || p.wantedRole(f) == "" {
		return nil, nil
	}
	if role != "" && p.RoleARN(role) != p.RoleARN(f.Managed.RoleARN) {
		return nil, fault.New(fault.AccessDenied, "RoleArn must be the InstanceRoleArn of the fleet, %s",
			f.Managed.RoleARN)
	}
	if session == "" {
		session = i.ID
	}
	t, err := p.InstanceRole(access.InstanceRole{RoleArn: f.Managed.RoleARN, Instance: i.ID, SessionName: session})
	if err != nil {
		return nil, err
	}
	return &processes.RoleKeys{AssumedRoleUserArn: t.Arn, AssumedRoleID: t.UserID, AccessKeyID: t.AccessKeyID,
		SecretAccessKey: t.SecretAccessKey, SessionToken: t.SessionToken, Expires: t.Expires}, nil
}
