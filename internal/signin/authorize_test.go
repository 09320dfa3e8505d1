package signin

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/control/access"
)

func (w *world) exchange(node int, c client, code string, change ...string) answer {
	w.t.Helper()
	body := object{
		"grantType":    "authorization_code",
		"clientId":     c.id,
		"clientSecret": c.secret,
		"redirectUri":  redirect,
		"codeVerifier": verifier,
		"code":         code,
	}
	for i := 0; i < len(change); i += 2 {
		body[change[i]] = change[i+1]
	}
	return w.jsonAt(node, "/token", body)
}

func TestAuthorizationCode(t *testing.T) {
	w := newWorld(t)
	c := w.pkceClient()
	w.get(c.authorize()).redirects(303, "/signin/in?"+url.Values{"return": {c.authorize()}}.Encode())
	w.signIn("ada")
	page := w.get(c.authorize()).status(200).has("botocore-client-muster", "studio (111122223333)", "Allow")
	if csp := page.Result().Header.Get("Content-Security-Policy"); !strings.Contains(csp,
		"form-action 'self' http://127.0.0.1:41031;") {
		t.Errorf("%s", csp)
	}
	done := w.post(page.action(), allow).status(302)
	to, err := url.Parse(done.Result().Header.Get("Location"))
	if err != nil || !strings.HasPrefix(to.String(), redirect+"?") || to.Query().Get("state") != "st&te" {
		t.Fatalf("%v, %v", to, err)
	}
	tokens := w.exchange(1, c, to.Query().Get("code")).object()
	if p, err := w.access.Bearer(
		tokens["accessToken"].(string),
	); err != nil || p.User.Name != "ada" ||
		p.SignIn.Kind != "sso" {
		t.Errorf("%+v, %v", p, err)
	}
	w.exchange(0, c, to.Query().Get("code")).fails(400, "InvalidGrantException", "invalid_grant")
}

// Consent is remembered for the same client and user, in this browser, for 8 hours.
func TestConsentIsRemembered(t *testing.T) {
	w := newWorld(t)
	w.access.addUser("bob")
	c := w.pkceClient()
	w.signIn("ada")
	w.code(c.authorize())
	w.get(c.authorize()).status(302)
	other := w.register(object{"clientName": "other", "grantTypes": []string{"authorization_code"},
		"redirectUris": []string{"http://127.0.0.1/oauth/callback"}, "scopes": []string{accessScope}})
	w.get(other.authorize()).status(200)
	w.get(w.pkceClient().authorize()).status(200)  // of the same name
	device, user := w.device(w.register(object{})) // of the same name
	w.get("/device?user_code=" + user).status(200)
	w.poll(0, w.register(object{}), device)
	for range 9 { // the cookie stays small
		x := w.register(object{"clientName": newUserCode(), "grantTypes": []string{"authorization_code"},
			"redirectUris": []string{"http://127.0.0.1/oauth/callback"}, "scopes": []string{accessScope}})
		w.code(x.authorize())
		w.clock.Advance(time.Second)
	}
	w.code(c.authorize())
	w.clock.Advance(8*time.Hour - time.Second)
	w.get(c.authorize()).status(302)
	w.clock.Advance(time.Second)
	w.get(c.authorize()).status(200)
	w.code(c.authorize())
	w.signIn("bob")
	w.get(c.authorize()).status(200)
	w.signIn("ada")
	w.get(c.authorize()).status(302)
	w.post("/signin/out", nil).redirects(303, "/signin/in")
	if len(w.cookies) != 0 {
		t.Errorf("cookies are left: %v", w.cookies)
	}
}

func TestAuthorizeRefused(t *testing.T) {
	w := newWorld(t)
	c := w.pkceClient()
	w.signIn("ada")
	page := w.get(c.authorize())
	done := w.post(page.action(), deny).status(302)
	to, err := url.Parse(done.Result().Header.Get("Location"))
	if err != nil || to.Query().Get("error") != "access_denied" || to.Query().Get("state") != "st&te" ||
		to.Query().Has("code") {
		t.Errorf("%v, %v", to, err)
	}
	w.post(page.action(), map[string]string{"user": "ada"}).status(400)
	w.post(page.action(), map[string]string{"user": "bob", "decision": "allow"}).status(403).has("another user")
	w.post(page.action(), allow, crossSite).
		status(403).has("another web site")
	w.cookies = map[string]*http.Cookie{}
	w.post(page.action(), allow).status(403)
}

