package operator

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// local makes a request of this program, as a person or as the region itself.
func (w *world) local(id *access.Identity, method, path, body string) (string, error) {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), method, path, strings.NewReader(body))
	if body == "" {
		r = httptest.NewRequestWithContext(w.t.Context(), method, path, nil)
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	out := httptest.NewRecorder()
	err := w.door.ServeLocal(out, r, id, access.Origin{RequestID: "r-1"})
	return out.Body.String(), err
}

// TestServeLocal: policies decide requests of this program as they decide signed ones, and errors are not written.
func TestServeLocal(t *testing.T) {
	w := newWorld(t)
	root := w.access.LocalIdentity()
	for _, step := range []struct {
		method, path, body, want string
		kind                     fault.Kind
	}{
		{"POST", "/v1/groups", `{"name":"team"}`, `"name":"team"`, ""},
		{"POST", "/v1/groups", `{"nam":"team"}`, "", fault.InvalidRequest},
		{"GET", "/v1/users/nobody", "", "", fault.NotFound},
		{"GET", "/v1/nothing", "", "", fault.UnknownOperation},
		{"GET", "/v1/settings", "", `{"settings":`, ""},
		{"POST", "/v1/root-key/recover", "", "", fault.AccessDenied},
	} {
		got, err := w.local(root, step.method, step.path, step.body)
		if !strings.Contains(got, step.want) || (err == nil) != (step.kind == "") || err != nil && (got != "" ||
			fault.Of(err).Kind != step.kind) {
			t.Errorf("%s %s: %q, %v", step.method, step.path, got, err)
		}
	}
	guest := w.access.PersonIdentity(&access.Person{User: &catalog.User{Name: "guest"}, SignIn: &catalog.SignIn{}})
	if _, err := w.local(guest, "DELETE", "/v1/groups/team", ""); !fault.Is(err, fault.AccessDenied) {
		t.Errorf("a person without the permission: %v", err)
	}
	if w.access.PermitsSome(guest, action("GroupDelete")) {
		t.Error("a form that is refused would be shown")
	}
}

// TestLocalIsNotForClients: nothing in a request of a client makes it one of this program.
func TestLocalIsNotForClients(t *testing.T) {
	w := newWorld(t)
	if status, body := w.read(w.request(t.Context(), http.MethodGet, "/v1/users", "")); status != http.StatusForbidden {
		t.Errorf("%d %s", status, body)
	}
}

// TestLastEvents begins near the end of the feed.
func TestLastEvents(t *testing.T) {
	w := newWorld(t)
	for _, line := range []string{"{\"event\":1}\n{\"event\":2}\n", "{\"event\":3}\n", "{\"event\":4}\n"} {
		if _, err := w.feed.Append(t.Context(), line, []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]string{"last=1": "4", "last=2": "3 4", "last=3": "2 3 4",
		"last=4": "1 2 3 4", "last=9": "1 2 3 4", "last=2&after=3": "", "last=2&after=2": "4",
		"last=3&after=1.1": "2 3 4", "last=4&after=1.1": "2 3 4", "last=3&after=1": "3 4", "last=9&limit=1": "1",
		"last=3&limit=1": "2"} {
		_, body := w.read(w.request(t.Context(), http.MethodGet, "/v1/events?"+query, "AKID"))
		var got []string
		for line := range strings.Lines(body) {
			_, rest, _ := strings.Cut(line, `"event":`)
			got = append(got, strings.Trim(rest, "}\n"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
	if status, body := w.read(w.request(t.Context(), http.MethodGet, "/v1/events?last=0", "AKID")); status != 400 {
		t.Errorf("%d %s", status, body)
	}
}
