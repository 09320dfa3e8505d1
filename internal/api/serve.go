package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Answer answers an AWS call that was read by an listen.Server.
func (e *Endpoint) Answer(ctx context.Context, r *listen.Request, a *listen.Answer) {
	e.call(ctx, r, nil, a)
}

// call answers a call. read reads its body; nil: r has it.
func (e *Endpoint) call(ctx context.Context, r *listen.Request, read func() ([]byte, error), a *listen.Answer) {
	start := e.clock.Now()
	ctx, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	c := newCall(r, read)
	defer c.release()
	f := e.handle(ctx, c, a)
	end := e.clock.Now()
	e.record(c, f)
	e.answer(a, c, f, end)
	if c.lost {
		a.Drop()
	}
	e.report(ctx, c, f, end.Sub(start), len(a.Body()))
}

// handle serves the call and leaves the body of a successful answer in a. A panic becomes a fault.
func (e *Endpoint) handle(ctx context.Context, c *call, a *listen.Answer) (f *fault.Error) {
	defer func() {
		if p := recover(); p != nil {
			f = fault.Internal(&panicked{value: p, stack: debug.Stack()})
		}
	}()
	return faultOf(ctx, e.serve(ctx, c, a))
}

// panicked is the cause of a fault after a panic.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

func (e *Endpoint) serve(ctx context.Context, c *call, a *listen.Answer) error {
	if err := e.dispatch(c); err != nil {
		return err
	}
	if !e.ready(ctx) {
		return fault.New(fault.ServiceUnavailable, "The service is starting or stopping. Try again.")
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	if !e.enter() {
		return fault.New(fault.Throttling, "The service is overloaded. Try again later.")
	}
	defer e.leave()
	caller, err := e.verifier.Verify(c.request, sha256.Sum256(body), e.clock.Now())
	if err != nil {
		e.refused(c, err)
		return err
	}
	c.principal = caller.Principal
	c.input = c.handler.Read(c.protocol, body)
	defer c.input.Discard()
	if err := e.authorize(ctx, c, caller); err != nil {
		return err
	}
	if !e.allow(c.operation(), c.principal) {
		return tooOften(c)
	}
	if c.lost, err = e.inject(ctx, c.operation()); err != nil {
		return err
	}
	from := Call{Caller: caller, URL: urlOf(c.request.Host, c.request.Client.TLS), Created: c.creates()}
	if !c.lost { // a client whose answer is lost must recognise its retry by other means, such as a token
		from.Invocation = c.request.Header.Get("Amz-Sdk-Invocation-Id")
	}
	ctx = e.attach(ctx, from)
	return c.input.Serve(ctx, a.Buffer())
}

func tooOften(c *call) error {
	return fault.New(fault.Throttling, "Rate exceeded: %s is called too often. Try again later.", c.operation())
}

// faultOf is fault.Of, but work that ended with ctx is no failure of the service.
func faultOf(ctx context.Context, err error) *fault.Error {
	if err == nil {
		return nil
	}
	if _, isFault := errors.AsType[*fault.Error](err); !isFault && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return &fault.Error{Kind: fault.ServiceUnavailable, Message: "The request took too long. Try again.", Err: err}
	}
	return fault.Of(err)
}

// report logs and counts an answer. Lines that unauthenticated clients can cause are limited to one per second.
func (e *Endpoint) report(ctx context.Context, c *call, f *fault.Error, took time.Duration, bytesOut int) {
	level, message := slog.LevelDebug, "request answered"
	var exception string
	var cause error
	if f != nil {
		exception, cause = string(f.Kind), f.Err
		switch f.Kind {
		case fault.InternalService:
			level, message = slog.LevelError, "request failed"
		case fault.ServiceUnavailable:
			message = "request not served"
			if !errors.Is(ctx.Err(), context.Canceled) { // else the client has left
				level = slog.LevelWarn
			}
		}
	}
	e.observe(c.operation(), exception, took.Seconds(), c.bytesIn, bytesOut)
	if !e.log.Enabled(ctx, level) {
		return
	}
	var suppressed int
	if c.principal == "" && level > slog.LevelDebug {
		var ok bool
		if suppressed, ok = e.lines.Allow(message); !ok {
			return
		}
	}
	attrs := []slog.Attr{
		slog.String("request_id", c.requestID), slog.String("operation", c.operation()),
		slog.String("protocol", c.protocol.String()), slog.String("principal", c.principal),
		slog.String("exception", exception), slog.Duration("took", took),
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
	e.log.LogAttrs(ctx, level, message, attrs...)
}

// urlOf returns the scheme and host of a request.
func urlOf(host string, tls bool) string {
	switch {
	case host == "":
		return ""
	case tls:
		return "https://" + host
	}
	return "http://" + host
}
