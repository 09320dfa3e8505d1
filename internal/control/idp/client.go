package idp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

const (
	fetchLimit   = 5 * time.Second // of a request to a provider
	maxDocument  = 256 << 10       // bytes of an answer
	maxRedirects = 3               // on the same host
)

// limited returns a copy of a client with the limits of this package.
func limited(client *http.Client) *http.Client {
	c := http.Client{}
	if client != nil {
		c = *client
	}
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	c.Transport = limitedTransport{c.Transport}
	c.Timeout = fetchLimit
	c.CheckRedirect = sameHost
	return &c
}

// sameHost allows a redirect only within a host and scheme: a provider must not direct requests, which have the
// secret of a sign-in, to addresses that only this node can reach.
func sameHost(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	switch {
	case r.URL.Host != first.Host || r.URL.Scheme != first.Scheme:
		return errors.New("the answer redirects to another host")
	case len(via) > maxRedirects:
		return errors.New("the answers redirect too often")
	}
	return nil
}

// A limitedTransport fails to read long answers.
type limitedTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	if err == nil {
		answer.Body = &limitedBody{answer.Body, maxDocument}
	}
	return answer, err
}

type limitedBody struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("the answer is longer than %d bytes", maxDocument)
	}
	return n, err
}

// checkIssuer rejects the URL of an issuer that uses neither https nor, on loopback, http.
func checkIssuer(issuer string) (plain bool, err error) {
	u, err := url.Parse(issuer)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return false, errors.New("the issuer is not a URL of scheme, host and path")
	case u.Scheme == "https":
		return false, nil
	case u.Scheme == "http" && loopback(u.Hostname()):
		return true, nil
	}
	return false, errors.New("the issuer must be an https URL, or http on loopback")
}

// checkEndpoint rejects the URL of an endpoint without https. plain allows http on loopback.
func checkEndpoint(name, endpoint string, plain bool) error {
	u, err := url.Parse(endpoint)
	if err == nil && u.Host != "" && (u.Scheme == "https" || plain && u.Scheme == "http" && loopback(u.Hostname())) {
		return nil
	}
	return fmt.Errorf("%s in the discovery document must be an https URL", name)
}

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
