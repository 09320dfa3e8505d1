package access

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A RoleView describes a role.
type RoleView struct {
	Name        string          `json:"name"`
	ID          string          `json:"id"`
	Arn         string          `json:"arn"`
	Description string          `json:"description,omitempty"`
	Builtin     bool            `json:"builtin,omitempty"`
	Policies    []string        `json:"policies,omitempty"`
	Inline      []InlineView    `json:"inlinePolicies,omitempty"`
	MaxDuration int32           `json:"maxDuration"` // seconds
	Trust       json.RawMessage `json:"trust,omitempty"`
	Subjects    []string        `json:"assignedTo,omitempty"` // users, and groups as @name
	Created     *time.Time      `json:"created,omitempty"`
	Updated     *time.Time      `json:"updated,omitempty"`
}

// A RoleInput is a role to be stored.
type RoleInput struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Policies    []string        `json:"policies"`
	Inline      []InlineView    `json:"inlinePolicies"`
	MaxDuration int32           `json:"maxDuration"` // seconds; 0: an hour
	Trust       json.RawMessage `json:"trust"`
}

// builtinRoles are the roles that exist from the beginning, by name.
var builtinRoles = func() map[string]*catalog.Role {
	roles := map[string]*catalog.Role{}
	for _, r := range policy.BuiltinRoles() {
		sum := sha256.Sum256([]byte("role " + r.Name))
		roles[r.Name] = &catalog.Role{
			Name: r.Name, ID: "AROA" + base32.StdEncoding.EncodeToString(sum[:10]), Description: r.Description,
			Policies: r.Policies, MaxDuration: maxRoleSeconds,
		}
	}
	return roles
}()

// roleOf finds a stored or built-in role.
func roleOf(state *catalog.State, name string) (*catalog.Role, bool) {
	if r, ok := builtinRoles[name]; ok {
		return r, true
	}
	return state.Role(name)
}

// Roles returns all roles by name.
func (a *Access) Roles() (views []RoleView) {
	state := a.state()
	roles, _ := state.Roles("", 0)
	for _, r := range builtinRoles {
		roles = append(roles, r)
	}
	slices.SortFunc(roles, func(x, y *catalog.Role) int { return compare(x.Name, y.Name) })
	for _, r := range roles {
		views = append(views, a.roleView(state, r))
	}
	return views
}

// Role returns a role. NotFound.
func (a *Access) Role(name string) (*RoleView, error) {
	r, ok := roleOf(a.state(), name)
	if !ok {
		return nil, fault.New(fault.NotFound, "Role %s not found", name)
	}
	view := a.roleView(a.state(), r)
	return &view, nil
}

func (a *Access) roleView(state *catalog.State, r *catalog.Role) RoleView {
	_, builtin := builtinRoles[r.Name]
	v := RoleView{
		Name: r.Name, ID: r.ID, Arn: a.roleArn(r.Name), Description: r.Description, Builtin: builtin,
		Policies: r.Policies, Inline: inlineViews(r.Inline), MaxDuration: roleMaximum(r),
		Created: moment(r.Created), Updated: moment(r.Updated), Subjects: state.SubjectsOf(r.Name),
	}
	if r.Trust != "" {
		v.Trust = json.RawMessage(r.Trust)
	}
	return v
}

