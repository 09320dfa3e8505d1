package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// A call is one request on its way through the gateway.
type call struct {
	g     *Gateway
	w     http.ResponseWriter
	r     *http.Request
	ctx   context.Context // of the request, with the deadline
	id    string          // what stands for {id} in the path
	local bool            // one of the _local paths
	route *route          // nil: there is none
	allow []string        // the methods of the path, if it has none such
	seen  Observation
}

// Handler answers the paths of openapi.yaml; all others are refused.
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

// answer calls the handler and writes what it has.
func (c *call) answer() {
	ctx, cancel := WithTimeout(c.r.Context(), c.g.clock, c.g.deadline)
	defer cancel()
	c.ctx = ctx
	a, err := c.handle()
	switch {
	case err != nil:
		f, ok := errors.AsType[*failure](err)
		if !ok {
			f = failed(ctx, err, Internal, Internal)
		}
		c.fail(f)
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

// sent pushes the answer out and reports whether its client seems to be there.
func (c *call) sent() bool {
	err := http.NewResponseController(c.w).Flush()
	return (err == nil || errors.Is(err, http.ErrNotSupported)) && c.r.Context().Err() == nil
}

// handle calls the route's handler. A panic is a failure like others: the oldest
// clients do not survive a connection that closes without an answer.
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

func panicked(v any) *failure {
	return &failure{code: Internal, err: fmt.Errorf("panic: %v\n%s", v, debug.Stack())}
}

// unknown refuses a path or method that there is no route for.
func (c *call) unknown() *failure {
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

// fail answers with a failure and logs it.
func (c *call) fail(f *failure) {
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

// shown is the text of a failure that a client sees: in development the service's
// own, if it has one; "" for the text that goes with the code.
func (f *failure) shown(development bool) string {
	if development && f.text == "" && f.err != nil {
		return f.err.Error()
	}
	return f.text
}

// logFailure writes one line, of each code one a second at most. What the service did wrong is worth a warning; what
// clients do wrong, and that all is taken, shows in the metrics.
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

// mayActFor refuses a request that speaks for another player than its own, or too
// often for one.
func (c *call) mayActFor(player string) *failure {
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
