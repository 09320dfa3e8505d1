package idp

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"testing"

	"golang.org/x/oauth2"
)

func (w *world) login() Login {
	p := w.provider()
	p.Audiences = nil // the client id counts
	return Login{Provider: p, ClientID: "client", ClientSecret: "secret", RedirectURL: "https://muster/callback"}
}

func TestAuthorizeURL(t *testing.T) {
	w := newWorld(t)
	l := w.login()
	for _, c := range []struct {
		scopes []string
		want   string
	}{
		{nil, "openid profile email"}, {[]string{"groups"}, "openid groups"}, {[]string{"openid"}, "openid"},
	} {
		l.Scopes = c.scopes
		got, err := w.AuthorizeURL(t.Context(), l, "the state", "the nonce", "the verifier")
		if err != nil {
			t.Fatal(err)
		}
		want := w.server.URL + "/auth?" + url.Values{
			"response_type": {"code"}, "client_id": {"client"}, "redirect_uri": {l.RedirectURL}, "scope": {c.want},
			"state": {"the state"}, "nonce": {"the nonce"}, "code_challenge_method": {"S256"},
			"code_challenge": {oauth2.S256ChallengeFromVerifier("the verifier")},
		}.Encode()
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	w.server.Close()
	if _, err := newVerifierOf(w).AuthorizeURL(t.Context(), l, "s", "n", "v"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("without the issuer: %v", err)
	}
}

// newVerifierOf returns a verifier with an empty cache.
func newVerifierOf(w *world) *Verifier { return NewVerifier(w.clock, w.client, w.log) }

// issue answers a request for a token with an ID token; nil: none.
func (w *world) issue(changes claims) {
	w.token = func(a http.ResponseWriter, r *http.Request) {
		id, secret, basic := r.BasicAuth()
		_ = r.ParseForm()
		f := r.PostForm
		if !basic || id != "client" || secret != "secret" || f.Get("grant_type") != "authorization_code" ||
			f.Get("code") != "the code" || f.Get("code_verifier") != "the verifier" ||
			f.Get("redirect_uri") != "https://muster/callback" {
			w.Errorf("token request of %s with %v", id, f)
		}
		body := map[string]any{"access_token": "x", "token_type": "Bearer"}
		if changes != nil {
			body["id_token"] = w.sign(changes)
		}
		_ = json.NewEncoder(a).Encode(body)
	}
}

func TestExchange(t *testing.T) {
	w := newWorld(t)
	now := w.clock.Now().Unix()
	for name, c := range map[string]struct {
		changes claims
		want    error
	}{
		"right":           {claims{}, nil},
		"azp":             {claims{"azp": "client", "aud": []string{"a", "client"}}, nil},
		"wrong azp":       {claims{"azp": "a"}, ErrRejected},
		"azp missing":     {claims{"aud": []string{"a", "client"}}, ErrRejected},
		"other audience":  {claims{"aud": "muster"}, ErrRejected},
		"wrong nonce":     {claims{"nonce": "other"}, ErrRejected},
		"no nonce":        {claims{"nonce": nil}, ErrRejected},
		"expired":         {claims{"exp": now - 60}, ErrExpired},
		"no ID token":     {nil, ErrRejected},
		"no valid claims": {claims{"exp": "x"}, ErrInvalid},
	} {
		changes := c.changes
		if changes != nil {
			changes = claims{"aud": "client", "nonce": "the nonce"}
			for k, v := range c.changes {
				changes[k] = v
			}
		}
		w.change(func() { w.issue(changes) })
		got, err := w.Exchange(t.Context(), w.login(), "the code", "the nonce", "the verifier")
		if !errors.Is(err, c.want) || (got == nil) != (err != nil) {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, c.want)
		}
		if err == nil && (got.Subject != "ada" || got.Audience != "client") {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	w.change(func() { w.issue(claims{"aud": "client", "nonce": ""}) })
	if _, err := w.Exchange(t.Context(), w.login(), "the code", "", "the verifier"); !errors.Is(err, ErrRejected) {
		t.Errorf("an empty nonce: %v", err)
	}
}

func TestExchangeRefused(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		status int
		body   string
		want   error
		text   string
	}{
		{400, `{"error":"invalid_grant","error_description":"detail"}`, ErrRejected,
			`the token is not accepted: provider test has refused the sign-in: "invalid_grant"`},
		{401, "detail", ErrRejected,
			`the token is not accepted: provider test has refused the sign-in: "401 Unauthorized"`},
		{500, "detail", ErrUnreachable, "the identity provider cannot be reached: " + w.server.URL},
		{200, "detail", ErrUnreachable, "the identity provider cannot be reached: " + w.server.URL},
	} {
		w.change(func() {
			w.token = func(a http.ResponseWriter, _ *http.Request) {
				a.WriteHeader(c.status)
				_, _ = a.Write([]byte(c.body))
			}
		})
		_, err := w.Exchange(t.Context(), w.login(), "code", "nonce", "verifier")
		if !errors.Is(err, c.want) || err.Error() != c.text {
			t.Errorf("%d: got %v", c.status, err)
		}
	}
	delete(w.document, "token_endpoint")
	if _, err := newVerifierOf(w).Exchange(t.Context(), w.login(), "c", "n", "v"); !errors.Is(err, ErrRejected) {
		t.Errorf("without a token endpoint: %v", err)
	}
	w.server.Close()
	if _, err := newVerifierOf(w).Exchange(t.Context(), w.login(), "c", "n", "v"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("without the issuer: %v", err)
	}
}

// TestClientAuthentication: the secret is sent in the way that the provider supports, and the code once.
func TestClientAuthentication(t *testing.T) {
	for name, c := range map[string]struct {
		methods []string
		secret  string
		basic   bool
	}{
		"default": {nil, "secret", true},
		"basic":   {[]string{"client_secret_post", "client_secret_basic"}, "secret", true},
		"post":    {[]string{"client_secret_post"}, "secret", false}, "public": {nil, "", false},
	} {
		w := newWorld(t)
		if c.methods != nil {
			w.document["token_endpoint_auth_methods_supported"] = c.methods
		}
		requests := 0
		w.token = func(a http.ResponseWriter, r *http.Request) {
			requests++
			_, _, basic := r.BasicAuth()
			if form := r.PostFormValue("client_id") == "client"; basic != c.basic || form == basic {
				t.Errorf("%s: basic %v, form %v", name, basic, form)
			}
			http.Error(a, `{"error":"invalid_client"}`, http.StatusUnauthorized)
		}
		l := w.login()
		l.ClientSecret = c.secret
		if _, err := w.Exchange(t.Context(), l, "code", "nonce", "verifier"); !errors.Is(err, ErrRejected) {
			t.Errorf("%s: %v", name, err)
		}
		if requests != 1 {
			t.Errorf("%s: %d requests", name, requests)
		}
	}
}
