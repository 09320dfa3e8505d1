package serversdk

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/muster-gg/muster/internal/telemetry/loglimit"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// StatusOf returns the status of a reply or a refused handshake. The SDKs know 400, 401, 403, 404, 409 and 429; other
// statuses are internal errors.
// Source: server SDK 5, the conversion of status codes to GameLift errors.
func StatusOf(kind fault.Kind) int {
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

// connectAction is the action and request id in the body of a refused handshake.
const connectAction = "$connect"

// refuseFault answers a handshake with an error. Lines that unauthenticated clients can cause are limited to one per
// second.
func (e *Endpoint) refuseFault(w http.ResponseWriter, s *socket, err error) {
	f := fault.Of(err)
	status := StatusOf(f.Kind)
	if status >= http.StatusInternalServerError {
		e.logRefusal(slog.LevelError, "server process not accepted", s.process, slog.Any("error", err))
	} else {
		e.logRefusal(slog.LevelWarn, "server process refused", s.process,
			slog.Int("status", status), slog.String("reason", loglimit.Clip(f.Message)))
	}
	e.refuse(w, status, ErrorMessage(f))
}

// logRefusal logs a refused handshake. The ids are the client's, of any length.
func (e *Endpoint) logRefusal(level slog.Level, message string, p processKey, details ...slog.Attr) {
	suppressed, ok := e.refusals.Allow(message)
	if !ok {
		return
	}
	e.log.LogAttrs(context.Background(), level, message, append([]slog.Attr{
		slog.String("fleet", loglimit.Clip(p.fleet)), slog.String("compute", loglimit.Clip(p.compute)),
		slog.String("process", loglimit.Clip(p.id)), slog.Int("suppressed", suppressed),
	}, details...)...)
}

func (e *Endpoint) refuse(w http.ResponseWriter, status int, message string) {
	e.metrics.Refused(status)
	Refuse(w, status, message)
}

// Refuse answers a handshake with the body that GameLift sends. Source: AWS re:Post, the answer to a throttled InitSDK.
func Refuse(w http.ResponseWriter, status int, message string) {
	body := reply{action: connectAction, id: connectAction, status: status, message: message}.appendTo(nil, nil)
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the peer may have closed the connection
}

// ErrorMessage returns the exception and its text, as SDKs expect it.
func ErrorMessage(f *fault.Error) string { return string(f.Kind) + ": " + f.Message }
