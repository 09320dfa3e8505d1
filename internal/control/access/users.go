package access

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A UserView describes a user.
type UserView struct {
	Name           string       `json:"name"`
	ID             string       `json:"id"`
	Arn            string       `json:"arn"`
	DisplayName    string       `json:"displayName,omitempty"`
	Email          string       `json:"email,omitempty"`
	Service        bool         `json:"service,omitempty"` // owns keys and does not sign in
	Disabled       bool         `json:"disabled,omitempty"`
	HasPassword    bool         `json:"hasPassword,omitempty"`
	Provider       string       `json:"provider,omitempty"` // of identities, by which the user signs in
	Groups         []string     `json:"groups,omitempty"`
	ExternalGroups []string     `json:"externalGroups,omitempty"` // that the provider named
	Attached       []string     `json:"attachedPolicies,omitempty"`
	Policies       []InlineView `json:"policies,omitempty"`
	Roles          []string     `json:"roles,omitempty"`
	Created        time.Time    `json:"created"`
	InviteEnds     *time.Time   `json:"inviteEnds,omitempty"`
}

// A UserInput is a user to be created.
type UserInput struct {
	Name        string       `json:"name"`
	DisplayName string       `json:"displayName"`
	Email       string       `json:"email"`
	Service     bool         `json:"service"`
	Groups      []string     `json:"groups"`
	Attached    []string     `json:"attachedPolicies"`
	Policies    []InlineView `json:"policies"`
	Issuer      string       `json:"issuer"` // identity of a provider, with Subject
	Subject     string       `json:"subject"`
	Invite      bool         `json:"invite"` // return a link with which the user sets a password
	Password    string       `json:"password"`
}

// A UserPatch changes a user; nil leaves a field as it is.
type UserPatch struct {
	DisplayName  *string  `json:"displayName"`
	Email        *string  `json:"email"`
	AddGroups    []string `json:"addGroups"`
	RemoveGroups []string `json:"removeGroups"`
	Attach       []string `json:"attachPolicies"`
	Detach       []string `json:"detachPolicies"`
	Disabled     *bool    `json:"disabled"`
	Password     *string  `json:"password"`
	Issuer       *string  `json:"issuer"`
	Subject      *string  `json:"subject"`
	Invite       bool     `json:"invite"` // return a new link
}

// A UserCreated is a user with the token of an invitation, which is shown once.
type UserCreated struct {
	UserView
	Invite string `json:"invite,omitempty"`
}

func noUser(name string) error {
	return fault.New(fault.NotFound, "The user with name %s cannot be found.", name)
}

// Users returns the users after a name; a limit below 1 is none.
func (a *Access) Users(after string, limit int) (views []UserView, more bool) {
	state := a.state()
	users, more := state.Users(after, limit)
	for _, u := range users {
		views = append(views, a.userView(state, u))
	}
	return views, more
}

// User returns a user. NotFound.
func (a *Access) User(name string) (*UserView, error) {
	u, ok := a.state().User(name)
	if !ok {
		return nil, noUser(name)
	}
	view := a.userView(a.state(), u)
	return &view, nil
}

func (a *Access) userView(state *catalog.State, u *catalog.User) UserView {
	v := UserView{
		Name: u.Name, ID: u.ID, Arn: a.userArn(u.Name), DisplayName: u.DisplayName, Email: u.Email, Service: u.Service,
		Disabled: u.Disabled, HasPassword: u.Password != "", Groups: u.Groups, ExternalGroups: u.ExternalGroups,
		Attached: u.Attached, Policies: inlineViews(u.Policies), Roles: state.AssignmentsOf(u.Name),
		Created: u.Created.Time(), InviteEnds: moment(u.InviteEnds),
	}
	if p, ok := state.ProviderByIssuer(u.Issuer); ok {
		v.Provider = p.Name
	}
	return v
}

