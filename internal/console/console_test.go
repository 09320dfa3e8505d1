package console

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/style"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A world is a console with a service that answers from tables.
type world struct {
	*testing.T
	h       *Handler
	clock   *clockwork.FakeClock
	calls   []string       // operations
	inputs  map[string]any // the last of each operation
	answers map[string]any
	fails   map[string]error
	person  *access.Person // who is signed in
	changed chan struct{}

	redirects bool // requests of operators
	mu        sync.Mutex
	until     time.Time // the deadline of the last call; zero: none
}

func newWorld(t *testing.T, change ...func(*Config)) *world {
	t.Helper()
	w := &world{T: t, clock: clockwork.NewFakeClockAt(time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)),
		inputs: map[string]any{}, answers: map[string]any{}, fails: map[string]error{}, changed: make(chan struct{}, 1)}
	c := Config{Calls: w, Requests: w, Region: w, Access: w, Person: func(*http.Request) (*access.Person, bool) {
		return w.person, w.person != nil
	}, Open: true, Reservation: time.Minute, RegionName: "eu-west-1", Endpoint: "http://127.0.0.1:9080",
		PublicURL: "https://muster.example.com/",
		Ready:     func(context.Context) bool { return true }, Clock: w.clock, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&c)
	}
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	w.h = h
	return w
}

