package query

import (
	"context"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// rootPath is the path of all users.
const rootPath = "/"

type iamUser struct {
	Path       string
	UserName   string `xml:",omitempty"` // the root has none
	UserID     string `xml:"UserId"`
	Arn        string
	CreateDate string `xml:",omitempty"` // unknown for the root
}

func iamUserOf(v *access.UserView) iamUser {
	return iamUser{rootPath, v.Name, v.ID, v.Arn, iso(v.Created)}
}

type oneUser struct {
	User iamUser
}

// subject returns the user that the call is for: UserName, or else the caller; "" is the root.
func (c *call) subject() string {
	c.form.text("UserName", userRule)
	name, ok := c.user()
	if !ok {
		c.form.problem("null", "userName", "not be null when calling with non-User credentials")
	}
	return name
}

func createUser(ctx context.Context, h *Handler, c *call) (any, error) {
	c.form.refuse("PermissionsBoundary", "Tags")
	name := c.form.text("UserName", newUserRule)
	if path := c.form.values.Get("Path"); path != rootPath && path != "" {
		c.form.problem("'"+clip(path)+"'", "path", "be /: users have no other path here")
	}
	if err := c.form.err(); err != nil {
		return nil, err
	}
	created, err := h.Access.CreateUser(ctx, c.id, access.UserInput{Name: name})
	if err != nil {
		return nil, err
	}
	return oneUser{iamUserOf(&created.UserView)}, nil
}

func getUser(_ context.Context, h *Handler, c *call) (any, error) {
	name := c.subject()
	if err := c.form.err(); err != nil {
		return nil, err
	}
	if name == "" {
		return oneUser{iamUser{Path: rootPath, UserID: c.id.UserID, Arn: c.id.Arn}}, nil
	}
	view, err := h.Access.User(name)
	if err != nil {
		return nil, err
	}
	return oneUser{iamUserOf(view)}, nil
}

// A page is the end of an answer with a part of a list.
type page struct {
	IsTruncated bool
	Marker      string `xml:",omitempty"`
}

// standardItems is the size of a page. Source: IAM API reference, MaxItems.
const standardItems = 100

// paging returns where a page begins, and its size.
func (f *form) paging() (after string, most int) {
	return f.text("Marker", markerRule), int(f.number("MaxItems", standardItems, 1, 1000))
}

// pageOf returns a page of a list that is sorted by key.
func pageOf[T any](all []T, key func(T) string, after string, most int) ([]T, page) {
	first := slices.IndexFunc(all, func(each T) bool { return key(each) > after })
	if first < 0 {
		return nil, page{}
	}
	all = all[first:]
	if len(all) <= most {
		return all, page{}
	}
	return all[:most], page{true, key(all[most-1])}
}

type userList struct {
	Users list[iamUser]
	page
}

func listUsers(_ context.Context, h *Handler, c *call) (any, error) {
	after, most := c.form.paging()
	if err := c.form.err(); err != nil {
		return nil, err
	}
	var result userList
	if !strings.HasPrefix(rootPath, c.form.values.Get("PathPrefix")) {
		return result, nil
	}
	views, more := h.Access.Users(after, most)
	for i := range views {
		result.Users.Members = append(result.Users.Members, iamUserOf(&views[i]))
	}
	if more && len(views) > 0 {
		result.page = page{true, views[len(views)-1].Name}
	}
	return result, nil
}

// deleteUser refuses, as IAM does, to delete a user who still has keys or policies.
func deleteUser(ctx context.Context, h *Handler, c *call) (any, error) {
	name := c.form.text("UserName", userNameRule)
	if err := c.form.err(); err != nil {
		return nil, err
	}
	view, err := h.Access.User(name)
	switch {
	case err != nil:
		return nil, err
	case len(h.Access.Keys(ctx, name)) > 0:
		return nil, fault.New(deleteConflict, "Cannot delete entity, must delete access keys first.")
	case len(view.Policies) > 0:
		return nil, fault.New(deleteConflict, "Cannot delete entity, must delete policies first.")
	case len(view.Attached) > 0:
		return nil, fault.New(deleteConflict, "Cannot delete entity, must detach all policies first.")
	}
	return nil, h.Access.DeleteUser(ctx, name)
}