// A request that is not valid is told to the person, and redirects nowhere.
func TestAuthorizeErrors(t *testing.T) {
	w := newWorld(t)
	c := w.pkceClient()
	w.signIn("ada")
	for name, change := range map[string][]string{
		"client":         {"client_id", "x"},
		"host":           {"redirect_uri", "http://evil.example/oauth/callback"},
		"path":           {"redirect_uri", "http://127.0.0.1:41031/other"},
		"escaped path":   {"redirect_uri", "http://127.0.0.1:41031/oauth%2Fcallback"},
		"other loopback": {"redirect_uri", "http://localhost:41031/oauth/callback"},
		"query":          {"redirect_uri", redirect + "?x=y"},
		"https":          {"redirect_uri", "https://127.0.0.1:41031/oauth/callback"},
		"no redirect":    {"redirect_uri", ""},
		"response":       {"response_type", "token"},
		"method":         {"code_challenge_method", "plain"},
		"challenge":      {"code_challenge", "short"},
		"state":          {"state", ""},
		"long state":     {"state", strings.Repeat("x", 2000)},
		"scope":          {"scopes", "sso:account:access openid"},
	} {
		t.Run(name, func(t *testing.T) {
			w.get(c.authorize(change...)).status(400)
			w.post(c.authorize(change...), allow).status(400)
		})
	}
	devices := w.register(
		object{"redirectUris": []string{"http://127.0.0.1/oauth/callback"}, "scopes": []string{accessScope}},
	)
	w.get(devices.authorize()).status(400).has("authorization_code")
	w.get(c.authorize("redirect_uri", "http://127.0.0.1:1/oauth/callback")).status(200)
	w.get(c.authorize("scopes", "")).status(200)
	w.get("/authorize").status(400)
}

func TestCodeErrors(t *testing.T) {
	w := newWorld(t)
	c, other := w.pkceClient(), w.pkceClient()
	w.signIn("ada")
	for name, change := range map[string][]string{
		"verifier":       {"codeVerifier", strings.Repeat("x", 64)},
		"short verifier": {"codeVerifier", "x"},
		"redirect":       {"redirectUri", "http://127.0.0.1:41032/oauth/callback"},
		"client":         {"clientId", other.id, "clientSecret", other.secret},
		"code":           {"code", "mug_x"},
	} {
		t.Run(name, func(t *testing.T) {
			code := w.code(c.authorize())
			w.exchange(0, c, code, change...).fails(400, "InvalidGrantException", "invalid_grant")
			if name != "code" { // it is spent
				w.exchange(0, c, code).fails(400, "InvalidGrantException", "invalid_grant")
			}
		})
	}
	w.exchange(0, c, "").fails(400, "InvalidRequestException", "invalid_request")
	w.exchange(0, c, w.code(c.authorize()), "clientSecret", "x").fails(401, "InvalidClientException", "invalid_client")

	code := w.code(c.authorize())
	w.clock.Advance(64 * time.Second)
	w.exchange(1, c, code).status(200)
	code = w.code(c.authorize())
	w.clock.Advance(65 * time.Second)
	w.exchange(1, c, code).fails(400, "InvalidGrantException", "invalid_grant")

	code = w.code(c.authorize())
	w.grants.broken = http.ErrHandlerTimeout
	w.exchange(0, c, code).fails(500, "InternalServerException", "server_error")
	w.get(c.authorize()).status(500)
}

func TestCodeRedeemedOnce(t *testing.T) {
	w := newWorld(t)
	c := w.pkceClient()
	w.signIn("ada")
	code := w.code(c.authorize())
	statuses := make([]int, 20)
	var wg sync.WaitGroup
	for i := range statuses {
		wg.Go(func() { statuses[i] = w.exchange(i%2, c, code).Code })
	}
	wg.Wait()
	won := 0
	for _, status := range statuses {
		if status == 200 {
			won++
		}
	}
	if won != 1 {
		t.Errorf("%d exchanges have tokens", won)
	}
}

