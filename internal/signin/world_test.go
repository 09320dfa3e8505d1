package signin

import (
	"context"
	"encoding/json"
	"html"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/memory"
)

const (
	public   = "https://muster.example:9080"
	regionID = "0123456789abcdef"
	account  = "111122223333"
)

// A world is a region of two nodes with a browser.
type world struct {
	t      testing.TB
	clock  *clockwork.FakeClock
	access *fakeAccess
	idp    *fakeIdP
	grants *faultyBucket
	nodes  [2]*Handler

	cookies map[string]*http.Cookie
	address string // of the client
}

// A faultyBucket fails if it is told to.
type faultyBucket struct {
	journal.Bucket
	broken error
}

func (b *faultyBucket) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	if b.broken != nil {
		return 0, b.broken
	}
	return b.Bucket.Create(ctx, key, value)
}

func (b *faultyBucket) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	if b.broken != nil {
		return nil, 0, b.broken
	}
	return b.Bucket.Get(ctx, key)
}

func newWorld(t testing.TB, change ...func(*Config)) *world {
	t.Helper()
	clock := clockwork.NewFakeClock()
	w := &world{t: t, clock: clock, access: newFakeAccess(clock), idp: &fakeIdP{}, cookies: map[string]*http.Cookie{},
		grants: &faultyBucket{Bucket: memory.NewBucket(clock)}, address: "192.0.2.7:4242"}
	w.access.addUser("ada", "GameAdmin", "GameDev")
	for i := range w.nodes {
		c := Config{
			Access:      w.access,
			Grants:      w.grants,
			Codes:       w.grants,
			IdP:         w.idp,
			PublicURL:   public + "/",
			URL:         "https://10.0.0.1:9080",
			Region:      "us-west-2",
			RegionID:    regionID,
			Account:     account,
			AccountName: "studio",
			Ready:       func(context.Context) bool { return true },
			Clock:       clock,
			Log:         slog.New(slog.DiscardHandler),
		}
		for _, f := range change {
			f(&c)
		}
		h, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		w.nodes[i] = h
	}
	return w
}

// An answer is a response with its body.
type answer struct {
	*httptest.ResponseRecorder
	t testing.TB
}

type option func(*http.Request)

func header(name, value string) option { return func(r *http.Request) { r.Header.Set(name, value) } }

// do sends a request over TLS to the first node. Paths may be whole URLs.
func (w *world) do(method, path, body string, options ...option) answer {
	w.t.Helper()
	return w.at(0, method, path, body, options...)
}

func (w *world) at(node int, method, path, body string, options ...option) answer {
	w.t.Helper()
	if strings.HasPrefix(path, "/") {
		path = public + path
	}
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr = w.address
	for _, o := range options {
		o(r)
	}
	a := answer{httptest.NewRecorder(), w.t}
	if !Matches(r) {
		w.t.Fatalf("%s %s is not for this package", method, path)
	}
	w.nodes[node].ServeHTTP(a, r)
	return a
}

// json sends a JSON request, as the command line does.
func (w *world) json(path string, body any, options ...option) answer {
	w.t.Helper()
	return w.jsonAt(0, path, body, options...)
}

func (w *world) jsonAt(node int, path string, body any, options ...option) answer {
	w.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.at(node, "POST", path, string(text), append(options, header("Content-Type", "application/json"))...)
}

// get and post are of the browser, which keeps cookies.
func (w *world) get(path string, options ...option) answer {
	w.t.Helper()
	return w.browse("GET", path, "", options...)
}

func (w *world) post(path string, form map[string]string, options ...option) answer {
	w.t.Helper()
	values := url.Values{}
	for name, value := range form {
		values.Set(name, value)
	}
	options = append([]option{header("Content-Type", "application/x-www-form-urlencoded"),
		header("Sec-Fetch-Site", "same-origin")}, options...)
	return w.browse("POST", path, values.Encode(), options...)
}

func (w *world) browse(method, path, body string, options ...option) answer {
	w.t.Helper()
	a := w.do(method, path, body, append(options, func(r *http.Request) {
		for _, name := range slices.Sorted(maps.Keys(w.cookies)) {
			r.AddCookie(w.cookies[name])
		}
	})...)
	for _, c := range a.Result().Cookies() {
		if c.MaxAge < 0 {
			delete(w.cookies, c.Name)
		} else {
			w.cookies[c.Name] = c
		}
	}
	return a
}

// Forms of a consent page, and a header of a page on another site.
var (
	allow     = map[string]string{"user": "ada", "decision": "allow"}
	deny      = map[string]string{"user": "ada", "decision": "deny"}
	crossSite = header("Sec-Fetch-Site", "cross-site")
)

// signIn signs the browser in.
func (w *world) signIn(name string) {
	w.t.Helper()
	w.post(signInPath, map[string]string{"name": name, "password": goodPassword, "return": "/start"}).
		redirects(http.StatusSeeOther, "/start")
}

func (a answer) status(want int) answer {
	a.t.Helper()
	if a.Code != want {
		a.t.Fatalf("status %d, want %d: %s", a.Code, want, a.Body)
	}
	return a
}

