package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/muster-gg/muster/internal/fault"
)

// A failure is why a request has no success.
type failure struct {
	code Code
	text string // for the client; "" for the text that goes with the code
	err  error  // the cause, for the log and, in development, for the client; may be nil

	// players: the service refused to reserve a place. The older interface had an
	// answer of its own for that.
	players bool
}

func (f *failure) Error() string {
	if f.err != nil {
		return fmt.Sprintf("%s: %v", f.code, f.err)
	}
	return fmt.Sprintf("%s: %s", f.code, f.text)
}

func (f *failure) Unwrap() error { return f.err }

// fail makes a failure whose text the client sees.
func fail(code Code, format string, args ...any) *failure {
	return &failure{code: code, text: fmt.Sprintf(format, args...)}
}

// invalid makes a failure that names a field or parameter.
func invalid(format string, args ...any) *failure { return fail(InvalidRequest, format, args...) }

// codeOf says which failure an exception of the API is. What is not found, or in
// the way, depends on what was asked for, so NotFoundException and
// ConflictException are the caller's to name.
func codeOf(kind fault.Kind, notFound, conflict Code) Code {
	switch kind {
	case fault.NotFound:
		return notFound
	case fault.Conflict, fault.IdempotentParameterMismatch:
		return conflict
	case fault.GameSessionFull:
		return SessionFull
	case fault.InvalidGameSessionStatus:
		return SessionNotJoinable
	case fault.FleetCapacityExceeded, fault.OutOfCapacity, fault.TerminalRoutingStrategy, fault.InvalidFleetStatus:
		return NoCapacity
	case fault.InvalidRequest, fault.Serialization:
		return InvalidRequest
	case fault.LimitExceeded:
		return LimitExceeded
	case fault.Throttling:
		return RateLimited
	case fault.ServiceUnavailable, fault.NotReady:
		return Unavailable
	case fault.UnknownOperation, fault.UnsupportedRegion:
		return NotSupported
	default:
		return Internal
	}
}

// failed turns an error of the service into a failure. ctx is the one that the
// service was called with: if it is over, that is the reason.
func failed(ctx context.Context, err error, notFound, conflict Code) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return &failure{code: codeOf(f.Kind, notFound, conflict), err: f}
	}
	if ctx.Err() != nil {
		return ended(ctx, err)
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return &failure{code: Unavailable, err: err}
	}
	return &failure{code: Internal, err: err}
}

// errStopping is the cause of contexts that end with the gateway.
var errStopping = errors.New("the gateway is going down")

// ended is the failure of a request whose context is over.
func ended(ctx context.Context, err error) *failure {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &failure{code: Timeout, err: err}
	case errors.Is(context.Cause(ctx), errStopping):
		return &failure{code: Stopping, err: err}
	default:
		return &failure{code: ClientGone, err: err}
	}
}
