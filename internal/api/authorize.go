package api

import (
	"context"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/control/audit"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Access decides who may call what, and has the audit trail. *access.Access implements it.
type Access interface {
	IdentityOf(sigv4.Caller) *access.Identity
	AllowsAll(*access.Identity, policy.Action) bool
	Decide(*access.Identity, access.Origin, access.Call) error
	RoleARN(sent string) string
	Refused(keyID string, from access.Origin, name string, err error)
	Recorded(id *access.Identity, from access.Origin, name string, resources []string, err error) audit.Record
	Trail() *audit.Trail
}

// Resolver appends the ARNs of the resources that a member of an input names. The control plane implements it.
type Resolver interface {
	AppendARNs(ctx context.Context, arns []string, kind string, names []string) []string
}

// A bound is a handler with what is asked before it is called.
type bound struct {
	wire.Handler
	action  policy.Action
	names   []naming
	roles   []wire.Member // that name roles, which the caller must be allowed to pass on
	changes bool          // its calls are recorded
}

// A naming is a member of an input that names resources.
type naming struct {
	wire.Member
	kind string
}

func bind(h wire.Handler, managementOnly bool) bound {
	action, _ := policy.ActionOf("gamelift:" + h.Info.Name)
	b := bound{Handler: h, action: action,
		changes: !action.ReadOnly() && !(managementOnly && action.OfGames())}
	for _, m := range policy.Members(action) {
		b.names = append(b.names, naming{h.Member(m.Name), m.Kind})
	}
	if h.Info.Name == wire.OpCreateFleet.Name {
		b.roles = append(b.roles, h.Member("InstanceRoleArn"))
	}
	return b
}

// authorize decides a call by the policies of its caller, after the signature and before the input is checked. Most
// callers may make all calls of an operation, which is decided without reading the input.
func (e *Endpoint) authorize(ctx context.Context, c *call, caller sigv4.Caller) error {
	if e.access == nil {
		return nil
	}
	c.identity = e.access.IdentityOf(caller)
	all := e.access.AllowsAll(c.identity, c.handler.action)
	if all && !c.handler.changes {
		return nil
	}
	c.origin = originOf(c.request, c.requestID, caller.Region)
	return e.decide(ctx, c, all)
}

// decide decides a call of which all is known. all: the caller may make all calls of the operation.
func (e *Endpoint) decide(ctx context.Context, c *call, all bool) error {
	tags := e.name(ctx, c)
	var err error
	if !all {
		err = e.access.Decide(c.identity, c.origin, access.Call{
			Action: c.handler.action, Resources: c.resources, Tags: tags,
		})
	}
	if err == nil {
		err = e.decidePassing(c)
	}
	c.denied = err != nil // Decide has recorded it
	return err
}

var passRole, _ = policy.ActionOf("iam:PassRole")

// decidePassing decides whether the caller may pass on the roles that a call names: the game servers of the new fleet
// get their rights.
func (e *Endpoint) decidePassing(c *call) error {
	for _, m := range c.handler.roles {
		for _, role := range c.input.AppendTexts(nil, m) {
			err := e.access.Decide(c.identity, c.origin, access.Call{Action: passRole,
				Resources: []string{e.access.RoleARN(role)}})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// name finds out what a call names. A body that could not be read names nothing.
func (e *Endpoint) name(ctx context.Context, c *call) (tags map[string]string) {
	for _, n := range c.handler.names {
		c.names = c.input.AppendTexts(c.names[:0], n.Member)
		c.resources = e.resolver.AppendARNs(ctx, c.resources, n.kind, c.names)
	}
	return c.input.Tags()
}

// refused records a call with a wrong signature.
func (e *Endpoint) refused(c *call, err error) {
	if e.access != nil {
		e.access.Refused(sigv4.KeyID(c.request), originOf(c.request, c.requestID, ""), c.handler.action.String(), err)
	}
}

// record records a call that changes something, with its outcome.
func (e *Endpoint) record(c *call, f *fault.Error) {
	if e.access == nil || !c.handler.changes || c.denied || c.principal == "" {
		return
	}
	var err error
	if f != nil {
		err = f
	}
	e.access.Trail().Record(e.access.Recorded(c.identity, c.origin, c.handler.action.String(), c.resources, err))
}

// creates returns what adds the ARN of what the call has created to its record; nil: the input names all resources.
func (c *call) creates() func(arn string) {
	if !c.handler.changes || len(c.handler.names) > 0 {
		return nil
	}
	return func(arn string) { c.resources = append(c.resources, arn) }
}

// originOf returns where a request comes from.
func originOf(r *listen.Request, requestID, region string) access.Origin {
	return access.Origin{Address: r.Client.Address, TLS: r.Client.TLS, UserAgent: r.Header.Get("User-Agent"),
		RequestID: requestID, Region: region}
}
