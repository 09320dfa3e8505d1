package browser_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/e2e/browser"
	"github.com/muster-gg/muster/e2e/people"
	"github.com/muster-gg/muster/mustertest"
)

func TestMain(m *testing.M) { browser.Main(m) }

type object = map[string]any

// A person is a user at a browser.
type person struct {
	*browser.Tab
	service *people.Service
}

// open opens a browser at a service.
func open(t *testing.T, s *people.Service) *person {
	t.Helper()
	return &person{browser.Open(t, s.HTTP), s}
}

// fill types texts into the fields of a form, from the one that has the keyboard on, and sends it. The answer has a
// status.
func (p *person) fill(status int, texts ...string) {
	p.Helper()
	for i, text := range texts {
		if i > 0 {
			p.Press(browser.TabKey)
		}
		p.AwaitFocus()
		p.Press(text)
	}
	p.press(status)
}

// press presses the enter key, which leads to a page with a status.
func (p *person) press(status int) {
	p.Helper()
	p.Loads(status, func() { p.Press(browser.Enter) })
}

// choose activates what has a name with the keyboard, which leads to a page with a status.
func (p *person) choose(name string, status int) {
	p.Helper()
	p.TabTo(name)
	p.press(status)
}

// signIn signs a user in at the start page.
func (p *person) signIn(name string) {
	p.Helper()
	p.Go("/start", 200)
	p.Is("Sign in", "")
	p.fill(200, name, people.Password)
	p.Is("Your roles", "")
}

// signedIn opens a browser in which a user has signed in.
func signedIn(t *testing.T, s *people.Service, name string) *person {
	t.Helper()
	p := open(t, s)
	p.signIn(name)
	return p
}

// TestDeviceWithoutScripts: a person signs in and allows a device with the keyboard alone, in a browser
// without scripts. The program gets its token.
func TestDeviceWithoutScripts(t *testing.T) {
	t.Parallel()
	s := people.Start(t)
	s.AddUser("ada", "developer")
	program := s.Register()
	device := program.Device()
	p := open(t, s)
	p.DisableScripts()
	p.Resize(320, 640)

	p.Go(*device.VerificationUriComplete, 200)
	p.Is("Sign in", "")
	p.fill(403, "ada", "a wrong password")
	p.Is("Sign in", "The name or the password is wrong")
	p.fill(200, people.Password) // the name is still there
	p.Is("Allow test?", "")
	p.Shows(*device.UserCode, "Only continue if you started this on your own terminal", "You are\nada", "127.0.0.1")
	p.choose("Allow", 200)
	p.Is("Request allowed", "")
	p.Shows("test is signed in. You may close this tab")
	p.Go("/device", 200)
	p.fill(409, *device.UserCode)
	p.Is("Enter the code", "The code was already used")
	if out, err := program.Poll(*device.DeviceCode); err != nil || *out.AccessToken == "" {
		t.Errorf("no token after the consent: %v", err)
	}

	p.fill(404, "BBBB-BBBB")
	p.Is("Enter the code", "The code is wrong, or it has expired")
	p.Go("/device", 200)
	p.fill(200, strings.ToLower(strings.ReplaceAll(*program.Device().UserCode, "-", " ")))
	p.Is("Allow test?", "")
	p.choose("Deny", 200)
	p.Is("Request refused", "")
	p.choose("Sign out", 200)
	p.Is("Sign in", "")
	p.Go("/device", 200)
	p.Is("Sign in", "")
}

