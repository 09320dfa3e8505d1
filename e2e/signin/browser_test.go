package signin

import (
	"html"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/muster-gg/muster/e2e/people"
)

// A browser keeps cookies and fills forms. It follows redirects on the service, and elsewhere if it is told to.
type browser struct {
	*http.Client
	w      *world
	leaves bool // follows redirects to other hosts
}

// A page is an answer to a browser.
type page struct {
	answer
	t  testing.TB
	at *url.URL // the page, or where a redirect leads that was not followed
}

// browser returns a browser without a session. With an address, its requests come from there.
func (w *world) browser(from ...string) *browser {
	w.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.Fatal(err)
	}
	b := &browser{w: w, Client: &http.Client{Transport: w.Web.Transport, Jar: jar}}
	if len(from) > 0 && runtime.GOOS == "linux" { // other systems have no address but 127.0.0.1 on loopback
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from[0])}}
		b.Transport = &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}
	}
	b.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if r.URL.Host != via[0].URL.Host && !b.leaves {
			return http.ErrUseLastResponse
		}
		return nil
	}
	return b
}

// signedIn returns a browser in which a user has signed in.
func (w *world) signedIn(name string) *browser {
	w.Helper()
	b := w.browser()
	if p := b.signIn(name, people.Password); p.at.Path != "/start" {
		w.Fatalf("%s is not signed in: %d %s", name, p.status, p.body)
	}
	return b
}

func (b *browser) signIn(name, with string) page {
	b.w.Helper()
	return b.post("/signin/in", url.Values{"name": {name}, "password": {with}, "return": {"/start"}})
}

func (b *browser) get(to string) page {
	b.w.Helper()
	return b.visit("GET", to, nil)
}

func (b *browser) post(to string, form url.Values) page {
	b.w.Helper()
	return b.visit("POST", to, form)
}

func (b *browser) visit(method, to string, form url.Values) page {
	b.w.Helper()
	to = strings.TrimPrefix(to, b.w.HTTP)
	var at *url.URL
	client := *b.Client
	client.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
		response, err := b.Transport.RoundTrip(r)
		if at = r.URL; err == nil {
			if location, none := response.Location(); none == nil {
				at = location
			}
		}
		return response, err
	})
	p := page{t: b.w, answer: b.w.request(&client, method, to, form.Encode(), header("Sec-Fetch-Site", "same-origin"),
		header("Content-Type", "application/x-www-form-urlencoded"))}
	p.at = at
	return p
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var (
	formPattern   = regexp.MustCompile(`(?s)<form method="post" action="([^"]*)".*?</form>`)
	hiddenPattern = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)
)

// submit fills the last form of a page with pairs of a name and a value.
func (b *browser) submit(p page, pairs ...string) page {
	b.w.Helper()
	forms := formPattern.FindAllStringSubmatch(string(p.body), -1)
	if len(forms) == 0 {
		b.w.Fatalf("the page has no form: %d %s", p.status, p.body)
	}
	last, values := forms[len(forms)-1], url.Values{}
	for _, m := range hiddenPattern.FindAllStringSubmatch(last[0], -1) {
		values.Set(m[1], html.UnescapeString(m[2]))
	}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return b.post(html.UnescapeString(last[1]), values)
}

// decide answers the question of the page at an address.
func (b *browser) decide(to, decision string) page {
	b.w.Helper()
	p := b.get(to)
	if p.at.Path != "/authorize" && p.at.Path != "/device" {
		return p // the consent is remembered
	}
	return b.submit(p, "decision", decision)
}

// has checks that a page has a status and a text.
func (p page) has(status int, text string) page {
	p.t.Helper()
	if shown := html.UnescapeString(string(p.body)); p.status != status || !strings.Contains(shown, text) {
		p.t.Errorf("%s: status %d, want %d with %q: %s", p.at, p.status, status, text, shown)
	}
	return p
}
