package serversdk

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/loglimit"
)

// statusOf is the status of a reply or a refused handshake. The SDKs tell these
// codes apart: 400, 401, 403, 404, 409 and 429; the rest is an internal error.
// Source: server SDK 5, the conversion of status codes to GameLift errors.
func statusOf(kind fault.Kind) int {
	switch kind {
	case fault.InvalidRequest, fault.Serialization:
		return http.StatusBadRequest
	case fault.Unauthorized:
		return http.StatusUnauthorized
	case fault.AccessDenied, fault.ExpiredToken, fault.IncompleteSignature, fault.InvalidSignature,
		fault.MissingAuthenticationToken, fault.UnrecognizedClient:
		return http.StatusForbidden
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Conflict, fault.InvalidGameSessionStatus:
		return http.StatusConflict
	case fault.Throttling:
		return http.StatusTooManyRequests
	default:
		return http.StatusInternalServerError
	}
}

// connectAction stands for action and request in the body of a refused handshake.
const connectAction = "$connect"

// refuseFault answers a handshake with an error. The log has a line a second at most,
// because the client is not authenticated; a failure of the service is logged as an
// error, with its cause.
func (d *Door) refuseFault(w http.ResponseWriter, s *socket, err error) {
	f := fault.Of(err)
	status := statusOf(f.Kind)
	if status >= http.StatusInternalServerError {
		d.logRefusal(slog.LevelError, "server process not accepted", s.process, slog.Any("error", err))
	} else {
		d.logRefusal(slog.LevelWarn, "server process refused", s.process, slog.Int("status", status), slog.String("reason", loglimit.Clip(f.Message)))
	}
	d.refuse(w, status, errorMessage(f))
}

// logRefusal logs a refused handshake. Its ids are the client's, and of any length.
func (d *Door) logRefusal(level slog.Level, message string, p processKey, details ...slog.Attr) {
	suppressed, ok := d.refusals.Allow(message)
	if !ok {
		return
	}
	d.log.LogAttrs(context.Background(), level, message, append([]slog.Attr{
		slog.String("fleet", loglimit.Clip(p.fleet)), slog.String("compute", loglimit.Clip(p.compute)),
		slog.String("process", loglimit.Clip(p.id)), slog.Int("suppressed", suppressed),
	}, details...)...)
}

// refuse answers a handshake with the body that the service sends in this case.
// Source: AWS re:Post, the answer to a throttled InitSDK.
func (d *Door) refuse(w http.ResponseWriter, status int, message string) {
	d.metrics.Refused(status)
	body := reply{action: connectAction, id: connectAction, status: status, message: message}.appendTo(nil, nil)
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a peer that has left needs no answer
}

// errorMessage is how an SDK is told about a failure: the exception and its text.
func errorMessage(f *fault.Error) string { return string(f.Kind) + ": " + f.Message }
