package calls

import (
	"errors"
	"net/http"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/muster-gg/muster/gameserver"
)

// An Outcome is what a caller knows of a call.
type Outcome int

// The outcomes.
const (
	Acknowledged Outcome = iota // answered: it happened
	Refused                     // answered: it did not happen
	Unanswered                  // it happened once, or not at all
)

// OutcomeOf reads the error of a call to the API, of a game server's request, or of a handshake (DoorError), and which
// fault it is.
func OutcomeOf(err error) (outcome Outcome, fault string) {
	if err == nil {
		return Acknowledged, ""
	}
	if e, ok := errors.AsType[*gameserver.Error](err); ok {
		if e.Code >= http.StatusBadRequest && e.Code < http.StatusInternalServerError {
			return Refused, http.StatusText(e.Code)
		}
		if errors.Is(err, gameserver.ErrInvalid) {
			return Refused, e.Message
		}
		return Unanswered, ""
	}
	if e, ok := errors.AsType[*DoorError](err); ok {
		if e.Status < http.StatusInternalServerError {
			return Refused, e.Error()
		}
		return Unanswered, ""
	}
	response, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || response.HTTPStatusCode() < http.StatusBadRequest ||
		response.HTTPStatusCode() >= http.StatusInternalServerError {
		return Unanswered, ""
	}
	if fault, ok := errors.AsType[smithy.APIError](err); ok {
		return Refused, fault.ErrorCode()
	}
	return Refused, response.Error()
}

// A DoorError is an answer to a request for a socket.
type DoorError struct{ Status int }

func (e *DoorError) Error() string { return http.StatusText(e.Status) }
