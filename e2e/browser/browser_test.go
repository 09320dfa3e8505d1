package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/muster-gg/muster/e2e/browser"
)

// A trial is a test whose errors are wanted.
type trial struct {
	testing.TB
	errors   []string
	cleanups []func()
}

func (t *trial) Error(args ...any) { t.errors = append(t.errors, fmt.Sprint(args...)) }
func (t *trial) Errorf(format string, args ...any) {
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}
func (t *trial) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

// end runs what the trial has to clean up, the latest first.
func (t *trial) end() {
	for i := range t.cleanups {
		t.cleanups[len(t.cleanups)-1-i]()
	}
}

// TestFaults: a tab finds each fault of a page, and none in a page without.
func TestFaults(t *testing.T) {
	t.Parallel()
	const strict = "default-src 'none'; img-src * data:; style-src-elem 'unsafe-inline'"
	for name, c := range map[string]struct {
		policy, body string
		use          func(b *browser.Tab)
		want         string // a part of the only error; none: ""
	}{
		"none": {strict, `<style>a { outline: 2px solid blue }</style><a href="/">Home</a>`,
			func(b *browser.Tab) { b.TabTo("Home"); b.Check("none") }, ""},
		"console":      {"", `<script>console.log("here")</script>`, nil, `the console has log: "here"`},
		"exception":    {"", `<script>throw new Error("boom")</script>`, nil, "boom"},
		"policy":       {strict, `<p style="color: red">Red</p>`, nil, "style-src-attr"},
		"other origin": {strict, `<img alt="" src="http://192.0.2.1/x.png">`, nil, "http://192.0.2.1/x.png"},
		"no file":      {strict, `<img alt="" src="/missing.png">`, nil, "/missing.png has the status 404"},
		"too wide": {"", `<p style="width: 400px; margin: 0">Wide</p>`,
			func(b *browser.Tab) { b.Check("wide") }, "at 320 px: the page scrolls horizontally"},
		"no text for a picture": {strict, `<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">`,
			func(b *browser.Tab) { b.Check("picture") }, "image-alt"},
		"no outline": {"", `<style>a { outline: none }</style><a href="/">Home</a>`,
			func(b *browser.Tab) { b.TabTo("Home") }, "does not show that it has the keyboard"},
		"faint outline": {"", `<style>a { outline: 2px solid #eee }</style><a href="/">Home</a>`,
			func(b *browser.Tab) { b.TabTo("Home") }, "outline with the contrast"},
		"status": {"", `<h1>Here</h1>`, func(b *browser.Tab) { b.Go("/missing", 200) }, "has the status 404"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/" {
					w.WriteHeader(http.StatusNotFound)
				}
				w.Header().Set("Content-Type", "text/html")
				if c.policy != "" {
					w.Header().Set("Content-Security-Policy", c.policy)
				}
				fmt.Fprintf(w, `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">`+
					`<title>T</title><link rel="icon" href="data:,"><main><h1>T</h1>%s</main>`, c.body)
			}))
			t.Cleanup(s.Close)
			tried := &trial{TB: t}
			b := browser.Open(tried, s.URL)
			b.Go("/", 200)
			if c.use != nil {
				c.use(b)
			}
			tried.end()
			if c.want == "" && len(tried.errors) > 0 || c.want != "" && (len(tried.errors) == 0 ||
				!strings.Contains(strings.Join(tried.errors, "\n"), c.want)) {
				t.Errorf("found %q, want %q", tried.errors, c.want)
			}
		})
	}
}
