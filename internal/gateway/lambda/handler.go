package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// DefaultMargin is how long before the function's own deadline a request's ends.
const DefaultMargin = 500 * time.Millisecond

// Config says how events become requests. Handler is required.
type Config struct {
	Handler http.Handler
	// BasePath is what a custom domain puts before the paths of the handler, such as
	// /game; "" for nothing. The name of the stage needs no mention.
	BasePath string
	// Margin is how long before the function is killed the context of a request ends,
	// so that there is time for an answer; 0 is DefaultMargin.
	Margin time.Duration
	// NoStream answers a request whose answer would be a stream; nil writes a JSON
	// object with status 501.
	NoStream http.HandlerFunc
}

// A Handler answers the events of a function. It may be called at the same time.
type Handler struct {
	next     http.Handler
	basePath string
	margin   time.Duration
	noStream http.HandlerFunc
}

// New makes a handler. The error names the field that cannot be right.
func New(cfg Config) (*Handler, error) {
	h := &Handler{next: cfg.Handler, basePath: strings.Trim(cfg.BasePath, "/"), margin: cfg.Margin, noStream: cfg.NoStream}
	switch {
	case h.next == nil:
		return nil, errors.New("lambda: Handler is missing")
	case h.margin < 0:
		return nil, errors.New("lambda: Margin must not be negative")
	case h.margin == 0:
		h.margin = DefaultMargin
	}
	if h.noStream == nil {
		h.noStream = refuseStream
	}
	return h, nil
}

// Invoke answers one event; it is the function's entry, for lambda.Start of
// aws-lambda-go. The error is for events that are not API Gateway's and for a
// handler that panicked: API Gateway then answers with status 502.
func (h *Handler) Invoke(ctx context.Context, payload json.RawMessage) (any, error) {
	e, err := read(payload)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-h.margin))
		defer cancel()
	}
	r, err := e.request(ctx, h.basePath)
	if err != nil {
		return nil, err
	}
	a, err := h.serve(r)
	if err != nil {
		return nil, err
	}
	return e.answer(a), nil
}

// serve has the handler answer. It returns when the handler does.
func (h *Handler) serve(r *http.Request) (a *answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			a, err = nil, fmt.Errorf("the handler of %s %s panicked: %v", r.Method, r.URL.Path, p)
		}
	}()
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	w := &answer{header: make(http.Header), stream: stop}
	h.next.ServeHTTP(w, r.WithContext(ctx))
	if !w.streamed {
		return w, nil
	}
	instead := &answer{header: make(http.Header), stream: stop}
	if id := w.sent.Get(requestIDHeader); id != "" {
		instead.header.Set(requestIDHeader, id)
	}
	h.noStream(instead, r)
	return instead, nil
}

// refuseStream is the NoStream of those who give none.
func refuseStream(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotImplemented)
	body, err := json.Marshal(map[string]string{
		"error": "Streams cannot be had here. Ask again instead.", "code": "not_supported", "requestId": w.Header().Get(requestIDHeader),
	})
	if err != nil { // only strings are written
		panic(err)
	}
	_, _ = w.Write(body) // to memory
}
