package operator

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// maxBody is the maximum size of a request's body in bytes, if its endpoint has no other.
const maxBody = 64 << 10

// readBody reads the body of a request of at most limit bytes; 0: the request has none. Its size and type are checked
// before the signature, which covers it.
func readBody(r *http.Request, limit int) ([]byte, error) {
	if limit == 0 {
		if r.ContentLength != 0 {
			return nil, fault.New(fault.InvalidRequest, "The request must have no body.")
		}
		return nil, nil
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return nil, fault.New(fault.InvalidRequest, "Content-Type is %.100q: it must be application/json.",
			r.Header.Get("Content-Type"))
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(limit)+1))
	switch {
	case err != nil:
		return nil, fault.New(fault.InvalidRequest, "The body could not be read: send Content-Length bytes.")
	case len(body) > limit:
		return nil, fault.New(fault.InvalidRequest, "The body is too large: it may have %d bytes.", limit)
	}
	return body, nil
}

// decode decodes a body, which is one JSON object. An empty one has no members.
func decode(body []byte, to any) error {
	if len(body) == 0 {
		return nil
	}
	from := json.NewDecoder(bytes.NewReader(body))
	from.DisallowUnknownFields()
	if err := from.Decode(to); err != nil {
		return fault.New(fault.InvalidRequest, "%s", decodeMessage(err))
	}
	if _, err := from.Token(); !errors.Is(err, io.EOF) {
		return errObject
	}
	return nil
}

var errObject = fault.New(fault.InvalidRequest, "The body must be one JSON object.")

// decodeMessage names the field that is wrong. Source of the prefix: encoding/json, which has no type for this error.
func decodeMessage(err error) string {
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return "Unknown field " + name + ". Remove it, or correct its name."
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return "Field " + wrong.Field + " must not be a JSON " + wrong.Value + "."
	}
	return "The body must be one JSON object: " + strings.TrimPrefix(err.Error(), "json: ") + "."
}
