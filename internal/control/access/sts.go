package access

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// An AssumeRole is the input of the call of that name.
type AssumeRole struct {
	RoleArn, SessionName string

	Duration       int32 // seconds; 0: the default
	Policy         string
	PolicyArns     []string
	ExternalID     string
	SourceIdentity string
	Tags           map[string]string
}

// maxSessionPolicy is the maximum size of the policies and tags of a session in bytes: they are part of the session
// token, which clients send in a header.
const maxSessionPolicy = 2048

// AssumeRole returns keys of a role for an identity that the role trusts and whose policies allow it.
func (a *Access) AssumeRole(_ context.Context, id *Identity, from Origin, in AssumeRole) (t *Temporary, err error) {
	defer func() { a.recordRole("AssumeRole", id, from, in.RoleArn, t, err) }()
	role, err := a.roleByArn(in.RoleArn)
	if err != nil {
		if _, isFault := err.(*fault.Error); isFault && !fault.Is(err, fault.NotFound) {
			return nil, err
		}
		return nil, notTrusted(id.Arn, "sts:AssumeRole", in.RoleArn)
	}
	if !a.trusts(id, from, role, &in) {
		return nil, notTrusted(id.Arn, "sts:AssumeRole", in.RoleArn)
	}
	most := roleMaximum(role)
	if id.Role != "" {
		most = min(most, maxChainedSeconds)
	}
	lasts, err := duration(in.Duration, standardRoleSeconds, most)
	if err != nil {
		return nil, err
	}
	managed, err := a.sessionPolicies(in.Policy, in.PolicyArns)
	if err != nil {
		return nil, err
	}
	size, err := packedSize(in.Policy, managed, in.Tags)
	if err != nil {
		return nil, err
	}
	now := a.cfg.Catalog.Now()
	expires, until := sessionEnds(id, now, lasts)
	s := sealed{
		Key: id.key, Until: until, User: id.User, UserID: userID(a.state(), id.User), Role: role.Name, RoleID: role.ID,
		SessionName: in.SessionName, Arn: a.sessionArn(role.Name, in.SessionName), SignIn: id.SignIn,
		Issued: int64(now), Expires: int64(expires), Policies: managed, Policy: in.Policy,
		Source: sourceIdentity(id, in.SourceIdentity), Tags: in.Tags, Assigned: role.Trust == "" && !id.Root,
		Instance: id.instance,
	}
	t = a.issue(s)
	t.PackedPolicySize = size
	return t, nil
}

// sessionEnds returns when a session ends, and when all that begin with it do. Without a long-lived key or a sign-in
// session behind it, which can be ended, a session would otherwise go on for ever by assuming its role again.
func sessionEnds(id *Identity, now event.Time, lasts time.Duration) (ends event.Time, until int64) {
	ends = now.Add(lasts)
	if id.key != "" || id.SignIn != "" {
		return ends, 0
	}
	last := now.Add(maxRoleSeconds * time.Second)
	if !id.until.IsZero() {
		last = event.At(id.until)
	}
	return min(ends, last), int64(last)
}

func sourceIdentity(id *Identity, given string) string {
	if id.SourceIdentity != "" {
		return id.SourceIdentity // a later role cannot change it
	}
	return given
}

// packedSize returns the size of policies and tags in percent of the maximum.
func packedSize(document string, managed []string, tags map[string]string) (percent int, err error) {
	size := len(document)
	for _, name := range managed {
		size += len(name)
	}
	for key, value := range tags {
		size += len(key) + len(value)
	}
	if size > maxSessionPolicy {
		return 0, fault.New(fault.PackedPolicyTooLarge,
			"Policies and tags have %d bytes; the maximum of a session is %d", size, maxSessionPolicy)
	}
	return (size*100 + maxSessionPolicy - 1) / maxSessionPolicy, nil
}

func userID(state *catalog.State, name string) string {
	if u, ok := state.User(name); ok {
		return u.ID
	}
	return ""
}

func notTrusted(who, action, role string) error {
	return fault.New(fault.AccessDenied, "User: %s is not authorized to perform: %s on resource: %s", who, action, role)
}

// trusts reports whether a role may be assumed: its trust policy names the caller, or the role is assigned to it.
func (a *Access) trusts(id *Identity, from Origin, role *catalog.Role, in *AssumeRole) bool {
	if role.Trust == "" {
		return id.Root || id.User != "" && id.Role == "" && assigned(a.state(), id.User, role.Name)
	}
	document, err := policy.ParseTrust(role.Trust)
	if err != nil {
		return false
	}
	call := Call{Action: assumeRole, Tags: in.Tags}
	values := a.values(id, from, &call, in.RoleArn)
	r := policy.TrustRequest{
		Principals: a.principals(id),
		Values: func(key string) ([]string, bool) {
			switch key {
			case "sts:ExternalId":
				return []string{in.ExternalID}, in.ExternalID != ""
			case "sts:RoleSessionName":
				return []string{in.SessionName}, true
			case "sts:SourceIdentity":
				return []string{in.SourceIdentity}, in.SourceIdentity != ""
			}
			return values(key)
		},
	}
	for _, r.Action = range in.trusted() {
		if !document.Trusts(&r).Allowed {
			return false
		}
	}
	return true
}

