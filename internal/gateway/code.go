package gateway

import "net/http"

// A Code names a kind of failure. Codes are stable, because clients and dashboards compare them: add codes, never
// rename one.
type Code string

// The codes of error answers.
const (
	InvalidRequest        Code = "invalid_request"
	Unauthenticated       Code = "unauthenticated"
	Forbidden             Code = "forbidden"
	WrongPlayer           Code = "wrong_player"
	NotFound              Code = "not_found"
	SessionNotFound       Code = "session_not_found"
	TicketNotFound        Code = "ticket_not_found"
	PlacementNotFound     Code = "placement_not_found"
	ConfigurationNotFound Code = "configuration_not_found"
	MethodNotAllowed      Code = "method_not_allowed"
	SessionFull           Code = "session_full"
	SessionNotJoinable    Code = "session_not_joinable"
	BuildMismatch         Code = "build_mismatch"
	RequestConflict       Code = "request_conflict"
	TicketConflict        Code = "ticket_conflict"
	BodyTooLarge          Code = "body_too_large"
	RateLimited           Code = "rate_limited"
	LimitExceeded         Code = "limit_exceeded"
	Internal              Code = "internal"
	NotSupported          Code = "not_supported"
	NoCapacity            Code = "no_capacity"
	NoFleet               Code = "no_fleet"
	ActivationFailed      Code = "activation_failed"
	Unavailable           Code = "unavailable"
	Stopping              Code = "stopping"
	TooManyStreams        Code = "too_many_streams"
	ActivationTimeout     Code = "activation_timeout"
	Timeout               Code = "timeout"
)

// Codes of answers without an error object; they are in Observations alone.
const (
	// UnknownRoute is an unknown path or method outside of /v1/, answered in the form of the older interface.
	UnknownRoute Code = "unknown_route"
	// ClientGone is a request whose client disconnected before the answer.
	ClientGone Code = "client_gone"
)

// statusClientGone is the status that nginx logs for a client that disconnected.
const statusClientGone = 499

// meanings is the table of codes: the HTTP status and the default text of each. A test compares it with the table in
// openapi.yaml.
var meanings = map[Code]struct {
	status int
	text   string
}{
	InvalidRequest:        {http.StatusBadRequest, "The service refuses the request as invalid."},
	Unauthenticated:       {http.StatusUnauthorized, "Say who you are: the request carries no valid credentials."},
	Forbidden:             {http.StatusForbidden, "You may not do this."},
	WrongPlayer:           {http.StatusForbidden, "The request speaks for another player than the authenticated one."},
	NotFound:              {http.StatusNotFound, "There is no such path."},
	SessionNotFound:       {http.StatusNotFound, "There is no such game session."},
	TicketNotFound:        {http.StatusNotFound, "There is no such ticket."},
	PlacementNotFound:     {http.StatusNotFound, "There is no such placement."},
	ConfigurationNotFound: {http.StatusNotFound, "There is no such matchmaking configuration."},
	MethodNotAllowed:      {http.StatusMethodNotAllowed, "The path has no such method."},
	SessionFull:           {http.StatusConflict, "The game session is full."},
	SessionNotJoinable:    {http.StatusConflict, "The game session takes no players."},
	BuildMismatch:         {http.StatusConflict, "The build of the client does not fit."},
	RequestConflict:       {http.StatusConflict, "Another request with the same name or key has other contents."},
	TicketConflict:        {http.StatusConflict, "The ticket is not in a state for this, or its id is taken."},
	BodyTooLarge:          {http.StatusRequestEntityTooLarge, "The body of the request is too large."},
	RateLimited:           {http.StatusTooManyRequests, "Too many requests. Try again later."},
	LimitExceeded:         {http.StatusTooManyRequests, "A limit of the service is reached. Try again later."},
	Internal:              {http.StatusInternalServerError, "The request could not be completed."},
	NotSupported:          {http.StatusNotImplemented, "The service behind this gateway cannot do this."},
	NoCapacity:            {http.StatusServiceUnavailable, "No game server is free. Try again later."},
	NoFleet:               {http.StatusServiceUnavailable, "There is no fleet to use."},
	ActivationFailed: {http.StatusServiceUnavailable,
		"The game session ended before it could be played. Try again."},
	Unavailable:       {http.StatusServiceUnavailable, "The service is not available. Try again later."},
	Stopping:          {http.StatusServiceUnavailable, "The gateway is going down. Try again."},
	TooManyStreams:    {http.StatusServiceUnavailable, "No more event streams can be had. Try again later."},
	ActivationTimeout: {http.StatusGatewayTimeout, "The game session was not ready in time."},
	Timeout:           {http.StatusGatewayTimeout, "The service did not answer in time."},

	UnknownRoute: {http.StatusForbidden, "There is no such path or method."},
	ClientGone:   {statusClientGone, "The client has gone."},
}

// Status returns the HTTP status of answers with the code; 500 for an unknown code.
func (c Code) Status() int {
	if m, ok := meanings[c]; ok {
		return m.status
	}
	return http.StatusInternalServerError
}
