package query

import (
	"context"
	"strings"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/policy"
)

// A service is one of the services that speak the query protocol.
type service struct {
	name       string // in signatures and actions
	version    string
	namespace  string // of answers
	operations []operation
}

// An operation is one call that is offered.
type operation struct {
	name      string
	action    policy.Action // set by init
	unsigned  bool          // the caller is not authenticated by a signature
	presigned bool          // a GET with a presigned URL is served too
	changes   bool          // calls are recorded in the audit trail here; package access records issued credentials

	// resources returns the ARNs that the caller must be allowed to use; nil: policies are not asked.
	resources func(context.Context, *Handler, *call) []string
	also      func(*call) []access.Call // further decisions; nil: none

	// serve returns the result; nil for an operation without one.
	serve func(context.Context, *Handler, *call) (any, error)
}

// services are all that is offered.
var services = [...]service{
	{name: "sts", version: "2011-06-15", namespace: "https://sts.amazonaws.com/doc/2011-06-15/",
		operations: []operation{
			{name: "GetCallerIdentity", presigned: true, serve: getCallerIdentity}, // never denied, as on AWS
			{name: "GetSessionToken", serve: getSessionToken},                      // never denied, as on AWS
			{name: "AssumeRole", resources: role, also: sessionCalls, serve: assumeRole},
			{name: "AssumeRoleWithWebIdentity", unsigned: true, serve: assumeRoleWithWebIdentity},
			{name: "GetAccessKeyInfo", resources: anything, serve: getAccessKeyInfo},
		}},
	{name: "iam", version: "2010-05-08", namespace: "https://iam.amazonaws.com/doc/2010-05-08/",
		operations: []operation{
			{name: "CreateUser", changes: true, resources: user, serve: createUser},
			{name: "GetUser", resources: user, serve: getUser},
			{name: "ListUsers", resources: users, serve: listUsers},
			{name: "DeleteUser", changes: true, resources: user, serve: deleteUser},
			{name: "PutUserPolicy", changes: true, resources: user, serve: putUserPolicy},
			{name: "GetUserPolicy", resources: user, serve: getUserPolicy},
			{name: "ListUserPolicies", resources: user, serve: listUserPolicies},
			{name: "DeleteUserPolicy", changes: true, resources: user, serve: deleteUserPolicy},
			{name: "CreateAccessKey", changes: true, resources: user, serve: createAccessKey},
			{name: "ListAccessKeys", resources: user, serve: listAccessKeys},
			{name: "UpdateAccessKey", changes: true, resources: user, serve: updateAccessKey},
			{name: "DeleteAccessKey", changes: true, resources: user, serve: deleteAccessKey},
			{name: "GetAccessKeyLastUsed", resources: keyOwner, serve: getAccessKeyLastUsed},
		}},
}

func init() {
	for i := range services {
		s := &services[i]
		for j := range s.operations {
			s.operations[j].action = mustAction(s.name + ":" + s.operations[j].name)
		}
	}
}

func mustAction(name string) policy.Action {
	action, ok := policy.ActionOf(name)
	if !ok {
		panic("unknown action " + name)
	}
	return action
}

func (s *service) find(name string) *operation {
	for i := range s.operations {
		if s.operations[i].name == name {
			return &s.operations[i]
		}
	}
	return nil
}

// offered returns the names of all operations.
func offered() string {
	var list []string
	for _, s := range services {
		for _, o := range s.operations {
			list = append(list, o.name)
		}
	}
	return strings.Join(list, ", ")
}

// anything is for operations that policies can only allow on all resources.
func anything(context.Context, *Handler, *call) []string { return nil }

// role returns the role of AssumeRole. Policies are asked for the name that the role has, not for the one that was
// sent.
func role(_ context.Context, h *Handler, c *call) []string {
	if arn := c.form.values.Get("RoleArn"); arn != "" {
		return []string{h.Access.RoleARN(arn)}
	}
	return nil
}

var (
	tagSession        = mustAction("sts:TagSession")
	setSourceIdentity = mustAction("sts:SetSourceIdentity")
)

// sessionCalls returns what AssumeRole must be allowed besides. Source: STS API reference, AssumeRole.
func sessionCalls(c *call) (calls []access.Call) {
	if tags := c.form.rawTags("Tags"); len(tags) > 0 {
		calls = append(calls, access.Call{Action: tagSession, Resources: c.resources, Tags: tags})
	}
	if c.form.values.Has("SourceIdentity") {
		calls = append(calls, access.Call{Action: setSourceIdentity, Resources: c.resources})
	}
	return calls
}

// user returns the user that the call names, or the caller.
func user(_ context.Context, _ *Handler, c *call) []string {
	name, ok := c.user()
	if !ok {
		return nil
	}
	return []string{c.userArn(name)}
}

func (c *call) userArn(name string) string {
	if name == "" {
		return "arn:aws:iam::" + c.id.Account + ":root"
	}
	return "arn:aws:iam::" + c.id.Account + ":user/" + name
}

// user returns the name of the user that a call is for: UserName, or else the caller; "" is the root. ok is false if
// the caller is no user.
func (c *call) user() (name string, ok bool) {
	if c.form.values.Has("UserName") {
		return c.form.values.Get("UserName"), true
	}
	return c.id.User, c.id.Role == "" && (c.id.User != "" || c.id.Root)
}

// users returns the resource of ListUsers.
func users(_ context.Context, _ *Handler, c *call) []string { return []string{c.userArn("*")} }

// keyOwner returns the owner of the access key that the call names.
func keyOwner(ctx context.Context, h *Handler, c *call) []string {
	key, err := h.Access.Key(ctx, c.form.values.Get("AccessKeyId"))
	if err != nil {
		return nil
	}
	return []string{c.userArn(key.Owner)}
}
