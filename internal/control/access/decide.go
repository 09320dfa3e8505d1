package access

import (
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-gg/muster/internal/control/audit"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Call is what an identity wants to do.
type Call struct {
	Action    policy.Action
	Resources []string          // ARNs, each of which must be allowed; none: "*"
	Tags      map[string]string // that the call gives to a resource
}

// A verdict is what is known of all calls of an action.
type verdict uint64

const (
	unknown verdict = iota
	allowed         // every call is
	depends         // on the call
)

// verdicts are the verdicts of an identity, 2 bits for each action. They are found out at the first call of the action.
type verdicts []atomic.Uint64

const perWord = 32

var actionCount = len(policy.Actions())

func (v verdicts) of(action policy.Action) verdict {
	return verdict(v[action/perWord].Load()>>(2*(action%perWord))) & 3
}

// put stores a verdict. All callers find out the same one.
func (v verdicts) put(action policy.Action, known verdict) {
	v[action/perWord].Or(uint64(known) << (2 * (action % perWord)))
}

// Allow returns nil, or an AccessDeniedException with AWS's sentence, which it records.
func (a *Access) Allow(id *Identity, from Origin, action policy.Action, resources ...string) error {
	if a.AllowsAll(id, action) {
		return nil
	}
	return a.Decide(id, from, Call{Action: action, Resources: resources})
}

// AllowsAll reports whether an identity may call an action whatever the resource and the conditions. It is quick: with
// it, most calls need not be read before they are decided.
func (a *Access) AllowsAll(id *Identity, action policy.Action) bool {
	if id == nil || len(id.sets) == 0 {
		return id == nil || id.Root
	}
	switch id.always.of(action) {
	case allowed:
		return true
	case depends:
		return false
	}
	for _, set := range id.sets {
		if d, always := set.Always(action); !always || !d.Allowed {
			id.always.put(action, depends)
			return false
		}
	}
	id.always.put(action, allowed)
	return true
}

// Decide decides a call, and records a denial.
func (a *Access) Decide(id *Identity, from Origin, c Call) error {
	resource, d := a.decide(id, from, &c)
	if d.Allowed {
		return nil
	}
	err := denied(id, c.Action, resource, d)
	record := a.recorded(id, from, c.Action.String(), []string{resource}, err)
	record.Decision = audit.Decision{Policy: d.Policy, Statement: d.Statement}
	a.cfg.Trail.Record(record)
	return err
}

// Permits reports whether Allow would return nil, and records nothing: for what a page leaves out if its reader may not
// see it, because nobody has asked for that.
func (a *Access) Permits(id *Identity, from Origin, action policy.Action, resources ...string) bool {
	_, d := a.decide(id, from, &Call{Action: action, Resources: resources})
	return d.Allowed
}

// PermitsSome reports whether an identity may call an action on some resource, under some conditions, and records
// nothing: for a form of a page in which the resource is typed.
func (a *Access) PermitsSome(id *Identity, action policy.Action) bool {
	if id == nil || len(id.sets) == 0 {
		return id == nil || id.Root
	}
	for _, set := range id.sets {
		if d, always := set.Always(action); always && !d.Allowed || !set.Mentions(action, false) {
			return false
		}
	}
	return true
}

// decide returns the decision of a call, and the resource that is not allowed.
func (a *Access) decide(id *Identity, from Origin, c *Call) (resource string, d policy.Decision) {
	if a.AllowsAll(id, c.Action) {
		return "", policy.Decision{Allowed: true}
	}
	resources := c.Resources
	if len(resources) == 0 {
		resources = []string{"*"}
	}
	for _, resource := range resources {
		if d = a.evaluate(id, from, c, resource); !d.Allowed {
			return resource, d
		}
	}
	return "", d
}

// evaluate asks all policies of an identity. The decision is that of the first one that does not allow.
func (a *Access) evaluate(id *Identity, from Origin, c *Call, resource string) (d policy.Decision) {
	k := conditionKeys.Get().(*keysOf)
	defer conditionKeys.Put(k)
	k.access, k.id, k.from, k.call, k.resource = a, id, from, *c, resource
	r := policy.Request{Action: c.Action, Resource: resource, Values: k.lookup}
	for _, set := range id.sets {
		if d = set.Evaluate(&r); !d.Allowed {
			return d
		}
	}
	return d
}

// denied returns the exception in AWS's words.
func denied(id *Identity, action policy.Action, resource string, d policy.Decision) error {
	why := "because no identity-based policy allows the " + action.String() + " action"
	if d.Explicit {
		why = "with an explicit deny in an identity-based policy"
	}
	return fault.New(fault.AccessDenied, "User: %s is not authorized to perform: %s on resource: %s %s",
		id.Arn, action, resource, why)
}

// keysOf are the condition keys of a call. They are used again, because most calls need none, and a closure for each
// would cost more than the rest of a decision.
type keysOf struct {
	access   *Access
	id       *Identity
	from     Origin
	call     Call
	resource string
	lookup   func(key string) ([]string, bool) // values
}

var conditionKeys = sync.Pool{New: func() any {
	k := &keysOf{}
	k.lookup = k.values
	return k
}}

// values returns the condition keys of a call.
func (a *Access) values(id *Identity, from Origin, c *Call, resource string) func(key string) ([]string, bool) {
	k := &keysOf{access: a, id: id, from: from, call: *c, resource: resource}
	return k.values
}

func (k *keysOf) values(key string) ([]string, bool) {
	if tag, ok := strings.CutPrefix(key, "aws:ResourceTag/"); ok {
		return k.access.resourceTag(k.resource, tag)
	}
	if tag, ok := strings.CutPrefix(key, "aws:RequestTag/"); ok {
		value, ok := k.call.Tags[tag]
		return []string{value}, ok
	}
	if tag, ok := strings.CutPrefix(key, "aws:PrincipalTag/"); ok {
		value, ok := k.id.Tags[tag]
		return []string{value}, ok
	}
	if key == "aws:TagKeys" {
		keys := make([]string, 0, len(k.call.Tags))
		for tag := range k.call.Tags {
			keys = append(keys, tag)
		}
		return keys, len(keys) > 0
	}
	value := k.access.value(k.id, k.from, key)
	return []string{value}, value != ""
}

// value returns a condition key that has one value; "" if it is missing.
func (a *Access) value(id *Identity, from Origin, key string) string {
	switch key {
	case "aws:PrincipalArn":
		if id.Role != "" {
			return a.roleArn(id.Role)
		}
		return id.Arn
	case "aws:PrincipalType":
		return principalType(id)
	case "aws:userid":
		return id.UserID
	case "aws:username":
		if id.Role != "" {
			return "" // AWS sets it for users only
		}
		return id.User
	case "aws:SourceIp":
		return address(from.Address)
	case "aws:SecureTransport":
		return strconv.FormatBool(from.TLS)
	case "aws:CurrentTime":
		return a.now().UTC().Format(time.RFC3339)
	case "aws:EpochTime":
		return strconv.FormatInt(a.now().Unix(), 10)
	case "aws:TokenIssueTime":
		if id.Issued.IsZero() {
			return ""
		}
		return id.Issued.UTC().Format(time.RFC3339)
	case "aws:RequestedRegion":
		return from.Region
	case "aws:UserAgent":
		return from.UserAgent
	case "aws:MultiFactorAuthPresent":
		if id.Temporary {
			return "false"
		}
	}
	return ""
}

func principalType(id *Identity) string {
	switch {
	case id.Role != "":
		return "AssumedRole"
	case id.User != "":
		return "User"
	}
	return "Account"
}

func address(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// resourceTag reads a tag of a resource; none if the resource does not exist.
func (a *Access) resourceTag(resource, tag string) ([]string, bool) {
	i := strings.LastIndexByte(resource, ':')
	for _, t := range a.state().Tags(resource[i+1:]) {
		if t.Key == tag {
			return []string{t.Value}, true
		}
	}
	return nil, false
}
