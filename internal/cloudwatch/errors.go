package cloudwatch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The exceptions of the model that are used here.
const (
	invalidCombination fault.Kind = "InvalidParameterCombinationException"
	invalidNextToken   fault.Kind = "InvalidNextToken"
	invalidValue       fault.Kind = "InvalidParameterValueException"
	missingParameter   fault.Kind = "MissingRequiredParameterException"
)

// validation is what CloudWatch answers to inputs that break a constraint, and to wrong expressions. Its code is
// ValidationError.
const validation = fault.InvalidRequest

// shapes has the names of exceptions that differ from the kind.
var shapes = map[fault.Kind]string{
	fault.InternalService: "InternalServiceFault",
	validation:            "ValidationException",
}

// modelled are the exceptions that the model has.
var modelled = map[fault.Kind]bool{
	invalidCombination: true, invalidNextToken: true, invalidValue: true, missingParameter: true,
	fault.InternalService: true,
}

// codes has the codes of kinds for which they are not the kind without "Exception". Source: service model, "error";
// "Common Errors".
var codes = map[fault.Kind]string{
	fault.InternalService:    "InternalServiceError",
	fault.InvalidSignature:   "SignatureDoesNotMatch",
	fault.UnknownOperation:   "InvalidAction",
	fault.UnrecognizedClient: "InvalidClientTokenId",
	missingParameter:         "MissingParameter",
	validation:               "ValidationError",
}

func codeOf(kind fault.Kind) string {
	return cmp.Or(codes[kind], strings.TrimSuffix(string(kind), "Exception"))
}

// answer writes the body or the error, and returns the code of the error and the size of the body.
func (h *Handler) answer(ctx context.Context, w http.ResponseWriter, c *call, body []byte, err error) (string, int) {
	code, status := "", http.StatusOK
	header := w.Header()
	if err != nil {
		f := faultOf(ctx, err)
		code, status = codeOf(f.Kind), f.Kind.HTTPStatus()
		h.logCause(c, f)
		body = c.failure(f, code, sender(status))
		header.Set("X-Amzn-Query-Error", code+";"+sender(status))
		if f.Kind == fault.ServiceUnavailable {
			header.Set("Retry-After", "1")
		}
	}
	header.Set("Date", h.Clock.Now().UTC().Format(http.TimeFormat)) // of the clock that checks signatures
	header.Set("X-Amzn-Requestid", c.from.RequestID)
	header.Set("Content-Type", contentTypes[c.protocol])
	switch c.protocol {
	case cborProtocol:
		header.Set("Smithy-Protocol", "rpc-v2-cbor")
	case query:
		header.Set("Content-Type", "text/xml")
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have closed the connection
	return code, len(body)
}

// faultOf is fault.Of, but work that ended with ctx is no failure of the service.
func faultOf(ctx context.Context, err error) *fault.Error {
	if _, isFault := errors.AsType[*fault.Error](err); !isFault && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return &fault.Error{Kind: fault.ServiceUnavailable, Err: err,
			Message: "The request took too long. Try again, or ask for fewer metrics or longer periods."}
	}
	return fault.Of(err)
}

// sender is whose fault a status is.
func sender(status int) string {
	if status >= http.StatusInternalServerError {
		return "Receiver"
	}
	return "Sender"
}

// failure returns the body of an error.
func (c *call) failure(f *fault.Error, code, sender string) []byte {
	if c.protocol == query {
		return c.xmlFailure(code, sender, f.Message)
	}
	shape := cmp.Or(shapes[f.Kind], string(f.Kind))
	if modelled[f.Kind] {
		shape = "com.amazonaws.cloudwatch#" + shape
	}
	return wire.AppendErrorBody(nil, c.protocol.encoding(), shape, f.Message)
}

func (c *call) xmlFailure(code, sender, message string) []byte {
	type failure struct {
		Type, Code, Message string
	}
	var b bytes.Buffer
	_ = xml.NewEncoder(&b).Encode(struct { // texts alone
		XMLName   xml.Name
		Error     failure
		RequestID string `xml:"RequestId"`
	}{xml.Name{Space: xmlNamespace, Local: "ErrorResponse"}, failure{sender, code, message}, c.from.RequestID})
	return b.Bytes()
}

// logCause logs an error that hides its cause. Lines are limited, as clients can cause them.
func (h *Handler) logCause(c *call, f *fault.Error) {
	if f.Err == nil || f.Kind == fault.Serialization {
		return
	}
	if suppressed, ok := h.lines.Allow("failed"); ok {
		h.Log.Warn("CloudWatch call failed", "operation", c.shownName(), "err", f, "request_id", c.from.RequestID,
			"suppressed", suppressed)
	}
}
