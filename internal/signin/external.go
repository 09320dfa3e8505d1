package signin

import (
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/control/idp"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// pendingExternal is a sign-in at a provider that has begun. The browser keeps it, sealed.
type pendingExternal struct {
	Provider string    `json:"p"`
	State    string    `json:"s"`
	Nonce    string    `json:"n"`
	Verifier string    `json:"v"`
	Return   string    `json:"r"`
	Ends     time.Time `json:"e"`
}

// external returns the provider that a path names, and this service's registration there.
func (h *Handler) external(v *visit) (p *catalog.Provider, l idp.Login, err error) {
	name := v.r.PathValue("provider")
	if h.IdP == nil {
		return nil, l, pageError(http.StatusNotFound, "There is no such identity provider.")
	}
	if p, err = h.Access.Provider(name); err == nil {
		l, err = h.Access.Login(p, h.PublicURL+oidcPrefix+url.PathEscape(name)+"/callback")
	}
	if fault.Is(err, fault.NotFound) {
		err = pageError(http.StatusNotFound, "There is no such identity provider.")
	}
	return p, l, err
}

func (h *Handler) externalStart(v *visit) error {
	p, l, err := h.external(v)
	if err != nil {
		return err
	}
	pending := pendingExternal{Provider: p.Name, State: random(), Nonce: random(), Verifier: random(),
		Return: returnTo(v.r.URL.Query().Get("return")), Ends: h.Clock.Now().Add(pendingLife)}
	to, err := h.IdP.AuthorizeURL(v.r.Context(), l, pending.State, pending.Nonce, pending.Verifier)
	if err != nil {
		return h.externalError(err)
	}
	if err := h.setSealed(v, pendingCookie, pending, "", pendingLife); err != nil {
		return err
	}
	http.Redirect(v.w, v.r, to, http.StatusFound)
	return nil
}

func (h *Handler) externalCallback(v *visit) error {
	p, l, err := h.external(v)
	if err != nil {
		return err
	}
	q := v.r.URL.Query()
	var pending pendingExternal
	if !h.openSealed(v, pendingCookie, &pending, "") || pending.Provider != p.Name ||
		!h.Clock.Now().
			Before(pending.Ends) ||
		subtle.ConstantTimeCompare([]byte(pending.State), []byte(q.Get("state"))) != 1 {
		return pageError(http.StatusBadRequest, "The sign-in has expired, or began in another browser. Sign in again.")
	}
	h.setCookie(v, pendingCookie, "", 0)
	if q.Get("error") != "" || q.Get("code") == "" {
		return pageError(http.StatusForbidden, "The identity provider has refused the sign-in: %.100q.", q.Get("error"))
	}
	claims, err := h.IdP.Exchange(v.r.Context(), l, q.Get("code"), pending.Nonce, pending.Verifier)
	if err != nil {
		return h.externalError(err)
	}
	user, err := h.Access.External(v.r.Context(), p, claims, v.from)
	if err == nil {
		err = h.open(v, user, pending.Return)
	}
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.AccessDenied {
		return pageError(http.StatusForbidden, "%s", f.Message)
	}
	if errors.Is(err, access.ErrDisabled) {
		return &refusal{why: disabled}
	}
	return err
}

// externalError tells what is wrong with a provider, and logs the rest.
func (h *Handler) externalError(err error) error {
	if suppressed, ok := h.lines.Allow("external"); ok {
		h.Log.Warn("sign-in at identity provider failed", "err", err, "suppressed", suppressed)
	}
	if errors.Is(err, idp.ErrUnreachable) {
		return pageError(http.StatusBadGateway, "The identity provider cannot be reached. Try again later.")
	}
	return pageError(http.StatusForbidden, "The sign-in at the identity provider was not accepted. Sign in again.")
}
