package s3

import (
	"errors"
	"net/http"

	"github.com/muster-gg/muster/internal/objects"
	"github.com/muster-gg/muster/internal/wire/fault"
)

type errorAnswer struct {
	XMLName   struct{} `xml:"Error"`
	Code      string
	Message   string
	Resource  string
	RequestID string `xml:"RequestId"`
}

// statusOf returns the HTTP status of a code. Source: Amazon S3 API reference, "Error responses".
func statusOf(c objects.Code) int {
	switch c {
	case objects.AccessDenied, objects.InvalidAccessKeyID, objects.SignatureDoesNotMatch, objects.RequestTimeTooSkewed:
		return http.StatusForbidden
	case objects.NoSuchBucket, objects.NoSuchKey, objects.NoSuchUpload:
		return http.StatusNotFound
	case objects.MethodNotAllowed:
		return http.StatusMethodNotAllowed
	case objects.BucketAlreadyOwned, objects.BucketNotEmpty:
		return http.StatusConflict
	case objects.MissingContentLength:
		return http.StatusLengthRequired
	case objects.PreconditionFailed:
		return http.StatusPreconditionFailed
	case objects.InvalidRange:
		return http.StatusRequestedRangeNotSatisfiable
	case objects.InternalError:
		return http.StatusInternalServerError
	case objects.NotImplemented:
		return http.StatusNotImplemented
	case objects.ServiceUnavailable, objects.SlowDown:
		return http.StatusServiceUnavailable
	default:
		return http.StatusBadRequest
	}
}

// signatureError converts a fault of a signature.
func signatureError(err error, presigned bool) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	code := objects.SignatureDoesNotMatch
	switch {
	case f.Kind == fault.MissingAuthenticationToken:
		code = objects.AccessDenied
	case f.Kind == fault.IncompleteSignature && presigned:
		code = objects.AuthorizationQuery
	case f.Kind == fault.IncompleteSignature:
		code = objects.AuthorizationHeader
	}
	return &objects.Error{Code: code, Message: f.Message, Err: f.Err}
}

func notImplemented(format string, args ...any) error {
	return objects.Errorf(objects.NotImplemented, format, args...)
}
