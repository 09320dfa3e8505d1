package console

import (
	"net/url"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/control/access"
)

// TestViews saves and deletes views with the forms of a page, and finds them there, in the palette and by a search.
func TestViews(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/logs"] = struct{}{}
	w.answers["GET /v1/views"] = map[string]any{"views": []access.SavedView{
		{Title: "Errors", Path: "/console/log?level=error"}, {Title: hostile, Path: "/console/fleets"}}}
	page := w.do("GET", "/console/log?level=error&text=&done=view-saved&next=7", nil).Body.String()
	for _, want := range []string{
		`<li><a href="/console/log?level=error" aria-current="true">Errors</a>`, `aria-label="Delete the view Errors"`,
		`<a href="/console/fleets" data-command>&#34;&gt;&lt;script`, "The view was saved.",
		`<input type="hidden" name="return" value="/console/log?level=error"><label for="view-title">`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Count(page, "<li><a href=\"/console/fleets\" aria-current") != 0 ||
		strings.Count(page, "Delete the view") != 1 {
		t.Error("the page has views of other pages")
	}
	w.answers["GET /v1/search"] = control.Lookup{}
	page = w.do("GET", "/console/search?q=eRR", nil).Body.String()
	if !strings.Contains(page, `<td><a href="/console/log?level=error">Errors</a></td>`) {
		t.Error("the search does not find the view")
	}
	if strings.Contains(page, `name="view-title"`) {
		t.Error("a page without a list can be saved")
	}

	w.answers["PUT /v1/views"], w.answers["DELETE /v1/views"] = struct{}{}, struct{}{}
	for _, c := range []struct{ form, to, call, body string }{
		{"view-title=+a+&return=/console/log?level=error", "/console/log?level=error&done=view-saved",
			"PUT /v1/views", `{"title":"a","path":"/console/log?level=error"}`},
		{"act=delete&view-title=a&return=/console/log", "/console/log?done=view-deleted", "DELETE /v1/views", ""},
		{"view-title=a&return=//example.com/console/", "/console/?done=view-saved", "PUT /v1/views",
			`{"title":"a","path":"/console/"}`},
	} {
		form, err := url.ParseQuery(c.form)
		if err != nil {
			t.Fatal(err)
		}
		answer := w.do("POST", "/console/views", form)
		if to := answer.Header().Get("Location"); answer.Code != 303 || to != c.to {
			t.Errorf("%s: %d, to %s", c.form, answer.Code, to)
		}
		if got := w.calls[len(w.calls)-1]; got != c.call || c.body != "" && w.inputs[got] != c.body {
			t.Errorf("%s: %s %v", c.form, got, w.inputs[got])
		}
	}
}
