package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/control/access"
)

// saveable are the patterns of the pages with lists, whose addresses can be saved as views.
var saveable = []string{
	"GET /console/fleets", "GET /console/game-sessions", "GET /console/players", "GET /console/players/{id}",
	"GET /console/queues", "GET /console/queues/{name}", "GET /console/matchmaking", "GET /console/matchmaking/{name}",
	"GET /console/events", "GET /console/audit", "GET /console/log",
}

// views are the saved views of the person, for a page.
type views struct {
	All  []access.SavedView // by title
	Path string             // that the page can be saved with; "": it cannot
}

// savedViews returns the views for the page that is shown. A page is complete without them: a failure leaves them out.
func (v *visit) savedViews() (all views) {
	var list struct{ Views []access.SavedView }
	if v.id == nil || v.request(http.MethodGet, "/v1/views", nil, &list) != nil {
		return all
	}
	all.All = list.Views
	if slices.Contains(saveable, v.r.Pattern) {
		all.Path = viewPath(v.r.URL)
	}
	return all
}

// viewPath returns the path of a page with the filters of its query: without empty ones, and from the first row on.
func viewPath(u *url.URL) string {
	q := u.Query()
	for name, values := range q {
		if name == "next" || name == "after" || name == "done" || strings.Join(values, "") == "" {
			q.Del(name)
		}
	}
	return (&url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: q.Encode()}).String()
}

// Here returns the views of the page that is shown.
func (s views) Here() (here []access.SavedView) {
	page, _, _ := strings.Cut(s.Path, "?")
	for _, one := range s.All {
		if path, _, _ := strings.Cut(one.Path, "?"); path == page {
			here = append(here, one)
		}
	}
	return here
}

// named returns the views whose titles contain a text, in any case.
func (s views) named(text string) (found []access.SavedView) {
	for _, one := range s.All {
		if strings.Contains(strings.ToLower(one.Title), strings.ToLower(text)) {
			found = append(found, one)
		}
	}
	return found
}

// changeView saves the page of a form as a view, or deletes one, and returns to the page.
func changeView(v *visit) error {
	title, to, done := strings.TrimSpace(v.form("view-title")), v.returnPath(), "view-saved"
	var err error
	if v.form("act") == "delete" {
		done = "view-deleted"
		err = v.request(http.MethodDelete, "/v1/views?title="+url.QueryEscape(title), nil, nil)
	} else {
		err = v.request(http.MethodPut, "/v1/views", access.SavedView{Title: title, Path: to}, nil)
	}
	if err != nil {
		return err
	}
	separator := "?"
	if strings.Contains(to, "?") {
		separator = "&"
	}
	return v.redirect(to + separator + "done=" + done)
}

// returnPath returns the page of the console that a form was on, or the first one.
func (v *visit) returnPath() string {
	to := v.form("return")
	if u, err := url.Parse(to); err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(u.Path, Prefix) {
		return Prefix
	}
	return to
}
