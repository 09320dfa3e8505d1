package signin

import (
	"bytes"
	"context"
	"errors"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/control/idp"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/style"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestSignIn(t *testing.T) {
	w := newWorld(t)
	w.get("/start").redirects(303, "/signin/in?return=%2Fstart")
	w.get("/signin/in?return=%2Fdevice%3Fuser_code%3DBCDF-GHJK").status(200).
		has(`name="return" value="/device?user_code=BCDF-GHJK"`, "Password")
	form := func(change ...string) map[string]string {
		m := map[string]string{"name": "ada", "password": goodPassword, "return": "/device"}
		for i := 0; i < len(change); i += 2 {
			m[change[i]] = change[i+1]
		}
		return m
	}
	w.access.addUser("bob").Disabled = true
	wrong := w.post(signInPath, form("password", "x")).
		status(403).
		has("The name or the password is wrong.", `role="alert"`)
	for _, name := range []string{"bob", "nobody"} {
		other := w.post(signInPath, form("name", name)).status(403)
		if strings.ReplaceAll(other.Body.String(), name, "ada") != wrong.Body.String() {
			t.Errorf("the answer for %s differs", name)
		}
	}
	w.post(signInPath, form("password", ""))
	w.post(signInPath, form("password", ""))
	if after := w.post(signInPath, form()).status(429).has("2 s").Result().Header.Get("Retry-After"); after != "2" {
		t.Errorf("Retry-After %s", after)
	}
	w.access.failures = 0
	w.post(signInPath, form(), crossSite).status(403)
	w.post(signInPath, form(), header("Sec-Fetch-Site", ""), header("Origin", "https://evil.example")).status(403)
	done := w.post(signInPath, form()).redirects(303, "/device")
	cookie := done.Result().Header.Get("Set-Cookie")
	if !regexp.MustCompile(`^__Host-muster=muc_session-1; Path=/; Max-Age=43200; HttpOnly; Secure; SameSite=Lax$`).
		MatchString(cookie) {
		t.Errorf("cookie %s", cookie)
	}
	w.get("/start").status(200).has("Signed in as ada", "GameDev", "For GameDev", "sso_start_url = "+startURL,
		"sso_account_id = "+account, "sso_oidc =\n  endpoint_url = "+public)
	if w.access.touched == 0 {
		t.Error("the use of the session is not noted")
	}
	w.post("/signin/out", nil).redirects(303, "/signin/in")
	w.get("/start").status(303)
	if len(w.access.signIns) != 0 {
		t.Error("the session goes on")
	}
	w.post("/signin/out", nil).status(303)
	w.access.broken = fault.New(fault.InternalService, "no")
	w.post(signInPath, form()).status(500)
	w.post(signInPath, map[string]string{"name": strings.Repeat("x", 20<<10)}).status(413)
	w.do("POST", signInPath, "%", header("Content-Type", "application/x-www-form-urlencoded")).status(400)
}

func TestReturns(t *testing.T) {
	for sent, want := range map[string]string{
		"/start": "/start", "/device?user_code=X": "/device?user_code=X", "/authorize?a=b&c": "/authorize?a=b&c",
		"/v1/authorize?x": "/v1/authorize?x", "/console/fleets/x?y": "/console/fleets/x?y", "/console": "/console",
		"": "/start", "//evil.example/start": "/start", "https://evil.example/start": "/start",
		`/\evil.example`: "/start",
		`\/evil.example`: "/start", "///evil.example": "/start", "/start\r\nx": "/start", "start": "/start",
		"/v1/backup":          "/start",
		"javascript:alert(1)": "/start", "/console/../v1/backup": "/start", "/%2e%2e/x": "/start",
		"/signin/out": "/start",
		"%":           "/start", "/start?" + strings.Repeat("x", 9000): "/start", "/console/%2e%2e/x": "/start",
	} {
		if got := returnTo(sent); got != want {
			t.Errorf("%q: %q", sent, got)
		}
	}
}

// While nobody can sign in, the page says how to add the first user and nothing else.
func TestNoUsers(t *testing.T) {
	w := newWorld(t)
	w.access.users = map[string]*fakeUser{}
	a := w.get("/signin/in").status(200).has("muster user add NAME --invite")
	if strings.Contains(a.Body.String(), "<form") {
		t.Error("the page has a form")
	}
	w.get("/device").status(303)
	w.access.providers = []*catalog.Provider{{Name: "keycloak"}}
	w.get("/signin/in").status(200).has("Continue with keycloak")
}

func TestPasswordsSwitchedOff(t *testing.T) {
	w := newWorld(t)
	w.access.passwords = false
	if a := w.get("/signin/in").
		status(200).
		has("no identity provider"); strings.Contains(
		a.Body.String(),
		"password\"",
	) {
		t.Error("the page asks for a password")
	}
	w.post(signInPath, map[string]string{"name": "ada", "password": goodPassword}).status(403)
}

func TestInvite(t *testing.T) {
	w := newWorld(t)
	w.access.invites["mui_x"] = "ada"
	w.get("/signin/invite?token=other").status(403).has("expired or was used")
	w.get("/signin/invite?token=mui_x").status(200).has("invited to sign in as", "ada", `value="mui_x"`)
	form := func(password, again string) map[string]string {
		return map[string]string{"token": "mui_x", "password": password, "again": again}
	}
	w.post("/signin/invite", form("long enough one", "other")).status(400).has("differ")
	w.post("/signin/invite", form("short", "short")).status(400).has("at least 12 characters")
	w.post("/signin/invite", form("long enough one", "long enough one"), crossSite).status(403)
	w.post("/signin/invite", form("long enough one", "long enough one")).redirects(303, "/start")
	w.get("/start").status(200).has("Signed in as ada")
	w.post("/signin/invite", form("long enough one", "long enough one")).status(403)
	for err, want := range map[error]error{
		access.ErrInvalidToken: errInvite, fault.New(fault.Conflict, "x"): errInvite,
		context.Canceled: context.Canceled,
	} {
		if got := inviteError(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

func TestTemporaryKeys(t *testing.T) {
	w := newWorld(t)
	w.post("/signin/keys", map[string]string{"role": "GameDev"}).status(403)
	w.signIn("ada")
	w.post("/signin/keys", map[string]string{"role": "GameDev"}).status(200).
		has("export AWS_ACCESS_KEY_ID='ASIAEXAMPLE'", "$Env:AWS_SESSION_TOKEN='token'",
			"aws_secret_access_key = secret",
			"AWS_ENDPOINT_URL_GAMELIFT='"+public+"'")
	w.post("/signin/keys", map[string]string{"role": "Root"}).status(403)
	w.post("/signin/keys", map[string]string{"role": "GameDev"}, header("Sec-Fetch-Site", "same-site")).status(403)
	w.access.users["ada"].roles = nil
	w.get("/start").status(200).has("No role is assigned to you")
}

func TestExternal(t *testing.T) {
	w := newWorld(t)
	w.access.providers = []*catalog.Provider{{Name: "key cloak", Issuer: "https://idp.example"}}
	w.access.addUser("bob").Disabled = true
	w.get("/signin/in?return=/device").status(200).has(`href="/signin/oidc/key%20cloak?return=%2Fdevice"`)
	w.get("/signin/oidc/other").status(404)
	begin := func() string {
		w.get("/signin/oidc/key%20cloak?return=/device").status(302)
		return "/signin/oidc/key%20cloak/callback?state=" + w.idp.state + "&"
	}
	w.get(begin()+"code=code-for-ada").redirects(303, "/device")
	if w.idp.login.RedirectURL != public+"/signin/oidc/key%20cloak/callback" {
		t.Errorf("%s", w.idp.login.RedirectURL)
	}
	if _, pending := w.cookies["__Host-muster-oidc"]; pending {
		t.Error("the cookie is left")
	}
	w.get("/start").status(200).has("Signed in as ada")

	callback := begin()
	w.get(strings.Replace(callback, "state=", "state=x", 1) + "code=code-for-ada").status(400)
	w.get(callback + "error=access_denied").status(403).has("access_denied")
	w.get(callback + "code=code-for-ada").status(400) // the cookie is used
	w.get(begin() + "code=x").status(403)
	w.get(begin() + "code=code-for-stranger").status(403).has("Your account has no access here.")
	w.get(begin() + "code=code-for-bob").status(403).has("disabled")
	callback = begin()
	w.clock.Advance(10 * time.Minute)
	w.get(callback + "code=code-for-ada").status(400)
	callback = begin()
	cookie := w.cookies["__Host-muster-oidc"]
	w.cookies = map[string]*http.Cookie{}
	w.get(callback + "code=code-for-ada").status(400)
	w.cookies["__Host-muster-oidc"] = cookie
	w.access.providers = append(w.access.providers, &catalog.Provider{Name: "other"})
	w.get(strings.Replace(callback, "key%20cloak", "other", 1) + "code=code-for-ada").status(400)
	w.idp.broken = idp.ErrUnreachable
	w.get(callback + "code=code-for-ada").status(502)
	w.get("/signin/oidc/other").status(502)
	w.idp.broken = errors.New("x")
	w.get("/signin/oidc/other").status(403)
	w = newWorld(t, func(c *Config) { c.IdP = nil })
	w.get("/signin/oidc/key%20cloak").status(404)
}

func TestDevicePage(t *testing.T) {
	w := newWorld(t)
	w.signIn("ada")
	w.get("/device").status(200).has("Code from your terminal")
	w.get("/device?user_code=ABC").status(400).has("A code has 8 letters", `value="ABC"`)
	_, user := w.device(w.register(object{}))
	page := w.get("/device?user_code=" + user)
	w.post(page.action(), allow, crossSite).status(403)
	w.post(page.action(), map[string]string{"user": "bob", "decision": "allow"}).status(403)
	w.post(page.action(), allow).status(200).has("You may close this tab")
	w.post(page.action(), deny).status(409).has("already used")
	w.get("/device?user_code=" + user).status(409).has("already used")
}

func TestWrongCodesAreLimited(t *testing.T) {
	w := newWorld(t)
	_, user := w.device(w.register(object{}))
	wrong := func() answer { return w.get("/device?user_code=" + spell(newUserCode())) }
	for range 4 { // sessions of one address
		w.signIn("ada")
		for range 3 {
			w.get("/device?user_code=" + user).status(200) // right ones do not count
		}
		for range 5 {
			wrong().status(404).has("The code is wrong")
		}
		wrong().status(429)
		w.get("/device?user_code=" + user).status(429)
		w.clock.Advance(4 * time.Second) // for the budget
	}
	w.signIn("ada")
	wrong().status(429)
	w.address = "192.0.2.8:1"
	w.signIn("ada")
	wrong().status(404)
	w.clock.Advance(time.Hour)
	w.address = "192.0.2.7:1"
	wrong().status(404)
}

// Two people decide about one request: the first counts.
func TestDecisionsAtOnce(t *testing.T) {
	w := newWorld(t)
	c := w.register(object{})
	device, user := w.device(c)
	code, _ := userCode(user)
	first, err := w.nodes[0].device(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	w.signIn("ada")
	w.decide(user, "deny").status(200)
	if err := w.nodes[1].decideDevice(t.Context(), first, approved, &catalog.User{Name: "eve"}); err == nil {
		t.Error("the second decision is stored")
	}
	w.poll(0, c, device).fails(400, "AccessDeniedException", "access_denied")
}

func TestBudget(t *testing.T) {
	w := newWorld(t)
	spend := func() (code int) {
		for range budgetBurst {
			code = w.do("POST", "/token", "{}").Code
		}
		return code
	}
	if code := spend(); code != 400 {
		t.Errorf("status %d within the burst", code)
	}
	w.do("POST", "/token", "{}").fails(400, "SlowDownException", "slow_down")
	w.do("POST", "/v1/token", "{}").fails(429, "TooManyRequestsError", "INVALID_REQUEST")
	w.get("/start").status(429).has("Try again later")
	w.get("/signin/assets/muster.css").status(200)
	w.do("GET", "/assignment/accounts", "").fails(401, "UnauthorizedException", "")
	w.clock.Advance(100 * time.Millisecond)
	w.get("/start").status(303)
	w.get("/start").status(429)
	w.address = "[2001:db8:1:2::3]:1"
	spend()
	w.address = "[2001:db8:1:2:ffff::4]:1" // the same network
	w.get("/start").status(429)
	w.address = "[2001:db8:1:3::3]:1"
	w.get("/start").status(303)
}

func TestRecentIsBounded(t *testing.T) {
	w := newWorld(t)
	m := newRecent[int](w.clock, time.Minute, 3)
	add := func(key string) (n int) {
		m.use(key, func(v *int, _ time.Time, _ bool) { *v++; n = *v })
		return n
	}
	for _, key := range []string{"a", "b", "c", "a", "d"} { // b is the oldest
		add(key)
	}
	if add("a") != 3 || add("b") != 1 || len(m.entries) != 3 {
		t.Errorf("%v", m.entries)
	}
	w.clock.Advance(time.Minute)
	if add("a") != 1 || len(m.entries) != 1 || m.order.Len() != 1 {
		t.Errorf("%v", m.entries)
	}
}

func TestUnencrypted(t *testing.T) {
	plain := func(r *http.Request) { r.TLS = nil }
	w := newWorld(t)
	w.do("POST", "/token", "{}", plain).fails(403, "AccessDeniedException", "access_denied").has("Use https")
	w.do("POST", "/v1/token", "{}", plain).fails(403, "AccessDeniedException", "INVALID_REQUEST")
	w.do("GET", "/federation/credentials", "", plain).fails(403, "ForbiddenException", "")
	w.get("/start", plain).status(403).has("Use https")
	w.do("HEAD", "/start", "", plain).status(302)
	w.get("/signin/assets/muster.css", plain).status(200)
	w.address = "[::1]:1"
	w.get("/start", plain).status(303)
	w = newWorld(t, func(c *Config) { c.Insecure, c.PublicURL = true, "http://muster.example:9080" })
	w.post(signInPath, map[string]string{"name": "ada", "password": goodPassword}, plain).status(303)
	if c := w.cookies["muster"]; c == nil || c.Secure || !c.HttpOnly {
		t.Errorf("%v", w.cookies)
	}
	w.get("/start", plain).status(200).has("sso_start_url = https://identitycenter.amazonaws.com/muster-" + regionID)
}

// TestBehindProxy holds that only a trusted proxy can report that the browser uses TLS.
func TestBehindProxy(t *testing.T) {
	behind := func(proto string) option {
		return func(r *http.Request) {
			end, other := net.Pipe()
			defer end.Close()
			defer other.Close()
			proxies := listen.Proxies{netip.MustParsePrefix("127.0.0.1/32")}
			r.TLS = nil
			r.Header.Set("X-Forwarded-For", "203.0.113.9")
			r.Header.Set("X-Forwarded-Proto", proto)
			*r = *r.WithContext(proxies.ConnContext(r.Context(), end))
		}
	}
	credentials := map[string]string{"name": "ada", "password": goodPassword}
	w := newWorld(t)
	for _, test := range []struct{ peer, proto string }{
		{"127.0.0.1:1", "http"}, {"127.0.0.1:1", ""}, {"127.0.0.2:1", "https"}, {"192.0.2.7:1", "https"},
	} {
		w.address = test.peer
		w.post(signInPath, credentials, behind(test.proto)).status(403).has("Use https")
	}
	w.address = "127.0.0.1:1"
	w.post(signInPath, credentials, behind("https")).status(303)
	if c := w.cookies["__Host-muster"]; c == nil || !c.Secure {
		t.Errorf("%v", w.cookies)
	}
	w.get("/start", behind("https")).status(200)
}

// A browser on this machine can use the unencrypted port of a service whose public URL is https.
func TestCookieNames(t *testing.T) {
	w := newWorld(t)
	for _, test := range []struct {
		url, peer string
		want      string
	}{
		{public, "192.0.2.7:1", "__Host-muster"},
		{"http://localhost:9080", "127.0.0.1:1", "muster"},
		{"http://muster.example:9080", "127.0.0.1:1", "__Host-muster"}, // a proxy on this machine
		{"http://localhost:9080", "192.0.2.7:1", "__Host-muster"},
	} {
		r := httptest.NewRequest("GET", test.url+"/start", nil)
		r.RemoteAddr = test.peer
		v := w.nodes[0].visit(httptest.NewRecorder(), r, pageKind)
		if got := w.nodes[0].cookieName(v, sessionCookie); got != test.want {
			t.Errorf("%s from %s: %s", test.url, test.peer, got)
		}
	}
}

func TestHeaders(t *testing.T) {
	w := newWorld(t)
	w.signIn("ada")
	for _, path := range []string{"/start", "/signin/in", "/device", "/signin/nothing", "/authorize",
		"/signin/invite"} {
		header := w.get(path).Result().Header
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; " +
				"img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; " +
				"base-uri 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin",
			"Cache-Control":              "no-store", "Content-Type": "text/html; charset=utf-8",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %s: %s", path, name, got)
			}
		}
		if header.Get("X-Amzn-Requestid") == "" {
			t.Errorf("%s: no request id", path)
		}
	}
	header := w.json("/token", object{}).Result().Header
	if header.Get("Cache-Control") != "no-store" || header.Get("Content-Type") != "application/json" {
		t.Errorf("%v", header)
	}
	css := w.get("/signin/assets/muster.css").status(200).Result().Header
	if css.Get("Content-Type") != "text/css; charset=utf-8" || css.Get("Cache-Control") != "public, max-age=300" {
		t.Errorf("%v", css)
	}
	w.get("/signin/assets/copy.js").status(200).has("data-copy")
	w.get("/signin/assets/other.css").status(404)
	w.get("/signin/assets/..%2fsignin.go").status(404)
	w.do("DELETE", "/signin/in", "").status(404)
}

func TestMatches(t *testing.T) {
	for request, want := range map[string]bool{
		"POST /client/register": true, "POST /device_authorization": true, "POST /token": true, "GET /authorize": true,
		"POST /authorize": true, "GET /assignment/accounts": true, "GET /assignment/roles": true, "POST /logout": true,
		"GET /federation/credentials": true, "GET /v1/authorize": true, "POST /v1/authorize": true,
		"POST /v1/token":                true,
		"GET /v1/sessions/confirmation": true, "HEAD /start": true, "GET /start": true, "GET /device": true,
		"POST /device": true, "GET /signin/in": true, "GET /signin/x/y": true, "HEAD /device": true,
		"POST /": false, "GET /": false, "GET /token": false, "POST /start": false, "GET /v1/nodes": false,
		"GET /v1/token": false, "GET /signin": false, "GET /metrics": false, "GET /start/": false, "GET //start": false,
		"POST /service/GameLift/operation/ListFleets": false, "DELETE /logout": false,
	} {
		method, path, _ := strings.Cut(request, " ")
		r := httptest.NewRequest(method, public, nil)
		r.URL.Path = path
		if Matches(r) != want {
			t.Errorf("%s: %v", request, !want)
		}
	}
}

func TestNotReady(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Ready = func(context.Context) bool { return false } })
	w.json("/token", object{}).fails(500, "InternalServerException", "server_error")
	w.do("GET", "/assignment/accounts", "").fails(500, "InternalServerException", "")
	if a := w.get("/start").status(503); a.Result().Header.Get("Retry-After") != "1" {
		t.Error("no Retry-After")
	}
}

func TestConfig(t *testing.T) {
	for _, url := range []string{"", "muster.example", "ftp://muster.example", "https://", "http://%"} {
		if _, err := New(Config{PublicURL: url}); err == nil {
			t.Errorf("%q is accepted", url)
		}
	}
	h, err := New(Config{URL: "http://127.0.0.1:9080"})
	if err != nil || h.PublicURL != "http://127.0.0.1:9080" {
		t.Errorf("%v", err)
	}
	if h.Account = account; h.accountLabel() != account {
		t.Error(h.accountLabel())
	}
}

func TestRefusals(t *testing.T) {
	for err, want := range map[error]reason{
		fault.New(fault.Throttling, "x"): tooMany, fault.New(fault.LimitExceeded, "x"): tooMany,
		fault.New(fault.ServiceUnavailable, "x"): starting, fault.New(fault.AccessDenied, "x"): disabled,
		&http.MaxBytesError{}: tooLarge, &access.WaitError{After: 1}: tooMany,
	} {
		if r := refusalOf(err); r == nil || r.why != want || r.Error() == "" {
			t.Errorf("%v: %v", err, r)
		}
	}
	if r := refusalOf(errors.New("x")); r != nil {
		t.Errorf("%v", r)
	}
}

// Every template works with empty and with full values, and has what a page needs.
func TestTemplates(t *testing.T) {
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	values := map[string][]any{
		"signin": {
			signInBody{},
			signInBody{"/start", "ada", true, []providerLink{{"Keycloak", "/signin/oidc/keycloak"}}},
		},
		"nousers": {nil, 1},
		"invite":  {inviteBody{}, inviteBody{"mui_x", "ada"}},
		"device":  {codeBody{}, codeBody{"BCDF-GHJK"}},
		"consent": {
			consentBody{},
			consentBody{"/authorize?x=y&z", "client", "ada", "studio", "192.0.2.7", at, "BCDF-GHJK",
				[]string{"a", "b"}, true},
			consentBody{Roles: []string{"a"}},
		},
		"done":         {doneBody{}, doneBody{"done"}},
		"error":        {errorBody{}, errorBody{"id"}},
		"start":        {startBody{}, startBody{"studio", []roleBody{{1, "GameDev", "x", "y"}, {2, "Other", "", ""}}}},
		"keys":         {keysBody{}, keysBody{"GameDev", at, []keyForm{{"a", "b", "c"}}}},
		"confirmation": {confirmationBody{}, confirmationBody{"code", 60}},
	}
	all := parsePages()
	if len(all) != len(values) {
		t.Errorf("%d templates, %d are tested", len(all), len(values))
	}
	script := regexp.MustCompile(`(?i)<script[^>]*>[^<]|\son\w+=|style=`) // refused by the policy
	for name, bodies := range values {
		for _, body := range bodies {
			for _, p := range []page{{Body: body}, {Title: `<b>"&`, Alert: `<b>`, Person: "ada", Region: "us-west-2",
				Body: body}} {
				var b bytes.Buffer
				if err := all[name].Execute(&b, p); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				checkMarkup(t, name, b.String(), p)
				if found := script.FindString(b.String()); found != "" || strings.Contains(b.String(), "<b>") {
					t.Errorf("%s: has %q", name, found)
				}
			}
		}
	}
}

var (
	labelled = regexp.MustCompile(`<input type="(?:text|password)"[^>]*>`)
	idOf     = regexp.MustCompile(` id="([^"]*)"`)
)

// checkMarkup checks what screen readers and keyboards need.
func checkMarkup(t *testing.T, name, text string, p page) {
	t.Helper()
	for tag, want := range map[string]int{"<h1>": 1, "<main ": 1, `<html lang="en">`: 1, "<header ": 1,
		"width=device-width": 1} {
		if n := strings.Count(text, tag); n != want {
			t.Errorf("%s has %d times %s", name, n, tag)
		}
	}
	if got := strings.Contains(text, `role="alert"`); got != (p.Alert != "") {
		t.Errorf("%s: alert %v", name, got)
	}
	for _, input := range labelled.FindAllString(text, -1) {
		id := idOf.FindStringSubmatch(input)
		if !strings.Contains(input, " hidden") && (id == nil || !strings.Contains(text, `<label for="`+id[1]+`"`)) {
			t.Errorf("%s: no label for %s", name, input)
		}
	}
	seen := map[string]bool{}
	for _, id := range idOf.FindAllStringSubmatch(text, -1) {
		if seen[id[1]] {
			t.Errorf("%s: two elements have the id %s", name, id[1])
		}
		seen[id[1]] = true
	}
}

// Text has a contrast of at least 4.5, focus rings and the borders of fields of 3. Source: WCAG 2.2, 1.4.3 and 1.4.11.
func TestContrast(t *testing.T) {
	token := regexp.MustCompile(`--([a-z-]+): light-dark\(#([0-9A-F]{6}), #([0-9A-F]{6})\);`)
	tokens := token.FindAllStringSubmatch(string(style.CSS), -1)
	if len(tokens) < 17 {
		t.Fatalf("the style has %d colours", len(tokens))
	}
	for i, scheme := range []string{"light", "dark"} {
		luminance := map[string]float64{}
		for _, m := range tokens {
			rgb, err := strconv.ParseUint(m[2+i], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			channel := func(shift int) float64 {
				c := float64(rgb>>shift&255) / 255
				if c <= 0.04045 {
					return c / 12.92
				}
				return math.Pow((c+0.055)/1.055, 2.4)
			}
			luminance[m[1]] = 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0)
		}
		check := func(least float64, front string, backs ...string) {
			for _, back := range backs {
				a, b := luminance[front], luminance[back]
				if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < least {
					t.Errorf("%s: %s on %s is %.2f", scheme, front, back, ratio)
				}
			}
		}
		check(4.5, "text", "bg", "surface", "raised", "idle-tint")
		check(4.5, "muted", "bg", "surface")
		check(4.5, "accent", "bg", "surface")
		check(4.5, "on-accent", "accent")
		check(3, "field", "surface", "raised")
		check(3, "accent", "raised", "idle-tint")
		for _, state := range []string{"good", "wait", "bad", "idle"} {
			check(4.5, state, state+"-tint", "surface")
		}
	}
}
