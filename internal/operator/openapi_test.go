package operator

import (
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/control"
)

func TestNotesAreComplete(t *testing.T) {
	known := map[string]bool{}
	for _, r := range Requests() {
		known[r.Pattern] = true
		if r.Note == "" {
			t.Errorf("%s has no note", r.Pattern)
		}
	}
	for pattern := range notes {
		if !known[pattern] {
			t.Errorf("there is no request %s", pattern)
		}
	}
}

// TestDescribedTypes: the compiler holds that an endpoint returns the type that is described, unless it is any.
func TestDescribedTypes(t *testing.T) {
	vague := []string{"GET /v1/backup", "GET /v1/legacy", "GET /v1/openapi.json", "GET /v1/watch"}
	ids := map[string]string{}
	for _, r := range everything().routes() {
		typed := r.shape != nil && r.shape.Kind() != reflect.Interface && r.shape != reflect.TypeFor[json.RawMessage]()
		if typed == slices.Contains(vague, r.pattern) {
			t.Errorf("%s answers a %v", r.pattern, r.shape)
		}
		id := operationID(r.pattern)
		if ids[id] != "" {
			t.Errorf("%s and %s are both %s", r.pattern, ids[id], id)
		}
		ids[id] = r.pattern
	}
	if got := ids["deletePlayersByPlayerSessionsBySession"]; got == "" {
		t.Errorf("operation ids: %v", ids)
	}
}

func TestDescribedParameters(t *testing.T) {
	used := map[string]bool{}
	for _, r := range everything().routes() {
		for _, name := range r.query {
			used[name] = true
			if queryParameters[name] == nil {
				t.Errorf("%s: parameter %s is not described", r.pattern, name)
			}
			if known := knows(&r, name); !known {
				t.Errorf("%s does not know parameter %s", r.pattern, name)
			}
		}
	}
	for name := range queryParameters {
		if !used[name] {
			t.Errorf("no request has parameter %s", name)
		}
	}
}

// knows reports whether a route that reads its parameters itself knows one.
func knows(r *route, name string) (known bool) {
	switch r.pattern {
	case "GET /v1/events":
		_, known = new(query).set(name, "1")
	case "GET /v1/gamesessions/ended":
		_, known = setEnded(new(control.EndedQuery), name, "1")
	default:
		known = true
	}
	return known
}

// TestLinesAreDescribed: a line of the streams has the members of its type, and no other.
func TestLinesAreDescribed(t *testing.T) {
	w := newWorld(t)
	w.publish("a")
	_, body := w.get("/v1/events")
	from := json.NewDecoder(strings.NewReader(body))
	from.DisallowUnknownFields()
	var line eventLine
	if err := from.Decode(&line); err != nil || line.Position == "" || line.Event == nil {
		t.Errorf("%s is %+v, %v", body, line, err)
	}
}

func TestOpenAPI(t *testing.T) {
	w := newWorld(t)
	status, body := w.get("/v1/openapi.json")
	var d struct {
		Version string `json:"openapi"`
		Paths   map[string]map[string]struct {
			Summary    string           `json:"summary"`
			Action     string           `json:"x-muster-action"`
			Parameters []map[string]any `json:"parameters"`
			Body       any              `json:"requestBody"`
		} `json:"paths"`
		Components struct {
			Schemas map[string]schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal([]byte(body), &d); err != nil || status != 200 || d.Version != "3.1.1" {
		t.Fatalf("%d %.200s: %v", status, body, err)
	}
	o := d.Paths["/v1/users/{name}"]["patch"]
	if o.Summary != "change a user" || o.Action != "muster:UserPut" || len(o.Parameters) != 1 || o.Body == nil {
		t.Errorf("PATCH of a user: %+v", o)
	}
	if o := d.Paths["/v1/placements/{id}"]["get"]; o.Summary != "a placement with its trail: candidates and reasons" ||
		o.Body != nil {
		t.Errorf("GET of a placement: %+v", o)
	}
	if s := d.Components.Schemas["UserView"]; s.Properties["created"] == nil || !slices.Contains(s.Required, "arn") {
		t.Errorf("a user: %+v", s)
	}
	if s := d.Components.Schemas["UserPatch"]; s.Properties["disabled"] == nil || s.Required != nil {
		t.Errorf("the changes of a user: %+v", s)
	}
	if status, _ := w.ask("GET", "/v1/openapi.json", ""); status != 403 {
		t.Errorf("without a signature: %d", status)
	}
	if status, _ := w.get("/v1/openapi.json?" + url.Values{"x": {"y"}}.Encode()); status != 200 {
		t.Errorf("with a parameter: %d", status)
	}
}
