package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/gateway"
)

func object(code string) string {
	return `{"error": "for the test", "code": "` + code + `", "requestId": "r-1"}`
}

// TestRefusals are the failures of Muster's gateway, of the original one and of
// what may stand before them.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status     int
		body, code string
		want       error
	}{
		{400, object("invalid_request"), "invalid_request", session.ErrInvalid},
		{401, object("unauthenticated"), "unauthenticated", session.ErrDenied},
		{403, object("wrong_player"), "wrong_player", session.ErrDenied},
		{404, object("session_not_found"), "session_not_found", session.ErrNotFound},
		{404, object("not_found"), "not_found", session.ErrUnsupported},
		{405, object("method_not_allowed"), "method_not_allowed", session.ErrUnsupported},
		{409, object("session_full"), "session_full", session.ErrFull},
		{409, object("session_not_joinable"), "session_not_joinable", session.ErrState},
		{409, object("build_mismatch"), "build_mismatch", session.ErrState},
		{413, object("body_too_large"), "body_too_large", session.ErrInvalid},
		{429, object("rate_limited"), "rate_limited", session.ErrUnavailable},
		{500, object("internal"), "internal", session.ErrUnavailable},
		{501, object("not_supported"), "not_supported", session.ErrUnsupported},
		{503, object("no_capacity"), "no_capacity", session.ErrUnavailable},
		{504, object("activation_timeout"), "activation_timeout", session.ErrTimeout},
		{400, object("of_a_later_version"), "of_a_later_version", session.ErrInvalid},
		{404, object("of_a_later_version"), "of_a_later_version", session.ErrNotFound},
		{409, object("of_a_later_version"), "of_a_later_version", session.ErrState},
		{504, object("of_a_later_version"), "of_a_later_version", session.ErrTimeout},
		// the original gateway
		{500, `"The game session is full"`, "", session.ErrUnavailable},
		{502, `{"message": "Internal server error"}`, "", session.ErrUnavailable},
		{403, `{"message":"Missing Authentication Token"}`, "", session.ErrDenied},
		{403, `{"message":"Forbidden"}`, "", session.ErrDenied},
		// anything else
		{302, ``, "", session.ErrTransport},
		{401, `<html>`, "", session.ErrDenied},
		{418, `null`, "", session.ErrInvalid},
		{429, ``, "", session.ErrUnavailable},
		{500, `[]`, "", session.ErrUnavailable},
		{502, `{"message": 7}`, "", session.ErrUnavailable},
		{502, `{"error": ["a"], "code": 7, "requestId": null}`, "7", session.ErrUnavailable},
		{503, `<html>`, "", session.ErrUnavailable},
		{504, ``, "", session.ErrTimeout},
	} {
		t.Run(http.StatusText(test.status)+" "+test.body, func(t *testing.T) {
			t.Parallel()
			p := answer(t, test.status, test.body).provider(t)
			_, err := p.Find(t.Context(), session.FindRequest{})
			wantError(t, err, test.want, test.code)
			_, err = p.Host(t.Context(), hostRequest)
			wantError(t, err, test.want, test.code)
			if strings.Contains(test.body, "r-1") && !strings.Contains(err.Error(), "for the test (request r-1)") {
				t.Errorf("%v does not name the request", err)
			}
		})
	}
}

// TestOriginalGatewayHasNoMore makes a call that the original gateway does not
// know.
func TestOriginalGatewayHasNoMore(t *testing.T) {
	t.Parallel()
	for body, status := range map[string]int{
		`{"message":"Missing Authentication Token"}`: 403, "404 page not found": 404, `{"error": "no such page"}`: 404,
		"<html>": 405,
	} {
		p := answer(t, status, body).provider(t)
		_, err := p.Ticket(t.Context(), "t")
		wantError(t, err, session.ErrUnsupported, "")
		wantError(t, p.WatchTicket(t.Context(), "t", nil), session.ErrUnsupported, "")
		r := hostRequest
		r.Properties = map[string]string{"mode": "ctf"}
		_, err = p.Host(t.Context(), r)
		wantError(t, err, session.ErrUnsupported, "")
	}
}

