package console

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// wildcard is a part of a pattern in place of a name.
var wildcard = regexp.MustCompile(`\{[^}]*\}`)

// graphed are pages with graphs.
var graphed = regexp.MustCompile(`/metrics\.csv$|/\{\$\}$|/(queues|matchmaking)/\{name\}$`)

// addresses returns the addresses of a page: with a hostile name where the pattern has a wildcard, and each tab.
func addresses(pattern string) []string {
	_, path, _ := strings.Cut(pattern, " ")
	path = strings.NewReplacer("{operation}", "CreateFleet", "{$}", "").Replace(path)
	path = wildcard.ReplaceAllLiteralString(path, url.PathEscape(hostile))
	query := url.Values{"fleet": {hostile}, "filter": {""}, "text": {hostile}, "from": {hostile}, "user": {hostile},
		"q": {hostile}, "id": {hostile}, "metric": {"ActiveGameSessions"}}
	if graphed.MatchString(pattern) {
		query.Del("from") // a time
	}
	switch {
	case strings.HasPrefix(pattern, "GET /console/game-sessions") && !strings.HasSuffix(pattern, "}"):
		const all = "?columns=id,creator,matchmaker"
		return []string{path + "?" + query.Encode(), path + "?show=ended&" + query.Encode(), path + "?show=ended", path,
			path + all, path + all + "&show=ended"}
	case strings.HasSuffix(pattern, ".csv"):
		return []string{path + "?" + query.Encode()}
	case pattern == "GET /console/game-sessions/{id}":
		return []string{path + "?" + query.Encode(), path + "?fleet=f"}
	case pattern != "GET /console/fleets/{fleet}":
		return []string{path + "?" + query.Encode(), path}
	}
	var all []string
	for _, tab := range fleetTabs {
		all = append(all, path+"?tab="+tab)
	}
	return all
}

// pages calls visit with each address of the table that can be read, but for the streams.
func pages(visit func(pattern, address string)) {
	for _, r := range table {
		p := r.pattern
		if !strings.HasPrefix(p, "GET ") || strings.HasSuffix(p, "/live") || p == "GET /console/" {
			continue
		}
		for _, a := range addresses(r.pattern) {
			visit(r.pattern, a)
		}
	}
}

// finders are pages that lead to another, or show a form.
var finders = map[string]bool{"GET /console/placements": true, "GET /console/tickets": true,
	"GET /console/players": true, "GET /console/game-session": true, "GET /console/fleets/selected": true}

// withoutTexts are pages with texts of the console only.
var withoutTexts = regexp.MustCompile(`^/console/(players|[a-z-]+/create|api|api/CreateFleet)(\?|$)`)

// TestHostileTexts: what attackers wrote in any field is text on every page, and no formula in any file.
func TestHostileTexts(t *testing.T) {
	f := newFullRegion(t, "administrator")
	pages(func(pattern, address string) {
		out := f.do("GET", address, nil)
		body := out.Body.String()
		if out.Code == http.StatusSeeOther && (finders[pattern] || strings.HasSuffix(pattern, "/search")) {
			return
		}
		if out.Code != http.StatusOK && !finders[pattern] {
			t.Errorf("%s: status %d: %.2000s", address, out.Code, body)
			return
		}
		if strings.HasSuffix(pattern, ".csv") {
			rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
			if err != nil || len(rows) < 2 {
				t.Errorf("%s: %d rows, %v", address, len(rows), err)
			}
			for _, row := range rows {
				for _, cell := range row {
					if cell != "" && strings.Contains("=+-@\t\r", cell[:1]) {
						t.Errorf("%s has a formula: %s", address, cell)
					}
				}
			}
			return
		}
		if strings.HasSuffix(pattern, "/export") {
			if !json.Valid(out.Body.Bytes()) {
				t.Errorf("%s is no JSON: %s", address, body)
			}
			return
		}
		for _, raw := range []string{"<script>alert", "<img src=x", "\u202e<", "javascript:", "%253C"} {
			if strings.Contains(body, raw) {
				t.Errorf("%s has %s", address, raw)
			}
		}
		if !withoutTexts.MatchString(address) && !strings.Contains(body, "&lt;script&gt;alert(1)&lt;/script&gt;") {
			t.Errorf("%s shows no text of the region: %s", address, body)
		}
	})
	if len(f.changes) > 0 {
		t.Errorf("pages have changed %v", f.changes)
	}
}

// changing is a form that changes something, other than how the person sees the pages.
var changing = regexp.MustCompile(`<form[^>]* method="post" action="([^"]*)"`)

