package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/listen"
)

// Answer answers one AWS call that was read by a listen.Server.
func (d *Door) Answer(ctx context.Context, r *listen.Request, a *listen.Answer) {
	d.call(ctx, r, nil, a)
}

// call answers one call. read reads its body; nil: it stands in r.
func (d *Door) call(ctx context.Context, r *listen.Request, read func() ([]byte, error), a *listen.Answer) {
	start := d.clock.Now()
	ctx, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	c := newCall(r, read)
	defer c.release()
	f := d.handle(ctx, c, a)
	end := d.clock.Now()
	d.answer(a, c, f, end)
	d.report(ctx, c, f, end.Sub(start), len(a.Body()))
}

// handle does everything between the head of the request and the answer, and
// leaves the body of a successful answer in a. A panic on the way becomes a
// fault.
func (d *Door) handle(ctx context.Context, c *call, a *listen.Answer) (f *fault.Error) {
	defer func() {
		if p := recover(); p != nil {
			f = fault.Internal(&panicked{value: p, stack: debug.Stack()})
		}
	}()
	return faultOf(ctx, d.serve(ctx, c, a))
}

// panicked is the cause of a fault that stands for a panic.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

func (d *Door) serve(ctx context.Context, c *call, a *listen.Answer) error {
	if err := d.dispatch(c); err != nil {
		return err
	}
	if !d.ready(ctx) {
		return fault.New(fault.ServiceUnavailable, "The service is starting or stopping. Try again.")
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	if !d.enter() {
		return fault.New(fault.Throttling, "The service is asked for more than it can do. Try again later.")
	}
	defer d.leave()
	caller, err := d.verifier.Verify(c.request, sha256.Sum256(body), d.clock.Now())
	if err != nil {
		return err
	}
	c.principal = caller.Principal
	if !d.allow(c.operation(), c.principal) {
		return fault.New(fault.Throttling, "Rate exceeded: %s is called too often. Try again later.", c.operation())
	}
	ctx = d.attach(ctx, Call{Caller: caller, Invocation: c.request.Header.Get("Amz-Sdk-Invocation-Id")})
	return c.handler.Serve(ctx, c.protocol, body, a.Buffer())
}

// faultOf is fault.Of, save that work cut short by the end of ctx is no failure
// of the service.
func faultOf(ctx context.Context, err error) *fault.Error {
	if err == nil {
		return nil
	}
	if _, isFault := errors.AsType[*fault.Error](err); !isFault && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return &fault.Error{Kind: fault.ServiceUnavailable, Message: "The request took too long. Try again.", Err: err}
	}
	return fault.Of(err)
}

// report logs and counts one answer. What unauthenticated callers cause is logged once
// a second at most.
func (d *Door) report(ctx context.Context, c *call, f *fault.Error, took time.Duration, bytesOut int) {
	level, message := slog.LevelDebug, "request answered"
	var exception string
	var cause error
	if f != nil {
		exception, cause = string(f.Kind), f.Err
		switch f.Kind {
		case fault.InternalService:
			level, message = slog.LevelError, "request failed"
		case fault.ServiceUnavailable:
			level, message = slog.LevelWarn, "request not served"
		}
	}
	d.observe(c.operation(), exception, took.Seconds(), c.bytesIn, bytesOut)
	if !d.log.Enabled(ctx, level) {
		return
	}
	var suppressed int
	if c.principal == "" && level > slog.LevelDebug {
		var ok bool
		if suppressed, ok = d.lines.Allow(message); !ok {
			return
		}
	}
	attrs := []slog.Attr{
		slog.String("request_id", c.requestID), slog.String("operation", c.operation()), slog.String("protocol", c.protocol.String()),
		slog.String("principal", c.principal), slog.String("exception", exception), slog.Duration("took", took),
		slog.Int("bytes_in", c.bytesIn), slog.Int("bytes_out", bytesOut),
	}
	if suppressed > 0 {
		attrs = append(attrs, slog.Int("suppressed", suppressed))
	}
	if cause != nil {
		attrs = append(attrs, slog.Any("error", cause))
	}
	if p, ok := errors.AsType[*panicked](cause); ok {
		attrs = append(attrs, slog.String("stack", string(p.stack)))
	}
	d.log.LogAttrs(ctx, level, message, attrs...)
}
