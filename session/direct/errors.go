package direct

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/muster-gg/muster/session"
)

// kinds maps the exceptions of the API to session errors. Source: API reference, the Errors of each operation, and
// Common Errors.
var kinds = map[string]error{
	"GameSessionFullException": session.ErrFull,

	"NotFoundException": session.ErrNotFound,

	"UnauthorizedException":               session.ErrDenied,
	"AccessDenied":                        session.ErrDenied,
	"AccessDeniedException":               session.ErrDenied,
	"ExpiredToken":                        session.ErrDenied,
	"ExpiredTokenException":               session.ErrDenied,
	"IncompleteSignature":                 session.ErrDenied,
	"InvalidClientTokenId":                session.ErrDenied,
	"InvalidSignatureException":           session.ErrDenied,
	"MissingAuthenticationToken":          session.ErrDenied,
	"MissingAuthenticationTokenException": session.ErrDenied,
	"NotAuthorized":                       session.ErrDenied,
	"OptInRequired":                       session.ErrDenied,
	"SignatureDoesNotMatch":               session.ErrDenied,
	"UnrecognizedClientException":         session.ErrDenied,

	"FleetCapacityExceededException": session.ErrUnavailable,
	"InternalFailure":                session.ErrUnavailable,
	"InternalServiceException":       session.ErrUnavailable,
	"LimitExceededException":         session.ErrUnavailable,
	"NotReadyException":              session.ErrUnavailable,
	"OutOfCapacityException":         session.ErrUnavailable,
	"ServiceUnavailable":             session.ErrUnavailable,
	// Throttling of every name is in throttled.

	"IdempotentParameterMismatchException": session.ErrInvalid,
	"InvalidRequestException":              session.ErrInvalid,
	"TaggingFailedException":               session.ErrInvalid,
	"ValidationError":                      session.ErrInvalid,
	"ValidationException":                  session.ErrInvalid,

	"ConflictException":                 session.ErrState,
	"InvalidFleetStatusException":       session.ErrState,
	"InvalidGameSessionStatusException": session.ErrState,
	"TerminalRoutingStrategyException":  session.ErrState,

	"UnknownOperationException":     session.ErrUnsupported,
	"UnsupportedOperation":          session.ErrUnsupported,
	"UnsupportedOperationException": session.ErrUnsupported,
	"UnsupportedRegionException":    session.ErrUnsupported,
}

// An apiError is an exception of the service, as the SDK returns it. Source: smithy-go, APIError.
type apiError interface {
	error
	ErrorCode() string
	ErrorMessage() string
}

// invalidParams is an input that the SDK does not send. Source: smithy-go, InvalidParamsError.
type invalidParams interface {
	error
	Errs() []error
}

// failure converts an error of the SDK to a session error. If ctx is done, that is the cause of the failure.
func failure(ctx context.Context, op string, err error) error {
	if _, ours := errors.AsType[*session.Error](err); ours || err == nil {
		return err
	}
	if cause := ended(ctx, err); cause != nil {
		return &session.Error{Op: op, Kind: endKind(cause),
			Message: "gave up waiting for the service: " + cause.Error(), Err: cause}
	}
	if e, ok := errors.AsType[*credentialsError](err); ok {
		return &session.Error{Op: op, Kind: session.ErrDenied, Message: "no credentials: " + e.Error(), Err: e.err}
	}
	if e, ok := errors.AsType[apiError](err); ok {
		return &session.Error{Op: op, Kind: kind(e.ErrorCode(), err),
			Message: e.ErrorMessage(), Code: e.ErrorCode(), Err: err}
	}
	if e, ok := errors.AsType[invalidParams](err); ok {
		return &session.Error{Op: op, Kind: session.ErrInvalid, Message: e.Error(), Err: err}
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return &session.Error{Op: op, Kind: session.ErrTimeout, Message: "the service did not answer in time", Err: err}
	}
	return &session.Error{Op: op, Kind: statusKind(err), Message: err.Error(), Err: err}
}

// ended returns the context's error that caused a failure; nil if none did.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		// The timeout of an HTTP client is a DeadlineExceeded as well.
		if _, network := errors.AsType[net.Error](err); !network && errors.Is(err, end) {
			return end
		}
	}
	return nil
}

func endKind(cause error) error {
	if errors.Is(cause, context.Canceled) {
		return session.ErrCanceled
	}
	return session.ErrTimeout
}

// kind returns the kind of a service's error. For an unknown code it uses the HTTP status.
func kind(code string, err error) error {
	if k, known := kinds[code]; known {
		return k
	}
	if throttled(err) {
		return session.ErrUnavailable
	}
	return statusKind(err)
}

// statusKind returns the kind of a failed answer by its HTTP status; ErrTransport if there was none, or it was a
// success that could not be read.
func statusKind(err error) error {
	answer, ok := errors.AsType[*awshttp.ResponseError](err)
	if !ok {
		return session.ErrTransport
	}
	switch status := answer.HTTPStatusCode(); {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return session.ErrDenied
	case status == http.StatusTooManyRequests || status >= 500:
		return session.ErrUnavailable
	case status >= 400:
		return session.ErrInvalid
	}
	return session.ErrTransport
}

// throttles are the codes with which AWS throttles calls. GameLift's LimitExceededException is not one of them: it
// reports a limit of a fleet or an account, for which a retry does not help.
var throttles = func() map[string]struct{} {
	codes := maps.Clone(retry.DefaultThrottleErrorCodes)
	delete(codes, "LimitExceededException")
	return codes
}()

// throttled reports whether the service has throttled a call.
func throttled(err error) bool {
	e, ok := errors.AsType[apiError](err)
	if !ok {
		return false
	}
	_, ok = throttles[e.ErrorCode()]
	return ok
}

// unknown reports whether a failed call may have taken effect: it may have been sent, and the service has not rejected
// it.
func unknown(err error) bool {
	if errors.Is(err, session.ErrDenied) || errors.Is(err, session.ErrInvalid) {
		return false
	}
	answer, ok := errors.AsType[*awshttp.ResponseError](err)
	return !ok || answer.HTTPStatusCode() < 400 || answer.HTTPStatusCode() >= 500
}
