package api

import (
	"cmp"
	"context"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Invoke makes a call of this program for somebody who has signed in, with the decision, checks, limits and records of
// a signed call. in points to the operation's input, and the output is a pointer. A nil identity is that of an open
// service. Errors are those of signed calls, as *fault.Error.
func (e *Endpoint) Invoke(ctx context.Context, id *access.Identity, from access.Origin, operation string, in any) (
	out any, err error,
) {
	c, err := e.invocation(id, from, operation)
	if err != nil {
		return nil, err
	}
	c.input = c.handler.Of(in)
	err = e.invoke(ctx, c, func(ctx context.Context) (err error) {
		out, err = c.input.Call(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// InvokeJSON is Invoke with an input and an output in the JSON of the protocol.
func (e *Endpoint) InvokeJSON(ctx context.Context, id *access.Identity, from access.Origin, operation string,
	body []byte) (answer []byte, err error) {
	c, err := e.invocation(id, from, operation)
	if err != nil {
		return nil, err
	}
	c.bytesIn = len(body)
	c.input = c.handler.Read(wire.JSON, body)
	defer c.input.Discard()
	err = e.invoke(ctx, c, func(ctx context.Context) error { return c.input.Serve(ctx, &answer) })
	return answer, err
}

// invocation returns a call of this program, still without its input.
func (e *Endpoint) invocation(id *access.Identity, from access.Origin, operation string) (*call, error) {
	h, ok := e.handlers[operation]
	if !ok {
		return nil, fault.New(fault.UnknownOperation, "GameLift has no operation %.64q.", operation)
	}
	c := &call{handler: h, requestID: from.RequestID, identity: id, origin: from,
		principal: cmp.Or(from.Program, "console")}
	if id != nil && from.Program == "" {
		c.principal = id.Arn
	}
	return c, nil
}

// invoke decides, runs, records and reports a call.
func (e *Endpoint) invoke(ctx context.Context, c *call, run func(context.Context) error) error {
	start := e.clock.Now()
	f := faultOf(ctx, e.admitted(ctx, c, run))
	e.record(c, f)
	e.report(ctx, c, f, e.clock.Since(start), 0)
	if f != nil {
		return f
	}
	return nil
}

func (e *Endpoint) admitted(ctx context.Context, c *call, run func(context.Context) error) error {
	if !e.ready(ctx) {
		return fault.New(fault.ServiceUnavailable, "The service is starting or stopping. Try again.")
	}
	if !e.enter() {
		return fault.New(fault.Throttling, "The service is overloaded. Try again later.")
	}
	defer e.leave()
	if e.access != nil {
		if err := e.decide(ctx, c, e.access.AllowsAll(c.identity, c.handler.action)); err != nil {
			return err
		}
	}
	if !e.allow(c.operation(), c.principal) {
		return tooOften(c)
	}
	return run(e.attach(ctx, Call{Caller: sigv4.Caller{Principal: c.principal},
		URL: urlOf(c.origin.Host, c.origin.TLS), Created: c.creates()}))
}
