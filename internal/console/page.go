package console

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/muster-gg/muster/internal/style"
	"github.com/muster-gg/muster/internal/wire/fault"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets
var assetFiles embed.FS

// assetPrefix is the path of the scripts and the style, with a hash of all, so that browsers may keep them for ever.
var assetPrefix = Prefix + "assets/" + assetHash() + "/"

func assetHash() string {
	sum := fnv.New64a()
	sum.Write(style.CSS)
	err := fs.WalkDir(assetFiles, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := assetFiles.ReadFile(name)
		sum.Write(data)
		return err
	})
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%016x", sum.Sum64())
}

func (h *Handler) asset(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	name := path.Base(r.PathValue("file"))
	if name == "muster.css" {
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(style.CSS))
		return
	}
	http.ServeFileFS(w, r, assetFiles, "assets/"+name)
}

type tmpl = template.Template

// A page is what every template is executed with.
type page struct {
	Title  string // of the document
	Crumbs []link // what the page is part of
	Nav    string // the path of the entry of the navigation that it belongs to
	Alert  string // what went wrong; announced by screen readers
	Done   string // what was done
	Live   bool   // it is read again when the region changes
	Every  int    // seconds at least between two readings
	Stream string // the address of the signals on which it is read again; "": those of the region
	Basis  string // what the form that changes settings is made from

	Differences []difference // between stored and typed settings, after a conflict
	Body        any          // of the template

	Missing []lack // parts that were not answered

	// Of all pages.
	Region, Person, Assets string
	Path                   string // with its query
	Look                   look
	Views                  views
	Now                    time.Time
	may                    func(action string, resources []string) bool // nil: everything
}

type link struct{ Text, Href string }

// parsePages parses the embedded templates, whose errors the tests find. All consoles of a process share them.
var parsePages = sync.OnceValue(func() map[string]*tmpl {
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic(err)
	}
	base := template.Must(template.New("layout.html").Funcs(functions).ParseFS(templateFiles,
		"templates/layout.html", "templates/parts.html"))
	all := map[string]*tmpl{}
	for _, f := range files {
		name := strings.TrimSuffix(path.Base(f), ".html")
		if name != "layout" && name != "parts" {
			all[name] = template.Must(template.Must(base.Clone()).ParseFS(templateFiles, f))
		}
	}
	return all
})

// show answers with a page.
func (v *visit) show(name string, p page) error { return v.showStatus(http.StatusOK, name, p) }

func (v *visit) showStatus(status int, name string, p page) error {
	p.Region, p.Person, p.Assets, p.Now = v.h.RegionName, v.person, assetPrefix, v.h.Clock.Now()
	p.Path, p.Look, p.Views = Prefix, lookOf(v.r), v.savedViews()
	p.Missing = v.lacks.all
	if v.r.Method == http.MethodGet {
		p.Path = v.r.URL.RequestURI()
	}
	p.may = func(string, []string) bool { return false }
	if v.id != nil {
		p.may = v.may
	}
	if p.Done == "" {
		p.Done = done[v.r.URL.Query().Get("done")]
	}
	var b bytes.Buffer
	if err := v.h.pages[name].Execute(&b, p); err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	if _, err := v.w.Write(b.Bytes()); err != nil { // the browser has gone
		v.h.Log.Debug("page not written", "err", err)
	}
	return nil
}

