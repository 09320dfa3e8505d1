package operator

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Users on a page, if the request says nothing, and at most.
const (
	defaultUsers = 100
	maxUsers     = 1000
)

// UserList is the answer of GET /v1/users. The parameter after with the value of After continues it.
type UserList struct {
	Users []access.UserView `json:"users"`
	After string            `json:"after,omitempty"`
}

func (d *Handler) users(c *call) (*UserList, error) {
	values, err := c.parameters()
	if err != nil {
		return nil, err
	}
	limit, err := strconv.Atoi(cmp.Or(values["limit"], strconv.Itoa(defaultUsers)))
	if err != nil || limit < 1 || limit > maxUsers {
		return nil, fault.New(fault.InvalidRequest, "Parameter limit is %.100q: it must be a number from 1 to %d.",
			values["limit"], maxUsers)
	}
	users, more := d.Access.Users(values["after"], limit)
	list := &UserList{Users: users}
	if more && len(users) > 0 {
		list.After = users[len(users)-1].Name
	}
	return list, nil
}

// parameters returns the parameters of the query that the route has, each of which may be given once.
func (c *call) parameters() (map[string]string, error) {
	query, values := c.URL.Query(), map[string]string{}
	for _, name := range c.query {
		if len(query[name]) > 1 {
			return nil, fault.New(fault.InvalidRequest, "Parameter %s was given %d times; give it once.", name,
				len(query[name]))
		}
		if query.Has(name) {
			values[name] = query.Get(name)
			query.Del(name)
		}
	}
	for name := range query {
		return nil, fault.New(fault.InvalidRequest, "Unknown parameter %.100q. The parameters are %s.", name,
			strings.Join(c.query, ", "))
	}
	return values, nil
}

func newUser(_ *call, in *access.UserInput) []string { return []string{"user/" + in.Name} }

func (d *Handler) createUser(c *call, in *access.UserInput) (*access.UserCreated, error) {
	c.note("name", in.Name)
	return d.inviting(d.Access.CreateUser(c.Context(), c.id, *in))
}

// inviting replaces the token of an invitation with its link.
func (d *Handler) inviting(u *access.UserCreated, err error) (*access.UserCreated, error) {
	if err == nil && u.Invite != "" {
		u.Invite = strings.TrimSuffix(d.PublicURL, "/") + "/signin/invite?token=" + url.QueryEscape(u.Invite)
	}
	return u, err
}

func (d *Handler) user(c *call) (*access.UserView, error) { return d.Access.User(c.PathValue("name")) }

func (d *Handler) changeUser(c *call, p *access.UserPatch) (*access.UserCreated, error) {
	return d.inviting(d.Access.UpdateUser(c.Context(), c.id, c.PathValue("name"), *p))
}

func (d *Handler) deleteUser(c *call) (Deleted, error) {
	name := c.PathValue("name")
	return deletedUnless(d.Access.DeleteUser(c.Context(), name), name)
}

// A Document is the body of PUT /v1/users/{name}/policies/{policy}: a policy as an object, or as a string with one.
type Document struct {
	Document json.RawMessage `json:"document"`
}

func (d *Handler) putUserPolicy(c *call, in *Document) (*access.UserView, error) {
	name := c.PathValue("name")
	err := d.Access.PutUserPolicy(c.Context(), c.id, name, c.PathValue("policy"), documentText(in.Document))
	if err != nil {
		return nil, err
	}
	return d.Access.User(name)
}

func (d *Handler) deleteUserPolicy(c *call) (Deleted, error) {
	name := c.PathValue("policy")
	return deletedUnless(d.Access.DeleteUserPolicy(c.Context(), c.id, c.PathValue("name"), name), name)
}

// SignInList is the answer of GET /v1/users/{name}/sign-ins.
type SignInList struct {
	SignIns []access.SignInView `json:"signIns"`
}

func (d *Handler) signIns(c *call) (*SignInList, error) {
	name := c.PathValue("name")
	if _, err := d.Access.User(name); err != nil {
		return nil, err
	}
	return &SignInList{d.Access.SignIns(name)}, nil
}

// Ended is the answer of DELETE /v1/users/{name}/sign-ins.
type Ended struct {
	Ended int `json:"ended"` // sign-in sessions
}

func (d *Handler) endSignIns(c *call) (Ended, error) {
	n, err := d.Access.EndSignIns(c.Context(), c.PathValue("name"), c.from)
	return Ended{n}, err
}

// caller returns the person who is signed in. Long-lived keys are refused, even those of a person: no policy is asked
// here, and one can be narrowed to something else.
func caller(c *call) (name string, err error) {
	switch {
	case c.id == nil:
		return "", errUnsigned
	case c.id.SignIn == "" || c.id.User == "":
		return "", fault.New(fault.InvalidRequest, "The caller is not signed in: use keys of a role, which a person "+
			"gets by signing in, or name the user: /v1/users/NAME/sign-ins.")
	}
	return c.id.User, nil
}

// ownSignIns is signIns of the caller.
func (d *Handler) ownSignIns(c *call) (*SignInList, error) {
	name, err := caller(c)
	if err != nil {
		return nil, err
	}
	return &SignInList{d.Access.SignIns(name)}, nil
}

// endOwnSignIns is endSignIns of the caller, whose keys end, too.
func (d *Handler) endOwnSignIns(c *call) (*Ended, error) {
	name, err := caller(c)
	if err != nil {
		return nil, err
	}
	n, err := d.Access.EndSignIns(c.Context(), name, c.from)
	return &Ended{n}, err
}

type unlocked struct {
	Unlocked string `json:"unlocked"`
}

func (d *Handler) unlockUser(c *call) (*unlocked, error) {
	name := c.PathValue("name")
	if _, err := d.Access.User(name); err != nil {
		return nil, err
	}
	d.Access.Unlock(name)
	return &unlocked{name}, nil
}

// GroupList is the answer of GET /v1/groups.
type GroupList struct {
	Groups []access.GroupView `json:"groups"`
}

func (d *Handler) groups(*call) (GroupList, error) { return GroupList{d.Access.Groups()}, nil }

// A NewGroup is the body of POST /v1/groups, and its answer.
type NewGroup struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

func newGroup(_ *call, in *NewGroup) []string { return []string{"group/" + in.Name} }

func (d *Handler) createGroup(c *call, in *NewGroup) (*NewGroup, error) {
	c.note("name", in.Name)
	return in, d.Access.CreateGroup(c.Context(), in.Name, in.Description)
}

func (d *Handler) deleteGroup(c *call) (Deleted, error) {
	name := c.PathValue("name")
	return deletedUnless(d.Access.DeleteGroup(c.Context(), name), name)
}
