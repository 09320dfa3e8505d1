package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/fault"
)

// ServeHTTP answers one AWS call.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := d.clock.Now()
	ctx, cancel := context.WithTimeout(r.Context(), Deadline)
	defer cancel()
	bufs := takeBuffers()
	defer bufs.release()

	c := &call{requestID: uuid.NewString()}
	f := d.handle(ctx, c, w, r, bufs)
	d.answer(w, c, f, bufs)
	d.report(ctx, c, f, d.clock.Since(start), len(bufs.out))
}

// handle does everything between the head of the request and the answer, and
// leaves the body of a successful answer in bufs.out. A panic on the way
// becomes a fault.
func (d *Door) handle(ctx context.Context, c *call, w http.ResponseWriter, r *http.Request, bufs *buffers) (f *fault.Error) {
	defer func() {
		if p := recover(); p != nil {
			f = fault.Internal(&panicked{value: p, stack: debug.Stack()})
		}
	}()
	return faultOf(ctx, d.serve(ctx, c, w, r, bufs))
}

// panicked is the cause of a fault that stands for a panic.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

func (d *Door) serve(ctx context.Context, c *call, w http.ResponseWriter, r *http.Request, bufs *buffers) error {
	if err := d.dispatch(c, r); err != nil {
		return err
	}
	err := bufs.readBody(w, r)
	c.bytesIn = len(bufs.in)
	if err != nil {
		return err
	}
	caller, err := d.verifier.Verify(r, sha256.Sum256(bufs.in), d.clock.Now())
	if err != nil {
		return err
	}
	c.principal = caller.Principal
	if !d.allow(c.operation(), c.principal) {
		return fault.New(fault.Throttling, "Rate exceeded: %s is called too often. Try again later.", c.operation())
	}
	ctx = d.attach(ctx, Call{Caller: caller, Invocation: r.Header.Get("Amz-Sdk-Invocation-Id")})
	return c.handler.Serve(ctx, c.protocol, bufs.in, &bufs.out)
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

// report logs and counts one answer.
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
	attrs := []slog.Attr{
		slog.String("request_id", c.requestID), slog.String("operation", c.operation()), slog.String("protocol", c.protocol.String()),
		slog.String("principal", c.principal), slog.String("exception", exception), slog.Duration("took", took),
		slog.Int("bytes_in", c.bytesIn), slog.Int("bytes_out", bytesOut),
	}
	if cause != nil {
		attrs = append(attrs, slog.Any("error", cause))
	}
	if p, ok := errors.AsType[*panicked](cause); ok {
		attrs = append(attrs, slog.String("stack", string(p.stack)))
	}
	d.log.LogAttrs(ctx, level, message, attrs...)
}
