package browser_test

import (
	"net/url"
	"testing"

	"github.com/muster-gg/muster/e2e/people"
)

// device returns the address at which a new device waits for its consent.
func (p *person) device() string {
	p.Helper()
	return *p.service.Register().Device().VerificationUriComplete
}

// authorizeURL returns where a new program on this machine asks for consent.
func (p *person) authorizeURL(callback string) string {
	p.Helper()
	return p.service.Register(people.CodeGrant).AuthorizeURL(callback)
}

// awsLoginURL returns where `aws login --remote` asks for consent.
func (p *person) awsLoginURL() string {
	return "/v1/authorize?" + url.Values{"response_type": {"code"}, "scope": {"openid"}, "state": {"state"},
		"client_id":             {"arn:aws:signin:::devtools/cross-device"},
		"redirect_uri":          {p.service.HTTP + "/v1/sessions/confirmation"},
		"code_challenge_method": {"SHA-256"},
		"code_challenge":        {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}}.Encode()
}

// TestPages: every page is accessible and needs no horizontal scrolling, in light, dark and forced colours,
// at 320, 360 and 1280 px. Each has a service of its own, because a service limits the requests of an address.
func TestPages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		user string // who has signed in; "": nobody
		show func(p *person)
		is   string // the heading
		says string // the alert
	}{
		"start":          {"ada", func(*person) {}, "Your roles", ""},
		"start open":     {"ada", func(p *person) { p.TabTo("Settings for"); p.Press(" ") }, "Your roles", ""},
		"start no roles": {"bob", func(*person) {}, "Your roles", ""},
		"keys": {"ada", func(p *person) { p.choose("Get temporary keys of developer", 200) },
			"Temporary keys of developer", ""},
		"sign-in": {"", func(p *person) { p.Go("/signin/in", 200) }, "Sign in", ""},
		"wrong password": {"", func(p *person) {
			p.Go("/signin/in", 200)
			p.fill(403, "carol", "a wrong password")
		}, "Sign in", "is wrong"},
		"identity provider": {"", func(p *person) {
			p.service.Manage("PUT", "providers/corp", object{"issuer": "https://idp.example.com", "clientId": "muster",
				"clientSecret": "secret", "signIn": true})
			p.Go("/signin/in", 200)
			p.Shows("Continue with corp")
		}, "Sign in", ""},
		"device":  {"ada", func(p *person) { p.Go("/device", 200) }, "Enter the code", ""},
		"consent": {"ada", func(p *person) { p.Go(p.device(), 200) }, "Allow test?", ""},
		"allowed": {"ada", func(p *person) { p.Go(p.device(), 200); p.choose("Allow", 200) },
			"Request allowed", ""},
		"refused": {"ada", func(p *person) { p.Go(p.device(), 200); p.choose("Deny", 200) },
			"Request refused", ""},
		"code is none": {"ada", func(p *person) { p.Go("/device?user_code=1", 400) }, "Enter the code", "8 letters"},
		"wrong code": {"ada", func(p *person) { p.Go("/device?user_code=BBBB-BBBB", 404) },
			"Enter the code", "The code is wrong"},
		"used code": {"ada", func(p *person) {
			used := p.device()
			p.Go(used, 200)
			p.choose("Deny", 200)
			p.Go(used, 409)
		}, "Enter the code", "already used"},
		"authorize": {"ada", func(p *person) { p.Go(p.authorizeURL("http://127.0.0.1:41031/oauth/callback"), 200) },
			"Allow test?", ""},
		"authorize refused": {"ada", func(p *person) { p.Go(p.authorizeURL("http://example.com/elsewhere"), 400) },
			"Bad Request", "is not registered by the client"},
		"aws login": {"ada", func(p *person) { p.Go(p.awsLoginURL(), 200) }, "Allow aws login?", ""},
		"aws login code": {"ada", func(p *person) {
			p.Go(p.awsLoginURL(), 200)
			p.TabTo("administrator")
			p.Press(" ")
			p.choose("Allow", 200)
		}, "Copy the authorization code", ""},
		"invited": {"", func(p *person) {
			p.Go(p.service.Manage("POST", "users", object{"name": "eve", "invite": true})["invite"].(string), 200)
		}, "Set your password", ""},
		"passwords differ": {"", func(p *person) {
			p.Go(p.service.Manage("POST", "users", object{"name": "eve", "invite": true})["invite"].(string), 200)
			p.fill(400, people.Password, people.Password+"s")
		}, "Set your password", "The two passwords differ"},
		"invitation used": {"", func(p *person) { p.Go("/signin/invite?token=none", 403) },
			"Forbidden", "The link is not valid"},
		"no page": {"", func(p *person) { p.Go("/signin/nowhere", 404) }, "Page not found", "There is no such page"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := people.Start(t)
			s.AddUser("ada", "developer", "administrator")
			s.AddUser("bob")
			p := open(t, s)
			if c.user != "" {
				p.signIn(c.user)
			}
			c.show(p)
			p.Is(c.is, c.says)
			p.Check(name)
		})
	}
	t.Run("no users", func(t *testing.T) {
		t.Parallel()
		p := open(t, people.Start(t))
		p.Go("/start", 200)
		p.Is("No users yet", "")
		p.Check("no users")
	})
}
