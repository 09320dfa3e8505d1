package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/muster-gg/muster/session"
)

// kinds maps the codes of Muster's gateway to session errors. For answers without one of these codes the HTTP status
// decides.
var kinds = map[string]error{
	"invalid_request":         session.ErrInvalid,
	"body_too_large":          session.ErrInvalid,
	"unauthenticated":         session.ErrDenied,
	"forbidden":               session.ErrDenied,
	"wrong_player":            session.ErrDenied,
	"session_not_found":       session.ErrNotFound,
	"ticket_not_found":        session.ErrNotFound,
	"placement_not_found":     session.ErrNotFound,
	"configuration_not_found": session.ErrNotFound,
	"session_full":            session.ErrFull,
	"session_not_joinable":    session.ErrState,
	"build_mismatch":          session.ErrState,
	"request_conflict":        session.ErrState,
	"ticket_conflict":         session.ErrState,
	"not_found":               session.ErrUnsupported, // the path, not the object
	"method_not_allowed":      session.ErrUnsupported,
	"not_supported":           session.ErrUnsupported,
	"activation_timeout":      session.ErrTimeout,
	"timeout":                 session.ErrTimeout,
	"rate_limited":            session.ErrUnavailable,
	"limit_exceeded":          session.ErrUnavailable,
	"internal":                session.ErrUnavailable,
	"no_capacity":             session.ErrUnavailable,
	"no_fleet":                session.ErrUnavailable,
	"activation_failed":       session.ErrUnavailable,
	"unavailable":             session.ErrUnavailable,
	"stopping":                session.ErrUnavailable,
	"too_many_streams":        session.ErrUnavailable,
}

// kindOf returns the kind of an error by its HTTP status.
func kindOf(status int) error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return session.ErrDenied
	case http.StatusNotFound:
		return session.ErrNotFound
	case http.StatusConflict:
		return session.ErrState
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return session.ErrUnsupported
	case http.StatusTooManyRequests:
		return session.ErrUnavailable
	case http.StatusGatewayTimeout, http.StatusRequestTimeout:
		return session.ErrTimeout
	}
	switch {
	case status >= 500:
		return session.ErrUnavailable
	case status >= 400:
		return session.ErrInvalid
	}
	return session.ErrTransport // a redirect, or an error with a success status
}

// A problem is the error object of an answer, in Muster's form. Other gateways may set only some of its fields.
type problem struct {
	Error     text `json:"error"`
	Code      text `json:"code"`
	RequestID text `json:"requestId"`
	Message   text `json:"message"` // of API Gateway's own errors
}

// text is a string that accepts any JSON value; it keeps the JSON text of a value that is not a string.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) != nil {
		s = string(data)
	}
	*t = text(s)
	return nil
}

// errorObject reports whether an answer is an error object, whatever its status.
func errorObject(data []byte) (p problem, failed bool) {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) || json.Unmarshal(data, &p) != nil {
		return p, false
	}
	return p, p.Error != ""
}

// missingRoute is API Gateway's text for a path or method that it does not have.
const missingRoute = "Missing Authentication Token"

// refusal returns the error of an unsuccessful answer: an error object, the bare string of the original gateway, or an
// answer of a proxy.
func refusal(r request, status int, data []byte) error {
	p, failed := errorObject(data)
	missing := status == http.StatusNotFound || status == http.StatusMethodNotAllowed
	if missing && p.Code == "" && strings.HasPrefix(r.uri, "/v1/") { // Muster's gateway has a code for what is missing
		return unknownCall(r)
	}
	if failed {
		return refused(r.op, status, p)
	}
	var bare string
	if json.Unmarshal(data, &bare) == nil && bare != "" {
		p.Message = text(bare)
	}
	if p.Message == missingRoute {
		if strings.HasPrefix(r.uri, "/v1/") {
			return unknownCall(r)
		}
		p.Message += text(fmt.Sprintf(": the gateway knows no %s: check Config.URL and the URIs", r.uri))
	}
	return refused(r.op, status, p)
}

// unknownCall returns the error of a call that only Muster's gateway has.
func unknownCall(r request) error {
	path, _, _ := strings.Cut(r.uri, "?")
	return session.Errorf(r.op, session.ErrUnsupported,
		"this gateway has the original calls alone: it knows no %s", path)
}

// refused converts a problem to an error.
func refused(op string, status int, p problem) error {
	kind, known := kinds[string(p.Code)]
	if !known {
		kind = kindOf(status)
	}
	message := string(p.Error)
	if message == "" {
		message = string(p.Message)
	}
	if message == "" {
		message = fmt.Sprintf("the gateway answered %d %s", status, http.StatusText(status))
	}
	if p.RequestID != "" {
		message += fmt.Sprintf(" (request %s)", p.RequestID)
	}
	return &session.Error{Op: op, Kind: kind, Message: message, Code: string(p.Code)}
}