func TestOrigins(t *testing.T) {
	w := newWorld(t)
	c := w.register(object{"grantTypes": []string{"authorization_code"}, "scopes": []string{accessScope},
		"redirectUris": []string{"http://[::1]/cb", "http://localhost/cb"}})
	w.signIn("ada")
	for uri, want := range map[string]string{
		"http://[::1]:9/cb":     "form-action 'self' http:;",
		"http://localhost:9/cb": "form-action 'self' http://localhost:9;",
	} {
		csp := w.get(c.authorize("redirect_uri", uri)).status(200).Result().Header.Get("Content-Security-Policy")
		if !strings.Contains(csp, want) {
			t.Errorf("%s: %s", uri, csp)
		}
	}
}

func loginQuery(change ...string) string {
	q := url.Values{
		"response_type":         {"code"},
		"client_id":             {sameDevice},
		"redirect_uri":          {redirect},
		"state":                 {"st&te"},
		"code_challenge_method": {"SHA-256"},
		"scope":                 {"openid"},
		"code_challenge":        {challenge()},
	}
	for i := 0; i < len(change); i += 2 {
		q.Set(change[i], change[i+1])
	}
	return "/v1/authorize?" + q.Encode()
}

func TestLoginPage(t *testing.T) {
	w := newWorld(t)
	w.access.addUser("bob")
	w.access.addUser("eve", "OnlyRole")
	w.get(loginQuery()).status(303)
	w.signIn("ada")
	w.get(loginQuery()).status(200).has(`value="GameAdmin"`, `value="GameDev"`, "aws login")
	w.code(loginQuery(), "role", "GameDev")
	page := w.get(loginQuery()).status(200) // several roles: it asks each time
	w.post(page.action(), map[string]string{"user": "ada", "decision": "allow", "role": "Root"}).status(400)
	w.post(page.action(), deny).status(302)
	w.signIn("bob")
	w.get(loginQuery()).status(403).has("No role is assigned")
	w.signIn("eve")
	w.get(loginQuery()).status(200).has("OnlyRole")
	w.post(loginQuery(), map[string]string{"user": "eve", "decision": "allow"}).status(302)
	w.get(loginQuery()).status(200) // anything can call itself aws login: it asks each time
	for name, change := range map[string][]string{
		"client":   {"client_id", "arn:aws:signin:::devtools/other"},
		"redirect": {"redirect_uri", "http://127.0.0.1:1/other"},
		"host":     {"redirect_uri", "http://evil.example/oauth/callback"},
		"method":   {"code_challenge_method", "S256"},
		"cross":    {"client_id", crossDevice},
		"url":      {"redirect_uri", "%"},
	} {
		t.Run(name, func(t *testing.T) { w.get(loginQuery(change...)).status(400) })
	}
}

func TestLoginCrossDevice(t *testing.T) {
	w := newWorld(t)
	w.signIn("ada")
	uri := public + "/v1/sessions/confirmation"
	query := loginQuery("client_id", crossDevice, "redirect_uri", uri)
	page := w.get(query).status(200).has("Only continue if you started this")
	w.post(page.action(), deny).status(200).has("refused")
	code := w.code(query, "role", "GameDev")
	w.get(query).status(200) // is not remembered
	shown := w.get("/v1/sessions/confirmation?" + url.Values{"code": {code}, "state": {"st&te"}}.Encode()).status(200)
	want := base64.StdEncoding.EncodeToString([]byte("state=st%26te&code=" + code))
	shown.has(want)
	w.get("/v1/sessions/confirmation").status(400)
	key := newKey(t)
	w.login(key, object{"clientId": crossDevice, "grantType": "authorization_code", "code": code,
		"codeVerifier": verifier,
		"redirectUri":  uri}).
		status(200)
}

func TestInternalErrorsOfSignIn(t *testing.T) {
	w := newWorld(t)
	c := w.pkceClient()
	w.signIn("ada")
	code := w.code(c.authorize())
	w.access.broken = access.ErrNotAssigned
	w.exchange(0, c, code).fails(400, "AccessDeniedException", "access_denied")
}