func TestConfigure(t *testing.T) {
	t.Parallel()
	for url, valid := range map[string]bool{
		"http://127.0.0.1:3000": true, "https://api.example.com/Prod/": true,
		"": false, "127.0.0.1:3000": false, "ftp://example.com": false, "http://": false, "http://a/?b": false,
		"http://a/#b": false, "http://[": false,
	} {
		p := gateway.New(gateway.Config{URL: url})
		err := p.Configure(t.Context(), "us-east-1")
		if valid && err != nil {
			t.Errorf("%q: %v", url, err)
		} else if !valid {
			wantError(t, err, session.ErrInvalid, "")
		}
	}
}

func TestNotConfigured(t *testing.T) {
	t.Parallel()
	for name, err := range callAll(t.Context(), gateway.New(gateway.Config{URL: "http://127.0.0.1:3000"}).(provider)) {
		if !errors.Is(err, session.ErrNotConfigured) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// callAll makes every call of a provider once and returns their errors.
func callAll(ctx context.Context, p provider) map[string]error {
	failed := map[string]error{}
	_, failed["CreateSession"] = p.CreateSession(ctx, session.CreateSessionRequest{FleetID: "fleet-1", MaxPlayer: 2})
	_, failed["CreateSessionOnQueue"] = p.CreateSessionOnQueue(ctx,
		session.CreateSessionOnQueueRequest{QueueName: "q", PlacementID: "p", MaxPlayer: 2})
	_, failed["Placement"] = p.Placement(ctx, "p")
	_, failed["SearchSessions"] = p.SearchSessions(ctx, session.SearchSessionsRequest{FleetID: "fleet-1"})
	_, failed["Reserve"] = p.Reserve(ctx, session.JoinSessionRequest{SessionID: gsess, PlayerID: "ada"})
	_, failed["Reserve with data"] = p.Reserve(ctx,
		session.JoinSessionRequest{SessionID: gsess, PlayerID: "ada", PlayerData: "blue"})
	_, failed["Host"] = p.Host(ctx, hostRequest)
	_, failed["Host with properties"] = p.Host(ctx,
		session.HostRequest{SessionName: "x", OwnerID: "ada", Connections: 2, Properties: map[string]string{"a": "b"}})
	_, failed["Find"] = p.Find(ctx, session.FindRequest{})
	_, failed["StartMatchmaking"] = p.StartMatchmaking(ctx,
		session.StartMatchmakingRequest{ConfigurationName: "m", Players: []session.Player{{PlayerID: "ada"}}})
	failed["StopMatchmaking"] = p.StopMatchmaking(ctx, session.StopMatchmakingRequest{TicketID: "t"})
	failed["AcceptMatch"] = p.AcceptMatch(ctx, session.AcceptMatchRequest{TicketID: "t", PlayerIDs: []string{"ada"}})
	_, failed["Ticket"] = p.Ticket(ctx, "t")
	failed["WatchTicket"] = p.WatchTicket(ctx, "t", func(session.Ticket) {})
	return failed
}

// TestEndOfContext has a gateway that does not answer.
func TestEndOfContext(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(hold) })
	p := s.provider(t)
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(20*time.Millisecond))
	defer cancel()
	for name, err := range callAll(ctx, p) {
		if !errors.Is(err, session.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range callAll(canceled, p) {
		if !errors.Is(err, session.ErrCanceled) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	impatient := s.provider(t, func(c *gateway.Config) { c.HTTPClient.Timeout = time.Millisecond })
	_, err := impatient.Find(t.Context(), session.FindRequest{})
	wantError(t, err, session.ErrTimeout, "")
}

// TestNobodyThere breaks connections: before the answer, and in the middle of it.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	p := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }).provider(t)
	for name, err := range callAll(t.Context(), p) {
		if !errors.Is(err, session.ErrTransport) {
			t.Errorf("%s: %v", name, err)
		}
	}
	cut := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`[{"GameSessionId"`))
	}).provider(t)
	_, err := cut.Find(t.Context(), session.FindRequest{})
	wantError(t, err, session.ErrTransport, "")
}

// TestNoRedirect keeps the keys from another host.
func TestNoRedirect(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	_, err := s.provider(t, func(c *gateway.Config) { c.APIKey = "key" }).Find(t.Context(), session.FindRequest{})
	wantError(t, err, session.ErrTransport, "")
	if sent := s.last(t); sent.line != "GET /find_session" {
		t.Errorf("followed to %s", sent.line)
	}
}
