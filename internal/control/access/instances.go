package access

import (
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/audit"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// An InstanceRole is what the keys of an instance are issued for.
type InstanceRole struct {
	RoleArn     string // of the instance's fleet
	Instance    string
	SessionName string
}

// CheckInstanceRole returns an InvalidRequest unless instances can have a role.
func (a *Access) CheckInstanceRole(arn string) error {
	_, err := a.instanceRole(arn)
	return err
}

// InstanceRole returns keys of a role for an instance of a fleet with that role: for an hour, or the role's maximum if
// that is shorter. They are refused when the instance or the role has been deleted. The error is an InvalidRequest.
func (a *Access) InstanceRole(in InstanceRole) (t *Temporary, err error) {
	defer func() { a.recordInstance(&in, t, err) }()
	role, err := a.instanceRole(in.RoleArn)
	if err != nil {
		return nil, err
	}
	now := a.cfg.Catalog.Now()
	lasts := time.Duration(min(standardRoleSeconds, roleMaximum(role))) * time.Second
	return a.issue(sealed{
		Role: role.Name, RoleID: role.ID, SessionName: in.SessionName, Arn: a.sessionArn(role.Name, in.SessionName),
		Instance: in.Instance, Issued: int64(now), Expires: int64(now.Add(lasts)),
		Until: int64(now.Add(maxRoleSeconds * time.Second)),
	}), nil
}

// instanceRole returns a role that trusts GameLift.
func (a *Access) instanceRole(arn string) (*catalog.Role, error) {
	role, err := a.roleByArn(arn)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, fault.New(fault.InvalidRequest, "InstanceRoleArn names no role of this region. Create it with "+
			"\"muster role put\", or leave InstanceRoleArn out.")
	case err != nil:
		return nil, fault.New(fault.InvalidRequest, "InstanceRoleArn must have the form %s", a.roleArn("NAME"))
	case !a.trustsGameLift(role):
		return nil, fault.New(fault.InvalidRequest, "InstanceRoleArn: role %s does not trust GameLift. Its trust "+
			"policy must allow sts:AssumeRole to the principal {\"Service\": %q}.", role.Name, policy.GameLift)
	}
	return role, nil
}

func (a *Access) trustsGameLift(role *catalog.Role) bool {
	if role.Trust == "" {
		return false
	}
	document, err := policy.ParseTrust(role.Trust)
	if err != nil {
		return false
	}
	return document.Trusts(&policy.TrustRequest{
		Action: assumeRole, Service: true, Principals: []string{policy.GameLift},
		Values: func(key string) ([]string, bool) {
			if key == "aws:CurrentTime" {
				return []string{a.now().UTC().Format(time.RFC3339)}, true
			}
			return nil, false
		},
	}).Allowed
}

// recordInstance records keys that an instance was given.
func (a *Access) recordInstance(in *InstanceRole, t *Temporary, err error) {
	r := a.recorded(nil, Origin{}, "sts:AssumeRole", []string{clip(in.RoleArn, 250)}, err)
	r.Identity = audit.Identity{Type: "AWSService", User: policy.GameLift, Account: a.cfg.Account}
	r.Details = map[string]string{"instance": in.Instance}
	if t != nil {
		r.Details["accessKeyId"], r.Details["arn"] = t.AccessKeyID, t.Arn
	}
	a.cfg.Trail.Record(r)
}
