package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// A failure is the error answer to a request. Functions return it as an error; asFailure finds it where the answer is
// written.
type failure struct {
	code Code
	text string // for the client; "" for the text of the code
	err  error  // the cause, for the log and, in development, for the client; may be nil

	// players: the service rejected a player session, which compatible errors report differently.
	players bool
}

func (f *failure) Error() string {
	if f.err != nil {
		return fmt.Sprintf("%s: %v", f.code, f.err)
	}
	return fmt.Sprintf("%s: %s", f.code, f.text)
}

func (f *failure) Unwrap() error { return f.err }

// asFailure returns the failure in err, which must not be nil; any other error is Internal.
func asFailure(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	return &failure{code: Internal, err: err}
}

// fail returns a failure with a text for the client.
func fail(code Code, format string, args ...any) error {
	return &failure{code: code, text: fmt.Sprintf(format, args...)}
}

// invalid returns a failure that names a field or parameter.
func invalid(format string, args ...any) error { return fail(InvalidRequest, format, args...) }

// CodeOf returns the code for an exception of the API. It is for handlers in front of a Gateway.
func CodeOf(kind fault.Kind) Code { return codeOf(kind, SessionNotFound, RequestConflict) }

// codeOf returns the code for an exception of the API. The codes of NotFoundException and ConflictException depend on
// the call, so the caller gives them.
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

// failed turns an error of the service into a failure. ctx is the context of the call: if it is done, that is the
// reason, unless the service returned an exception.
func failed(ctx context.Context, err error, notFound, conflict Code) error {
	if _, ok := errors.AsType[*failure](err); ok {
		return err
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

// errStopping is the cause of contexts that are cancelled because the gateway closes.
var errStopping = errors.New("the gateway is going down")

// ended returns the failure of a request whose context is done.
func ended(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &failure{code: Timeout, err: err}
	case errors.Is(context.Cause(ctx), errStopping):
		return &failure{code: Stopping, err: err}
	default:
		return &failure{code: ClientGone, err: err}
	}
}