// done are the messages after a form, by what its redirect says in the query: a link cannot show any other text.
var done = map[string]string{
	"location-created": "The location was created.", "location-deleted": "The location was deleted.",
	"fleet-created": "The fleet was created.", "fleet-deleted": "The fleet is being deleted.",
	"none-selected": "No fleet was selected.", "fleets-tagged": "The fleets were tagged.",
	"fleets-deleted": "The fleets are being deleted.", "fleet-changed": "The fleet was changed.",
	"tag-stored": "The tag was stored.", "tag-removed": "The tag was removed.",
	"compute-deregistered": "The compute was deregistered.", "session-created": "The game session was created.",
	"session-terminated": "The game session was terminated.",
	"queue-created":      "The queue was created.", "queue-deleted": "The queue was deleted.",
	"placement-started": "The placement was started.", "placement-stopped": "The placement was cancelled.",
	"configuration-created": "The configuration was created.",
	"configuration-deleted": "The configuration was deleted.",
	"user-created":          "The user was created.", "user-changed": "The user was changed.",
	"user-deleted": "The user was deleted.", "sign-ins-ended": "The sign-in sessions were ended.",
	"group-created": "The group was created.", "group-changed": "The group was changed.",
	"group-deleted": "The group was deleted.", "role-stored": "The role was stored.",
	"role-changed": "The assignments were changed.", "role-deleted": "The role was deleted.",
	"policy-stored": "The policy was stored.", "policy-deleted": "The policy was deleted.",
	"provider-stored": "The identity provider was stored.", "provider-deleted": "The identity provider was deleted.",
	"key-changed": "The access key was changed.", "key-deleted": "The access key was deleted.",
	"node-removed":    "The node was removed.",
	"machine-drained": "The machine is drained.", "machine-undrained": "The machine is used again.",
	"machine-deleted":  "The machine was deleted.",
	"build-deleted":    "The build was deleted.",
	"capacity-changed": "The capacity was changed.", "scaling-stopped": "Scaling policies have no effect now.",
	"scaling-started": "Scaling policies have an effect again.",
	"target-stored":   "The scaling policy was stored.", "scaling-policy-deleted": "The scaling policy was deleted.",
	"build-detached":   "The build was detached. Its game sessions go on.",
	"rule-set-created": "The rule set was created.", "rule-set-deleted": "The rule set was deleted.",
	"player-released": "The place was released.",
	"ticket-stopped":  "The ticket was cancelled.",
	"view-saved":      "The view was saved.", "view-deleted": "The view was deleted.",
}

// A failureBody is of the page that reports an error.
type failureBody struct {
	Kind, Message, RequestID, Back string
}

// fail answers with the page of an error.
func (v *visit) fail(err error) {
	v.lacks.all = nil // of a page that is not shown
	f := fault.Of(err)
	if reason := v.unanswered(err); reason != "" && f.Kind != fault.ServiceUnavailable {
		f = &fault.Error{Kind: fault.ServiceUnavailable, Message: sentence(reason) + " Reload the page.", Err: f.Err}
	}
	if f.Err != nil && v.r.Context().Err() == nil { // else the browser has gone
		if suppressed, ok := v.h.lines.Allow("page"); ok {
			v.h.Log.Error("page failed", "path", v.r.URL.Path, "err", err, "suppressed", suppressed)
		}
	}
	status := statusOf(f)
	body := failureBody{Kind: string(f.Kind), Message: f.Message, RequestID: v.from.RequestID}
	if v.showStatus(status, "failure", page{Title: titles[status], Body: body}) != nil {
		http.Error(v.w, f.Message, status)
	}
}

// statusOf returns the status of a page that shows a fault: browsers and proxies know more of them than the API uses.
func statusOf(f *fault.Error) int {
	switch f.Kind {
	case fault.AccessDenied:
		return http.StatusForbidden
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Conflict:
		return http.StatusConflict
	}
	return f.Kind.HTTPStatus()
}

var titles = map[int]string{
	400: "This was refused", 403: "Not allowed", 404: "Not found", 409: "Not possible now",
	500: "The service failed", 503: "Not available now",
}

var errNoPage = &fault.Error{Kind: fault.NotFound, Message: "There is no such page."}

func unknownPage(*visit) error { return errNoPage }

