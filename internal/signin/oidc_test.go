package signin

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/journal"
)

func TestRegisterClient(t *testing.T) {
	w := newWorld(t)
	m := w.json("/client/register", object{"clientName": "n", "clientType": "public"}).object()
	if m["clientSecretExpiresAt"].(float64)-m["clientIdIssuedAt"].(float64) != 90*24*3600 {
		t.Errorf("%v", m)
	}
	if m["tokenEndpoint"] != public+"/token" || m["authorizationEndpoint"] != public+"/authorize" {
		t.Errorf("%v", m)
	}
	many := make([]string, 100)
	for name, test := range map[string]struct {
		body      object
		exception string
		code      string
	}{
		"no name": {object{"clientName": ""}, "InvalidRequestException", "invalid_request"},
		"long name": {object{"clientName": strings.Repeat("x", 300)}, "InvalidClientMetadataException",
			"invalid_client_metadata"},
		"unprintable": {object{"clientName": "a\u202eb"}, "InvalidClientMetadataException", "invalid_client_metadata"},
		"type":        {object{"clientType": "secret"}, "InvalidClientMetadataException", "invalid_client_metadata"},
		"many scopes": {object{"scopes": many}, "InvalidClientMetadataException", "invalid_client_metadata"},
		"scope":       {object{"scopes": []string{"openid"}}, "InvalidScopeException", "invalid_scope"},
		"grant": {object{"grantTypes": []string{"password"}}, "UnsupportedGrantTypeException",
			"unsupported_grant_type"},
		"no redirect": {object{"grantTypes": []string{"authorization_code"}}, "InvalidRedirectUriException",
			"invalid_redirect_uri"},
		"issuer": {object{"issuerUrl": "https://evil.example/start"}, "InvalidRequestException",
			"invalid_request"},
		"wrong type": {object{"scopes": 7}, "InvalidRequestException", "invalid_request"},
	} {
		t.Run(name, func(t *testing.T) {
			body := object{"clientName": "n", "clientType": "public"}
			for k, v := range test.body {
				body[k] = v
			}
			w.json("/client/register", body).fails(400, test.exception, test.code)
		})
	}
	for _, u := range []string{
		"https://127.0.0.1/x", "http://10.0.0.1/x", "http://127.0.0.1.evil.example/x", "http://user@127.0.0.1/",
		"http://127.0.0.1/x?y", "http://127.0.0.1/x#y", "http://127.0.0.1/x#", "http://127.0.0.1/x?",
		"javascript:alert(1)",
		"http://localhost@evil.example/", "%", "http://127.1/x", "http:127.0.0.1/x",
		"http://127.0.0.1/" + strings.Repeat("x", 600),
	} {
		w.clock.Advance(time.Second)
		w.json("/client/register", object{"clientName": "n", "clientType": "public", "redirectUris": []string{u}}).
			fails(400, "InvalidRedirectUriException", "invalid_redirect_uri")
	}
	w.do("POST", "/client/register", "{").fails(400, "InvalidRequestException", "invalid_request")
	w.do("POST", "/client/register", `{"clientName":"`+strings.Repeat("x", 17<<10)+`"}`).
		fails(400, "InvalidRequestException", "invalid_request")
}

