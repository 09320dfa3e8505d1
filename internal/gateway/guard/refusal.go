package guard

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// A Refusal is the answer to a rejected request.
type Refusal struct {
	Status  int
	Code    string // stable, for programs
	Message string // for people, without internal details
}

// The refusals.
var (
	unauthenticated = Refusal{http.StatusUnauthorized, "unauthenticated", "The request carries no valid credentials."}
	forbidden       = Refusal{http.StatusForbidden, "forbidden", "The credentials do not allow this."}
	foreign         = Refusal{http.StatusForbidden, "forbidden", "Web pages of this origin may not call."}
	tooLarge        = Refusal{http.StatusRequestEntityTooLarge, "body_too_large",
		"The body of the request is too large."}
	limited     = Refusal{http.StatusTooManyRequests, "rate_limited", "Too many requests. Try again later."}
	unavailable = Refusal{http.StatusServiceUnavailable, "unavailable",
		"Credentials cannot be checked at the moment. Try again later."}
	panicked = Refusal{http.StatusInternalServerError, "internal", "The request could not be completed."}
)

// refuse rejects a request and counts the reason.
func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, reason string, f Refusal) {
	g.metrics.refused(reason)
	of(r.Context()).refused = true
	g.cfg.Refuse(w, r, f)
}

// refuseFor is refuse with a Retry-After.
func (g *Guard) refuseFor(w http.ResponseWriter, r *http.Request, reason string, f Refusal, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	g.refuse(w, r, reason, f)
}

// WriteRefusal writes a JSON object with error, code and requestId.
func WriteRefusal(w http.ResponseWriter, r *http.Request, f Refusal) {
	writeJSON(w, f.Status, struct {
		Error     string `json:"error"`
		Code      string `json:"code"`
		RequestID string `json:"requestId"`
	}{f.Message, f.Code, RequestID(r.Context())})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // strings can be marshalled
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have disconnected
}