func (w *world) Invoke(ctx context.Context, id *access.Identity, _ access.Origin, operation string, in any) (
	any, error,
) {
	if id == nil {
		w.Error("a call without an identity")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until, _ = ctx.Deadline()
	w.calls, w.inputs[operation] = append(w.calls, operation), in
	if err := w.fails[operation]; err != nil {
		return nil, err
	}
	switch out := w.answers[operation].(type) {
	case nil:
	case func(any) any:
		return out(in), nil
	default:
		return out, nil
	}
	return nil, fault.New(fault.NotFound, "no answer for %s", operation)
}

func (w *world) InvokeJSON(_ context.Context, _ *access.Identity, _ access.Origin, operation string, body []byte) (
	[]byte, error,
) {
	w.calls, w.inputs[operation] = append(w.calls, operation), string(body)
	text, _ := w.answers[operation].(string)
	return []byte(text), w.fails[operation]
}

func (w *world) Changes() (changed <-chan struct{}, end func()) { return w.changed, func() {} }

func (w *world) Timeline(_ context.Context, id string, players int) (*control.Timeline, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inputs["Timeline"] = fmt.Sprint(id, " ", players)
	if t, ok := w.answers["Timeline"].(*control.Timeline); ok {
		return t, nil
	}
	return nil, fault.New(fault.NotFound, "no timeline")
}

func (w *world) Allow(_ *access.Identity, _ access.Origin, action policy.Action, _ ...string) error {
	return w.fails[action.String()]
}

func (w *world) PermitsSome(_ *access.Identity, action policy.Action) bool {
	return w.fails[action.String()] == nil
}

// emptyLists are requests that pages make beside others, and that find nothing in most tests.
var emptyLists = regexp.MustCompile(
	"^GET /v1/(overview|fleets|latency|shards|game-sessions|players/.+|(queues|configurations)/[^/]+/[a-z]+)$")

// ServeLocal answers a request of operators from the table, by its method and path.
func (w *world) ServeLocal(out http.ResponseWriter, r *http.Request, id *access.Identity, _ access.Origin) error {
	if id == nil {
		w.Error("a request without an identity")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.redirects {
		http.Redirect(out, r, "/v1/", http.StatusMovedPermanently)
		return nil
	}
	name := r.Method + " " + r.URL.Path
	if name == "GET /v1/views" { // of all pages
		return json.NewEncoder(out).Encode(w.answers[name])
	}
	w.calls = append(w.calls, name)
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		w.inputs[name] = string(body)
	}
	if err := w.fails[name]; err != nil {
		return err
	}
	switch answer := w.answers[name].(type) {
	case func(*http.Request) any:
		return json.NewEncoder(out).Encode(answer(r))
	case nil:
		if !emptyLists.MatchString(name) {
			return fault.New(fault.NotFound, "no answer for %s", name)
		}
		_, err := io.WriteString(out, "{}")
		return err
	case string:
		_, err := io.WriteString(out, answer)
		return err
	default:
		return json.NewEncoder(out).Encode(answer)
	}
}

func (w *world) Permits(_ *access.Identity, _ access.Origin, action policy.Action, resources ...string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inputs[action.String()] = resources
	return w.fails[action.String()] == nil
}

func (w *world) PersonIdentity(p *access.Person) *access.Identity {
	return &access.Identity{User: p.User.Name}
}

func (w *world) Counts(context.Context) (fleet.Counts, error) { return fleet.Counts{Active: 1}, nil }

func (w *world) LocalIdentity() *access.Identity { return &access.Identity{Root: true} }

// do sends a request from this machine.
func (w *world) do(method, path string, form url.Values, change ...func(*http.Request)) *httptest.ResponseRecorder {
	w.Helper()
	r := httptest.NewRequestWithContext(w.Context(), method, path, strings.NewReader(form.Encode()))
	r.Host, r.RemoteAddr = "127.0.0.1:9080", "127.0.0.1:4711"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for _, f := range change {
		f(r)
	}
	out := httptest.NewRecorder()
	w.h.ServeHTTP(out, r)
	return out
}

// hostile is a text of somebody who attacks the page.
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>` + "\u202e'{{.}}"

// fill sets all that a value has: texts to hostile ones, numbers to 7, times, one element in each list and map.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			text, _ := json.Marshal(map[string]string{hostile: hostile})
			v.SetBytes(text)
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(7)
	case reflect.String:
		v.SetString(hostile)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 11, 25, 11, 0, 0, 0, time.UTC)))
			return
		}
		if v.Type() == reflect.TypeFor[wire.Opt[int32]]() {
			v.Set(reflect.ValueOf(wire.Some[int32](7)))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	}
}

// bodies are the bodies of all templates.
var bodies = map[string]func() any{
	"overview":     func() any { return new(overviewBody) },
	"fleets":       func() any { return new(fleetsBody) },
	"fleet":        func() any { return &fleetBody{fleetRow: fleetRow{FleetAttributes: new(wire.FleetAttributes)}} },
	"wizard":       func() any { return new(wizardBody) },
	"locations":    func() any { return new(locationsBody) },
	"gamesessions": func() any { return new(sessionsBody) },
	"gamesession":  func() any { return new(sessionBody) },
	"players":      func() any { return new(playersBody) },
	"queues":       func() any { return new(queuesBody) },
	"matchmaking":  func() any { return new(matchmakingBody) },

	"queue":            func() any { return new(queueBody) },
	"placement":        func() any { return new(placementBody) },
	"configuration":    func() any { return new(configurationBody) },
	"newconfiguration": func() any { return new(newConfigurationBody) },
	"ticket":           func() any { return new(ticketBody) },
	"rulesets":         func() any { return new(ruleSetsBody) },
	"ruleset":          func() any { return new(ruleSetBody) },
	"editor":           func() any { return new(editorBody) },
	"cluster":          func() any { return new(clusterBody) },
	"machines":         func() any { return new(machinesBody) },
	"instances":        func() any { return new(instancesBody) },
	"output":           func() any { return new(outputBody) },
	"builds":           func() any { return new(buildsBody) },
	"build":            func() any { return new(control.BuildView) },
	"settings":         func() any { return new(settingsBody) },
	"events":           func() any { return new(eventsBody) },
	"audit":            func() any { return new(auditBody) },
	"log":              func() any { return new(logBody) },
	"users":            func() any { return new(usersBody) },
	"user":             func() any { return new(userBody) },
	"groups":           func() any { return new(groupsBody) },
	"roles":            func() any { return new(rolesBody) },
	"role":             func() any { return new(roleBody) },
	"policies":         func() any { return new(policiesBody) },
	"policy":           func() any { return new(policyBody) },
	"keys":             func() any { return new(keysBody) },
	"providers":        func() any { return new(providersBody) },
	"provider":         func() any { return new(providerBody) },
	"explorer":         func() any { return new(explorerBody) },

	"search": func() any { return new(searchBody) },

	"fleetselection": func() any { return new(selectionBody) },

	"failure": func() any { return new(failureBody) },
}

// TestTemplates executes each template with an empty value, and with one whose texts attack the page.
func TestTemplates(t *testing.T) {
	layout := readTemplate(t, "layout.html")
	for name, page := range parsePages() {
		made, ok := bodies[name]
		if !ok {
			t.Errorf("%s is not tested", name)
			continue
		}
		execute(t, name, page, made())
		full := made()
		fill(reflect.ValueOf(full).Elem())
		states := []any{full}
		switch b := full.(type) {
		case *fleetBody:
			states = nil
			for _, tab := range fleetTabs {
				one := *b
				one.Tab = tab
				states = append(states, &one)
			}
		case *wizardBody:
			states = nil
			for step := range 3 {
				one := *b
				one.Step = step + 1
				states = append(states, &one)
			}
		}
		for _, s := range states {
			text := execute(t, name, page, s)
			for _, raw := range []string{"<script>alert", "<img src=x"} {
				if strings.Contains(text, raw) {
					t.Errorf("%s has %s", name, raw)
				}
			}
			for _, id := range layoutIDs.FindAllString(layout, -1) {
				if strings.Count(text, id) > 1 { // scripts would take one for the other
					t.Errorf("%s has %s, as the layout does", name, id)
				}
			}
		}
	}
}

var layoutIDs = regexp.MustCompile(` id="[a-z-]+"`)

func readTemplate(t *testing.T, name string) string {
	t.Helper()
	text, err := templateFiles.ReadFile("templates/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func execute(t *testing.T, name string, tmpl *template.Template, body any) string {
	t.Helper()
	var b strings.Builder
	if err := tmpl.Execute(&b, page{Title: hostile, Alert: hostile, Body: body, Now: time.Unix(1e9, 0),
		Crumbs: []link{{hostile, "/console/"}}, Person: hostile,
		Views: views{[]access.SavedView{{Title: hostile, Path: "/console/log"}}, "/console/log"}}); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return b.String()
}

// TestAdmission: who may see a page, and how.
func TestAdmission(t *testing.T) {
	elsewhere := func(r *http.Request) { r.RemoteAddr = "192.0.2.7:4711" }
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for name, c := range map[string]struct {
		open, insecure bool
		person         string
		change         func(*http.Request)
		status         int
	}{
		"open":                             {open: true, status: 200},
		"open, by name":                    {open: true, status: 200, change: host("localhost:9080")},
		"open, a site whose name is local": {open: true, status: 303, change: host("evil.example")},
		"open, through a proxy": {open: true, insecure: true, status: 303,
			change: func(r *http.Request) { r.Header.Set("X-Forwarded-For", "192.0.2.7") }},
		"nobody":                 {status: 303},
		"signed in":              {person: "ada", status: 200},
		"elsewhere, unencrypted": {person: "ada", status: 403, change: elsewhere},
		"elsewhere, open":        {open: true, insecure: true, status: 303, change: elsewhere},
		"elsewhere, insecure":    {insecure: true, person: "ada", status: 200, change: elsewhere},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *Config) { o.Open, o.Insecure = c.open, c.insecure })
			w.answers["DescribeGameSessionQueues"] = &wire.DescribeGameSessionQueuesOutput{}
			w.answers["ListFleets"] = &wire.ListFleetsOutput{}
			if c.person != "" {
				w.person = &access.Person{User: &catalog.User{Name: c.person}}
			}
			var change []func(*http.Request)
			if c.change != nil {
				change = append(change, c.change)
			}
			out := w.do("GET", "/console/queues?x=1", nil, change...)
			if out.Code != c.status {
				t.Errorf("status %d, want %d: %s", out.Code, c.status, out.Body)
			}
			if to := out.Header().Get("Location"); c.status == 303 &&
				to != "/signin/in?return=%2Fconsole%2Fqueues%3Fx%3D1" {
				t.Errorf("leads to %s", to)
			}
			if c.status != 200 && len(w.calls) > 0 {
				t.Errorf("calls %v", w.calls)
			}
		})
	}
}

// TestOtherSites: a page of another site changes nothing, whichever of the headers its browser sends.
func TestOtherSites(t *testing.T) {
	for name, headers := range map[string]map[string]string{
		"both":           {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
		"a sibling":      {"Sec-Fetch-Site": "same-site", "Origin": "https://other.example"},
		"an old browser": {"Sec-Fetch-Site": "", "Origin": "https://evil.example"},
		"a sandbox":      {"Sec-Fetch-Site": "", "Origin": "null"},
	} {
		w := newWorld(t)
		out := w.do("POST", "/console/locations", url.Values{"location-name": {"x"}}, func(r *http.Request) {
			for header, value := range headers {
				if r.Header.Set(header, value); value == "" {
					r.Header.Del(header)
				}
			}
		})
		if out.Code != 403 || len(w.calls) > 0 {
			t.Errorf("%s: status %d, calls %v", name, out.Code, w.calls)
		}
	}
}

// TestRefusedForm shows why a form was refused, and what was typed.
func TestRefusedForm(t *testing.T) {
	w := newWorld(t)
	w.answers["ListLocations"] = &wire.ListLocationsOutput{}
	w.fails["CreateLocation"] = fault.New(fault.AccessDenied, "User: ada is not authorized")
	out := w.do("POST", "/console/locations", url.Values{"location-name": {"attic"}})
	for _, want := range []string{"AccessDeniedException: User: ada is not authorized", `value="attic"`} {
		if !strings.Contains(out.Body.String(), want) {
			t.Errorf("no %s in %s", want, out.Body)
		}
	}
	if in := w.inputs["CreateLocation"].(*wire.CreateLocationInput); in.LocationName != "custom-attic" {
		t.Errorf("created %s", in.LocationName)
	}
	if out.Code < 400 {
		t.Errorf("status %d", out.Code)
	}
}

// TestWizard keeps what was entered, and shows the command that does the same.
func TestWizard(t *testing.T) {
	w := newWorld(t)
	w.answers["ListLocations"] = &wire.ListLocationsOutput{
		Locations: []wire.LocationModel{{LocationName: "custom-home"}}}
	w.answers["CreateFleet"] = &wire.CreateFleetOutput{FleetAttributes: &wire.FleetAttributes{FleetId: "fleet-1"}}
	form := url.Values{"fleet-name": {"Bob's fleet"}, "location": {"custom-home"}, "to": {"2"}}
	if out := w.do("POST", "/console/fleets/create", form); !strings.Contains(out.Body.String(), "checked") ||
		!strings.Contains(out.Body.String(), `value="Bob&#39;s fleet"`) {
		t.Errorf("step 2 forgets: %s", out.Body)
	}
	form.Set("to", "3")
	const command = `aws gamelift create-fleet --compute-type ANYWHERE --name &#39;Bob&#39;\&#39;&#39;s fleet&#39; ` +
		`--locations Location=custom-home`
	if out := w.do("POST", "/console/fleets/create", form); !strings.Contains(out.Body.String(), command) {
		t.Errorf("step 3 has no %s: %s", command, out.Body)
	}
	if out := w.do("POST", "/console/fleets/create", form); !strings.Contains(out.Body.String(),
		"&#34;Name&#34;: &#34;Bob&#39;s fleet&#34;") {
		t.Errorf("step 3 has no JSON: %s", out.Body)
	}
	form.Set("to", "create")
	if out := w.do("POST", "/console/fleets/create", form); out.Code != 303 ||
		out.Header().Get("Location") != "/console/fleets/fleet-1?done=fleet-created" {
		t.Errorf("%d to %s", out.Code, out.Header().Get("Location"))
	}
	form.Del("location")
	form.Set("to", "3")
	if out := w.do("POST", "/console/fleets/create", form); out.Code != 400 {
		t.Errorf("no location: status %d", out.Code)
	}
}

