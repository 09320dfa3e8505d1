package access

import (
	"errors"
	"strconv"

	"github.com/muster-gg/muster/internal/control/audit"
	"github.com/muster-gg/muster/internal/control/idp"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Recorded returns the record of a call for the audit trail. name is an operation, with or without its service
// ("gamelift:CreateFleet").
func (a *Access) Recorded(id *Identity, from Origin, name string, resources []string, err error) audit.Record {
	return a.recorded(id, from, name, resources, err)
}

// services are the event sources of the prefixes of actions.
var services = map[string]string{
	"gamelift": "gamelift.amazonaws.com", "sts": "sts.amazonaws.com", "iam": "iam.amazonaws.com",
	"sso": "sso.amazonaws.com", "signin": "signin.amazonaws.com",
}

func (a *Access) recorded(id *Identity, from Origin, name string, resources []string, err error) audit.Record {
	service, event := splitAction(name)
	r := audit.Record{
		Name: event, Source: services[service], Type: "AwsApiCall", Region: a.cfg.Region, Account: a.cfg.Account,
		Address: address(from.Address), UserAgent: clip(from.UserAgent, 300), RequestID: from.RequestID,
		Identity: a.recordedIdentity(id), Resources: resources,
	}
	if r.Source == "" {
		r.Source, r.Type = "muster", "MusterCall"
	}
	r.ErrorCode, r.ErrorMessage = failure(err)
	r.Decision.Allowed = !fault.Is(err, fault.AccessDenied)
	return r
}

func splitAction(name string) (service, event string) {
	for i := range len(name) {
		if name[i] == ':' {
			return name[:i], name[i+1:]
		}
	}
	return "", name
}

// failure returns code and text of an error; "" without one.
func failure(err error) (code, message string) {
	if err == nil {
		return "", ""
	}
	if _, wait := errors.AsType[*WaitError](err); wait {
		return string(fault.Throttling), err.Error()
	}
	for _, known := range []error{ErrInvalidGrant, ErrInvalidToken, ErrNotAssigned, ErrDisabled} {
		if errors.Is(err, known) {
			return string(fault.AccessDenied), err.Error()
		}
	}
	f := fault.Of(err)
	return string(f.Kind), f.Message
}

func (a *Access) recordedIdentity(id *Identity) audit.Identity {
	if id == nil {
		return audit.Identity{Type: "Unknown"}
	}
	who := audit.Identity{Type: "IAMUser", PrincipalID: id.UserID, Arn: id.Arn, Account: id.Account,
		AccessKey: id.KeyID, User: id.User}
	switch {
	case id.Role != "":
		who.Type, who.Role, who.SignIn, who.SourceIdentity = "AssumedRole", id.Role, id.SignIn, id.SourceIdentity
	case id.Root || id.User == "":
		who.Type = "Root"
	}
	return who
}

// recordSignIn records a step of signing in.
func (a *Access) recordSignIn(event, user string, from Origin, err error) {
	a.cfg.Trail.Record(a.signInRecord(event, user, from, err))
}

func (a *Access) signInRecord(event, user string, from Origin, err error) audit.Record {
	r := a.recorded(nil, from, "signin:"+event, nil, err)
	r.Type = "AwsConsoleSignIn"
	r.Identity = audit.Identity{Type: "IAMUser", User: clip(user, 250), Account: a.cfg.Account}
	if u, ok := a.state().User(user); ok {
		r.Identity.PrincipalID, r.Identity.Arn = u.ID, a.userArn(u.Name)
	}
	return r
}

// Refused records a call whose signature was refused, if it names an access key of this region: somebody guesses its
// secret, or goes on using a key that has ended. Other ids are noise, which anybody can send.
func (a *Access) Refused(keyID string, from Origin, name string, err error) {
	key, ok := a.state().AccessKey(keyID)
	if !ok || fault.Is(err, fault.ServiceUnavailable) || fault.Is(err, fault.Throttling) {
		return
	}
	r := a.recorded(nil, from, name, nil, err)
	r.Identity = audit.Identity{Type: "IAMUser", Account: a.cfg.Account, AccessKey: keyID, User: key.Owner}
	r.Decision.Allowed = false
	a.cfg.Trail.Record(r)
}

// hiddenName replaces a name that nobody has: people type passwords into the field of the name. Source: CloudTrail user
// guide, "AWS Management Console sign-in events".
const hiddenName = "HIDDEN_DUE_TO_SECURITY_REASONS"

// recordAttempt records a failed sign-in by password.
func (a *Access) recordAttempt(name string, from Origin, err error) {
	if _, known := a.state().User(name); !known {
		name = hiddenName
	}
	a.recordSignIn("SignIn", name, from, err)
}

// recordIssue records keys that a signed-in person was given.
func (a *Access) recordIssue(event, user string, from Origin, t *Temporary, err error) {
	r := a.recorded(nil, from, "sso:"+event, nil, err)
	r.Identity = audit.Identity{Type: "IAMUser", User: user, Arn: a.userArn(user), Account: a.cfg.Account}
	if t != nil {
		r.Details = map[string]string{"accessKeyId": t.AccessKeyID, "arn": t.Arn}
	}
	a.cfg.Trail.Record(r)
}

// recordRole records keys that an identity was given.
func (a *Access) recordRole(event string, id *Identity, from Origin, role string, t *Temporary, err error) {
	var resources []string
	if role != "" {
		resources = []string{role}
	}
	r := a.recorded(id, from, "sts:"+event, resources, err)
	if t != nil {
		r.Details = map[string]string{"accessKeyId": t.AccessKeyID, "arn": t.Arn}
	}
	a.cfg.Trail.Record(r)
}

func (a *Access) recordWebIdentity(from Origin, in *WebIdentity, c *idp.Claims, t *Temporary, err error) {
	r := a.recorded(nil, from, "sts:AssumeRoleWithWebIdentity", []string{clip(in.RoleArn, 250)}, err)
	r.Identity = audit.Identity{Type: "WebIdentityUser", Account: a.cfg.Account}
	r.Details = map[string]string{}
	if c != nil {
		r.Identity.PrincipalID = clip(c.Issuer+":"+c.Audience+":"+c.Subject, 500)
		r.Identity.User = clip(c.Subject, 250)
		r.Details["jti"] = clip(c.JTI, 100)
	}
	if t != nil {
		r.Details["accessKeyId"], r.Details["arn"] = t.AccessKeyID, t.Arn
	}
	a.cfg.Trail.Record(r)
}

// recordChange records a change that no caller's call is recorded for.
func (a *Access) recordChange(event, by string, resources ...string) {
	r := a.recorded(nil, Origin{}, "muster:"+event, resources, nil)
	r.Identity = audit.Identity{Type: "Service", User: by}
	a.cfg.Trail.Record(r)
}
