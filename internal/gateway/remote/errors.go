package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/smithy-go"

	"github.com/muster-gg/muster/internal/fault"
)

// throttlings are the names under which AWS services ask to slow down.
// Source: AWS SDK for Go, retry.DefaultThrottleErrorCodes.
var throttlings = []string{
	"Throttling", "ThrottlingException", "ThrottledException", "RequestThrottledException", "TooManyRequestsException",
	"RequestThrottled", "RequestLimitExceeded", "BandwidthLimitExceeded", "SlowDown", "PriorRequestNotComplete",
}

// convertError makes the error of a call: a *fault.Error with the exception that
// the service answered, or ctx's error, or what happened on the way. All of them
// keep err as their cause.
func convertError(ctx context.Context, operation string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", operation, context.Cause(ctx))
	}
	answer, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return fmt.Errorf("%s: %w", operation, err)
	}
	kind := fault.Kind(answer.ErrorCode())
	if slices.Contains(throttlings, answer.ErrorCode()) {
		kind = fault.Throttling
	}
	return &fault.Error{Kind: kind, Message: answer.ErrorMessage(), Err: err}
}

// passes reports whether the failure of a call may go away by itself: the
// service's own failures, and everything that happened on the way to it.
func passes(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return !errors.Is(err, context.Canceled)
	}
	return f.Kind == fault.InternalService || f.Kind == fault.ServiceUnavailable
}
