package signin

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// signInPage asks for name and password. While there are no users it says how to add the first one, and nothing else.
func (h *Handler) signInPage(v *visit) error {
	if first, _ := h.Access.Users("", 1); len(first) == 0 && len(h.Access.SignInProviders()) == 0 {
		h.show(v, http.StatusOK, "nousers", page{Title: "No users yet"})
		return nil
	}
	h.showSignIn(v, http.StatusOK, "", v.r.URL.Query().Get("return"), "")
	return nil
}

func (h *Handler) showSignIn(v *visit, status int, alert, back, name string) {
	back = returnTo(back)
	body := signInBody{Return: back, Name: name, Passwords: h.Access.Settings().LocalPasswords}
	if h.IdP != nil {
		for _, p := range h.Access.SignInProviders() {
			body.Providers = append(body.Providers, providerLink{p.Name,
				withQuery(oidcPrefix+url.PathEscape(p.Name), url.Values{"return": {back}})})
		}
	}
	h.show(v, status, "signin", page{Title: "Sign in", Alert: alert, Body: body})
}

func (h *Handler) signIn(v *visit) error {
	if err := parseForm(v); err != nil {
		return err
	}
	form := v.r.PostForm
	name, back := form.Get("name"), form.Get("return")
	user, err := h.Access.CheckPassword(v.r.Context(), name, form.Get("password"), v.from)
	if err == nil {
		err = h.open(v, user, back)
	}
	wait, waits := errors.AsType[*access.WaitError](err)
	switch {
	case err == nil:
		return nil
	case waits:
		seconds := int((wait.After + time.Second - 1) / time.Second)
		v.w.Header().Set("Retry-After", strconv.Itoa(seconds))
		h.showSignIn(v, http.StatusTooManyRequests, "Too many failed attempts. Try again in "+
			strconv.Itoa(seconds)+" s.", back, name)
	case fault.Is(err, fault.AccessDenied), errors.Is(err, access.ErrDisabled):
		h.showSignIn(v, http.StatusForbidden, access.ErrWrong.Message, back, name)
	default:
		return err
	}
	return nil
}

// open begins a console session and sends the browser to the page that it came for.
func (h *Handler) open(v *visit, user *catalog.User, back string) error {
	s, err := h.start(v, access.Start{User: user.Name, Client: "browser", Kind: access.KindConsole})
	if err != nil {
		return err
	}
	h.setCookie(v, sessionCookie, h.Access.Cookie(s), sessionLife)
	http.Redirect(v.w, v.r, returnTo(back), http.StatusSeeOther)
	return nil
}

func (h *Handler) signOut(v *visit) error {
	p, ok := h.person(v)
	if ok {
		if err := h.Access.EndSignIn(v.r.Context(), p.SignIn.ID, "signed out", v.from); err != nil {
			return err
		}
	}
	h.setCookie(v, sessionCookie, "", 0)
	h.setCookie(v, consentCookie, "", 0)
	http.Redirect(v.w, v.r, signInPath, http.StatusSeeOther)
	return nil
}

// errInvite does not tell whether the invitation was used, has ended, or never was.
var errInvite = pageError(http.StatusForbidden,
	"The link is not valid: it has expired or was used. Ask an administrator for a new one.")

func (h *Handler) invitePage(v *visit) error {
	token := v.r.URL.Query().Get("token")
	user, err := h.Access.Invited(token)
	if err != nil {
		return inviteError(err)
	}
	h.showInvite(v, http.StatusOK, "", token, user)
	return nil
}

func (h *Handler) showInvite(v *visit, status int, alert, token string, user *catalog.User) {
	h.show(v, status, "invite", page{Title: "Set your password", Alert: alert, Body: inviteBody{token, user.Name}})
}

// inviteError hides why an invitation is refused, and nothing else.
func inviteError(err error) error {
	switch fault.Of(err).Kind {
	case fault.NotFound, fault.AccessDenied, fault.Conflict, fault.InvalidRequest, fault.ExpiredToken:
		return errInvite
	}
	if errors.Is(err, access.ErrInvalidToken) || errors.Is(err, access.ErrInvalidGrant) ||
		errors.Is(err, access.ErrDisabled) {
		return errInvite
	}
	return err
}

func (h *Handler) acceptInvite(v *visit) error {
	if err := parseForm(v); err != nil {
		return err
	}
	token, password := v.r.PostForm.Get("token"), v.r.PostForm.Get("password")
	user, err := h.Access.Invited(token)
	if err != nil {
		return inviteError(err)
	}
	if password != v.r.PostForm.Get("again") {
		h.showInvite(v, http.StatusBadRequest, "The two passwords differ.", token, user)
		return nil
	}
	accepted, err := h.Access.AcceptInvite(v.r.Context(), token, password, v.from)
	if f := fault.Of(err); f != nil && f.Kind == fault.InvalidRequest { // a weak password
		h.showInvite(v, http.StatusBadRequest, f.Message, token, user)
		return nil
	}
	if err != nil {
		return inviteError(err)
	}
	return h.open(v, accepted, startPath)
}