func (a answer) redirects(status int, want string) answer {
	a.t.Helper()
	a.status(status)
	if to := a.Result().Header.Get("Location"); to != want {
		a.t.Fatalf("redirects to %s, want %s", to, want)
	}
	return a
}

// has checks that the text of a page has all of some texts.
func (a answer) has(want ...string) answer {
	a.t.Helper()
	text := html.UnescapeString(a.Body.String())
	for _, s := range want {
		if !strings.Contains(text, s) {
			a.t.Fatalf("the page lacks %q:\n%s", s, text)
		}
	}
	return a
}

// object returns the members of a JSON object.
func (a answer) object() map[string]any {
	a.t.Helper()
	a.status(http.StatusOK)
	var m map[string]any
	if err := json.Unmarshal(a.Body.Bytes(), &m); err != nil {
		a.t.Fatalf("%v: %s", err, a.Body)
	}
	return m
}

// fails checks an error of SSO-OIDC, the portal or Sign-in.
func (a answer) fails(status int, exception, code string) answer {
	a.t.Helper()
	a.status(status)
	if got := a.Result().Header.Get("X-Amzn-Errortype"); got != exception {
		a.t.Fatalf("exception %q, want %s: %s", got, exception, a.Body)
	}
	var m map[string]string
	if err := json.Unmarshal(a.Body.Bytes(), &m); err != nil {
		a.t.Fatalf("%v: %s", err, a.Body)
	}
	if m["error"] != code {
		a.t.Fatalf("error %q, want %q", m["error"], code)
	}
	if len(m["message"]+m["error_description"]) < 5 {
		a.t.Fatalf("the error has no sentence: %s", a.Body)
	}
	return a
}

var actionPattern = regexp.MustCompile(`<form method="post" action="([^"]*)"`)

// action returns where the last form of a page leads to.
func (a answer) action() string {
	a.t.Helper()
	all := actionPattern.FindAllStringSubmatch(a.Body.String(), -1)
	if len(all) == 0 {
		a.t.Fatalf("the page has no form:\n%s", a.Body)
	}
	return html.UnescapeString(all[len(all)-1][1])
}

const (
	verifier  = "0123456789012345678901234567890123456789012345678901234567890123"
	redirect  = "http://127.0.0.1:41031/oauth/callback"
	startURL  = public + "/start"
	deviceURN = "urn:ietf:params:oauth:grant-type:device_code"
)

func challenge() string { return encode(sum(verifier)) }

type object = map[string]any

// A client is registered.
type client struct{ id, secret string }

func (w *world) register(body object) client {
	w.t.Helper()
	all := object{"clientName": "botocore-client-muster", "clientType": "public", "unknown": 1}
	maps.Copy(all, body)
	m := w.json("/client/register", all).object()
	return client{m["clientId"].(string), m["clientSecret"].(string)}
}

func (w *world) pkceClient() client {
	return w.register(object{"grantTypes": []string{"authorization_code", "refresh_token"},
		"redirectUris": []string{"http://127.0.0.1/oauth/callback"}, "issuerUrl": startURL,
		"scopes": []string{"sso:account:access"}})
}

// device starts a device authorization.
func (w *world) device(c client) (deviceCode, userCode string) {
	w.t.Helper()
	m := w.json("/device_authorization", object{"clientId": c.id, "clientSecret": c.secret, "startUrl": startURL}).
		object()
	return m["deviceCode"].(string), m["userCode"].(string)
}

func (w *world) poll(node int, c client, code string) answer {
	w.t.Helper()
	return w.jsonAt(node, "/token", object{"grantType": deviceURN, "clientId": c.id, "clientSecret": c.secret,
		"deviceCode": code})
}

// decide allows or denies the request of a user code.
func (w *world) decide(userCode, decision string) answer {
	w.t.Helper()
	page := w.get("/device?user_code=" + userCode).status(http.StatusOK)
	return w.post(page.action(), map[string]string{"user": "ada", "decision": decision})
}

func (c client) authorize(change ...string) string {
	q := url.Values{"response_type": {"code"}, "client_id": {c.id}, "redirect_uri": {redirect}, "state": {"st&te"},
		"code_challenge_method": {"S256"}, "scopes": {"sso:account:access"}, "code_challenge": {challenge()}}
	for i := 0; i < len(change); i += 2 {
		q.Set(change[i], change[i+1])
	}
	return "/authorize?" + q.Encode()
}

// code has the browser allow a client and returns the authorization code.
func (w *world) code(path string, form ...string) string {
	w.t.Helper()
	page := w.get(path)
	if page.Code == http.StatusOK {
		all := map[string]string{"user": "ada", "decision": "allow"}
		for i := 0; i < len(form); i += 2 {
			all[form[i]] = form[i+1]
		}
		page = w.post(page.action(), all)
	}
	page.status(http.StatusFound)
	u, err := url.Parse(page.Result().Header.Get("Location"))
	if err != nil || u.Query().Get("code") == "" {
		w.t.Fatalf("no code in %v, %v", u, err)
	}
	return u.Query().Get("code")
}
