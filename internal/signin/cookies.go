package signin

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/control/access"
)

// The cookies. The first is that of the console too.
const (
	sessionCookie = "muster"
	consentCookie = "muster-consent" // which clients the person allowed lately
	pendingCookie = "muster-oidc"    // a sign-in at an external provider that has begun
)

const (
	sessionLife = 12 * time.Hour // package access ends sessions that are idle
	consentLife = 8 * time.Hour
	pendingLife = 10 * time.Minute

	maxConsents = 8
)

// secure reports whether cookies are for https only. Behind a proxy it depends on the public URL; a browser on this
// machine can also use the unencrypted port.
func (h *Handler) secure(v *visit) bool {
	if v.from.TLS {
		return true
	}
	host := (&url.URL{Host: v.r.Host}).Hostname()
	return h.base.Scheme == "https" && !(v.loopback && loopback(host))
}

// cookieName adds the prefix with which browsers protect cookies of https.
func (h *Handler) cookieName(v *visit, name string) string {
	if h.secure(v) {
		return "__Host-" + name
	}
	return name
}

// setCookie sets a cookie; a life of 0 deletes it.
func (h *Handler) setCookie(v *visit, name, value string, life time.Duration) {
	c := &http.Cookie{Name: h.cookieName(v, name), Value: value, Path: "/", MaxAge: int(life / time.Second),
		Secure: h.secure(v), HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if life == 0 {
		c.MaxAge = -1
	}
	http.SetCookie(v.w, c)
}

func (h *Handler) cookie(v *visit, name string) string {
	c, err := v.r.Cookie(h.cookieName(v, name))
	if err != nil {
		return ""
	}
	return c.Value
}

// person returns who is signed in.
func (h *Handler) person(v *visit) (*access.Person, bool) {
	value := h.cookie(v, sessionCookie)
	if value == "" {
		return nil, false
	}
	p, err := h.Access.FromCookie(value)
	if err != nil {
		return nil, false
	}
	if err := h.Access.Touch(v.r.Context(), p.SignIn); err != nil {
		h.Log.Debug("use of a console session not stored", "err", err)
	}
	return p, true
}

// Person returns who is signed in, by the cookie of a request, for the console.
func (h *Handler) Person(r *http.Request) (*access.Person, bool) {
	return h.person(visitOf(r))
}

// setSealed sets a cookie that only this service can read, with what it is bound to.
func (h *Handler) setSealed(v *visit, name string, content any, bound string, life time.Duration) error {
	plain, err := json.Marshal(content)
	if err != nil {
		return err
	}
	h.setCookie(v, name, base64.RawURLEncoding.EncodeToString(h.Access.Seal(name, plain, []byte(bound))), life)
	return nil
}

// openSealed reports whether there is such a cookie.
func (h *Handler) openSealed(v *visit, name string, content any, bound string) bool {
	data, err := base64.RawURLEncoding.DecodeString(h.cookie(v, name))
	if err != nil || len(data) == 0 {
		return false
	}
	plain, err := h.Access.Open(name, data, []byte(bound))
	return err == nil && json.Unmarshal(plain, content) == nil
}

// consents has the end of each consent, in Unix seconds, by registration and path of the redirect URI. The name of a
// client is not enough: anybody registers with any name.
type consents map[string]int64

func (a *request) consent() string {
	u, err := url.Parse(a.redirect)
	if err != nil {
		return ""
	}
	return encode(sum(a.clientID)) + " " + u.EscapedPath()
}

// mayRemember reports whether consent to the request can be remembered. aws login does not register, so nothing tells
// its requests from those of other programs.
func (a *request) mayRemember() bool { return !a.crossDevice && a.kind == access.KindSSO }

// remembered reports whether the person allowed the client lately, in this browser, and no other web site sends the
// browser here.
func (h *Handler) remembered(v *visit, p *access.Person, a *request) bool {
	var c consents
	site := v.r.Header.Get("Sec-Fetch-Site")
	return a.mayRemember() && site != "cross-site" && site != "same-site" &&
		h.openSealed(v, consentCookie, &c, p.User.ID) && h.Clock.Now().Unix() < c[a.consent()]
}

func (h *Handler) remember(v *visit, p *access.Person, a *request) {
	if !a.mayRemember() {
		return
	}
	c := consents{}
	h.openSealed(v, consentCookie, &c, p.User.ID)
	now := h.Clock.Now()
	maps.DeleteFunc(c, func(_ string, ends int64) bool { return ends <= now.Unix() })
	if len(c) >= maxConsents {
		clear(c)
	}
	c[a.consent()] = now.Add(consentLife).Unix()
	if err := h.setSealed(v, consentCookie, c, p.User.ID, consentLife); err != nil {
		h.Log.Debug("consent not remembered", "err", err)
	}
}

// toSignIn sends the browser to the sign-in page, and from there back.
func (h *Handler) toSignIn(v *visit) error {
	http.Redirect(v.w, v.r, withQuery(signInPath, url.Values{"return": {v.r.URL.RequestURI()}}), http.StatusSeeOther)
	return nil
}

// maxReturn limits the page to return to. It is the length of a query with the id of a client.
const maxReturn = 8 << 10

// returnTo returns the page of this service that follows a sign-in; others are replaced, so that no link leads away.
func returnTo(sent string) string {
	u, err := url.Parse(sent)
	if err != nil || len(sent) > maxReturn || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" ||
		strings.ContainsFunc(sent, func(r rune) bool { return r == '\\' || r <= ' ' || r == 0x7f }) ||
		strings.Contains(u.Path, "..") {
		return startPath
	}
	switch u.Path {
	case startPath, devicePath, authorizePath, loginPath, "/console":
		return sent
	}
	if strings.HasPrefix(u.Path, "/console/") {
		return sent
	}
	return startPath
}
