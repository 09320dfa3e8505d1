package objects

import (
	"errors"
	"fmt"
)

// A Code is the code of an error in S3's answers.
type Code string

// The codes that the endpoint answers with. Source: Amazon S3 API reference, "Error responses".
const (
	AccessDenied          Code = "AccessDenied"
	AuthorizationHeader   Code = "AuthorizationHeaderMalformed"
	AuthorizationQuery    Code = "AuthorizationQueryParametersError"
	BadDigest             Code = "BadDigest"
	BucketAlreadyOwned    Code = "BucketAlreadyOwnedByYou"
	BucketNotEmpty        Code = "BucketNotEmpty"
	ContentSHA256Mismatch Code = "XAmzContentSHA256Mismatch"
	EntityTooLarge        Code = "EntityTooLarge"
	EntityTooSmall        Code = "EntityTooSmall"
	ExpiredToken          Code = "ExpiredToken"
	IncompleteBody        Code = "IncompleteBody"
	InternalError         Code = "InternalError"
	InvalidAccessKeyID    Code = "InvalidAccessKeyId"
	InvalidArgument       Code = "InvalidArgument"
	InvalidBucketName     Code = "InvalidBucketName"
	InvalidDigest         Code = "InvalidDigest"
	InvalidPart           Code = "InvalidPart"
	InvalidPartOrder      Code = "InvalidPartOrder"
	InvalidRange          Code = "InvalidRange"
	InvalidRequest        Code = "InvalidRequest"
	InvalidToken          Code = "InvalidToken"
	KeyTooLong            Code = "KeyTooLongError"
	MalformedXML          Code = "MalformedXML"
	MetadataTooLarge      Code = "MetadataTooLarge"
	MethodNotAllowed      Code = "MethodNotAllowed"
	MissingContentLength  Code = "MissingContentLength"
	NoSuchBucket          Code = "NoSuchBucket"
	NoSuchKey             Code = "NoSuchKey"
	NoSuchUpload          Code = "NoSuchUpload"
	NotImplemented        Code = "NotImplemented"
	PreconditionFailed    Code = "PreconditionFailed"
	RequestTimeout        Code = "RequestTimeout"
	RequestTimeTooSkewed  Code = "RequestTimeTooSkewed"
	ServiceUnavailable    Code = "ServiceUnavailable"
	SignatureDoesNotMatch Code = "SignatureDoesNotMatch"
	SlowDown              Code = "SlowDown"
	UnexpectedContent     Code = "UnexpectedContent"
)

// An Error is an error that a client sees.
type Error struct {
	Code    Code
	Message string
	Err     error // the cause, for the log; may be nil
}

// Errorf returns an error with a message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Error returns the code and the message.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// MessageOf returns what a client sees of an error; "" of one that is no *Error.
func MessageOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Message
	}
	return ""
}

// CodeOf returns the code of an error: "" of nil, and InternalError of one that is no *Error.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return InternalError
}