func TestStartURLs(t *testing.T) {
	w := newWorld(t)
	h := w.nodes[0]
	for _, good := range []string{
		public + "/start", public + "/start/", public + "/start#/", public + "/start/#/",
		"https://MUSTER.example:9080/start",
		"https://10.0.0.1:9080/start", "https://muster-0123456789abcdef.portal.us-west-2.app.aws",
		"https://muster-0123456789abcdef.portal.us-west-2.app.aws/",
		"https://identitycenter.amazonaws.com/muster-0123456789abcdef",
		"http://localhost:9080/start", "https://127.0.0.1:9080/start", // the listener's port on this machine
	} {
		if err := h.checkStartURL(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "http://muster.example:9080/start", "https://muster.example/start", "https://evil.example/start",
		"https://muster-0123456789abcde0.portal.us-west-2.app.aws", "https://ssoins-1.portal.us-west-2.app.aws",
		"https://identitycenter.amazonaws.com/ssoins-1", public + "/other", public + "/start?x",
		"https://u@muster.example:9080/start",
		"http://localhost:9081/start", "ftp://localhost:9080/start", "%", public,
	} {
		if err := h.checkStartURL(bad); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	w = newWorld(t, func(c *Config) { c.PublicURL, c.URL = "", "http://127.0.0.1:9080" })
	for _, good := range []string{"http://127.0.0.1:9080/start", "http://localhost:9080/start",
		"http://[::1]:9080/start"} {
		if err := w.nodes[0].checkStartURL(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	if w.nodes[0].own("http://localhost:9081/start", startPath) {
		t.Error("another port is accepted")
	}
	w.at(0, "HEAD", "/start", "").redirects(302, "https://muster-0123456789abcdef.portal.us-west-2.app.aws")
}

var userCodePattern = regexp.MustCompile(`^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$`)

func TestDeviceGrant(t *testing.T) {
	w := newWorld(t)
	c := w.register(object{})
	m := w.json("/device_authorization", object{"clientId": c.id, "clientSecret": c.secret, "startUrl": startURL}).
		object()
	device, user := m["deviceCode"].(string), m["userCode"].(string)
	if !userCodePattern.MatchString(user) || !strings.HasPrefix(device, "mud_") {
		t.Errorf("codes %s, %s", device, user)
	}
	if m["verificationUri"] != public+"/device" || m["verificationUriComplete"] != public+"/device?user_code="+user ||
		m["expiresIn"] != 600.0 || m["interval"] != 1.0 {
		t.Errorf("%v", m)
	}
	// The command line polls twice at once.
	w.poll(0, c, device).fails(400, "AuthorizationPendingException", "authorization_pending")
	w.poll(0, c, device).fails(400, "AuthorizationPendingException", "authorization_pending")
	w.poll(0, c, device).fails(400, "SlowDownException", "slow_down")
	w.clock.Advance(time.Second)
	w.poll(0, c, device).fails(400, "AuthorizationPendingException", "authorization_pending")
	w.poll(1, c, device).fails(400, "AuthorizationPendingException", "authorization_pending") // another node

	w.get("/device?user_code="+user).redirects(303, "/signin/in?return=%2Fdevice%3Fuser_code%3D"+user)
	w.signIn("ada")
	w.get("/device?user_code="+strings.ToLower(strings.ReplaceAll(user, "-", "%20"))).status(200).
		has("botocore-client-muster", "192.0.2.7", "Only continue if you started this on your own terminal", user,
			"Allow")
	w.clock.Advance(time.Second)
	w.poll(1, c, device).fails(400, "AuthorizationPendingException", "authorization_pending") // looking allows nothing
	w.decide(user, "allow").status(200).has("You may close this tab")

	tokens := w.poll(1, c, device).object()
	if tokens["tokenType"] != "Bearer" || tokens["expiresIn"] != 3600.0 || tokens["refreshToken"] == "" {
		t.Errorf("%v", tokens)
	}
	w.poll(0, c, device).fails(400, "ExpiredTokenException", "expired_token")
	if p, err := w.access.Bearer(
		tokens["accessToken"].(string),
	); err != nil ||
		p.SignIn.Client != "botocore-client-muster" ||
		p.SignIn.Kind != "sso" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestDeviceRefused(t *testing.T) {
	w := newWorld(t)
	c := w.register(object{})
	device, user := w.device(c)
	w.signIn("ada")
	w.decide(user, "deny").status(200).has("refused")
	for range 2 {
		w.poll(1, c, device).fails(400, "AccessDeniedException", "access_denied")
	}
	w.get("/device?user_code=" + user).status(409).has("already used")
}

func TestDeviceUserDisabledMeanwhile(t *testing.T) {
	w := newWorld(t)
	c := w.register(object{})
	device, user := w.device(c)
	w.signIn("ada")
	w.decide(user, "allow").status(200)
	w.access.disable("ada")
	w.poll(0, c, device).fails(400, "AccessDeniedException", "access_denied")
}

func TestDeviceExpires(t *testing.T) {
	w := newWorld(t)
	c := w.register(object{})
	device, user := w.device(c)
	w.signIn("ada")
	w.clock.Advance(604 * time.Second)
	w.poll(0, c, device).fails(400, "AuthorizationPendingException", "authorization_pending")
	w.clock.Advance(time.Second)
	w.poll(0, c, device).fails(400, "ExpiredTokenException", "expired_token")
	w.get("/device?user_code=" + user).status(404).has("expired")
}

// Of many nodes and processes that poll at once, one has the token.
func TestDeviceRedeemedOnce(t *testing.T) {
	w := newWorld(t)
	c := w.register(object{})
	device, user := w.device(c)
	w.signIn("ada")
	w.decide(user, "allow").status(200)
	before := w.access.started
	codes := make([]int, 20)
	var wg sync.WaitGroup
	for i := range codes {
		wg.Go(func() { codes[i] = w.poll(i%2, c, device).Code })
	}
	wg.Wait()
	won := 0
	for _, code := range codes {
		if code == http.StatusOK {
			won++
		}
	}
	if won != 1 || w.access.started != before+1 {
		t.Errorf("%d polls have tokens, %d sessions began", won, w.access.started-before)
	}
}

func TestDeviceErrors(t *testing.T) {
	w := newWorld(t)
	c, other := w.register(object{}), w.register(object{})
	device, _ := w.device(c)
	pkce := w.pkceClient()
	start := func(c client, url string) answer {
		return w.json("/device_authorization", object{"clientId": c.id, "clientSecret": c.secret, "startUrl": url})
	}
	start(client{c.id, other.secret}, startURL).fails(401, "InvalidClientException", "invalid_client")
	start(client{c.id, ""}, startURL).fails(400, "InvalidRequestException", "invalid_request")
	start(c, "https://evil.example/start").fails(400, "InvalidRequestException", "invalid_request")
	start(c, "").fails(400, "InvalidRequestException", "invalid_request")
	start(pkce, startURL).status(200) // registered for codes by a newer command line
	w.do("POST", "/device_authorization", "[]").fails(400, "InvalidRequestException", "invalid_request")

	w.poll(0, other, device).fails(400, "InvalidGrantException", "invalid_grant")
	w.poll(0, c, device+"A").fails(400, "InvalidGrantException", "invalid_grant")
	w.poll(0, c, "mud_x").fails(400, "InvalidGrantException", "invalid_grant")
	w.poll(0, c, "").fails(400, "InvalidRequestException", "invalid_request")
	w.poll(0, client{c.id, "wrong"}, device).fails(401, "InvalidClientException", "invalid_client")
	w.poll(0, pkce, device).fails(400, "InvalidGrantException", "invalid_grant")
	w.json("/token", object{"grantType": "password"}).
		fails(400, "UnsupportedGrantTypeException", "unsupported_grant_type")
	w.json("/token", object{}).fails(400, "InvalidRequestException", "invalid_request")
	w.do("POST", "/token", "no").fails(400, "InvalidRequestException", "invalid_request")

	w.grants.broken = errors.New("a secret cause")
	if body := w.poll(0, c, device).
		fails(500, "InternalServerException", "server_error").
		Body.String(); strings.Contains(
		body,
		"secret cause",
	) {
		t.Error("the cause is shown")
	}
	w.grants.broken = journal.ErrFull
	start(c, startURL).fails(400, "SlowDownException", "slow_down")
	w.grants.broken = nil
	w.clock.Advance(91 * 24 * time.Hour)
	start(c, startURL).fails(401, "InvalidClientException", "invalid_client")
}

// A user code that a later request has is of no use for the device code of an earlier one.
func TestUserCodeUsedAgain(t *testing.T) {
	w := newWorld(t)
	c := w.register(object{})
	device, user := w.device(c)
	code, _ := userCode(user)
	g, err := w.nodes[0].device(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	g.ID = "another"
	if err := w.nodes[0].decideDevice(t.Context(), g, approved, &catalog.User{Name: "ada"}); err != nil {
		t.Fatal(err)
	}
	w.poll(0, c, device).fails(400, "ExpiredTokenException", "expired_token")
}

func TestWaitingDevicesAreLimited(t *testing.T) {
	w := newWorld(t)
	c := w.register(object{})
	for range maxWaiting {
		w.device(c)
	}
	body := object{"clientId": c.id, "clientSecret": c.secret, "startUrl": startURL}
	w.json("/device_authorization", body).fails(400, "SlowDownException", "slow_down")
	w.address = "192.0.2.8:1"
	device, user := w.device(c)
	w.signIn("ada")
	w.decide(user, "allow").status(200)
	w.poll(0, c, device).status(200)
	w.address = "192.0.2.7:1"
	w.clock.Advance(10 * time.Minute)
	w.json("/device_authorization", body).status(200)
}

func TestRefresh(t *testing.T) {
	w := newWorld(t)
	c := w.register(object{})
	device, user := w.device(c)
	w.signIn("ada")
	w.decide(user, "allow").status(200)
	token := w.poll(0, c, device).object()["refreshToken"]
	refresh := func(token any) answer {
		return w.json(
			"/token",
			object{"grantType": "refresh_token", "clientId": c.id, "clientSecret": c.secret, "refreshToken": token},
		)
	}
	next := refresh(token).object()["refreshToken"]
	if next == token {
		t.Error("the token is the same")
	}
	refresh(token).fails(400, "InvalidGrantException", "invalid_grant")
	refresh("").fails(400, "InvalidRequestException", "invalid_request")
	w.access.disable("ada")
	refresh(next).fails(400, "AccessDeniedException", "access_denied")
}

func TestUserCodes(t *testing.T) {
	for typed, want := range map[string]string{
		"BCDF-GHJK": "BCDFGHJK", " bcdf ghjk ": "BCDFGHJK", "bcdfghjk": "BCDFGHJK", "BCDF\u2011GHJK": "BCDFGHJK",
		"": "", "BCDF-GHJ": "", "BCDF-GHJKL": "", "ABCD-FGHJ": "", "BCDF_GHJK": "", "12345678": "",
	} {
		if got, ok := userCode(typed); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v", typed, got, ok)
		}
	}
	seen := map[rune]bool{}
	for range 500 {
		for _, r := range newUserCode() {
			seen[r] = true
		}
	}
	if len(seen) != len(alphabet) {
		t.Errorf("%d letters are used", len(seen))
	}
}
