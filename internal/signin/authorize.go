package signin

import (
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/style"
)

// maxState limits the client's state, which returns with the code.
const maxState = 1024

// A request is what a client asks a person for on an authorization page.
type request struct {
	kind        string // of the sign-in session
	path        string // of the page
	clientID    string
	client      string // name
	redirect    string // as it was sent; the exchange of the code repeats it
	origin      string // of redirect, as Content-Security-Policy has it
	crossDevice bool   // the code is shown
	state       string
	challenge   string
}

// parseAuthorize parses the query of SSO-OIDC's authorization page. Nothing that it refuses redirects: a client that is
// not registered would choose where to.
func (h *Handler) parseAuthorize(q url.Values) (*request, error) {
	a := &request{
		kind:      access.KindSSO,
		path:      authorizePath,
		clientID:  q.Get("client_id"),
		redirect:  q.Get("redirect_uri"),
		state:     q.Get("state"),
		challenge: q.Get("code_challenge"),
	}
	c, err := h.Access.ClientOf(a.clientID)
	if err != nil {
		return nil, pageError(http.StatusBadRequest,
			"The client is not registered here, or its registration has expired. Start the sign-in again.")
	}
	u, err := parseRedirect(a.redirect)
	switch {
	case err != nil || !registered(c, u):
		return nil, pageError(
			http.StatusBadRequest,
			"The redirect URI %.200q is not registered by the client.",
			a.redirect,
		)
	case !may(c, codeGrant):
		return nil, pageError(http.StatusBadRequest, "The client is not registered for the grant type %s.", codeGrant)
	}
	for scope := range strings.FieldsSeq(q.Get("scopes")) {
		if !slices.Contains(c.Scopes, scope) {
			return nil, pageError(http.StatusBadRequest, "The scope %.100q is not registered by the client.", scope)
		}
	}
	a.client, a.origin = c.Name, originOf(u)
	return a, a.check(q, "S256")
}

// check checks what both protocols have; only the name of the challenge's method differs.
func (a *request) check(q url.Values, method string) error {
	var wrong string
	switch {
	case q.Get("response_type") != "code":
		wrong = "response_type must be code"
	case q.Get("code_challenge_method") != method:
		wrong = "code_challenge_method must be " + method
	case !validChallenge(a.challenge):
		wrong = "code_challenge must be a SHA-256 in base64url"
	case a.state == "" || len(a.state) > maxState:
		wrong = "state is missing or too long"
	default:
		return nil
	}
	return pageError(http.StatusBadRequest, "The request of the client is not valid: %s.", wrong)
}

// originOf returns a loopback URI's origin for form-action. An IPv6 address cannot be written there.
func originOf(u *url.URL) string {
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.To4() == nil {
		return "http:"
	}
	return "http://" + u.Host
}

func encodeStd(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func (h *Handler) authorizePage(v *visit) error { return h.showConsent(v, h.parseAuthorize) }

func (h *Handler) authorizeConsent(v *visit) error { return h.takeConsent(v, h.parseAuthorize) }

type parser func(url.Values) (*request, error)

// showConsent asks a person whether to allow a request, unless it has allowed the same client lately.
func (h *Handler) showConsent(v *visit, parse parser) error {
	a, err := parse(v.r.URL.Query())
	if err != nil {
		return err
	}
	p, ok := h.person(v)
	if !ok {
		return h.toSignIn(v)
	}
	roles, err := h.choices(a, p)
	if err != nil {
		return err
	}
	if len(roles) < 2 && h.remembered(v, p, a) {
		return h.grant(v, p, a, only(roles))
	}
	style.Protect(v.w.Header(), a.origin)
	h.show(v, http.StatusOK, "consent", page{Title: "Allow " + a.client + "?", Person: p.User.Name,
		Body: consentBody{Action: a.path + "?" + v.r.URL.RawQuery, Client: a.client, User: p.User.Name,
			Account: h.accountLabel(), Roles: names(roles), Remote: a.crossDevice}})
	return nil
}

// choices returns the roles of which the person chooses one for the session; none for SSO, whose sessions have all.
func (h *Handler) choices(a *request, p *access.Person) ([]*catalog.Role, error) {
	if a.kind != access.KindLogin {
		return nil, nil
	}
	roles := h.Access.RolesOf(p.User.Name)
	if len(roles) == 0 {
		return nil, pageError(http.StatusForbidden,
			"No role is assigned to you, so there is nothing to sign in to. Ask an administrator.")
	}
	return roles, nil
}

func names(roles []*catalog.Role) (names []string) {
	for _, r := range roles {
		names = append(names, r.Name)
	}
	return names
}

// only returns the name of the first role; "" if there is none.
func only(roles []*catalog.Role) string {
	if len(roles) == 0 {
		return ""
	}
	return roles[0].Name
}

// takeConsent does what the person decided.
func (h *Handler) takeConsent(v *visit, parse parser) error {
	a, err := parse(v.r.URL.Query())
	if err != nil {
		return err
	}
	p, allowed, err := h.decision(v)
	if err != nil {
		return err
	}
	if !allowed {
		return h.refuse(v, a)
	}
	roles, err := h.choices(a, p)
	if err != nil {
		return err
	}
	role := only(roles)
	if len(roles) > 1 {
		role = v.r.PostFormValue("role")
		if !slices.Contains(names(roles), role) {
			return pageError(http.StatusBadRequest, "Choose one of your roles. Go back and try again.")
		}
	}
	h.Access.Consented("ClientConsent", p, a.client, true, v.from)
	h.remember(v, p, a)
	return h.grant(v, p, a, role)
}

// decision reads the form of a consent. The form names the user whom it was shown to, because another one can have
// signed in since.
func (h *Handler) decision(v *visit) (p *access.Person, allowed bool, err error) {
	if err := parseForm(v); err != nil {
		return nil, false, err
	}
	p, ok := h.person(v)
	if !ok || v.r.PostForm.Get("user") != p.User.Name {
		return nil, false, pageError(http.StatusForbidden,
			"You have signed out, or signed in as another user, meanwhile. Go back and reload the page.")
	}
	switch v.r.PostForm.Get("decision") {
	case "allow":
		return p, true, nil
	case "deny":
		return p, false, nil
	}
	return nil, false, pageError(http.StatusBadRequest, "Choose Allow or Deny. Go back and try again.")
}

func (h *Handler) refuse(v *visit, a *request) error {
	if a.crossDevice {
		h.show(v, http.StatusOK, "done", page{Title: "Request refused",
			Body: doneBody{"You may close this tab, and stop the command that waits for a code."}})
		return nil
	}
	http.Redirect(v.w, v.r, withQuery(a.redirect, url.Values{"error": {"access_denied"},
		"error_description": {"The request was refused in the browser."}, "state": {a.state}}), http.StatusFound)
	return nil
}

// grant issues a code and sends the browser with it to the client, or to the page that shows it.
func (h *Handler) grant(v *visit, p *access.Person, a *request, role string) error {
	code, err := h.issueCode(v.r.Context(), authorization{Kind: a.kind, Client: sum(a.clientID), Redirect: a.redirect,
		Challenge: a.challenge, User: p.User.Name, UserID: p.User.ID, Role: role})
	if err != nil {
		return err
	}
	to := a.redirect
	if a.crossDevice {
		to = confirmationPath
	}
	http.Redirect(v.w, v.r, withQuery(to, url.Values{"code": {code}, "state": {a.state}}), http.StatusFound)
	return nil
}

func (h *Handler) accountLabel() string {
	if h.AccountName == "" {
		return h.Account
	}
	return h.AccountName + " (" + h.Account + ")"
}