// ownForms are those with which people change what they themselves see.
var ownForms = map[string]bool{"/console/look": true, "/console/views": true, "/signin/out": true}

// TestReaderPages: no page that a reader may see has a form that would be refused.
func TestReaderPages(t *testing.T) {
	f := newFullRegion(t, "read-only")
	pages(func(pattern, address string) {
		out := f.do("GET", address, nil)
		for _, form := range changing.FindAllStringSubmatch(out.Body.String(), -1) {
			if to := form[1]; !ownForms[to] {
				t.Errorf("%s shows a reader the form %s", pattern, form[0])
			}
		}
		if out.Code == http.StatusInternalServerError {
			t.Errorf("%s: %s", address, out.Body)
		}
	})
}

// A submission is a form that a route takes, with what a person who may not do it gets.
type submission struct {
	form   url.Values
	status int // 0: 403
}

// sending returns a submission for each value of the button that was pressed.
func sending(form url.Values, buttons ...string) (all []submission) {
	for _, to := range buttons {
		one := url.Values{"to": {to}}
		for name, value := range form {
			one[name] = value
		}
		all = append(all, submission{form: one})
	}
	return all
}

// submissions are what is sent to each route that takes forms.
var submissions = map[string][]submission{
	"POST /console/look":                    {{url.Values{"theme": {"dark"}}, 303}}, // of the browser
	"POST /console/views":                   {{url.Values{"view-title": {"v"}, "return": {"/console/fleets"}}, 303}},
	"POST /console/locations":               {{}},
	"POST /console/locations/{name}/delete": {{}},
	"POST /console/fleets/create":           sending(url.Values{"location": {"custom-a"}}, "create"),
	"POST /console/fleets/selected/tag":     {{form: url.Values{"fleet": {"f"}, "tag-key": {"k"}}}},
	"POST /console/fleets/selected/delete":  {{form: url.Values{"fleet": {"f"}, "confirm": {"delete 1 fleet"}}}},
	"POST /console/fleets/{fleet}/change": {{form: url.Values{"fleet-name": {"n"}, "description": {"d"},
		"protection": {"p"}, "creator": {"1"}, "period": {"2"}, "group": {"g"}, "cost": {"1"}}}},
	"POST /console/game-sessions":                      {{form: url.Values{"fleet": {"f"}, "players": {"4"}}}},
	"POST /console/fleets/{fleet}/delete":              {{form: url.Values{"confirm": {hostile}}}},
	"POST /console/fleets/{fleet}/computes":            {{}},
	"POST /console/fleets/{fleet}/computes/deregister": {{}},
	"POST /console/fleets/{fleet}/game-sessions":       {{form: url.Values{"players": {"4"}}}},
	"POST /console/fleets/{fleet}/capacity":            {{form: url.Values{"desired": {"1"}}}},
	"POST /console/fleets/{fleet}/actions":             sending(nil, "stop", "start"),
	"POST /console/fleets/{fleet}/policies":            {{form: url.Values{"policy": {"p"}, "percent": {"20"}}}},
	"POST /console/fleets/{fleet}/policies/delete":     {{form: url.Values{"policy": {"p"}}}},
	"POST /console/fleets/{fleet}/builds/detach":       {{form: url.Values{"version": {"v"}}}},
	"POST /console/fleets/{fleet}/tags":                {{form: url.Values{"tag-key": {"k"}}}},
	"POST /console/fleets/{fleet}/tags/remove":         {{form: url.Values{"tag-key": {"k"}}}},
	"POST /console/game-session/terminate":             {{}},
	"POST /console/players/{id}/release":               {{form: url.Values{"session": {"psess-1"}}}},
	"POST /console/queues":                             {{form: url.Values{"timeout": {"60"}}}},
	"POST /console/queues/{name}/delete":               {{}},
	"POST /console/queues/{name}/placements":           {{form: url.Values{"max-players": {"4"}}}},
	"POST /console/placements/{id}/stop":               {{}},
	"POST /console/matchmaking/create":                 {{form: url.Values{"timeout": {"60"}}}},
	"POST /console/matchmaking/{name}/delete":          {{}},
	"POST /console/tickets/{id}/stop":                  {{}},
	"POST /console/rule-sets/create":                   sending(url.Values{"body": {example}}, "save"),
	"POST /console/rule-sets/check":                    {{url.Values{"body": {example}}, 200}}, // changes nothing
	"POST /console/rule-sets/{name}/simulate":          {{}},
	"POST /console/rule-sets/{name}/delete":            {{}},
	"POST /console/builds/{id}/delete":                 {{form: url.Values{"confirm": {hostile}}}},
	"POST /console/machines/{name}/drain":              {{}},
	"POST /console/machines/{name}/undrain":            {{}},
	"POST /console/machines/{name}/delete":             {{form: url.Values{"confirm": {hostile}}}},
	"POST /console/cluster/backup":                     {{}},
	"POST /console/cluster/remove":                     {{form: url.Values{"node": {"b"}, "confirm": {"b"}}}},
	"POST /console/api/{operation}":                    {{nil, 200}}, // shows the exception
	"POST /console/users":                              {{}},
	"POST /console/users/{name}": sending(url.Values{"confirm": {hostile}, "role": {"r"}}, "disable", "enable",
		"group", "invite",
		"unlock", "end", "assign", "unassign", "delete"),
	"POST /console/groups": sending(url.Values{"group-name": {"g"}, "role": {"r"}}, "create",
		"assign", "unassign", "delete"),
	"POST /console/roles/create":            {{form: url.Values{"role-name": {"r"}, "duration": {"3600"}}}},
	"POST /console/roles/{name}":            sending(url.Values{"subject": {"ada"}}, "assign", "unassign", "delete"),
	"POST /console/roles/{name}/put":        {{form: url.Values{"role-name": {"r"}, "duration": {"3600"}}}},
	"POST /console/policies/check":          {{}},
	"POST /console/policies/create":         {{form: url.Values{"policy-name": {"p"}}}},
	"POST /console/policies/{name}/put":     {{form: url.Values{"policy-name": {"p"}}}},
	"POST /console/policies/{name}/delete":  {{}},
	"POST /console/providers/create":        {{form: url.Values{"provider-name": {"corp"}}}},
	"POST /console/providers/{name}/put":    {{form: url.Values{}}},
	"POST /console/providers/{name}/delete": {{form: url.Values{"confirm": {hostile}}}},
	"POST /console/keys":                    {{}},
	"POST /console/keys/{id}":               sending(nil, "activate", "deactivate", "rotate", "delete"),
}

