// Package api is the endpoint for AWS calls: it finds the operation and protocol of a request, verifies the signature,
// and calls the operation's handler.
//
// Both protocols of the API work on every path and port: AWS JSON 1.1, where a header names the operation, and Smithy
// RPC v2 CBOR, where the path does. Every answer has a request id, even to requests that are no AWS calls; every error
// has a body that the official clients can read.
//
// Queries, headers and bodies of requests are never logged.
//
// Sources: Smithy specification, "AWS JSON 1.1 protocol" and "Smithy RPC v2 CBOR protocol"; Amazon GameLift API
// reference, "Common Errors".
package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/telemetry/loglimit"
	"github.com/muster-gg/muster/internal/wire"
)

const (
	// MaxBody is the maximum size of a request's body, in bytes.
	MaxBody = 10 << 20

	// Deadline is when a handler's context ends, counted from the head of the request. Python clients wait for 60 s.
	Deadline = 50 * time.Second
)

// Config configures an Endpoint.
type Config struct {
	Handlers []wire.Handler // at most one per operation
	Keys     sigv4.Keys     // access keys that may call
	Skew     time.Duration  // maximum difference to clients' clocks; 0: sigv4.DefaultSkew
	Open     bool           // calls need no valid signature
	Access   Access         // decides what callers may do; nil: everything
	Resolver Resolver       // required with Access

	// ManagementOnly leaves successful calls for game sessions, player sessions, placements and tickets out of the
	// audit trail.
	ManagementOnly bool

	Clock clockwork.Clock // nil: the system's
	Log   *slog.Logger    // nil: no log

	// Ready reports whether the handlers have their state. It may wait, at most until ctx ends. If not, the answer is a
	// ServiceUnavailableException. nil: always ready.
	Ready func(ctx context.Context) bool

	// Attach adds a call to the context of its handler. May be nil.
	Attach func(ctx context.Context, call Call) context.Context

	// Allow reports whether a principal may call an operation now. If not, the answer is a ThrottlingException, after
	// which clients retry. nil: always.
	Allow func(operation, principal string) bool

	// Inject is called before an admitted call is carried out. An error is its answer. With lose the call is carried
	// out, and the connection closed without an answer. nil: does nothing. It is for tests of clients.
	Inject func(ctx context.Context, operation string) (lose bool, err error)

	// Enter admits a call, and Leave ends it. Enter is called with the complete request, before its signature is
	// verified, and may wait briefly. If it returns false, the answer is a ThrottlingException. nil: admits all calls.
	Enter func() bool
	Leave func()

	// Bodies limits the memory of bodies that are read here; above it the answer is a ThrottlingException. nil: no
	// limit.
	Bodies *listen.Budget

	// Observe is called for every answer. operation is one with a handler, or Unknown; exception is a fault's kind, or
	// "" for success; bytes are those of the bodies. May be nil.
	Observe func(operation, exception string, seconds float64, bytesIn, bytesOut int)
}

// A Call is a request with a verified signature.
type Call struct {
	sigv4.Caller

	// Invocation is the amz-sdk-invocation-id, equal in all retries of a call; "" if the client sends none.
	Invocation string

	URL string // scheme and host that the client has called; "": it has not called over a connection

	// Created adds the ARN of what the call has created to its record in the audit trail; nil: none is wanted.
	Created func(arn string)
}

// Unknown is the operation of a request that names no operation with a handler.
const Unknown = "unknown"

// An Endpoint answers AWS calls. It is an listen.Handler, and an http.Handler for requests that an listen.Server leaves
// to net/http.
type Endpoint struct {
	handlers map[string]bound
	access   Access
	resolver Resolver
	verifier *sigv4.Verifier
	clock    clockwork.Clock
	log      *slog.Logger
	lines    *loglimit.Limiter // limits log lines caused by unauthenticated clients
	ready    func(context.Context) bool
	attach   func(context.Context, Call) context.Context
	allow    func(operation, principal string) bool
	inject   func(ctx context.Context, operation string) (lose bool, err error)
	enter    func() bool
	leave    func()
	bodies   *listen.Budget
	observe  func(operation, exception string, seconds float64, bytesIn, bytesOut int)
	lastDate atomic.Pointer[writtenDate]
}

// New returns an endpoint. It fails without a source of keys, and for two handlers of one operation.
func New(c Config) (*Endpoint, error) {
	if c.Keys == nil {
		return nil, errors.New("api: a source of access keys is required")
	}
	e := &Endpoint{
		handlers: make(map[string]bound, len(c.Handlers)), access: c.Access, resolver: c.Resolver,
		verifier: sigv4.New(sigv4.Config{Keys: c.Keys, Skew: c.Skew, Open: c.Open}),
		clock:    c.Clock, log: c.Log, ready: c.Ready, attach: c.Attach, allow: c.Allow, inject: c.Inject,
		enter: c.Enter, leave: c.Leave, bodies: c.Bodies, observe: c.Observe,
	}
	for _, h := range c.Handlers {
		if _, twice := e.handlers[h.Info.Name]; twice {
			return nil, fmt.Errorf("api: two handlers for %s", h.Info.Name)
		}
		e.handlers[h.Info.Name] = bind(h, c.ManagementOnly)
	}
	e.setDefaults()
	return e, nil
}

func (e *Endpoint) setDefaults() {
	if e.clock == nil {
		e.clock = clockwork.NewRealClock()
	}
	e.lines = loglimit.New(e.clock)
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	if e.ready == nil {
		e.ready = func(context.Context) bool { return true }
	}
	if e.attach == nil {
		e.attach = func(ctx context.Context, _ Call) context.Context { return ctx }
	}
	if e.allow == nil {
		e.allow = func(string, string) bool { return true }
	}
	if e.inject == nil {
		e.inject = func(context.Context, string) (bool, error) { return false, nil }
	}
	if e.enter == nil || e.leave == nil {
		e.enter, e.leave = func() bool { return true }, func() {}
	}
	if e.observe == nil {
		e.observe = func(string, string, float64, int, int) {}
	}
}
