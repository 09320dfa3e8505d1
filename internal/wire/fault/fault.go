// Package fault holds the errors that clients see.
//
// A fault's kind is the exception's name as it stands on the wire, so log, test and client all say the same word. The
// message goes out to the client; the cause goes to the log alone.
package fault

import (
	"errors"
	"fmt"
	"net/http"
)

// Kind is the name of an exception of the GameLift API model, or one of the errors that every AWS service may answer
// with.
type Kind string

// The sixteen exceptions of the API model.
const (
	Conflict                    Kind = "ConflictException"
	FleetCapacityExceeded       Kind = "FleetCapacityExceededException"
	GameSessionFull             Kind = "GameSessionFullException"
	IdempotentParameterMismatch Kind = "IdempotentParameterMismatchException"
	InternalService             Kind = "InternalServiceException"
	InvalidFleetStatus          Kind = "InvalidFleetStatusException"
	InvalidGameSessionStatus    Kind = "InvalidGameSessionStatusException"
	InvalidRequest              Kind = "InvalidRequestException"
	LimitExceeded               Kind = "LimitExceededException"
	NotFound                    Kind = "NotFoundException"
	NotReady                    Kind = "NotReadyException"
	OutOfCapacity               Kind = "OutOfCapacityException"
	TaggingFailed               Kind = "TaggingFailedException"
	TerminalRoutingStrategy     Kind = "TerminalRoutingStrategyException"
	Unauthorized                Kind = "UnauthorizedException"
	UnsupportedRegion           Kind = "UnsupportedRegionException"
)

// Errors that the model does not list and every AWS client understands. Source: AWS API reference, "Common Errors", and
// the AWS JSON services.
const (
	AccessDenied               Kind = "AccessDeniedException"
	ExpiredToken               Kind = "ExpiredTokenException"
	IncompleteSignature        Kind = "IncompleteSignatureException"
	InvalidSignature           Kind = "InvalidSignatureException"
	MissingAuthenticationToken Kind = "MissingAuthenticationTokenException"
	Serialization              Kind = "SerializationException"
	ServiceUnavailable         Kind = "ServiceUnavailableException"
	Throttling                 Kind = "ThrottlingException"
	UnknownOperation           Kind = "UnknownOperationException"
	UnrecognizedClient         Kind = "UnrecognizedClientException"
)

// Errors of STS and of policies. Source: STS API reference, "Errors".
const (
	IDPCommunicationError   Kind = "IDPCommunicationErrorException"
	InvalidIdentityToken    Kind = "InvalidIdentityTokenException"
	MalformedPolicyDocument Kind = "MalformedPolicyDocumentException"
	PackedPolicyTooLarge    Kind = "PackedPolicyTooLargeException"
)

// modelled says which kinds the API model defines.
var modelled = map[Kind]bool{
	Conflict: true, FleetCapacityExceeded: true, GameSessionFull: true, IdempotentParameterMismatch: true,
	InternalService: true, InvalidFleetStatus: true, InvalidGameSessionStatus: true, InvalidRequest: true,
	LimitExceeded: true, NotFound: true, NotReady: true, OutOfCapacity: true, TaggingFailed: true,
	TerminalRoutingStrategy: true, Unauthorized: true, UnsupportedRegion: true,
}

// common has the kinds that every operation may return.
var common = map[Kind]bool{
	InternalService: true, InvalidRequest: true, Unauthorized: true,
	AccessDenied: true, ExpiredToken: true, IncompleteSignature: true, InvalidSignature: true,
	MissingAuthenticationToken: true, Serialization: true, ServiceUnavailable: true, Throttling: true,
	UnknownOperation: true, UnrecognizedClient: true,
}

// Common reports whether every operation may return this exception.
func (k Kind) Common() bool { return common[k] }

// Modelled reports whether the API model defines this exception.
func (k Kind) Modelled() bool { return modelled[k] }

// HTTPStatus is the status that an answer with this exception carries: 500 for InternalServiceException, 503 for
// ServiceUnavailableException, else 400.
func (k Kind) HTTPStatus() int {
	switch k {
	case InternalService:
		return http.StatusInternalServerError
	case ServiceUnavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusBadRequest
	}
}

// An Error is a failure that a client sees.
type Error struct {
	Kind    Kind
	Message string // for the client: says what was wrong and what to do
	Err     error  // the cause, for the log alone; may be nil
}

// New makes a fault with a formatted message.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Internal makes the InternalServiceException that hides a cause from the client.
func Internal(cause error) *Error {
	return &Error{Kind: InternalService, Message: "The service could not complete the request. Try again.", Err: cause}
}

// Error is the exception's name and message, and the cause behind them.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Kind, e.Message, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Kind, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Of returns the fault in err's chain; any other error becomes an InternalServiceException with err as its cause.
// Of(nil) is nil.
func Of(err error) *Error {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*Error](err); ok {
		return f
	}
	return Internal(err)
}

// Is reports whether err carries a fault of the given kind.
func Is(err error, kind Kind) bool {
	f, ok := errors.AsType[*Error](err)
	return ok && f.Kind == kind
}
