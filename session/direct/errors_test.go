package direct_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/direct"
)

// TestExceptions checks what becomes of each exception.
func TestExceptions(t *testing.T) {
	t.Parallel()
	for code, want := range map[fault.Kind]error{
		fault.GameSessionFull:             session.ErrFull,
		fault.NotFound:                    session.ErrNotFound,
		fault.Unauthorized:                session.ErrDenied,
		"AccessDeniedException":           session.ErrDenied,
		"ExpiredTokenException":           session.ErrDenied,
		fault.FleetCapacityExceeded:       session.ErrUnavailable,
		fault.Throttling:                  session.ErrUnavailable,
		fault.LimitExceeded:               session.ErrUnavailable,
		fault.InternalService:             session.ErrUnavailable,
		"NeverHeardOfException":           session.ErrInvalid,
		fault.InvalidRequest:              session.ErrInvalid,
		fault.IdempotentParameterMismatch: session.ErrInvalid,
		fault.Conflict:                    session.ErrState,
		fault.InvalidGameSessionStatus:    session.ErrState,
		fault.TerminalRoutingStrategy:     session.ErrState,
		fault.UnsupportedRegion:           session.ErrUnsupported,
		fault.UnknownOperation:            session.ErrUnsupported,
	} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			s := newScript(t, wire.OpCreatePlayerSession.Refuse(code, "for the test"))
			_, err := s.provider(direct.Target{}).Reserve(t.Context(),
				session.JoinSessionRequest{SessionID: gsess, PlayerID: "ada"})
			wantError(t, err, want, string(code))
		})
	}
}

// TestNoAPI has answers that are none of the API's.
func TestNoAPI(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"a proxy's refusal": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<html>", http.StatusForbidden)
		}, session.ErrDenied},
		"a proxy's failure": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<html>", http.StatusBadGateway)
		}, session.ErrUnavailable},
		"no answer": {func(http.ResponseWriter, *http.Request) { lost() }, session.ErrTransport},
		"nonsense": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) },
			session.ErrTransport},
		"empty": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("smithy-protocol", "rpc-v2-cbor")
			_, _ = w.Write([]byte{0xa0})
		}, session.ErrTransport},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(test.answer)
			t.Cleanup(server.Close)
			p := newProvider(t, direct.Config{Endpoint: server.URL, Region: region,
				Target: direct.Target{FleetID: fleet}})
			place, err := p.Reserve(t.Context(), session.JoinSessionRequest{SessionID: gsess, PlayerID: "ada"})
			if _, ours := errors.AsType[*session.Error](err); !ours || !errors.Is(err, test.want) {
				t.Errorf("%+v, %v, want %v", place, err, test.want)
			}
		})
	}
}

// TestEndOfContext has a service that does not answer.
func TestEndOfContext(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(hold); server.Close() })
	p := newProvider(t, direct.Config{Endpoint: server.URL, Region: region})
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(20*time.Millisecond))
	defer cancel()
	_, err := p.Placement(ctx, "placement-1")
	wantError(t, err, session.ErrTimeout, "")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Placement(canceled, "placement-1")
	wantError(t, err, session.ErrCanceled, "")
}
