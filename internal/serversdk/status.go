package serversdk

import (
	"net/http"

	"github.com/muster-gg/muster/internal/fault"
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

// refuseFault answers a handshake with an error. What the service is to blame
// for is logged as an error, with its cause.
func (d *Door) refuseFault(w http.ResponseWriter, s *socket, err error) {
	f := fault.Of(err)
	status := statusOf(f.Kind)
	if status >= http.StatusInternalServerError {
		s.logger().Error("server process not let in", "error", err)
	} else {
		s.logger().Warn("server process refused", "status", status, "reason", f.Message)
	}
	d.refuse(w, status, errorMessage(f))
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
