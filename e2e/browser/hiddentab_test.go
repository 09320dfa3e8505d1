package browser_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/e2e/browser"
	"github.com/muster-gg/muster/e2e/people"
	"github.com/muster-gg/muster/mustertest"
)

// TestConsoleHidden: a hidden page has no stream open, and shows what has changed when it is visible again.
func TestConsoleHidden(t *testing.T) {
	t.Parallel()
	s := people.Start(t, func(c *muster.Config) { c.OpenConsole = "on" })
	origin, open := countStreams(t, s.HTTP)
	p := browser.Open(t, origin)
	p.Go("/console/locations", 200)
	p.Shows("live")
	awaitStreams := func(n int64) {
		t.Helper()
		mustertest.Eventually(t, "the number of streams changes", func() bool { return open.Load() == n })
	}
	awaitStreams(1)
	p.Away(func() { // the browser reports the stream that the page closes as failed
		p.Hide(true)
		p.Shows("paused")
		awaitStreams(0)
	})
	mustertest.Call(t, s.Client.CreateLocation, &gamelift.CreateLocationInput{LocationName: aws.String("custom-new")})
	if strings.Contains(p.Text(), "custom-new") {
		t.Error("a hidden page was read again")
	}
	p.Hide(false)
	p.Shows("live", "custom-new")
	awaitStreams(1)
}

// countStreams starts a proxy that counts the streams of open pages.
func countStreams(t *testing.T, service string) (origin string, open *atomic.Int64) {
	t.Helper()
	open = &atomic.Int64{}
	return proxied(t, service, func(r *http.Request, serve func()) {
		if r.URL.Path == "/console/live" {
			open.Add(1)
			defer open.Add(-1)
		}
		serve()
	}), open
}

// proxied starts a proxy of a service, and calls around for each request.
func proxied(t *testing.T, service string, around func(r *http.Request, serve func())) (origin string) {
	t.Helper()
	to, err := url.Parse(service)
	must(t, err)
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Transport: &http.Transport{DisableKeepAlives: true},
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		around(r, func() { proxy.ServeHTTP(w, r) })
	}))
	t.Cleanup(front.Close)
	return front.URL
}
