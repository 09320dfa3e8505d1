//go:build unix

package crash

import (
	"errors"
	"net/http"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/muster-gg/muster/gameserver"
)

// An outcome is what a caller knows of a call.
type outcome int

const (
	acknowledged outcome = iota // answered: it happened
	refused                     // answered: it did not happen
	unanswered                  // it happened once, or not at all
)

// outcomeOf reads the error of a call, and which fault it is.
func outcomeOf(err error) (outcome, string) {
	if err == nil {
		return acknowledged, ""
	}
	if e, ok := errors.AsType[*gameserver.Error](err); ok {
		if e.Code >= http.StatusBadRequest && e.Code < http.StatusInternalServerError {
			return refused, http.StatusText(e.Code)
		}
		if errors.Is(err, gameserver.ErrInvalid) {
			return refused, e.Message
		}
		return unanswered, ""
	}
	if e, ok := errors.AsType[*doorError](err); ok {
		if e.status < http.StatusInternalServerError {
			return refused, e.Error()
		}
		return unanswered, ""
	}
	response, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || response.HTTPStatusCode() < http.StatusBadRequest || response.HTTPStatusCode() >= http.StatusInternalServerError {
		return unanswered, ""
	}
	if fault, ok := errors.AsType[smithy.APIError](err); ok {
		return refused, fault.ErrorCode()
	}
	return refused, response.Error()
}
