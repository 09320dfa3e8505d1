package operator

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/policy"
)

// PolicyList is the answer of GET /v1/policies.
type PolicyList struct {
	Policies []access.PolicyView `json:"policies"`
}

func (d *Handler) policies(*call) (PolicyList, error) {
	views := d.Access.Policies()
	for i := range views {
		describe(&views[i])
	}
	return PolicyList{views}, nil
}

func (d *Handler) policy(c *call) (*access.PolicyView, error) {
	view, err := d.Access.Policy(c.PathValue("name"))
	if err == nil {
		describe(view)
	}
	return view, err
}

// describe completes a built-in policy.
func describe(v *access.PolicyView) {
	if !v.Builtin {
		return
	}
	if v.Description == "" {
		v.Description = policy.Describe(v.Name)
	}
	for _, r := range policy.BuiltinRoles() {
		if user := "role/" + r.Name; slices.Contains(r.Policies, v.Name) && !slices.Contains(v.UsedBy, user) {
			v.UsedBy = append(v.UsedBy, user)
		}
	}
}

// A PolicyInput is the body of PUT /v1/policies/{name}.
type PolicyInput struct {
	Description  string          `json:"description,omitempty"`
	Document     json.RawMessage `json:"document"` // an object, or a string with one
	AllowUnknown bool            `json:"allowUnknown,omitempty"`
}

func (d *Handler) putPolicy(c *call, in *PolicyInput) (*access.PolicyView, error) {
	p, ignored, err := d.Access.PutPolicy(c.Context(), c.id, c.PathValue("name"), in.Description,
		documentText(in.Document), in.AllowUnknown)
	if err != nil {
		return nil, err
	}
	p.Ignored = ignored
	return p, nil
}

func (d *Handler) deletePolicy(c *call) (Deleted, error) {
	name := c.PathValue("name")
	return deletedUnless(d.Access.DeletePolicy(c.Context(), name), name)
}

func (d *Handler) checkPolicy(c *call, in *access.Check) (*access.CheckResult, error) {
	result, err := d.Access.CheckPolicy(*in)
	if err == nil && result.Policy != "" {
		named := d.policyNamed(c.Context(), in.Who, result.Policy)
		result.Reason = strings.Replace(result.Reason, "policy "+result.Policy, named, 1)
	}
	return result, err
}

// policyNamed names the policy that decided. One of a key has the key's id as its name, and one of a user or a role has
// a name that says nothing without theirs.
func (d *Handler) policyNamed(ctx context.Context, who, name string) string {
	if _, err := d.Access.Key(ctx, who); err == nil && name == who {
		return "the own policy of access key " + who
	}
	if _, err := d.Access.Policy(name); err == nil {
		return "policy " + name
	}
	for _, owner := range d.policyOwners(ctx, who) {
		if slices.ContainsFunc(owner.inline, func(p access.InlineView) bool { return p.Name == name }) {
			return "policy " + name + " of " + owner.name
		}
	}
	return "policy " + name
}

// A policyOwner has policies of its own.
type policyOwner struct {
	name   string
	inline []access.InlineView
}

// policyOwners returns the user and the roles whose policies decide for a user, role/NAME or access key.
func (d *Handler) policyOwners(ctx context.Context, who string) (owners []policyOwner) {
	role, isRole := strings.CutPrefix(who, "role/")
	roles := []string{role}
	if !isRole {
		if key, err := d.Access.Key(ctx, who); err == nil {
			who = key.Owner
		}
		user, err := d.Access.User(who)
		if err != nil {
			return nil
		}
		owners, roles = append(owners, policyOwner{"user " + who, user.Policies}), nil
		for _, r := range d.Access.RolesOf(who) {
			roles = append(roles, r.Name)
		}
	}
	for _, name := range roles {
		if r, err := d.Access.Role(name); err == nil {
			owners = append(owners, policyOwner{"role " + name, r.Inline})
		}
	}
	return owners
}
