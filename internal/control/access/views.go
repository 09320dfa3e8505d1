package access

import (
	"context"
	"net/url"
	"strings"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A SavedView is the address of a page of the console, under a title.
type SavedView struct {
	Title string `json:"title"`
	Path  string `json:"path"` // with its query
}

// viewsOwner returns the user whose views a caller has; "" for the root.
func viewsOwner(by *Identity) (user string, err error) {
	if by.User == "" && !by.Root {
		return "", fault.New(fault.InvalidRequest, "Saved views belong to a user: sign in, or use a key of a user.")
	}
	return by.User, nil
}

// SavedViews returns the saved views of a caller by title. InvalidRequest for a caller who is no user.
func (a *Access) SavedViews(by *Identity) ([]SavedView, error) {
	user, err := viewsOwner(by)
	if err != nil {
		return nil, err
	}
	views := []SavedView{}
	for _, v := range a.state().ViewsOf(user) {
		views = append(views, SavedView{v.Title, v.Path})
	}
	return views, nil
}

// SaveView stores a view of a caller, or replaces the one with its title. InvalidRequest, LimitExceeded.
func (a *Access) SaveView(ctx context.Context, by *Identity, v SavedView) error {
	user, err := viewsOwner(by)
	if err != nil {
		return err
	}
	if !staysInside(v.Path) {
		return fault.New(fault.InvalidRequest, "path must be the path of a page of the console with its query, such "+
			"as /console/fleets?next=x, without a fragment.")
	}
	return a.cfg.Catalog.Change(ctx, catalog.PutView{User: user, Title: v.Title, Path: v.Path})
}

// staysInside reports whether a browser that is on this service opens a path as it is written: dots, also escaped ones,
// and backslashes lead elsewhere.
func staysInside(path string) bool {
	u, err := url.Parse(path)
	if err != nil || u.Host != "" || u.Scheme != "" || u.Fragment != "" || strings.Contains(path, `\`) {
		return false
	}
	for segment := range strings.SplitSeq(u.EscapedPath(), "/") {
		if s, _ := url.PathUnescape(segment); s == "." || s == ".." {
			return false
		}
	}
	return true
}

// DeleteView deletes a view of a caller. NotFound.
func (a *Access) DeleteView(ctx context.Context, by *Identity, title string) error {
	user, err := viewsOwner(by)
	if err != nil {
		return err
	}
	return a.cfg.Catalog.Change(ctx, catalog.DeleteView{User: user, Title: title})
}
