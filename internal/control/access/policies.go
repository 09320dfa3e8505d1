package access

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func compare(x, y string) int { return cmp.Compare(x, y) }

// moment returns a time for JSON; nil for zero.
func moment(t event.Time) *time.Time {
	if t == 0 {
		return nil
	}
	at := t.Time()
	return &at
}

// An InlineView is a policy of one user or role.
type InlineView struct {
	Name     string          `json:"name"`
	Document json.RawMessage `json:"document"`
}

func inlineViews(policies []catalog.InlinePolicy) (views []InlineView) {
	for _, p := range policies {
		views = append(views, InlineView{p.Name, json.RawMessage(p.Document)})
	}
	return views
}

// inlinePolicies checks policies and sorts them by name.
func inlinePolicies(views []InlineView) (policies []catalog.InlinePolicy, err error) {
	for _, v := range views {
		if _, err := policy.Parse(string(v.Document)); err != nil {
			return nil, malformed("policy "+v.Name, err)
		}
		policies = append(policies, catalog.InlinePolicy{Name: v.Name, Document: string(v.Document)})
	}
	slices.SortFunc(policies, func(x, y catalog.InlinePolicy) int { return compare(x.Name, y.Name) })
	return policies, nil
}

// storedPolicies returns the names that are not built in.
func storedPolicies(names []string) (stored []string) {
	for _, name := range names {
		if _, builtin := policy.Builtin(name); !builtin {
			stored = append(stored, name)
		}
	}
	return stored
}

// A PolicyView describes a policy.
type PolicyView struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Builtin     bool            `json:"builtin,omitempty"`
	Version     int32           `json:"version,omitempty"`
	Document    json.RawMessage `json:"document"`
	UsedBy      []string        `json:"usedBy,omitempty"` // role/<name>, user/<name>, key/<id>
	Created     *time.Time      `json:"created,omitempty"`
	Updated     *time.Time      `json:"updated,omitempty"`
	Ignored     []string        `json:"ignored,omitempty"` // what is unknown in it, at its storing
}

// Policies returns all policies by name, built-in ones included.
func (a *Access) Policies() (views []PolicyView) {
	state := a.state()
	for _, name := range policy.Builtins() {
		text, _ := policy.Builtin(name)
		views = append(views, PolicyView{Name: name, Builtin: true, Document: json.RawMessage(text)})
	}
	stored, _ := state.Policies("", 0)
	for _, p := range stored {
		views = append(views, policyView(p))
	}
	for i := range views {
		views[i].UsedBy = state.PolicyUsers(views[i].Name)
	}
	slices.SortFunc(views, func(x, y PolicyView) int { return compare(x.Name, y.Name) })
	return views
}

func policyView(p *catalog.Policy) PolicyView {
	return PolicyView{Name: p.Name, Description: p.Description, Version: p.Version,
		Document: json.RawMessage(p.Document), Created: moment(p.Created), Updated: moment(p.Updated)}
}

// Policy returns a policy. NotFound.
func (a *Access) Policy(name string) (*PolicyView, error) {
	for _, v := range a.Policies() {
		if v.Name == name {
			return &v, nil
		}
	}
	return nil, fault.New(fault.NotFound, "Policy %s not found", name)
}

// PutPolicy creates or replaces a policy. allowUnknown stores a document with unknown parts, which are returned.
func (a *Access) PutPolicy(ctx context.Context, by *Identity, name, description, document string, allowUnknown bool) (
	*PolicyView, []string, error,
) {
	if _, builtin := policy.Builtin(name); builtin {
		return nil, nil, builtIn("Policy", name)
	}
	parsed, err := policy.Parse(document)
	var ignored []string
	if err != nil && allowUnknown {
		parsed, ignored, err = policy.ParseLenient(document)
	}
	if err != nil {
		return nil, nil, malformed("document", err)
	}
	if err := a.mayReplace(by, a.stored(name), policy.Set{{Name: name, Document: parsed}}); err != nil {
		return nil, nil, err
	}
	err = a.cfg.Catalog.Change(ctx, catalog.PutPolicy{
		Name: name, Description: description, Document: document, At: a.cfg.Catalog.Now(),
	})
	if err != nil {
		return nil, nil, err
	}
	view, err := a.Policy(name)
	return view, ignored, err
}

