package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// throttlings are the error codes with which AWS services throttle. Source: AWS SDK for Go,
// retry.DefaultThrottleErrorCodes.
var throttlings = []string{
	"Throttling", "ThrottlingException", "ThrottledException", "RequestThrottledException", "TooManyRequestsException",
	"RequestThrottled", "RequestLimitExceeded", "BandwidthLimitExceeded", "SlowDown", "PriorRequestNotComplete",
}

// An apiError is an exception of the service, as the SDK returns it. Source: smithy-go, APIError.
type apiError interface {
	error
	ErrorCode() string
	ErrorMessage() string
}

// convertError converts the error of a call: to a *fault.Error with the exception of the service, or to ctx's error or
// a transport error with the name of the operation.
func convertError(ctx context.Context, operation string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", operation, context.Cause(ctx))
	}
	answer, ok := errors.AsType[apiError](err)
	if !ok {
		return fmt.Errorf("%s: %w", operation, err)
	}
	kind := fault.Kind(answer.ErrorCode())
	if slices.Contains(throttlings, answer.ErrorCode()) {
		kind = fault.Throttling
	}
	return &fault.Error{Kind: kind, Message: answer.ErrorMessage(), Err: err}
}

// transient reports whether a retry may succeed: after internal errors of the service, and after all transport errors.
func transient(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return !errors.Is(err, context.Canceled)
	}
	return f.Kind == fault.InternalService || f.Kind == fault.ServiceUnavailable
}