// PutRole creates or replaces a role.
func (a *Access) PutRole(ctx context.Context, by *Identity, in RoleInput) (*RoleView, error) {
	if _, ok := builtinRoles[in.Name]; ok {
		return nil, builtIn("Role", in.Name)
	}
	if in.MaxDuration != 0 && (in.MaxDuration < minSeconds || in.MaxDuration > maxRoleSeconds) {
		return nil, fault.New(fault.InvalidRequest, "maxDuration is %d s; it must be between %d and %d",
			in.MaxDuration, minSeconds, maxRoleSeconds)
	}
	inline, err := inlinePolicies(in.Inline)
	if err != nil {
		return nil, err
	}
	trust, err := a.checkTrust(in.Trust)
	if err != nil {
		return nil, err
	}
	var before policy.Set
	if old, ok := a.state().Role(in.Name); ok {
		before = a.roleSet(a.current(), old)
	}
	if err := a.mayReplace(by, before, a.granted(in.Policies, inline)); err != nil {
		return nil, err
	}
	now := a.cfg.Catalog.Now()
	r := catalog.Role{
		Name: in.Name, ID: "AROA" + randomID(), Description: in.Description, Policies: in.Policies, Inline: inline,
		MaxDuration: in.MaxDuration, Trust: trust, Created: now, Updated: now,
	}
	if old, ok := a.state().Role(in.Name); ok {
		r.ID, r.Created = old.ID, old.Created
	}
	err = a.cfg.Catalog.Change(ctx, catalog.PutRole{Role: r, Stored: storedPolicies(in.Policies)})
	if err != nil {
		return nil, err
	}
	return a.Role(in.Name)
}

// checkTrust checks a trust policy.
func (a *Access) checkTrust(trust json.RawMessage) (string, error) {
	if len(trust) == 0 || string(trust) == "null" {
		return "", nil
	}
	document, err := policy.ParseTrust(string(trust))
	if err == nil {
		err = document.CheckIssuers(nil)
	}
	if err != nil {
		return "", malformed("trust", err)
	}
	return string(trust), nil
}

// DeleteRole deletes a role with its assignments. NotFound.
func (a *Access) DeleteRole(ctx context.Context, by *Identity, name string) error {
	if _, ok := builtinRoles[name]; ok {
		return builtIn("Role", name)
	}
	if r, ok := a.state().Role(name); ok {
		if err := a.mayLose(by, a.roleSet(a.current(), r)); err != nil {
			return err
		}
	}
	return a.cfg.Catalog.Change(ctx, catalog.DeleteRole{Name: name})
}

// An AssignmentView is a role of a user or group.
type AssignmentView struct {
	Role    string    `json:"role"`
	Subject string    `json:"subject"` // a user, or a group as @name
	Created time.Time `json:"created"`
}

// Assignments returns all assignments.
func (a *Access) Assignments() (views []AssignmentView) {
	for _, s := range a.state().Assignments() {
		views = append(views, AssignmentView{s.Role, s.Subject, s.Created.Time()})
	}
	return views
}

// Assign gives a role to a user, or to a group as @name.
func (a *Access) Assign(ctx context.Context, by *Identity, subject, role string) error {
	r, ok := roleOf(a.state(), role)
	if !ok {
		return fault.New(fault.NotFound, "Role %s not found", role)
	}
	if err := a.covers(by, a.roleSet(a.current(), r)); err != nil {
		return err
	}
	_, builtin := builtinRoles[role]
	return a.cfg.Catalog.Change(ctx, catalog.PutAssignment{
		Role: role, Subject: subject, Created: a.cfg.Catalog.Now(), Builtin: builtin,
	})
}

// Unassign takes a role away. NotFound.
func (a *Access) Unassign(ctx context.Context, by *Identity, subject, role string) error {
	if r, ok := roleOf(a.state(), role); ok {
		if err := a.mayLose(by, a.roleSet(a.current(), r)); err != nil {
			return err
		}
	}
	return a.cfg.Catalog.Change(ctx, catalog.DeleteAssignment{Role: role, Subject: subject})
}

// granted compiles policies that are to be stored.
func (a *Access) granted(managed []string, inline []catalog.InlinePolicy) policy.Set {
	d := a.current()
	set := a.managed(d, managed)
	for _, p := range inline {
		set = append(set, d.source(p.Name, p.Document))
	}
	return set
}

func builtIn(what, name string) error {
	return fault.New(fault.InvalidRequest, "%s %s is built in and cannot be changed; choose another name", what, name)
}