// TestConsent: the consent of a program on the same machine, with the keyboard alone. The browser follows to
// the program, which gets a token for the code.
func TestConsent(t *testing.T) {
	t.Parallel()
	s := people.Start(t)
	s.AddUser("ada", "developer")
	arrived := make(chan url.Values, 1)
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><title>Program</title><link rel="icon" href="data:,"><h1>Program</h1>`))
		arrived <- r.URL.Query()
	}))
	t.Cleanup(program.Close)
	registered := s.Register(people.CodeGrant)
	callback := program.URL + "/oauth/callback"
	p := open(t, s)
	p.Allow(program.URL)
	p.Go(registered.AuthorizeURL(callback), 200)
	p.Is("Sign in", "")
	p.fill(200, "ada", people.Password)
	p.Is("Allow test?", "")
	p.choose("Allow", 200)
	p.Is("Program", "")
	if _, err := registered.ByCode(callback, (<-arrived).Get("code")); err != nil {
		t.Errorf("no token for the code: %v", err)
	}

	p.Go(registered.AuthorizeURL(callback), 200)
	p.Is("Program", "") // the consent is remembered
	if got := <-arrived; got.Get("code") == "" || got.Get("state") != "state" {
		t.Errorf("the program has %v", got)
	}
}

// TestPortal: the portal lists the roles. Its buttons copy the settings, with a script, and show keys.
func TestPortal(t *testing.T) {
	t.Parallel()
	s := people.Start(t)
	s.AddUser("ada", "developer", "administrator")
	p := signedIn(t, s, "ada")
	p.Shows("developer", "administrator", "Signed in as ada")
	p.AllowClipboard()
	p.TabTo("Copy settings of administrator")
	p.Press(browser.Enter)
	mustertest.Eventually(t, "the settings are in the clipboard", func() bool { return p.Clipboard() != "" })
	settings := p.Clipboard()
	mustertest.Eventually(t, "the label returns", func() bool {
		return p.Focused() == "Copy settings of administrator"
	})
	for _, part := range []string{"[sso-session muster]\n", "\n[profile administrator]\n",
		"  endpoint_url = " + s.HTTP + "\n"} {
		if !strings.Contains(settings, part) {
			t.Errorf("the button copies %q, without %q", settings, part)
		}
	}

	p.Go("/start", 200)
	p.TabTo("Settings for the AWS CLI and SDKs of developer")
	p.Press(browser.Enter)
	p.TabTo("Settings of developer")
	p.Shows("[profile developer]")
	p.choose("Get temporary keys of developer", 200)
	p.Is("Temporary keys of developer", "")
	p.Shows("export AWS_ACCESS_KEY_ID='ASIA", "$Env:AWS_SECRET_ACCESS_KEY='", "[muster]")
	p.choose("Back to your roles", 200)
	p.Is("Your roles", "")
}

// TestKeyboard: the tab key reaches everything in the order of the page, and what it reaches is seen to have
// the keyboard, in every look and width.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	s := people.Start(t)
	s.AddUser("ada", "developer")
	p := open(t, s)
	everywhere := func(want ...string) {
		t.Helper()
		for _, width := range browser.Widths {
			p.Resize(width, 640)
			for _, look := range browser.Looks {
				p.SetLook(look)
				if got := p.Stops(); !slices.Equal(got, want) {
					t.Errorf("%s, %s, %d px: the tab key reaches %q, want %q", p.URL(), look.Name, width, got, want)
				}
			}
		}
		p.SetLook(browser.Light)
	}
	p.Go("/start", 200)
	everywhere("Skip to content", "Name", "Password", "Sign in")
	p.Go("/start", 200)
	p.fill(200, "ada", people.Password)
	everywhere("Skip to content", "Sign out", "Settings for the AWS CLI and SDKs of developer",
		"Copy settings of developer", "Get temporary keys of developer")
	p.Go("/device", 200)
	everywhere("Skip to content", "Sign out", "Code from your terminal", "Continue")
	p.Go(*s.Register().Device().VerificationUriComplete, 200)
	everywhere("Skip to content", "Sign out", "Allow", "Deny")

	p.Go("/start", 200)
	p.TabTo("Skip to content")
	p.Press(browser.Enter)
	p.Press(browser.TabKey)
	if got := p.Focused(); got != "Settings for the AWS CLI and SDKs of developer" {
		t.Errorf("after the link that skips to the content, the tab key reaches %q", got)
	}
}
