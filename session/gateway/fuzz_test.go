package gateway_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/gateway"
)

// A canned transport gives one answer to everything.
type canned struct {
	status int
	kind   string
	body   []byte
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: c.status, Header: http.Header{"Content-Type": {c.kind}},
		Body: io.NopCloser(bytes.NewReader(c.body)), Request: r,
	}, nil
}

// FuzzAnswers reads arbitrary answers: what is no error can be used, and every
// error is of the session package.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		playerSession, `[` + sessionObject + `]`, `[{"GameSessionId":"a","MaximumPlayerSessionCount":"2"}]`,
		object("session_full"), `"text"`, `null`, ``,
		`{"players":[` + playerObject + `]}`, `{"player":` + playerObject + `}`,
		`{"sessions":[` + sessionObject + `,null]}`,
		`{"id":"t","status":"COMPLETED","match":` + matchObject + `}`, ticketEvent("ticket", `"status":"SEARCHING"`),
		ticketEvent("end", `"status":"FAILED"`),
	} {
		f.Add(uint16(0), []byte(seed))
		f.Add(uint16(302), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, above200 uint16, body []byte) {
		for _, kind := range []string{"application/json", "text/event-stream"} {
			p := gateway.New(gateway.Config{URL: "http://gateway.example.com",
				HTTPClient: &http.Client{Transport: canned{200 + int(above200)%400, kind, body}}})
			if err := p.Configure(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			for name, err := range callAll(t.Context(), p.(provider)) {
				if _, ours := errors.AsType[*session.Error](err); err != nil && !ours {
					t.Errorf("%s: %v is no error of the session package", name, err)
				}
			}
			if place, err := p.Host(t.Context(), hostRequest); err == nil &&
				(place.PlayerSessionID == "" || place.IPAddress == "" || place.Port < 1) {
				t.Errorf("%q gave the place %+v", body, place)
			}
		}
	})
}