// CreateUser creates a user. Conflict, InvalidRequest.
func (a *Access) CreateUser(ctx context.Context, by *Identity, in UserInput) (*UserCreated, error) {
	if in.Service && (in.Invite || in.Password != "" || in.Issuer != "") {
		return nil, fault.New(fault.InvalidRequest, "A service user does not sign in: it can have no password, "+
			"invitation or external identity")
	}
	if err := a.checkAttached(by, in.Attached); err != nil {
		return nil, err
	}
	if err := a.mayBeNamed(by, in.Name); err != nil {
		return nil, err
	}
	own, err := inlinePolicies(in.Policies)
	if err != nil {
		return nil, err
	}
	if err := a.covers(by, a.granted(nil, own)); err != nil {
		return nil, err
	}
	u := catalog.User{
		Name: in.Name, ID: "AIDA" + randomID(), DisplayName: in.DisplayName, Email: in.Email, Service: in.Service,
		Groups: sorted(in.Groups), Attached: sorted(in.Attached), Policies: own, Issuer: in.Issuer, Subject: in.Subject,
		Created: a.cfg.Catalog.Now(),
	}
	if in.Password != "" {
		if err := checkNewPassword(in.Name, in.Password); err != nil {
			return nil, err
		}
		hash, err := a.hashPassword(ctx, in.Password)
		if err != nil {
			return nil, err
		}
		u.Password = hash
	}
	var token string
	if in.Invite {
		token, u.Invite, u.InviteEnds = a.newInvite()
	}
	if err := a.covers(by, a.groupSet(u.Groups)); err != nil {
		return nil, err
	}
	err = a.cfg.Catalog.Change(ctx, catalog.PutUser{User: u, Create: true, Stored: storedPolicies(u.Attached)})
	if err != nil {
		return nil, err
	}
	view, err := a.User(in.Name)
	if err != nil {
		return nil, err
	}
	return &UserCreated{*view, token}, nil
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// checkAttached checks the managed policies of a user.
func (a *Access) checkAttached(by *Identity, names []string) error {
	for _, name := range names {
		if _, ok := policyText(a.state(), name); !ok {
			return fault.New(fault.NotFound, "Policy %s not found", name)
		}
	}
	return a.covers(by, a.granted(names, nil))
}

// changeUser changes a user as it is when the change is stored. NotFound, and the error of change.
func (a *Access) changeUser(ctx context.Context, name string, change func(*catalog.User) error) error {
	for attempt := 1; ; attempt++ {
		old, ok := a.state().User(name)
		if !ok {
			return noUser(name)
		}
		u := *old
		if err := change(&u); err != nil {
			return err
		}
		err := a.cfg.Catalog.Change(ctx, catalog.PutUser{User: u, Stored: storedPolicies(u.Attached), Was: old.Sum()})
		if !fault.Is(err, fault.Conflict) || attempt == maxChanges {
			return err
		}
		if now, _ := a.state().User(name); now == old {
			return err // a conflict of another kind, or this node is behind
		}
	}
}

// maxChanges is how often a change is tried while others change the same user.
const maxChanges = 5

// UpdateUser changes a user. NotFound, InvalidRequest.
func (a *Access) UpdateUser(ctx context.Context, by *Identity, name string, patch UserPatch) (*UserCreated, error) {
	var token string
	err := a.changeUser(ctx, name, func(u *catalog.User) error {
		if err := a.mayChange(by, u, &patch); err != nil {
			return err
		}
		if patch.Invite {
			if u.Service {
				return fault.New(fault.InvalidRequest, "User %s is a service user, which does not sign in", name)
			}
			token, u.Invite, u.InviteEnds = a.newInvite()
		}
		patch.apply(u)
		if patch.Disabled != nil {
			u.Disabled = *patch.Disabled
			if u.Disabled {
				u.NotBefore = a.cfg.Catalog.Now() // what was issued to a disabled user stays void
			}
		}
		return nil
	})
	if err == nil && patch.Password != nil {
		err = a.replacePassword(ctx, name, *patch.Password)
	}
	if err != nil {
		return nil, err
	}
	view, err := a.User(name)
	if err != nil {
		return nil, err
	}
	return &UserCreated{*view, token}, nil
}

// replacePassword sets the password of a user without an invitation.
func (a *Access) replacePassword(ctx context.Context, name, password string) error {
	u, ok := a.state().User(name)
	if !ok {
		return noUser(name)
	}
	return a.setPassword(ctx, u, password, nil)
}

// mayChange returns an error if an identity may not make a change: who sets the password of a user, or enables it, can
// do all that the user can.
func (a *Access) mayChange(by *Identity, u *catalog.User, patch *UserPatch) error {
	if err := a.checkAttached(by, patch.Attach); err != nil {
		return err
	}
	lost := append(a.groupSet(patch.RemoveGroups), a.granted(patch.Detach, nil)...)
	if err := a.mayReplace(by, lost, a.groupSet(patch.AddGroups)); err != nil {
		return err
	}
	enables := patch.Disabled != nil && !*patch.Disabled && u.Disabled
	if enables || patch.Password != nil || patch.Invite || patch.Issuer != nil || patch.Subject != nil {
		return a.mayBe(by, u)
	}
	return nil
}

func (p *UserPatch) apply(u *catalog.User) {
	for value, to := range map[*string]*string{
		p.DisplayName: &u.DisplayName, p.Email: &u.Email, p.Issuer: &u.Issuer, p.Subject: &u.Subject,
	} {
		if value != nil {
			*to = *value
		}
	}
	u.Groups = changed(u.Groups, p.AddGroups, p.RemoveGroups)
	u.Attached = changed(u.Attached, p.Attach, p.Detach)
}

func changed(list, add, remove []string) []string {
	return slices.DeleteFunc(sorted(append(slices.Clone(list), add...)), func(s string) bool {
		return slices.Contains(remove, s)
	})
}

// DeleteUser deletes a user with its keys, assignments and sessions. NotFound.
func (a *Access) DeleteUser(ctx context.Context, name string) error {
	return a.cfg.Catalog.Change(ctx, catalog.DeleteUser{Name: name})
}

// PutUserPolicy creates or replaces a policy of one user.
func (a *Access) PutUserPolicy(ctx context.Context, by *Identity, user, name, document string) error {
	if _, ok := a.state().User(user); !ok {
		return noUser(user)
	}
	more, err := inlinePolicies([]InlineView{{name, json.RawMessage(document)}})
	if err != nil {
		return err
	}
	granted := policy.Set{a.current().source(name, document)}
	return a.changeUser(ctx, user, func(u *catalog.User) error {
		if err := a.mayReplace(by, a.inline(u, name), granted); err != nil {
			return err
		}
		u.Policies = append(without(u.Policies, name), more...)
		slices.SortFunc(u.Policies, func(x, y catalog.InlinePolicy) int { return compare(x.Name, y.Name) })
		return nil
	})
}

func without(policies []catalog.InlinePolicy, name string) []catalog.InlinePolicy {
	return slices.DeleteFunc(slices.Clone(policies), func(p catalog.InlinePolicy) bool { return p.Name == name })
}

// DeleteUserPolicy deletes a policy of one user. NotFound.
func (a *Access) DeleteUserPolicy(ctx context.Context, by *Identity, user, name string) error {
	return a.changeUser(ctx, user, func(u *catalog.User) error {
		if err := a.mayLose(by, a.inline(u, name)); err != nil {
			return err
		}
		before := len(u.Policies)
		if u.Policies = without(u.Policies, name); len(u.Policies) == before {
			return fault.New(fault.NotFound, "The user policy with name %s cannot be found.", name)
		}
		return nil
	})
}

// A SignInView describes a sign-in session.
type SignInView struct {
	ID      string    `json:"id"`
	User    string    `json:"user"`
	Client  string    `json:"client"`
	Kind    string    `json:"kind"`
	Address string    `json:"address,omitempty"`
	Created time.Time `json:"created"`
	Used    time.Time `json:"used"`
	Ends    time.Time `json:"ends"`
}

// SignIns returns the sign-in sessions of a user.
func (a *Access) SignIns(user string) (views []SignInView) {
	for _, s := range a.state().SignInsOf(user) {
		views = append(views, SignInView{s.ID, s.User, s.Client, s.Kind, s.Address, s.Created.Time(), s.Used.Time(),
			min(s.Ends, s.IdleEnds).Time()})
	}
	return views
}

// A GroupView describes a group.
type GroupView struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Members     []string  `json:"members,omitempty"`
	Roles       []string  `json:"roles,omitempty"`
	Created     time.Time `json:"created"`
}

// Groups returns all groups by name.
func (a *Access) Groups() (views []GroupView) {
	state := a.state()
	groups, _ := state.Groups("", 0)
	for _, g := range groups {
		views = append(views, GroupView{g.Name, g.Description, state.Members(g.Name),
			state.RolesOfSubject("@" + g.Name), g.Created.Time()})
	}
	return views
}

// CreateGroup creates a group, or changes its description.
func (a *Access) CreateGroup(ctx context.Context, name, description string) error {
	return a.cfg.Catalog.Change(ctx, catalog.PutGroup{
		Group: catalog.Group{Name: name, Description: description, Created: a.cfg.Catalog.Now()},
	})
}

// DeleteGroup deletes a group without members and roles. NotFound, Conflict.
func (a *Access) DeleteGroup(ctx context.Context, name string) error {
	return a.cfg.Catalog.Change(ctx, catalog.DeleteGroup{Name: name})
}