// TestSearch leads to what an id is of.
func TestSearch(t *testing.T) {
	w := newWorld(t)
	hit := func(id string, exact bool) control.LookupHit {
		path := "/console/rule-sets/" + id
		return control.LookupHit{Kind: "ruleSet", ID: id, Title: hostile, Exact: exact, Path: path}
	}
	for name, c := range map[string]struct {
		hits []control.LookupHit
		want string // where it leads to; "": a list
	}{
		"one thing":          {[]control.LookupHit{hit("duel", true), hit("duels", false)}, "/console/rule-sets/duel"},
		"two things":         {[]control.LookupHit{hit("duel", true), hit("duel", true)}, ""},
		"only the beginning": {[]control.LookupHit{hit("duels", false)}, ""},
		"nothing":            {nil, ""},
	} {
		w.answers["GET /v1/search"] = control.Lookup{Hits: c.hits, Partial: true}
		out := w.do("GET", "/console/search?q="+url.QueryEscape(hostile), nil)
		if to := out.Header().Get("Location"); to != c.want || to == "" && out.Code != 200 {
			t.Errorf("%s leads to %q, want %q: %d %s", name, to, c.want, out.Code, out.Body)
		}
		if len(c.hits) == 0 && !strings.Contains(out.Body.String(), "Nothing found") {
			t.Errorf("%s: %s", name, out.Body)
		}
	}
	if to := w.do("GET", "/console/search?q=", nil).Header().Get("Location"); to != "/console/" {
		t.Errorf("an empty search leads to %q", to)
	}
}

