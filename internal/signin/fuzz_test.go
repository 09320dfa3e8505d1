package signin

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// FuzzBodies sends any body to the endpoints that read JSON.
func FuzzBodies(f *testing.F) {
	f.Add(
		0,
		`{"clientName":"n","clientType":"public","scopes":["sso:account:access"],"redirectUris":["http://[::1]/"]}`,
	)
	f.Add(1, `{"clientId":"x","clientSecret":"y","startUrl":"`+startURL+`"}`)
	f.Add(2, `{"grantType":"refresh_token","clientId":"x","clientSecret":"y","refreshToken":"z"}`)
	f.Add(3, `{"grantType":"authorization_code","clientId":"`+sameDevice+`","code":"x"}`)
	f.Add(2, `{"grantType":["x"]}`)
	w := newWorld(f)
	f.Fuzz(func(t *testing.T, which int, body string) {
		w.t = t
		w.clock.Advance(time.Minute) // for the limits
		path := []string{"/client/register", "/device_authorization", "/token", "/v1/token"}[which&3]
		a := w.do("POST", path, body)
		if a.Code == http.StatusOK && path == "/client/register" {
			return
		}
		if a.Code < 400 || a.Code >= 500 || a.Result().Header.Get("X-Amzn-Errortype") == "" {
			t.Errorf("%s answers %d: %s", path, a.Code, a.Body)
		}
	})
}

// FuzzUserCode types any code.
func FuzzUserCode(f *testing.F) {
	for _, s := range []string{"BCDF-GHJK", " bcdf ghjk", "ſſſſſſſſ", "", "BCDFGHJK\u2011"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		code, ok := userCode(typed)
		if !ok {
			return
		}
		if len(code) != userCodeSize || strings.Trim(code, alphabet) != "" {
			t.Errorf("%q is read as %q", typed, code)
		}
		if again, ok := userCode(spell(code)); !ok || again != code {
			t.Errorf("%q is read as %q", spell(code), again)
		}
	})
}

// FuzzAuthorize opens the authorization pages with any query, signed in and with consent given. Redirects lead only to
// the loopback, the confirmation and the sign-in page.
func FuzzAuthorize(f *testing.F) {
	f.Add(
		false,
		"response_type=code&redirect_uri="+url.QueryEscape(
			redirect,
		)+"&state=x&code_challenge_method=S256&code_challenge="+challenge(),
	)
	f.Add(true, strings.TrimPrefix(loginQuery(), "/v1/authorize?"))
	f.Add(
		true,
		strings.TrimPrefix(
			loginQuery("client_id", crossDevice, "redirect_uri", "https://evil.example"+confirmationPath),
			"/v1/authorize?",
		),
	)
	f.Add(false, "%")
	w := newWorld(f)
	w.access.users["ada"].roles = w.access.users["ada"].roles[:1]
	w.signIn("ada")
	f.Fuzz(func(t *testing.T, login bool, query string) {
		w.t = t
		w.clock.Advance(time.Minute) // for the budget
		path := "/authorize"
		if login {
			path = loginPath
		} else {
			query += "&client_id=" + w.pkceClient().id
		}
		r := httptest.NewRequest("POST", public+path, strings.NewReader("user=ada&decision=allow"))
		r.URL.RawQuery = query
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.RemoteAddr = w.address
		for _, c := range w.cookies {
			r.AddCookie(c)
		}
		a := httptest.NewRecorder()
		w.nodes[0].ServeHTTP(a, r)
		if a.Code != http.StatusFound {
			if a.Code != http.StatusBadRequest {
				t.Errorf("status %d", a.Code)
			}
			return
		}
		to, err := url.Parse(a.Result().Header.Get("Location"))
		if err != nil ||
			!(to.Scheme == "http" && loopback(to.Hostname()) || to.Host == "" && to.Path == confirmationPath) {
			t.Errorf("redirects to %v, %v", to, err)
		}
	})
}

// FuzzReturn follows any link to the sign-in page: what follows is on this service.
func FuzzReturn(f *testing.F) {
	for _, s := range []string{"/start", "//evil.example", `/\evil.example`, "/console/x", "https:evil.example",
		"/\t/x"} {
		f.Add(s)
	}
	base, err := url.Parse(public)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		to, err := base.Parse(returnTo(sent))
		if err != nil || to.Host != base.Host || to.Scheme != base.Scheme {
			t.Errorf("%q leads to %v, %v", sent, to, err)
		}
	})
}

// FuzzProof reads any DPoP proof.
func FuzzProof(f *testing.F) {
	f.Add("eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIn19.e30.AA")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := parseProof(text); err == nil && len(p.thumbprint) != 32 {
			t.Errorf("%+v", p)
		}
	})
}
