package console

import (
	"net/url"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/control/access"
)

// perform makes a request that a form asks for, and leads to the next page, or shows the form again.
func (v *visit) perform(method, path string, body any, next string, again func(error) error) error {
	if err := v.request(method, path, body, nil); err != nil {
		return again(err)
	}
	return v.redirect(next)
}

// A usersBody is a page of the users, by name.
type usersBody struct {
	Users   []access.UserView
	After   string // the next page begins after it; "": this is the last
	Groups  []access.GroupView
	Name    string // that was typed
	Display string
	Email   string
	Created *access.UserCreated // with its invitation, which is shown once
}

func usersPage(v *visit) error { return v.users(usersBody{}, nil) }

func (v *visit) users(b usersBody, refused error) error {
	path := "/v1/users?limit=50"
	if after := v.r.URL.Query().Get("after"); after != "" {
		path += "&after=" + url.QueryEscape(after)
	}
	var answer struct {
		Users []access.UserView `json:"users"`
		After string            `json:"after"`
	}
	if err := v.request("GET", path, nil, &answer); err != nil {
		return err
	}
	b.Users, b.After = answer.Users, answer.After
	if v.sees("muster:GroupRead") {
		groups, err := v.groups()
		if err != nil {
			return err
		}
		b.Groups = groups
	}
	return v.refused("users", page{Title: "Users", Nav: "/console/users", Body: &b,
		Live: refused == nil && b.Created == nil}, refused)
}

func (v *visit) groups() ([]access.GroupView, error) {
	var answer struct {
		Groups []access.GroupView `json:"groups"`
	}
	err := v.request("GET", in("groups"), nil, &answer)
	return answer.Groups, err
}

func createUser(v *visit) error {
	b := usersBody{Name: v.form("user-name"), Display: v.form("display-name"), Email: v.form("user-email")}
	kind := v.form("kind")
	body := map[string]any{"name": b.Name, "displayName": b.Display, "email": b.Email, "groups": v.r.Form["group"],
		"service": kind == "service", "invite": kind == "invite"}
	var created access.UserCreated
	if err := v.request("POST", in("users"), body, &created); err != nil {
		return v.users(b, err)
	}
	if created.Invite == "" {
		return v.redirect(userPath(created.Name) + "?done=user-created")
	}
	return v.users(usersBody{Created: &created}, nil)
}

// userState is the state of a user in a word.
func userState(u access.UserView) string {
	switch {
	case u.Disabled:
		return "DISABLED"
	case u.InviteEnds != nil && !u.HasPassword:
		return "INVITED"
	}
	return "ACTIVE"
}

func userPath(name string) string { return "/console/users/" + url.PathEscape(name) }

// A userBody is the page of a user. What the person may not see is empty.
type userBody struct {
	access.UserView
	SignIns  []access.SignInView
	Keys     []access.KeyView
	NewRoles []string // that the user does not have
	Groups   []groupChoice
	Invite   string // a link, which is shown once
}

// A groupChoice is a group that a user is in, or can be.
type groupChoice struct {
	Name string
	In   bool
}

func userPage(v *visit) error { return v.user("", nil) }

func (v *visit) user(invite string, refused error) error {
	name := v.r.PathValue("name")
	b := userBody{Invite: invite}
	if err := v.request("GET", in("users", name), nil, &b.UserView); err != nil {
		return err
	}
	if err := v.userParts(&b); err != nil {
		return err
	}
	return v.refused("user", page{Title: b.Name, Nav: "/console/users", Live: refused == nil && invite == "", Body: &b,
		Crumbs: []link{{"Users", "/console/users"}}}, refused)
}

