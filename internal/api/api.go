// Package api is the door for AWS calls: it finds out which operation a request
// is for and in which protocol, checks the signature, and has the operation's
// handler answer.
//
// Both protocols of the API are spoken on every path and port: AWS JSON 1.1,
// where a header names the operation, and Smithy RPC v2 CBOR, where the path
// does. Every answer, also that to a request which is no AWS call at all, has a
// request id and, if it is an error, a body that the official clients can read.
//
// Nothing of a request's query, headers and body is ever logged.
//
// Sources: Smithy specification, "AWS JSON 1.1 protocol" and "Smithy RPC v2 CBOR
// protocol"; Amazon GameLift API reference, "Common Errors".
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
	"github.com/muster-gg/muster/internal/loglimit"
	"github.com/muster-gg/muster/internal/sigv4"
	"github.com/muster-gg/muster/internal/wire"
)

const (
	// MaxBody is the largest body that a request may have, in bytes.
	MaxBody = 10 << 20

	// Deadline is how long a request may take once its head has arrived; the
	// Python clients give up after 60 s. A handler's context ends then.
	Deadline = 50 * time.Second
)

// Config is what a Door needs.
type Config struct {
	Handlers []wire.Handler  // at most one for each operation; others are unknown operations
	Keys     sigv4.Keys      // the access keys that may call
	Skew     time.Duration   // allowed distance of clients' clocks; 0 is sigv4.DefaultSkew
	Clock    clockwork.Clock // nil is the system's
	Log      *slog.Logger    // nil: nothing is logged

	// Ready says whether the handlers know what they answer from. It may wait for
	// a while, but not longer than ctx; if they do not, the answer is a
	// ServiceUnavailableException. nil: always.
	Ready func(ctx context.Context) bool

	// Attach puts what the door knows of a call where the handlers look for it.
	// nil: nowhere.
	Attach func(ctx context.Context, call Call) context.Context

	// Allow says whether a principal may call an operation now; if not, the
	// answer is a ThrottlingException, which every client tries again later.
	// nil: always.
	Allow func(operation, principal string) bool

	// Enter says whether the service can take one more call on; if not, the answer
	// is a ThrottlingException. It is asked when the request has arrived in whole,
	// before its signature is looked at, and may wait for a moment before it says
	// no. When it has said yes Leave is called behind the answer. nil: always.
	Enter func() bool
	Leave func()

	// Bodies is the memory for bodies that are read here, beyond which the answer is a
	// ThrottlingException. nil: without limit.
	Bodies *listen.Budget

	// Observe is told of every answer. operation is the name of one that has a
	// handler, or Unknown; exception is a fault's kind, or "" for success; bytes
	// are those of the bodies. nil: nobody is told.
	Observe func(operation, exception string, seconds float64, bytesIn, bytesOut int)
}

// A Call is what a Door knows of a request whose signature is good.
type Call struct {
	sigv4.Caller

	// Invocation is the amz-sdk-invocation-id, which a client keeps through all
	// retries of one call; "" for clients that send none.
	Invocation string
}

// Unknown stands for the operation of a request that names none we have.
const Unknown = "unknown"

// A Door answers AWS calls. It is a listen.Handler, and an http.Handler for those
// requests that a listen.Server leaves to net/http.
type Door struct {
	handlers map[string]wire.Handler
	verifier *sigv4.Verifier
	clock    clockwork.Clock
	log      *slog.Logger
	lines    *loglimit.Limiter // of the log, for unauthenticated callers
	ready    func(context.Context) bool
	attach   func(context.Context, Call) context.Context
	allow    func(operation, principal string) bool
	enter    func() bool
	leave    func()
	bodies   *listen.Budget
	observe  func(operation, exception string, seconds float64, bytesIn, bytesOut int)
	lastDate atomic.Pointer[writtenDate]
}

// New makes a door. It fails when there is no key source or two handlers answer
// the same operation.
func New(c Config) (*Door, error) {
	if c.Keys == nil {
		return nil, errors.New("api: a source of access keys is required")
	}
	d := &Door{
		handlers: make(map[string]wire.Handler, len(c.Handlers)),
		verifier: sigv4.New(sigv4.Config{Keys: c.Keys, Skew: c.Skew}),
		clock:    c.Clock, log: c.Log, ready: c.Ready, attach: c.Attach, allow: c.Allow, enter: c.Enter, leave: c.Leave,
		bodies: c.Bodies, observe: c.Observe,
	}
	for _, h := range c.Handlers {
		if _, twice := d.handlers[h.Info.Name]; twice {
			return nil, fmt.Errorf("api: two handlers for %s", h.Info.Name)
		}
		d.handlers[h.Info.Name] = h
	}
	d.setDefaults()
	return d, nil
}

func (d *Door) setDefaults() {
	if d.clock == nil {
		d.clock = clockwork.NewRealClock()
	}
	d.lines = loglimit.New(d.clock)
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.ready == nil {
		d.ready = func(context.Context) bool { return true }
	}
	if d.attach == nil {
		d.attach = func(ctx context.Context, _ Call) context.Context { return ctx }
	}
	if d.allow == nil {
		d.allow = func(string, string) bool { return true }
	}
	if d.enter == nil || d.leave == nil {
		d.enter, d.leave = func() bool { return true }, func() {}
	}
	if d.observe == nil {
		d.observe = func(string, string, float64, int, int) {}
	}
}