// DeletePolicy deletes a policy that nothing uses. NotFound, Conflict.
func (a *Access) DeletePolicy(ctx context.Context, name string) error {
	if _, builtin := policy.Builtin(name); builtin {
		return builtIn("Policy", name)
	}
	return a.cfg.Catalog.Change(ctx, catalog.DeletePolicy{Name: name})
}

// A Check asks what a user, role or access key may do.
type Check struct {
	Who      string            `json:"who"` // a user, role/<name>, or an access key id
	Action   string            `json:"action"`
	Resource string            `json:"resource"` // "": "*"
	Context  map[string]string `json:"context"`  // condition keys, over those that follow from who asks
}

// A CheckResult is the answer, with the statement that decided.
type CheckResult struct {
	Allowed   bool   `json:"allowed"`
	Explicit  bool   `json:"explicit"` // a Deny decided
	Policy    string `json:"policy,omitempty"`
	Statement string `json:"statement,omitempty"`
	Reason    string `json:"reason"`
}

// CheckPolicy explains a decision. NotFound, InvalidRequest.
func (a *Access) CheckPolicy(c Check) (*CheckResult, error) {
	action, ok := policy.ActionOf(c.Action)
	if !ok {
		return nil, fault.New(fault.InvalidRequest, "action %q is unknown; it has the form gamelift:ListFleets",
			clip(c.Action, 100))
	}
	id, err := a.identityNamed(c.Who)
	if err != nil {
		return nil, err
	}
	if c.Resource == "" {
		c.Resource = "*"
	}
	if len(id.sets) == 0 {
		return &CheckResult{Allowed: id.Root, Reason: "the root key may do everything"}, nil
	}
	values := a.values(id, Origin{}, &Call{Action: action}, c.Resource)
	r := policy.Request{Action: action, Resource: c.Resource, Values: func(key string) ([]string, bool) {
		if value, ok := c.Context[key]; ok {
			return []string{value}, true
		}
		return values(key)
	}}
	var d policy.Decision
	for i, set := range id.sets {
		if d = set.Evaluate(&r); !d.Allowed {
			return checkResult(d, i), nil
		}
	}
	return checkResult(d, 0), nil
}

func checkResult(d policy.Decision, set int) *CheckResult {
	result := &CheckResult{Allowed: d.Allowed, Explicit: d.Explicit, Policy: d.Policy, Statement: d.Statement}
	statement := d.Statement
	if !strings.HasPrefix(statement, "statement ") { // a Sid
		statement = "statement " + statement
	}
	whose := "policies"
	if set > 0 {
		whose = "policies that narrow the key"
	}
	switch {
	case d.Allowed:
		result.Reason = statement + " of policy " + d.Policy + " allows it"
	case d.Explicit:
		result.Reason = statement + " of policy " + d.Policy + " denies it"
	default:
		result.Reason = "no statement of its " + whose + " allows it"
	}
	return result
}

// identityNamed returns the identity of a user, role or key, as its keys would have it.
func (a *Access) identityNamed(who string) (*Identity, error) {
	d := a.current()
	if name, ok := strings.CutPrefix(who, "role/"); ok {
		r, ok := roleOf(d.state, name)
		if !ok {
			return nil, fault.New(fault.NotFound, "Role %s not found", name)
		}
		i := &Identity{Role: r.Name, SessionName: "check", Account: a.cfg.Account, Arn: a.sessionArn(r.Name, "check"),
			UserID: r.ID + ":check", sets: []policy.Set{a.roleSet(d, r)}}
		return i.ready(), nil
	}
	if k, ok := d.state.AccessKey(who); ok {
		id, err := a.identityOfKey(d, k)
		if err != nil {
			return nil, fault.New(fault.InvalidRequest, "Access key %s may do nothing: user %s is disabled", k.ID,
				k.Owner)
		}
		return id, nil
	}
	u, ok := d.state.User(who)
	if !ok {
		return nil, fault.New(fault.NotFound, "%q is no user, no access key and no role/NAME", clip(who, 100))
	}
	i := &Identity{User: u.Name, Account: a.cfg.Account, Arn: a.userArn(u.Name), UserID: u.ID,
		sets: []policy.Set{a.userSet(d, u)}}
	return i.ready(), nil
}
