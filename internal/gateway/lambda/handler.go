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

// DefaultMargin is the default of Config.Margin.
const DefaultMargin = 500 * time.Millisecond

// Config configures a Handler. Handler is required.
type Config struct {
	Handler http.Handler
	// BasePath is the prefix of a custom domain, such as /game; "" for none. The name of the stage is removed without
	// it.
	BasePath string
	// Margin is the time between the deadline of a request's context and that of the function, for the answer; 0 is
	// DefaultMargin.
	Margin time.Duration
	// NoStream answers a request for an event stream; nil writes a JSON object with status 501.
	NoStream http.HandlerFunc
}

// A Handler answers the events of a function. It is safe for concurrent use.
type Handler struct {
	next     http.Handler
	basePath string
	margin   time.Duration
	noStream http.HandlerFunc
}

// New returns a handler. The error names the invalid field.
func New(cfg Config) (*Handler, error) {
	h := &Handler{next: cfg.Handler, basePath: strings.Trim(cfg.BasePath, "/"), margin: cfg.Margin,
		noStream: cfg.NoStream}
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

// Invoke answers one event; it is the entry point for lambda.Start of aws-lambda-go. It returns an error for events
// that are not API Gateway's and if the handler panicked: API Gateway then answers with status 502.
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

// serve calls the handler.
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

// refuseStream is the default Config.NoStream.
func refuseStream(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotImplemented)
	body, err := json.Marshal(map[string]string{
		"error": "Streams cannot be had here. Ask again instead.", "code": "not_supported",
		"requestId": w.Header().Get(requestIDHeader),
	})
	if err != nil { // strings can be marshalled
		panic(err)
	}
	_, _ = w.Write(body) // to memory
}