// userParts reads what a user has.
func (v *visit) userParts(b *userBody) error {
	if v.may("muster:SessionRead", []string{"user/" + b.Name}) {
		answer := struct {
			SignIns *[]access.SignInView `json:"signIns"`
		}{&b.SignIns}
		if err := v.request("GET", in("users", b.Name, "sign-ins"), nil, &answer); err != nil {
			return err
		}
	}
	if v.sees("muster:KeyRead") {
		keys, err := v.accessKeys(b.Name)
		if err != nil {
			return err
		}
		b.Keys = keys
	}
	if v.sees("muster:RoleRead") {
		roles, err := v.allRoles()
		if err != nil {
			return err
		}
		for _, r := range roles {
			if !slices.Contains(b.Roles, r.Name) {
				b.NewRoles = append(b.NewRoles, r.Name)
			}
		}
	}
	if v.sees("muster:GroupRead") {
		groups, err := v.groups()
		if err != nil {
			return err
		}
		for _, g := range groups {
			b.Groups = append(b.Groups, groupChoice{g.Name, slices.Contains(b.UserView.Groups, g.Name)})
		}
	}
	return nil
}

// changeUser does what the form's button asks for.
func changeUser(v *visit) error {
	name := v.r.PathValue("name")
	again := func(err error) error { return v.user("", err) }
	next := userPath(name) + "?done=user-changed"
	path := in("users", name)
	switch v.form("to") {
	case "disable", "enable":
		return v.perform("PATCH", path, map[string]any{"disabled": v.form("to") == "disable"}, next, again)
	case "group":
		change := "addGroups"
		if v.form("in") != "" {
			change = "removeGroups"
		}
		return v.perform("PATCH", path, map[string]any{change: []string{v.form("group")}}, next, again)
	case "invite":
		var changed access.UserCreated
		if err := v.request("PATCH", path, map[string]any{"invite": true}, &changed); err != nil {
			return again(err)
		}
		return v.user(changed.Invite, nil)
	case "unlock":
		return v.perform("POST", in("users", name, "unlock"), nil, next, again)
	case "end":
		return v.perform("DELETE", in("users", name, "sign-ins"), nil, userPath(name)+"?done=sign-ins-ended", again)
	case "assign":
		return v.perform("PUT", in("assignments", v.form("role"), name), nil, next, again)
	case "unassign":
		return v.perform("DELETE", in("assignments", v.form("role"), name), nil, next, again)
	case "delete":
		if v.form("confirm") != name {
			return again(invalid("Type the name of the user, %s, to delete it.", name))
		}
		return v.perform("DELETE", path, nil, "/console/users?done=user-deleted", again)
	}
	return errNoPage
}

// A groupsBody is all groups.
type groupsBody struct {
	Groups            []access.GroupView
	Name, Description string // that were typed
	Roles             []string
}

func groupsPage(v *visit) error { return v.groupList(nil) }

func (v *visit) groupList(refused error) error {
	groups, err := v.groups()
	if err != nil {
		return err
	}
	b := groupsBody{Groups: groups, Name: v.form("group-name"), Description: v.form("description")}
	if v.sees("muster:RoleRead") {
		roles, err := v.allRoles()
		if err != nil {
			return err
		}
		for _, r := range roles {
			b.Roles = append(b.Roles, r.Name)
		}
	}
	return v.refused("groups", page{Title: "Groups", Nav: "/console/groups", Live: refused == nil, Body: &b}, refused)
}

func changeGroup(v *visit) error {
	name := strings.TrimSpace(v.form("group-name"))
	const next = "/console/groups?done=group-changed"
	switch v.form("to") {
	case "create":
		return v.perform("POST", in("groups"), map[string]any{"name": name, "description": v.form("description")},
			"/console/groups?done=group-created", v.groupList)
	case "assign":
		return v.perform("PUT", in("assignments", v.form("role"), "@"+name), nil, next, v.groupList)
	case "unassign":
		return v.perform("DELETE", in("assignments", v.form("role"), "@"+name), nil, next, v.groupList)
	case "delete":
		return v.perform("DELETE", in("groups", name), nil, "/console/groups?done=group-deleted", v.groupList)
	}
	return errNoPage
}