// TestRelease: a place is released by the request of operators.
func TestRelease(t *testing.T) {
	w := newWorld(t)
	w.answers["DELETE /v1/players/ada/sessions/psess-1"] = "{}"
	w.leads("/console/players/ada/release", url.Values{"session": {"psess-1"}},
		"/console/players/ada?done=player-released")
	w.fails["DELETE /v1/players/ada/sessions/psess-1"] = denied
	w.shows("POST", "/console/players/ada/release", url.Values{"session": {"psess-1"}}, 403)
}

// openLive opens a stream of signals until the test has ended.
func (w *world) openLive(path string) *http.Response {
	w.Helper()
	server := httptest.NewServer(w.h)
	w.Cleanup(server.Close)
	request, err := http.NewRequestWithContext(w.Context(), "GET", server.URL+path, nil)
	if err != nil {
		w.Fatal(err)
	}
	answer, err := server.Client().Do(request)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// reads checks what comes next of a stream.
func (w *world) reads(answer *http.Response, want string) {
	w.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(answer.Body, got); err != nil || string(got) != want {
		w.Fatalf("read %q, %v; want %q", got, err, want)
	}
}

// TestLive signals changes, no more often than the pause allows.
func TestLive(t *testing.T) {
	w := newWorld(t)
	answer := w.openLive("/console/live")
	pass := func(timers int, d time.Duration) {
		t.Helper()
		if err := w.clock.BlockUntilContext(t.Context(), timers); err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(d)
	}
	w.reads(answer, "retry: 1000\n\nevent: open\ndata: \n\n")
	pass(1, liveBeat)
	pass(1, livePause)
	w.reads(answer, "event: changed\ndata: 0\n\n")
	w.changed <- struct{}{}
	pass(2, livePause) // the beat's timer of this wait goes on
	w.reads(answer, "event: changed\ndata: 1\n\n")
	w.h.Stop()
	if rest, err := io.ReadAll(answer.Body); err != nil || len(rest) > 0 {
		t.Errorf("after the end: %q, %v", rest, err)
	}
}

// TestLiveStorm: of 1,000 changes a second for a minute a page gets two signals a second, and one of the last.
func TestLiveStorm(t *testing.T) {
	w := newWorld(t)
	answer := w.openLive("/console/live")
	var figure, shown atomic.Int64 // of the region, and of the page, which reads it at each signal
	signals, ended := 0, make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			if lines.Text() == "event: changed" {
				shown.Store(figure.Load())
				signals++
			}
		}
	}()
	await := func(timers int) {
		t.Helper()
		if err := w.clock.BlockUntilContext(t.Context(), timers); err != nil {
			t.Fatal(err)
		}
	}
	const seconds = 60
	await(1)
	for range seconds * 1000 {
		figure.Add(1)
		select {
		case w.changed <- struct{}{}: // as control.Plane does: a change that was not heard of stays one
		default:
		}
		await(2) // the beat, and the pause after a change
		w.clock.Advance(time.Millisecond)
	}
	await(2)
	w.clock.Advance(livePause)
	await(1)
	w.h.Stop()
	<-ended
	if signals > 4*seconds || signals < seconds || shown.Load() != figure.Load() {
		t.Errorf("%d signals in %d s; the page shows %d, want %d", signals, seconds, shown.Load(), figure.Load())
	}
}

