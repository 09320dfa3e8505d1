package browser

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"github.com/muster-gg/muster/mustertest"
)

// A Tab shows the pages of a test. It has cookies of its own.
type Tab struct {
	testing.TB
	*recorder
	ctx context.Context
	at  string // the origin of relative URLs

	framed bool // Check has checked a page with the navigation of the console
}

// Open opens a tab for pages of an origin. It is closed with the test, and then fails the test for everything
// unexpected that it recorded.
func Open(t testing.TB, origin string) *Tab {
	t.Helper()
	parent := started(t)
	r := &recorder{origins: []string{origin}}
	ctx, cancel := chromedp.NewContext(parent, chromedp.WithNewBrowserContext(), chromedp.WithListener(r.record))
	if err := chromedp.Do(ctx); err != nil { // without a deadline, which would be that of the tab
		cancel()
		t.Fatalf("open a tab: %v", err)
	}
	b := &Tab{TB: t, recorder: r, ctx: ctx, at: origin}
	t.Cleanup(func() {
		defer cancel()
		value[int](b, "0") // events arrive before the answers to later commands
		for _, each := range r.unexpected() {
			t.Error(each)
		}
		limited, done := context.WithTimeout(ctx, mustertest.Patience)
		defer done()
		if err := chromedp.Cancel(limited); err != nil {
			t.Errorf("close the tab: %v", err)
		}
	})
	call(b, audits.Enable, cdp.Empty{})
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		WorldName: "harness", Source: violations})
	// A tab behind others has the keyboard too.
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	b.Resize(1280, 800)
	b.SetLook(Light)
	return b
}

// call sends a command of the DevTools protocol.
func call[P, R any](b *Tab, command cdp.Command[P, R], params P) R {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, mustertest.Patience)
	defer cancel()
	result, err := chromedp.Call(ctx, command, params)
	if err != nil {
		b.Fatalf("%s: %v", command.Method, err)
	}
	return result
}

// Allow lets pages lead to another origin.
func (b *Tab) Allow(origin string) { b.allow(origin) }

// Away does something during which the service does not answer, so that requests of the page may fail.
func (b *Tab) Away(during func()) {
	b.setAway(true)
	defer b.setAway(false)
	during()
}

// Go opens a URL, which may be relative to the origin, and waits until the page has loaded with a status.
func (b *Tab) Go(to string, status int) {
	b.Helper()
	if strings.HasPrefix(to, "/") {
		to = b.at + to
	}
	b.Loads(status, func() { call(b, page.Navigate, page.NavigateParams{URL: to}) })
}

// Loads does something that leads to another page, and waits until that has loaded with a status.
func (b *Tab) Loads(status int, by func()) {
	b.Helper()
	before, _ := b.loaded()
	by()
	mustertest.Eventually(b, "another page has loaded", func() bool {
		n, _ := b.loaded()
		return n > before
	})
	if _, got := b.loaded(); got != status {
		b.Errorf("%s has the status %d %s, want %d: %s", b.URL(), got, http.StatusText(got), status, b.Text())
	}
}

// Back goes back to the previous page, and waits until its address has a path.
func (b *Tab) Back(path string) {
	b.Helper()
	value[int](b, "history.back(), 0")
	mustertest.Eventually(b, "the page is "+path+" again", func() bool { return b.URL().Path == path })
}

// Forward undoes Back, and waits until the address has a path.
func (b *Tab) Forward(path string) {
	b.Helper()
	value[int](b, "history.forward(), 0")
	mustertest.Eventually(b, "the page is "+path+" again", func() bool { return b.URL().Path == path })
}

// Opened returns the addresses of all tabs that this one has opened, and its own.
func (b *Tab) Opened() (addresses []string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, mustertest.Patience)
	defer cancel()
	tabs, err := chromedp.Targets(ctx)
	if err != nil {
		b.Fatal(err)
	}
	for _, each := range tabs {
		if each.Type == "page" && each.BrowserContextID == chromedp.FromContext(b.ctx).BrowserContextID {
			addresses = append(addresses, each.URL)
		}
	}
	return addresses
}

// URL returns the address of the page.
func (b *Tab) URL() *url.URL {
	b.Helper()
	u, err := url.Parse(value[string](b, "location.href"))
	if err != nil {
		b.Fatal(err)
	}
	return u
}

// Text returns the text that the page shows.
func (b *Tab) Text() string {
	b.Helper()
	return value[string](b, "document.body.innerText")
}

// Shows waits until the page shows each text.
func (b *Tab) Shows(texts ...string) {
	b.Helper()
	for _, text := range texts {
		mustertest.Eventually(b, "the page shows "+text, func() bool { return strings.Contains(b.Text(), text) })
	}
}

// Is checks the heading of a page, with which its title begins, and a part of its alert; no alert: "".
func (b *Tab) Is(heading, alert string) {
	b.Helper()
	got := value[struct{ Title, Heading, Alert string }](b, `({
		Title: document.title,
		Heading: document.querySelector("h1")?.innerText ?? "",
		Alert: document.querySelector("[role=alert]")?.innerText ?? "",
	})`)
	if got.Heading != heading || !strings.HasPrefix(got.Title, heading) || (alert == "") != (got.Alert == "") ||
		!strings.Contains(got.Alert, alert) {
		b.Errorf("%s is %+v, want the heading %q and the alert %q", b.URL(), got, heading, alert)
	}
}

// value evaluates an expression in the page and returns its value, or that of a promise. It works with scripts disabled
// too, because it is no script of the page.
func value[T any](b *Tab, expression string) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, mustertest.Patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("evaluate %.80q: %v", expression, err)
	}
	return v
}

// Painted goes to a page and returns how long after that the first content was painted.
func (b *Tab) Painted(path string) time.Duration {
	b.Helper()
	b.Go(path, http.StatusOK)
	at := value[float64](b, `new Promise((painted) => new PerformanceObserver((list) => {
		for (const e of list.getEntriesByName("first-contentful-paint")) painted(e.startTime);
	}).observe({ type: "paint", buffered: true }))`)
	return time.Duration(at * float64(time.Millisecond))
}

// TaskTime returns how long the page has kept its thread busy since it was loaded.
func (b *Tab) TaskTime() time.Duration {
	b.Helper()
	call(b, performance.Enable, performance.EnableParams{})
	for _, m := range call(b, performance.GetMetrics, cdp.Empty{}).Metrics {
		if m.Name == "TaskDuration" {
			return time.Duration(m.Value * float64(time.Second))
		}
	}
	b.Fatal("the browser measures no TaskDuration")
	return 0
}

// Elements counts the elements of the page.
func (b *Tab) Elements() int {
	b.Helper()
	return value[int](b, "document.getElementsByTagName('*').length")
}

// AllowClipboard lets the test read the clipboard in pages of the origin.
func (b *Tab) AllowClipboard() {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, mustertest.Patience)
	defer cancel()
	_, err := chromedp.CallBrowser(ctx, browser.SetPermission, browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: "clipboard-read"}, Origin: b.at,
		Setting: browser.PermissionSettingGranted, BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID})
	if err != nil {
		b.Fatal(err)
	}
}

// Clipboard returns the text in the clipboard, which all tabs share.
func (b *Tab) Clipboard() string {
	b.Helper()
	return value[string](b, "navigator.clipboard.readText()")
}

// DisableScripts disables the scripts of all pages that are opened from now on.
func (b *Tab) DisableScripts() {
	b.Helper()
	b.setPlain()
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}
