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

// retryAfter is how many seconds a client is told to wait with a 429 or 503. A
// game server that has just ended its game is ready for the next in about that
// time.
const retryAfter = 2

// An answer is what a handler has for its client.
type answer struct {
	status   int      // 0 is 200
	body     any      // an object or a list
	location string   // the Location header; "" for none
	written  func()   // called when the answer was sent; may be nil
	raw      *rawBody // instead of body
	streamed bool     // the handler has written everything itself
}

// A rawBody is an answer that is no JSON value.
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

// unknownRoute is the answer to a path or method that there is none for, in the
// words of API Gateway.
const unknownRoute = `{"message": "Missing Authentication Token"}`

// requestID is the id that the answer carries. One that was set by whoever handled
// the request before stays.
func requestID(w http.ResponseWriter) string {
	if id := w.Header().Get(requestIDHeader); id != "" {
		return id
	}
	id := uuid.NewString()
	w.Header().Set(requestIDHeader, id)
	return id
}

// WriteError answers a request with a failure, in the form of all failures of the
// gateway. text is for the client; "" is the text that goes with the code. Headers
// that w has already stay: X-Request-Id and Retry-After are set if they are not.
// It is for handlers that stand before a Gateway's.
func WriteError(w http.ResponseWriter, code Code, text string) {
	if text == "" {
		text = meanings[code].text
	}
	setRetryAfter(w, code.Status())
	writeJSON(w, code.Status(), errorBody{Error: text, Code: code, RequestID: requestID(w)})
}

func setRetryAfter(w http.ResponseWriter, status int) {
	if busy := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable; busy && w.Header().Get(retryAfterHeader) == "" {
		w.Header().Set(retryAfterHeader, strconv.Itoa(retryAfter))
	}
}

// writeJSON writes a whole answer. A client that has gone needs none.
func writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil { // no value that is handed in here can fail
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