// withoutChange are routes whose forms only ask, and those that refuse a name that is taken.
var withoutChange = regexp.MustCompile(`/(check|simulate|(providers|roles|policies)/create)$`)

// edits are routes whose forms carry what they were made from.
var edits = regexp.MustCompile(`/(put|change)$`)

// TestReaderForms: whatever a reader sends is refused with 403, and changes nothing. An administrator's is
// not: the forms of this test are those that the pages send.
func TestReaderForms(t *testing.T) {
	reader, administrator := newFullRegion(t, "read-only"), newFullRegion(t, "administrator")
	for _, r := range table {
		if !strings.HasPrefix(r.pattern, "POST ") {
			continue
		}
		sent := submissions[r.pattern]
		if len(sent) == 0 {
			t.Errorf("%s is not tested", r.pattern)
		}
		for _, s := range sent {
			path := addresses(r.pattern)[1]
			if edits.MatchString(path) {
				s.form = maps.Clone(s.form)
				s.form.Set("basis", administrator.basis(edits.ReplaceAllString(path, "")))
			}
			out := reader.do("POST", path, s.form)
			if want := cmp.Or(s.status, http.StatusForbidden); out.Code != want ||
				!strings.Contains(out.Body.String(), "AccessDeniedException") && want == http.StatusForbidden {
				t.Errorf("%s %v of a reader: status %d, want %d", r.pattern, s.form, out.Code, want)
			}
			administrator.changes = nil
			if out = administrator.do("POST", path, s.form); s.status == 0 && len(administrator.changes) == 0 &&
				!withoutChange.MatchString(r.pattern) {
				t.Errorf("%s %v changes nothing: %d %s", r.pattern, s.form, out.Code, out.Header())
			}
		}
	}
	if len(reader.changes) > 0 {
		t.Errorf("a reader has changed %v", reader.changes)
	}
}

// TestRefusedLinks: a page that is the answer to a form is at the address of the form, where its links would lead
// nowhere if they were relative.
func TestRefusedLinks(t *testing.T) {
	f := newFullRegion(t, "administrator")
	for _, r := range table {
		path, isForm := strings.CutPrefix(r.pattern, "POST ")
		if !isForm || slices.ContainsFunc(table, func(o route) bool { return o.pattern == "GET "+path }) {
			continue
		}
		for _, s := range submissions[r.pattern] {
			body := f.do("POST", addresses(r.pattern)[1], s.form).Body.String()
			if at := strings.Index(body, `="?`); at >= 0 {
				t.Errorf("%s answers with a relative link: %.100s", r.pattern, body[at:])
			}
		}
	}
}