// TestHome leads a browser that opens the port itself to the console, and no program.
func TestHome(t *testing.T) {
	for accept, want := range map[string]bool{"text/html,*/*": true, "*/*": false, "": false} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.Header.Set("Accept", accept)
		if Matches(r) != want {
			t.Errorf("Accept %q: %v", accept, !want)
		}
	}
}

// loaded finds what a page loads, and what a script does.
var loaded = regexp.MustCompile(`(?:src|href)="(/console/assets/[^"]+)"|(?:from |import |import\()"\./([a-z]+\.js)"`)

// TestTransfer: what a browser reads for the first page with all that it loads, for the next one, and for
// all assets, compressed. Assets have a hash of them in their address, and so stay for ever.
func TestTransfer(t *testing.T) {
	w := newWorld(t)
	w.answers["ListFleets"] = &wire.ListFleetsOutput{}
	sizes := map[string]int{}
	var visit func(path string)
	visit = func(path string) {
		if sizes[path] > 0 {
			return
		}
		out := w.do("GET", path, nil)
		if strings.HasPrefix(path, assetPrefix) != strings.Contains(out.Header().Get("Cache-Control"), "immutable") ||
			out.Code != 200 {
			t.Errorf("%s: status %d, Cache-Control %q", path, out.Code, out.Header().Get("Cache-Control"))
		}
		text := out.Body.String()
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := io.WriteString(z, text); err != nil || z.Close() != nil {
			t.Fatal(path, err)
		}
		sizes[path] = b.Len()
		for _, m := range loaded.FindAllStringSubmatch(text, -1) {
			visit(cmp.Or(m[1], assetPrefix+m[2]))
		}
	}
	sum := func() (n int) {
		for _, size := range sizes {
			n += size
		}
		return n
	}
	visit("/console/")
	if page, first := sizes["/console/"], sum(); page > 15_000 || first > 120_000 || len(sizes) < 4 {
		t.Errorf("the first page has %d bytes with all its parts, the next %d: %v", first, page, sizes)
	}
	files, err := fs.Glob(assetFiles, "assets/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		visit(assetPrefix + strings.TrimPrefix(f, "assets/"))
	}
	if all := sum(); all > 200_000 {
		t.Errorf("all assets and the first page have %d bytes: %v", all, sizes)
	}
	w.shows("GET", "/console/assets/0000000000000000/console.css", nil, 404)
}

// TestMotion: people who want less motion see none.
func TestMotion(t *testing.T) {
	css, err := assetFiles.ReadFile("assets/console.css")
	if err != nil {
		t.Fatal(err)
	}
	const still = "@media (prefers-reduced-motion: reduce) { *, *::before, *::after { animation: none !important; " +
		"transition: none !important;"
	if !bytes.Contains(css, []byte(still)) {
		t.Errorf("the style lacks %s", still)
	}
	if bytes.Contains(style.CSS, []byte("animation")) || bytes.Contains(style.CSS, []byte("transition")) {
		t.Error("the style of all pages moves, and has no such rule")
	}
}
