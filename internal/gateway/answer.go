package gateway

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/google/uuid"
)

const (
	requestIDHeader  = "X-Request-Id"
	retryAfterHeader = "Retry-After"
)

// retryAfter is the Retry-After of answers with status 429 or 503, in seconds: about the time that a game server needs
// between two game sessions.
const retryAfter = 2

// An answer is the result of a handler.
type answer struct {
	status   int      // 0 is 200
	body     any      // an object or a list
	location string   // the Location header; "" for none
	written  func()   // called when the answer was sent; may be nil
	raw      *rawBody // instead of body
	streamed bool     // the handler has written the answer itself
}

// A rawBody is an answer that is not JSON.
type rawBody struct {
	contentType string
	text        []byte
}

// The body of every failure.
type errorBody struct {
	Error     string `json:"error"`
	Code      Code   `json:"code"`
	RequestID string `json:"requestId"`
}

// unknownRoute is API Gateway's answer to an unknown path or method.
const unknownRoute = `{"message": "Missing Authentication Token"}`

// requestID returns the id in the header of the answer, and sets one if there is none.
func requestID(w http.ResponseWriter) string {
	if id := w.Header().Get(requestIDHeader); id != "" {
		return id
	}
	id := uuid.NewString()
	w.Header().Set(requestIDHeader, id)
	return id
}

// WriteError writes an error answer in the gateway's form. text is for the client; "" is the text of the code.
// X-Request-Id and Retry-After are set unless w has them. It is for handlers in front of a Gateway.
func WriteError(w http.ResponseWriter, code Code, text string) {
	if text == "" {
		text = meanings[code].text
	}
	setRetryAfter(w, code.Status())
	writeJSON(w, code.Status(), errorBody{Error: text, Code: code, RequestID: requestID(w)})
}

func setRetryAfter(w http.ResponseWriter, status int) {
	if busy := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable; busy &&
		w.Header().Get(retryAfterHeader) == "" {
		w.Header().Set(retryAfterHeader, strconv.Itoa(retryAfter))
	}
}

// writeJSON writes an answer and ignores a client that has disconnected.
func writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil { // all bodies can be marshalled
		status, text = http.StatusInternalServerError, []byte("{}")
	}
	writeBody(w, status, "application/json", text)
}

func writeBody(w http.ResponseWriter, status int, contentType string, text []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}
