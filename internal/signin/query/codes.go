package query

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// The errors of the query protocol that package fault does not have: their kinds are the codes of answers.
const (
	deleteConflict fault.Kind = "DeleteConflict"
	invalidAction  fault.Kind = "InvalidAction"
	malformedQuery fault.Kind = "MalformedQueryString"
	missingAction  fault.Kind = "MissingAction"
	tooLarge       fault.Kind = "RequestEntityTooLarge"
	validation     fault.Kind = "ValidationError"
)

// codes has the code of faults for which it is not the kind without "Exception". Those of a service come first.
var codes = map[string]map[fault.Kind]string{
	"sts": {fault.InvalidRequest: "ValidationError", fault.NotFound: "ValidationError"},
	"iam": {
		fault.InvalidRequest: "InvalidInput", fault.NotFound: "NoSuchEntity", fault.Conflict: "EntityAlreadyExists",
		fault.InternalService: "ServiceFailure",
	},
	"": {
		fault.UnrecognizedClient: "InvalidClientTokenId", fault.InvalidSignature: "SignatureDoesNotMatch",
		fault.InternalService: "InternalFailure",
	},
}

// statuses has the HTTP statuses of codes; those of others are 400. Source: service models and "Common Errors".
var statuses = map[string]int{
	"AccessDenied": http.StatusForbidden, "InvalidClientTokenId": http.StatusForbidden,
	"SignatureDoesNotMatch": http.StatusForbidden, "ExpiredToken": http.StatusForbidden,
	"MissingAuthenticationToken": http.StatusForbidden, "IDPRejectedClaim": http.StatusForbidden,
	"NoSuchEntity":        http.StatusNotFound,
	"EntityAlreadyExists": http.StatusConflict, "DeleteConflict": http.StatusConflict,
	"LimitExceeded":         http.StatusConflict,
	"RequestEntityTooLarge": http.StatusRequestEntityTooLarge,
	"InternalFailure":       http.StatusInternalServerError, "ServiceFailure": http.StatusInternalServerError,
	"ServiceUnavailable": http.StatusServiceUnavailable,
}

// codeOf returns the code of a fault, and its HTTP status.
func (c *call) codeOf(kind fault.Kind) (code string, status int) {
	name := ""
	if c.operation != nil {
		name = c.operation.name
	}
	switch {
	case kind == fault.ExpiredToken && c.operation != nil && c.operation.unsigned:
		code = "ExpiredTokenException" // of the JWT; ExpiredToken is the caller's own
	case kind == fault.Conflict && strings.HasPrefix(name, "Delete"):
		code = string(deleteConflict)
	default:
		code = cmp.Or(codes[c.service.name][kind], codes[""][kind], strings.TrimSuffix(string(kind), "Exception"))
	}
	return code, cmp.Or(statuses[code], http.StatusBadRequest)
}