// functions are those of the templates.
var functions = template.FuncMap{
	"chip":   chip,
	"copies": copies,
	"shell":  func(words ...string) string { return shell(words) },
	"when":   func(now, t time.Time) moment { return moment{t, now} },
	"iso":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"exact":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"ago":    ago,
	"age":    age,
	"milli":  func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") },
	"clock":  func(t time.Time) string { return t.UTC().Format(clockTime) },
	"add":    func(a, b int) int { return a + b },
	"query":  url.QueryEscape, // not after a ? of the template, where html/template escapes
	"next":   nextPage,
	"fleet":  func(id string) string { return "/console/fleets/" + url.PathEscape(id) },
	"gsess":  gameSessionPath,
	"player": playerPath,
	"queue":  queuePath, "configuration": configurationPath, "ruleset": ruleSetPath,
	"pathEscape":   url.PathEscape,
	"join":         func(words []string) string { return strings.Join(words, ", ") },
	"few":          few,
	"sentence":     sentence,
	"user":         userPath,
	"role":         rolePath,
	"policy":       policyPath,
	"provider":     providerPath,
	"operation":    operationPath,
	"userstate":    userState,
	"pretty":       formatted,
	"json":         func(text json.RawMessage) string { return formatted(string(text)) },
	"last":         func(id string) string { return id[strings.LastIndexByte(id, '/')+1:] },
	"count":        thousands,
	"rows":         func(now time.Time, list any) tableRows { return tableRows{now, list} },
	"words":        titleOf,
	"size":         sizeText,
	"bytes":        func(n int64) string { return sizeText(uint64(max(0, n))) }, //nolint:gosec // not negative
	"build":        buildPath,
	"millis":       millisText,
	"milliseconds": func(ms int64) string { return span(time.Duration(ms) * time.Millisecond) },
	"placement":    func(id string) string { return "/console/placements/" + url.PathEscape(id) },
	"ticket":       func(id string) string { return "/console/tickets/" + url.PathEscape(id) },
	"playerPath":   func(id string) string { return "/console/players/" + url.PathEscape(id) },
	"percent": func(part, whole int32) int {
		if whole <= 0 {
			return 0
		}
		return int(min(100, 100*int64(part)/int64(whole)))
	},
}

// nextPage returns the address of the next page of a list; "": there is none. It is not relative, since the answer to a
// form that was refused is at the address of the form.
func nextPage(list, token string) string {
	if token == "" {
		return ""
	}
	return list + "?next=" + url.QueryEscape(token)
}

// sentence returns a text that begins with a capital and ends with a stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	r, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + strings.TrimSuffix(text[size:], ".") + "."
}

// A tableRows is a list with the time at which it is shown.
type tableRows struct {
	Now  time.Time
	List any
}

// A moment is a time that a page shows as seen from another.
type moment struct{ T, Now time.Time }

// A copyItem is a text that a button copies.
type copyItem struct{ Label, Text string }

// copies returns the texts that can be copied, from pairs of a label and a text, without empty ones.
func copies(pairs ...string) (items []copyItem) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			items = append(items, copyItem{pairs[i], pairs[i+1]})
		}
	}
	return items
}

// chip returns the class of a status: colour is only for state, and never alone.
func chip(status any) string {
	switch strings.ToUpper(fmt.Sprint(status)) {
	case "ACTIVE", "READY", "FULFILLED", "COMPLETED", "OK", "HOSTING", "ONLINE":
		return "good"
	case "NEW", "DOWNLOADING", "VALIDATING", "BUILDING", "ACTIVATING", "PENDING", "SEARCHING", "PLACING", "RESERVED",
		"REQUIRES_ACCEPTANCE", "QUEUED", "ATTEMPT", "WAITING", "CATCHING_UP", "RECONNECTING", "LEAVING", "INVITED",
		"STARTING":
		return "wait"
	case "ERROR", "FAILED", "TIMED_OUT", "TIMEDOUT", "CRASHED", "BACKOFF", "IMPAIRED", "REFUSED",
		"DOWN", "LOST", "REJECTED":
		return "bad"
	}
	return "idle"
}

// ago returns a time as a person says it: "4 m 12 s ago".
func ago(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	if d := now.Sub(t); d >= 0 {
		return span(d) + " ago"
	}
	return "in " + span(t.Sub(now))
}

func span(d time.Duration) string {
	s := int64(d / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d m %d s", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%d h %d m", s/3600, s/60%60)
	}
	return fmt.Sprintf("%d d %d h", s/86400, s/3600%24)
}
