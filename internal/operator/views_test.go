package operator

import (
	"fmt"
	"strings"
	"testing"
)

// TestViews saves, replaces and deletes views: those of the caller alone.
func TestViews(t *testing.T) {
	w := newWorld(t)
	defer w.runTrail()()
	ada := w.keyFor("ada", `{"Effect":"Allow","Action":"muster:ConsoleUse","Resource":"*"}`)
	const busy = `{"title":"Busy: 50 %","path":"/console/fleets?status=ACTIVE"}`
	for _, c := range []struct {
		method, path, key, body string
		status                  int
		want                    string
	}{
		{"GET", "/v1/views", ada, "", 200, `{"views":[]}`},
		{"PUT", "/v1/views", ada, busy, 200, busy},
		{"PUT", "/v1/views", ada, `{"title":"a","path":"/console/log"}`, 200, `"a"`},
		{"PUT", "/v1/views", ada, `{"title":"a","path":"/console/events"}`, 200, `"a"`},
		{"GET", "/v1/views", ada, "", 200, `{"views":[` + busy + `,{"title":"a","path":"/console/events"}]}`},
		{"GET", "/v1/views", "AKID", "", 200, `{"views":[]}`},
		{"PUT", "/v1/views", "AKID", busy, 200, busy},
		{"DELETE", "/v1/views?title=a", "AKID", "", 404, "There is no saved view with the title a"},
		{"DELETE", "/v1/views?title=Busy:+50+%25", "AKID", "", 200, `{"deleted":"Busy: 50 %"}`},
		{"DELETE", "/v1/views", ada, "", 400, "Parameter title is missing"},
		{"PUT", "/v1/views", ada, `{"title":"a","path":"https://example.com/console/"}`, 400, "path must be the path"},
		{"PUT", "/v1/views", ada, `{"title":"a","path":"/console/../start"}`, 400, "path must be the path"},
		{"PUT", "/v1/views", ada, `{"title":"a","path":"/console/%2e%2E/start"}`, 400, "path must be the path"},
		{"PUT", "/v1/views", ada, `{"title":"a","path":"/console/..\\start"}`, 400, "path must be the path"},
		{"PUT", "/v1/views", ada, `{"title":"a","path":"/console/#main"}`, 400, "path must be the path"},
		{"PUT", "/v1/views", ada, `{"title":"a","path":"/console/%zz"}`, 400, "path must be the path"},
		{"PUT", "/v1/views", ada, `{"title":"a","path":"/start"}`, 400, "path must begin with /console/"},
		{"PUT", "/v1/views", ada, `{"title":"","path":"/console/"}`, 400, "title must have 1 to 64 characters"},
		{"PUT", "/v1/views", "AKGUEST", busy, 403, "muster:ConsoleUse"},
		{"GET", "/v1/views", "AKGUEST", "", 403, "muster:ConsoleUse"},
		{"GET", "/v1/views", ada, "", 200, busy},
		{"DELETE", "/v1/users/ada", "AKID", "", 200, ""},
	} {
		if status, body := w.send(c.method, c.path, c.key, c.body); status != c.status ||
			!strings.Contains(body, c.want) {
			t.Errorf("%s %s %s by %s: %d %s", c.method, c.path, c.body, c.key, status, body)
		}
	}
	ada = w.keyFor("ada", `{"Effect":"Allow","Action":"muster:ConsoleUse","Resource":"*"}`)
	if _, body := w.send("GET", "/v1/views", ada, ""); body != `{"views":[]}`+"\n" {
		t.Errorf("a later user has the views of the earlier one: %s", body)
	}
	if err := w.access.Trail().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, body := w.get("/v1/audit?event=ViewDelete")
	if strings.Count(body, "\n") != 3 || !strings.Contains(body, `"title":"Busy: 50 %"`) {
		t.Errorf("recorded %s", body)
	}
}

// TestViewsLimit: a user has 50 views.
func TestViewsLimit(t *testing.T) {
	w := newWorld(t)
	for i := range 51 {
		status, body := w.send("PUT", "/v1/views", "AKID", fmt.Sprintf(`{"title":"%d","path":"/console/"}`, i))
		if i < 50 && status != 200 || i == 50 && (status != 400 || !strings.Contains(body, "The limit of 50")) {
			t.Errorf("view %d: %d %s", i, status, body)
		}
	}
}

// TestViewsUnsigned: without a signature there is no caller.
func TestViewsUnsigned(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Open = true })
	for _, method := range []string{"GET", "DELETE"} {
		if status, body := w.ask(method, "/v1/views", ""); status != 403 || !strings.Contains(body, "must be signed") {
			t.Errorf("%s: %d %s", method, status, body)
		}
	}
}
