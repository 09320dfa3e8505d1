package signin

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/sso"
	"github.com/aws/aws-sdk-go-v2/service/ssooidc"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/muster-gg/muster/e2e/people"
)

// statusOf returns the HTTP status of a service's error, and the exception in its header.
func statusOf(err error) (status int, header string) {
	if e, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return e.HTTPStatusCode(), e.Response.Header.Get("X-Amzn-Errortype")
	}
	return 0, ""
}

// TestLogout: the end of a session refuses its token, and the keys that were issued in it.
func TestLogout(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.AddUser("ada", "developer")
	s, other := w.signIn("ada"), w.signIn("ada")
	keys, others := s.mustKeys(t, "developer"), other.mustKeys(t, "developer")
	if _, err := s.keys("administrator"); codeOf(err) != "ForbiddenException" {
		t.Errorf("a role that is not assigned: %v", err)
	}
	if _, err := w.gamelift(keys).ListFleets(t.Context(), &gamelift.ListFleetsInput{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.portal().Logout(t.Context(), &sso.LogoutInput{AccessToken: &s.access}); err != nil {
		t.Fatal(err)
	}
	_, err := s.keys("developer")
	if status, header := statusOf(err); codeOf(err) != "UnauthorizedException" || status != 401 ||
		header != "UnauthorizedException" {
		t.Errorf("GetRoleCredentials after the logout: %v", err)
	}
	_, err = w.gamelift(keys).ListFleets(t.Context(), &gamelift.ListFleetsInput{})
	refused(t, "ListFleets after the logout", err, "UnrecognizedClientException")
	_, err = w.sts(keys).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	refused(t, "GetCallerIdentity after the logout", err, "InvalidClientTokenId")
	_, err = s.refresh(s.refreshToken)
	refused(t, "a refresh after the logout", err, "InvalidGrantException")
	if _, err := w.gamelift(others).ListFleets(t.Context(), &gamelift.ListFleetsInput{}); err != nil {
		t.Errorf("the other session has ended too: %v", err)
	}
}

// fails asks for a token with the SDK and with a request of its own, which must fail alike.
func (o *oidc) fails(
	what string, in ssooidc.CreateTokenInput, status int, exception, code string,
) (description string) {
	o.w.Helper()
	in.ClientId = &o.ID
	if in.ClientSecret == nil {
		in.ClientSecret = &o.Secret
	}
	_, err := o.CreateToken(o.w.Context(), &in)
	if got, header := statusOf(err); got != status || header != exception || codeOf(err) != exception {
		o.w.Errorf("%s: status %d, header %q, %v; want %d, %s", what, got, header, err, status, exception)
	}
	body := object{}
	for name, value := range map[string]*string{"clientId": in.ClientId, "clientSecret": in.ClientSecret,
		"grantType": in.GrantType, "deviceCode": in.DeviceCode, "code": in.Code, "codeVerifier": in.CodeVerifier,
		"redirectUri": in.RedirectUri, "refreshToken": in.RefreshToken} {
		if value != nil {
			body[name] = *value
		}
	}
	a := o.w.send("POST", "/token", body)
	var e struct {
		Error       string
		Description string `json:"error_description"`
	}
	if err := json.Unmarshal(a.body, &e); err != nil || a.status != status || e.Error != code ||
		a.header.Get("X-Amzn-Errortype") != exception || e.Description == "" {
		o.w.Errorf("%s: %d %s, %v; want %d, %s", what, a.status, a.body, err, status, code)
	}
	return e.Description
}

// TestDeviceErrors: a device that waits, is refused, or is late.
func TestDeviceErrors(t *testing.T) {
	t.Parallel()
	w := start(t, fakeTime)
	w.AddUser("ada", "developer")
	ada, o := w.signedIn("ada"), w.oidc()
	grant := func(d *ssooidc.StartDeviceAuthorizationOutput) ssooidc.CreateTokenInput {
		return ssooidc.CreateTokenInput{GrantType: new(people.DeviceGrant), DeviceCode: d.DeviceCode}
	}
	d := o.Device()
	// The command line polls twice at once, which is not too fast.
	o.fails("pending", grant(d), 400, "AuthorizationPendingException", "authorization_pending")
	o.fails("at once", grant(d), 400, "SlowDownException", "slow_down")
	w.clock.Advance(time.Second)
	_, err := o.Poll(*d.DeviceCode)
	refused(t, "after the interval", err, "AuthorizationPendingException")
	ada.decide(*d.VerificationUriComplete, "deny").has(200, "Nothing was allowed")
	if why := o.fails("refused", grant(d), 400, "AccessDeniedException", "access_denied"); why !=
		"The request was refused in the browser." {
		t.Errorf("error_description is %q", why)
	}
	late := o.Device()
	w.clock.Advance(605 * time.Second)
	o.fails("expired", grant(late), 400, "ExpiredTokenException", "expired_token")
	ada.get(*late.VerificationUriComplete).has(404, "it has expired")

	good := o.Device()
	wrong := grant(good)
	wrong.ClientSecret = new("wrong")
	o.fails("wrong secret", wrong, 401, "InvalidClientException", "invalid_client")
	ada.decide(*good.VerificationUriComplete, "allow").has(200, "You may close this tab")
	if _, err := o.Poll(*good.DeviceCode); err != nil {
		t.Fatal(err)
	}
	o.fails("used", grant(good), 400, "ExpiredTokenException", "expired_token")
	ada.get("/device?user_code=BCDF-GHJK").has(404, "The code is wrong")
	if n := w.signIns("ada", "sso"); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
}

// TestCodeErrors: an authorization code works once, with its verifier and its redirect URI. That is on
// loopback, and its port does not matter.
func TestCodeErrors(t *testing.T) {
	t.Parallel()
	w := start(t, fakeTime)
	w.AddUser("ada", "developer")
	ada, o := w.signedIn("ada"), w.oidc(people.CodeGrant, people.RefreshGrant)
	grant := func(code string) ssooidc.CreateTokenInput {
		return ssooidc.CreateTokenInput{GrantType: new(people.CodeGrant), Code: &code,
			CodeVerifier: new(people.Verifier), RedirectUri: new(callback)}
	}
	invalid := func(what string, in ssooidc.CreateTokenInput) {
		t.Helper()
		w.clock.Advance(time.Second) // for the budget of unauthenticated requests
		o.fails(what, in, 400, "InvalidGrantException", "invalid_grant")
	}
	used := o.code(ada)
	if _, err := o.byCode(used); err != nil {
		t.Fatal(err)
	}
	invalid("used twice", grant(used))
	in := grant(o.code(ada))
	in.CodeVerifier = new(strings.Repeat("x", 64))
	invalid("wrong verifier", in)
	invalid("the right one afterwards", grant(*in.Code))
	in = grant(o.code(ada))
	in.RedirectUri = new("http://127.0.0.1:41032/oauth/callback")
	invalid("another redirect URI than before", in)
	old := grant(o.code(ada))
	w.clock.Advance(66 * time.Second)
	invalid("after a minute", old)
	secret := grant(o.code(ada))
	secret.ClientSecret = new("wrong")
	o.fails("wrong secret", secret, 401, "InvalidClientException", "invalid_client")

	for _, allowed := range []string{"http://127.0.0.1:1/oauth/callback", "http://127.0.0.1/oauth/callback"} {
		p := ada.get(o.authorizeURL("redirect_uri", allowed))
		if p.status != http.StatusFound || p.at.Query().Get("code") == "" {
			t.Errorf("%s: %d %s", allowed, p.status, p.body)
		}
	}
	for _, other := range []string{"http://127.0.0.1:41031/other", "https://127.0.0.1/oauth/callback",
		"http://example.com/oauth/callback", "http://127.0.0.1@example.com/oauth/callback"} {
		ada.get(o.authorizeURL("redirect_uri", other)).has(400, "is not registered by the client")
	}
	// This browser remembers no consent.
	denied := w.signedIn("ada").decide(o.authorizeURL(), "deny")
	if q := denied.at.Query(); q.Get("error") != "access_denied" || q.Get("state") != "state" {
		t.Errorf("a refusal leads to %s", denied.at)
	}
	w.clock.Advance(9 * time.Minute)
	ada.get("/authorize?"+url.Values{"client_id": {"invented"}}.Encode()).has(400, "The client is not registered here")
}

// TestRefreshAtOnce: twenty processes with the same token all succeed and have one session. Much later, the
// old token ends it.
func TestRefreshAtOnce(t *testing.T) {
	t.Parallel()
	w := start(t, fakeTime)
	w.AddUser("ada", "developer")
	fleet := w.Fleet("custom-here")
	s := w.signIn("ada")
	keys := s.mustKeys(t, "developer")
	w.clock.Advance(time.Minute)
	tokens := make([]string, 20)
	var all sync.WaitGroup
	for i := range tokens {
		all.Go(func() {
			out, err := s.refresh(s.refreshToken)
			if err != nil {
				t.Error(err)
				return
			}
			tokens[i] = *out.RefreshToken + *out.AccessToken
		})
	}
	all.Wait()
	for _, token := range tokens {
		if token != tokens[0] || strings.HasPrefix(token, s.refreshToken) {
			t.Error("not all of them have the same new tokens")
		}
	}
	w.clock.Advance(time.Minute)
	w.refreshByClients(s, fleet)
	if n := w.signIns("ada", "sso"); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
	if _, err := w.gamelift(keys).ListFleets(t.Context(), &gamelift.ListFleetsInput{}); err != nil {
		t.Errorf("the keys have ended with a refresh: %v", err)
	}

	w.clock.Advance(61 * time.Second)
	_, err := s.refresh(s.refreshToken)
	refused(t, "a replay", err, "InvalidGrantException")
	if n := w.signIns("ada", "sso"); n != 0 {
		t.Errorf("%d sessions after a replay, want none", n)
	}
	_, err = w.gamelift(keys).ListFleets(t.Context(), &gamelift.ListFleetsInput{})
	refused(t, "keys after a replay", err, "UnrecognizedClientException")
	who, _ := w.audited("RefreshTokenReplayed")["userIdentity"].(object)
	if who["userName"] != "ada" {
		t.Errorf("the audit trail has a replay by %v", who)
	}
}

// refreshByClients runs twenty processes of all kinds at once with a token that they must refresh.
func (w *world) refreshByClients(s *session, fleet string) {
	w.Helper()
	out, err := s.refresh(w.latest(s))
	if err != nil {
		w.Fatal(err)
	}
	h := w.home("developer")
	h.keep(&session{s.oidc, *out.AccessToken, *out.RefreshToken}, time.Now().Add(4*time.Minute))
	var all sync.WaitGroup
	for range 2 {
		for name, open := range h.callers("muster") {
			c := open()
			all.Go(func() { h.lists(name, c, fleet) })
		}
	}
	for range 12 {
		c := h.command("credentials")
		all.Go(func() {
			if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), `"AccessKeyId":"ASIA`) ||
				strings.Contains(string(out), "not refreshed") {
				w.Errorf("muster credentials: %v: %s", err, out)
			}
		})
	}
	all.Wait()
}

// latest returns the present refresh token of a session, which was refreshed less than a minute ago.
func (w *world) latest(s *session) string {
	w.Helper()
	out, err := s.refresh(s.refreshToken)
	if err != nil {
		w.Fatal(err)
	}
	return *out.RefreshToken
}
