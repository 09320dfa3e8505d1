package signin

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/journal"
)

// The limits of wrong user codes, in an hour.
const (
	wrongLife       = time.Hour
	wrongPerSession = 5
	wrongPerAddress = 20
)

// devicePage asks for a user code, or whether to allow the request that has it.
func (h *Handler) devicePage(v *visit) error {
	p, ok := h.person(v)
	if !ok {
		return h.toSignIn(v)
	}
	if !v.r.URL.Query().Has("user_code") {
		h.askCode(v, http.StatusOK, p, "", "")
		return nil
	}
	g, err := h.find(v, p, v.r.URL.Query().Get("user_code"))
	if g == nil || err != nil {
		return err
	}
	h.show(v, http.StatusOK, "consent", page{
		Title:  "Allow " + g.Client + "?",
		Person: p.User.Name,
		Body: consentBody{
			Action:  devicePath + "?" + url.Values{"user_code": {spell(g.code)}}.Encode(),
			Client:  g.Client,
			User:    p.User.Name,
			Account: h.accountLabel(),
			From:    g.From,
			Asked:   g.Asked,
			Code:    spell(g.code),
			Remote:  true,
		},
	})
	return nil
}

func (h *Handler) askCode(v *visit, status int, p *access.Person, typed, alert string) {
	h.show(v, status, "device", page{Title: "Enter the code", Alert: alert, Person: p.User.Name, Body: codeBody{typed}})
}

// find returns the request with a user code, if it waits. Otherwise it has answered. Wrong codes are counted, so that
// nobody finds one by trying.
func (h *Handler) find(v *visit, p *access.Person, typed string) (*deviceGrant, error) {
	code, ok := userCode(typed)
	if !ok {
		h.askCode(v, http.StatusBadRequest, p, typed, "A code has 8 letters, for example BCDF-GHJK.")
		return nil, nil
	}
	session, address := "session "+p.SignIn.ID, "address "+network(v.from.Address)
	if wait, ok := h.wrong.add(session, wrongPerSession); !ok {
		return nil, &refusal{why: tooMany, after: wait}
	}
	if wait, ok := h.wrong.add(address, wrongPerAddress); !ok {
		h.wrong.remove(session)
		return nil, &refusal{why: tooMany, after: wait}
	}
	g, err := h.device(v.r.Context(), code)
	if err != nil && !errors.Is(err, journal.ErrNoValue) {
		return nil, err
	}
	if err != nil || expired(g.Asked, h.Clock.Now()) {
		h.askCode(v, http.StatusNotFound, p, typed,
			"The code is wrong, or it has expired: codes are valid for 10 minutes. Check it, or start again.")
		return nil, nil
	}
	h.wrong.remove(session)
	h.wrong.remove(address)
	if g.State != pending {
		h.askCode(v, http.StatusConflict, p, "", "The code was already used. Start the sign-in again for a new one.")
		return nil, nil
	}
	return g, nil
}

// deviceConsent does what the person decided. It is a request of its own, so that no link allows anything.
func (h *Handler) deviceConsent(v *visit) error {
	p, allowed, err := h.decision(v)
	if err != nil {
		return err
	}
	g, err := h.find(v, p, v.r.URL.Query().Get("user_code"))
	if g == nil || err != nil {
		return err
	}
	state, done := denied, page{
		Title: "Request refused",
		Body:  doneBody{"Nothing was allowed. You may close this tab."},
	}
	if allowed {
		state, done = approved, page{Title: "Request allowed",
			Body: doneBody{g.Client + " is signed in. You may close this tab and return to it."}}
	}
	err = h.decideDevice(v.r.Context(), g, state, p.User)
	if errors.Is(err, journal.ErrChanged) || errors.Is(err, journal.ErrNoValue) {
		h.askCode(v, http.StatusConflict, p, "", "The code was already used. Start the sign-in again for a new one.")
		return nil
	}
	if err != nil {
		return err
	}
	h.Access.Consented("DeviceConsent", p, g.Client, allowed, v.from)
	done.Person = p.User.Name
	h.show(v, http.StatusOK, "done", done)
	return nil
}
