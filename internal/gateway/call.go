package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/jonboulle/clockwork"
)

// A call is one HTTP request.
type call struct {
	g     *Gateway
	w     http.ResponseWriter
	r     *http.Request
	ctx   context.Context // of the request, with the deadline
	id    string          // the value of {id} in the path
	local bool            // one of the _local paths
	route *route          // nil if no route matches
	allow []string        // the methods of the path, if it lacks the request's
	seen  Observation
}

// Handler serves the paths of openapi.yaml and rejects all others.
func (g *Gateway) Handler() http.Handler { return http.HandlerFunc(g.serveHTTP) }

func (g *Gateway) serveHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{g: g, w: w, r: r, seen: Observation{Route: "unknown", Status: http.StatusOK}}
	if c.route, c.id, c.allow = find(r); c.route != nil {
		c.seen.Route = c.route.name()
	}
	start := g.clock.Now()
	defer func() {
		c.seen.Latency = g.clock.Since(start)
		g.observe(c.seen)
	}()
	requestID(w)
	if !g.enter() {
		c.fail(&failure{code: Stopping})
		return
	}
	defer g.leave()
	c.answer()
}

// answer calls the handler and writes its answer.
func (c *call) answer() {
	ctx, cancel := WithTimeout(c.r.Context(), c.g.clock, c.g.deadline)
	defer cancel()
	c.ctx = ctx
	a, err := c.handle()
	switch {
	case err != nil:
		c.fail(failed(ctx, err, Internal, Internal))
		return
	case a.streamed:
		return
	case a.raw != nil:
		writeBody(c.w, http.StatusOK, a.raw.contentType, a.raw.text)
		return
	case a.status == 0:
		a.status = http.StatusOK
	}
	c.seen.Status = a.status
	if a.location != "" {
		c.w.Header().Set("Location", a.location)
	}
	writeJSON(c.w, a.status, a.body)
	if a.written != nil && c.sent() {
		a.written()
	}
}

// sent flushes the answer and reports whether the client is still connected.
func (c *call) sent() bool {
	err := http.NewResponseController(c.w).Flush()
	return (err == nil || errors.Is(err, http.ErrNotSupported)) && c.r.Context().Err() == nil
}

// handle calls the route's handler. A panic becomes a failure, because the oldest clients crash on a connection that
// closes without an answer.
func (c *call) handle() (a answer, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v)
		}
	}()
	if c.route == nil {
		return answer{}, c.unknown()
	}
	return c.route.serve(c)
}

func panicked(v any) error {
	return &failure{code: Internal, err: fmt.Errorf("panic: %v\n%s", v, debug.Stack())}
}

// unknown returns the failure of a path or method without a route.
func (c *call) unknown() error {
	switch {
	case !strings.HasPrefix(c.r.URL.Path, "/v1/"):
		return &failure{code: UnknownRoute}
	case len(c.allow) == 0:
		return &failure{code: NotFound}
	default:
		c.w.Header().Set("Allow", strings.Join(c.allow, ", "))
		return fail(MethodNotAllowed, "The path has no %s; it has %s.", c.r.Method, strings.Join(c.allow, ", "))
	}
}

// fail answers with the failure in err and logs it.
func (c *call) fail(err error) {
	f := asFailure(err)
	c.seen.Code, c.seen.Status = f.code, f.code.Status()
	c.logFailure(f)
	switch {
	case f.code == UnknownRoute:
		writeBody(c.w, http.StatusForbidden, "application/json", []byte(unknownRoute))
	case c.g.compat && !strings.HasPrefix(c.r.URL.Path, "/v1/"):
		c.seen.Status = writeCompat(c.w, f)
	default:
		WriteError(c.w, f.code, f.shown(c.g.development))
	}
}

// shown returns the text of a failure for the client: in development the service's own, if there is one; "" for the
// text of the code.
func (f *failure) shown(development bool) string {
	if development && f.text == "" && f.err != nil {
		return f.err.Error()
	}
	return f.text
}

// logFailure logs a failure, at most one per code and second. Errors of the service are warnings; errors of clients and
// a lack of capacity are in the metrics.
func (c *call) logFailure(f *failure) {
	level := slog.LevelDebug
	switch {
	case f.code == NoCapacity, f.code == TooManyStreams, f.code == Stopping, f.code == NotSupported:
		level = slog.LevelInfo
	case f.code.Status() >= http.StatusInternalServerError:
		level = slog.LevelWarn
	}
	if !c.g.log.Enabled(c.r.Context(), level) {
		return
	}
	suppressed, ok := c.g.lines.Allow("failure " + string(f.code))
	if !ok {
		return
	}
	args := []any{"route", c.seen.Route, "code", string(f.code), "request", requestID(c.w), "suppressed", suppressed}
	if f.text != "" {
		args = append(args, "text", f.text)
	}
	if f.err != nil {
		args = append(args, "error", f.err.Error())
	}
	c.g.log.Log(context.WithoutCancel(c.r.Context()), level, "request failed", args...)
}

// mayActFor rejects a request for another player than the authenticated one, or beyond the player's rate.
func (c *call) mayActFor(player string) error {
	if subject := c.g.subject(c.r); subject != "" {
		if subject != player {
			return &failure{code: WrongPlayer}
		}
		return nil
	}
	if wait, ok := c.g.limit(player); !ok {
		c.w.Header().Set(retryAfterHeader, strconv.Itoa(int((wait+time.Second-1)/time.Second)))
		return &failure{code: RateLimited}
	}
	return nil
}

// WithTimeout is context.WithTimeout with a clock. The one of package clockwork blocks in Err with a fake clock, which
// libraries do not expect.
func WithTimeout(ctx context.Context, clock clockwork.Clock, d time.Duration) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancelCause(ctx)
	timer := clock.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	limited := &limitedContext{Context: inner, deadline: clock.Now().Add(d)}
	if outer, ok := ctx.Deadline(); ok && outer.Before(limited.deadline) {
		limited.deadline = outer
	}
	return limited, func() {
		timer.Stop()
		cancel(nil)
	}
}

// A limitedContext ends at a clock's time.
type limitedContext struct {
	context.Context
	deadline time.Time
}

func (c *limitedContext) Deadline() (time.Time, bool) { return c.deadline, true }

func (c *limitedContext) Err() error {
	err := c.Context.Err()
	if err != nil && errors.Is(context.Cause(c.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}

// bodyTime limits how long reading a request's body takes.
const bodyTime = 10 * time.Second

func (c *call) body() ([]byte, error) {
	conn := http.NewResponseController(c.w)
	// A server whose writer has no deadlines sets its own.
	_ = conn.SetReadDeadline(time.Now().Add(c.g.bodyTime))
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, c.g.maxBody))
	if err == nil {
		_ = conn.SetReadDeadline(time.Time{})
		return body, nil
	}
	c.refuseBody()
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, fail(BodyTooLarge, "The body of the request has more than %d bytes.", c.g.maxBody)
	}
	return nil, &failure{code: InvalidRequest, text: "The body of the request did not arrive in whole.", err: err}
}

// refuseBody closes the connection after the answer. Otherwise the server would read the rest of the body before it
// sends the answer.
func (c *call) refuseBody() { c.w.Header().Set("Connection", "close") }

// object reads the body of a request as a JSON object, whatever its Content-Type.
func (c *call) object() (*object, error) {
	body, err := c.body()
	if err != nil {
		return nil, err
	}
	return parseObject(body)
}