// trusted returns the actions that a trust policy must allow. Source: STS API reference, AssumeRole: the role must also
// trust the caller to give tags and a source identity.
func (in *AssumeRole) trusted() []policy.Action {
	actions := []policy.Action{assumeRole}
	if len(in.Tags) > 0 {
		actions = append(actions, tagSession)
	}
	if in.SourceIdentity != "" {
		actions = append(actions, setSourceIdentity)
	}
	return actions
}

// principals returns the names by which a trust policy can name an identity.
func (a *Access) principals(id *Identity) []string {
	names := []string{id.Arn, a.rootArn(), a.cfg.Account}
	if id.Role != "" {
		names = append(names, a.roleArn(id.Role))
	}
	return names
}

var (
	assumeRole        = mustAction("sts:AssumeRole")
	assumeWebIdentity = mustAction("sts:AssumeRoleWithWebIdentity")
	tagSession        = mustAction("sts:TagSession")
	setSourceIdentity = mustAction("sts:SetSourceIdentity")
)

func mustAction(name string) policy.Action {
	action, ok := policy.ActionOf(name)
	if !ok {
		panic("unknown action " + name)
	}
	return action
}

// roleByArn finds the role with an ARN of this account.
func (a *Access) roleByArn(text string) (*catalog.Role, error) {
	name, ok := strings.CutPrefix(text, a.roleArn(""))
	if !ok {
		return nil, fault.New(fault.InvalidRequest, "RoleArn must have the form %s", a.roleArn("NAME"))
	}
	name = strings.TrimPrefix(name, "aws-reserved/sso.amazonaws.com/") // roles have no other path
	role, ok := roleOf(a.state(), name)
	if !ok {
		role, ok = a.roleOfSSO(name)
	}
	if !ok {
		return nil, fault.New(fault.NotFound, "Role %s not found", name)
	}
	return role, nil
}

// RoleARN returns the ARN of the role that an ARN names, for policies: a role has more than one ARN. An ARN that names
// no role stays as it is.
func (a *Access) RoleARN(sent string) string {
	role, err := a.roleByArn(sent)
	if err != nil {
		return sent
	}
	return a.roleArn(role.Name)
}

var ssoName = regexp.MustCompile(`^AWSReservedSSO_(.+)_[0-9a-f]{16}$`)

func (a *Access) roleOfSSO(name string) (*catalog.Role, bool) {
	m := ssoName.FindStringSubmatch(name)
	if m == nil {
		return nil, false
	}
	role, ok := roleOf(a.state(), m[1])
	return role, ok && ssoRole(role) == name
}

// sessionPolicies checks the policies that narrow a session, and returns the names of the managed ones.
func (a *Access) sessionPolicies(document string, arns []string) (names []string, err error) {
	if len(document) > maxSessionPolicy { // before it is read
		_, err := packedSize(document, nil, nil)
		return nil, err
	}
	if document != "" {
		if _, err := policy.Parse(document); err != nil {
			return nil, malformed("Policy", err)
		}
	}
	for _, arn := range arns {
		name := arn[strings.LastIndexByte(arn, '/')+1:]
		if _, ok := policyText(a.state(), name); !ok {
			return nil, fault.New(fault.InvalidRequest, "Policy %s not found", arn)
		}
		names = append(names, name)
	}
	return names, nil
}

func malformed(field string, err error) error {
	return fault.New(fault.MalformedPolicyDocument, "%s: %s", field, err)
}

// SessionToken returns temporary keys of an identity with a long-lived key. They may do what that key may.
func (a *Access) SessionToken(_ context.Context, id *Identity, from Origin, seconds int32) (t *Temporary, err error) {
	defer func() { a.recordRole("GetSessionToken", id, from, "", t, err) }()
	if id.Temporary {
		return nil, fault.New(fault.AccessDenied, "Cannot call GetSessionToken with session credentials")
	}
	lasts, err := duration(seconds, standardTokenSeconds, maxSessionTokenSeconds)
	if err != nil {
		return nil, err
	}
	now := a.cfg.Catalog.Now()
	ends := now.Add(lasts)
	if !id.Expires.IsZero() {
		ends = min(ends, event.At(id.Expires)) // with the key
	}
	return a.issue(sealed{
		User: id.User, UserID: userID(a.state(), id.User), Arn: id.Arn, Key: id.KeyID,
		Issued: int64(now), Expires: int64(ends),
	}), nil
}

// KeyAccount returns the account of an access key, for GetAccessKeyInfo.
func (a *Access) KeyAccount(keyID string) (string, error) {
	form := len(keyID) >= 16 && len(keyID) <= 128 && !strings.ContainsFunc(keyID, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
	if _, ok := a.state().AccessKey(keyID); !ok && (!form || !strings.HasPrefix(keyID, "ASIA")) {
		return "", fault.New(fault.InvalidRequest, "The access key %q is not one of this region", clip(keyID, 128))
	}
	return a.cfg.Account, nil
}
