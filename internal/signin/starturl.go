package signin

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// AWS's command line from 2.35.13 on accepts a start URL only if it redirects to a host of AWS, which it then does not
// contact; it sends that URL as startUrl and issuerUrl. The label muster-… is no instance of AWS: those begin with
// ssoins- or d-.
func (h *Handler) portalURL() string {
	return "https://muster-" + h.RegionID + ".portal." + h.Region + ".app.aws"
}

// identityCenterURL is a start URL for services without TLS: that host is accepted without a request.
func (h *Handler) identityCenterURL() string {
	return "https://identitycenter.amazonaws.com/muster-" + h.RegionID
}

// startHead answers the check of the start URL.
func (h *Handler) startHead(v *visit) error {
	http.Redirect(v.w, v.r, h.portalURL(), http.StatusFound)
	return nil
}

// checkStartURL rejects the start URLs of other services.
func (h *Handler) checkStartURL(sent string) error {
	u, err := url.Parse(sent)
	if err == nil && u.User == nil && u.RawQuery == "" {
		u.Fragment = "" // AWS's end in #/
		plain := strings.TrimRight(u.String(), "/")
		if strings.EqualFold(plain, h.portalURL()) || strings.EqualFold(plain, h.identityCenterURL()) ||
			h.own(plain, startPath) {
			return nil
		}
	}
	return invalidRequest.because("The start URL %.200q is not of this service; use %s", sent,
		h.PublicURL+startPath)
}

// own reports whether a URL is that of a path of this service: under PublicURL or URL, or under any name of loopback
// with the port of the listener, by which programs on this machine reach it with either scheme.
func (h *Handler) own(sent, path string) bool {
	u, err := url.Parse(sent)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" ||
		u.Path != path || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	for _, base := range []string{h.PublicURL, h.URL} {
		if b, err := url.Parse(base); err == nil && b.Host != "" && u.Scheme == b.Scheme &&
			strings.EqualFold(u.Host, b.Host) {
			return true
		}
	}
	listener, err := url.Parse(h.URL)
	return err == nil && u.Port() != "" && u.Port() == listener.Port() && loopback(u.Hostname())
}

// loopback reports whether a host is a name or address of this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
