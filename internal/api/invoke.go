package api

import (
	"context"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Invoke makes a call of this program for somebody who has signed in, with the decision, checks, limits and records of
// a signed call. in points to the operation's input, and the output is a pointer. A nil identity is that of an open
// service. Errors are those of signed calls, as *fault.Error.
func (e *Endpoint) Invoke(ctx context.Context, id *access.Identity, from access.Origin, operation string, in any) (
	out any, err error,
) {
	h, ok := e.handlers[operation]
	if !ok {
		return nil, fault.New(fault.UnknownOperation, "GameLift has no operation %.64q.", operation)
	}
	c := &call{handler: h, requestID: from.RequestID, identity: id, origin: from, principal: "console"}
	if id != nil {
		c.principal = id.Arn
	}
	c.input = h.Of(in)
	start := e.clock.Now()
	out, err = e.invoke(ctx, c)
	f := faultOf(ctx, err)
	e.record(c, f)
	e.report(ctx, c, f, e.clock.Since(start), 0)
	if f != nil {
		return nil, f
	}
	return out, nil
}

func (e *Endpoint) invoke(ctx context.Context, c *call) (out any, err error) {
	if !e.ready(ctx) {
		return nil, fault.New(fault.ServiceUnavailable, "The service is starting or stopping. Try again.")
	}
	if !e.enter() {
		return nil, fault.New(fault.Throttling, "The service is overloaded. Try again later.")
	}
	defer e.leave()
	if e.access != nil {
		if err := e.decide(ctx, c, e.access.AllowsAll(c.identity, c.handler.action)); err != nil {
			return nil, err
		}
	}
	if !e.allow(c.operation(), c.principal) {
		return nil, tooOften(c)
	}
	return c.input.Call(e.attach(ctx, Call{Caller: sigv4.Caller{Principal: c.principal}}))
}
