// Package s3 serves objects by the part of the S3 API that uploads of builds and simple tools need: see the table in
// operations.go. Other operations, parameters and headers with an effect are answered with NotImplemented.
//
// Requests are authenticated by Signature Version 4 in the header or in the query, with the five kinds of payloads:
// hash, not signed, and in chunks, signed or not, with a trailer or without. Addresses are of path style. A body is not
// read, and a client that expects status 100 does not send it, before the request is authenticated, allowed, and the
// catalog would accept the object.
//
// An object is stored in this order: bytes to a temporary file; hash, length, checksums and signatures of chunks
// verified; the file durable; the catalog's record durable; the answer.
//
// Source: Amazon S3 API reference, 2006-03-01.
package s3

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/objects"
	"github.com/muster-gg/muster/internal/telemetry/loglimit"
)

const (
	// DefaultSkew is the maximum difference between a signature's time and the service's clock. Source: Amazon S3 API
	// reference, error RequestTimeTooSkewed.
	DefaultSkew = 15 * time.Minute

	// DefaultMaxRequests is the default of Config.MaxRequests.
	DefaultMaxRequests = 256

	// stallTime limits how long a client may send or receive nothing in the middle of a body.
	stallTime = 60 * time.Second

	// maxXML is the maximum size of a body in XML, in bytes: a list of 10,000 parts with their checksums fits.
	maxXML = 4 << 20
)

// Config configures a Handler. All fields are required unless they say otherwise.
type Config struct {
	Store   *objects.Store
	Uploads objects.Uploads // nil: those of the Store
	Catalog objects.Catalog
	Keys    objects.Keys
	Region  string        // of the buckets
	Skew    time.Duration // maximum clock difference of clients; 0: DefaultSkew

	// Anyone is the caller of a request without a valid signature. nil: such requests are refused.
	Anyone objects.Caller

	Ready       func(context.Context) bool // waits until requests can be answered
	MaxRequests int                        // at a time; 0: DefaultMaxRequests
	Bodies      *listen.Budget             // limits the memory of bodies in XML; nil: no limit

	// Attach adds to the context what Keys, callers and the catalog need to know of a request; nil: nothing.
	Attach func(ctx context.Context, r *listen.Request, requestID string) context.Context

	// Refused is called for a request that could not be authenticated. accessKey is "" if it cannot be read. nil:
	// nothing is called.
	Refused func(ctx context.Context, accessKey, action string, err error)

	// Observe is called for every answer. operation is one that is served ("s3:PutObject"), or "unknown"; code is that
	// of the error, or "". nil: nothing is observed.
	Observe func(operation, code string, seconds float64, bytesIn, bytesOut int)

	Clock clockwork.Clock
	Log   *slog.Logger
}

// A Handler serves requests. It is an http.Handler.
type Handler struct {
	Config
	verifier sigv4.S3Verifier
	slots    chan struct{}
	lines    *loglimit.Limiter
}

// New returns the handler of requests.
func New(c Config) *Handler {
	if c.Skew == 0 {
		c.Skew = DefaultSkew
	}
	if c.Uploads == nil {
		c.Uploads = c.Store
	}
	if c.MaxRequests == 0 {
		c.MaxRequests = DefaultMaxRequests
	}
	return &Handler{Config: c, slots: make(chan struct{}, c.MaxRequests), lines: loglimit.New(c.Clock)}
}

// Is reports whether a request is for S3: by the service in its signature, of any version.
func Is(r *http.Request) bool {
	authorization := r.Header.Get("Authorization")
	if strings.HasPrefix(authorization, "AWS ") || strings.HasPrefix(authorization, sigv4.Algorithm) &&
		strings.Contains(authorization, "/s3/aws4_request") {
		return true
	}
	if !strings.Contains(r.URL.RawQuery, "X-Amz-Credential=") && !isV2(r.URL.RawQuery) {
		return false
	}
	query := r.URL.Query()
	return strings.HasSuffix(query.Get("X-Amz-Credential"), "/s3/aws4_request") || query.Has("AWSAccessKeyId")
}

func isV2(query string) bool { return strings.Contains(query, "AWSAccessKeyId=") }

// A request is one that is being served.
type request struct {
	*Handler
	w         http.ResponseWriter
	r         *http.Request
	conn      *http.ResponseController
	head      listen.Request
	id        string
	query     url.Values
	bucket    string
	key       string
	operation *operation         // nil: not implemented
	signature *sigv4.S3Signature // nil: not verified
	caller    objects.Caller
	begun     bool  // the answer has begun, with status 200 and the first line of XML
	in, out   int64 // bytes of bodies
}

// ServeHTTP authenticates, allows, serves and answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := h.Clock.Now()
	q := &request{Handler: h, w: w, r: r, conn: http.NewResponseController(w), head: listen.RequestOf(r)}
	id := uuid.New()
	q.id = strings.ToUpper(fmt.Sprintf("%x", id[:8]))
	w.Header().Set("x-amz-request-id", q.id)
	err := q.handle(r.Context())
	if err != nil {
		q.fail(err)
	}
	if h.Observe == nil {
		return
	}
	name := "unknown"
	if q.operation != nil {
		name = "s3:" + q.operation.name
	}
	h.Observe(name, string(objects.CodeOf(err)), h.Clock.Since(begun).Seconds(), int(q.in), int(q.out))
}

// handle serves the request, or returns why it does not. A panic becomes an error.
func (q *request) handle(ctx context.Context) (err error) {
	defer recovered(&err)
	if !q.Ready(ctx) {
		return objects.Errorf(objects.ServiceUnavailable, "The service is starting or recovering. Try again.")
	}
	select {
	case q.slots <- struct{}{}:
		defer func() { <-q.slots }()
	default:
		return objects.Errorf(objects.SlowDown, "Too many requests for objects at a time. Try again later.")
	}
	if q.Attach != nil {
		ctx = q.Attach(ctx, &q.head, q.id)
	}
	if q.query, err = url.ParseQuery(q.r.URL.RawQuery); err != nil {
		return objects.Errorf(objects.InvalidRequest, "The query of the request cannot be read.")
	}
	q.bucket, q.key, _ = strings.Cut(strings.TrimPrefix(q.r.URL.Path, "/"), "/")
	missing := q.find()
	if err := q.authenticate(ctx); err != nil {
		return err
	}
	if missing != nil {
		return missing
	}
	if err := checkName(q.bucket, q.key); err != nil {
		return err
	}
	if a := q.operation.action; a != "" {
		if err := q.caller.Allow(ctx, "s3:"+a, q.bucket, q.key); err != nil {
			return err
		}
	}
	return q.operation.serve(q, ctx)
}

// recovered turns a panic into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// fail answers with an error.
func (q *request) fail(err error) {
	e, ok := errors.AsType[*objects.Error](err)
	if !ok {
		q.log("request for an object failed", err)
		e = objects.Errorf(objects.InternalError, "We encountered an internal error. Please try again.")
	}
	status := statusOf(e.Code)
	if q.r.Method == http.MethodHead {
		q.w.WriteHeader(status)
		return
	}
	q.xml(status, errorAnswer{Code: string(e.Code), Message: e.Message, Resource: q.r.URL.Path, RequestID: q.id})
}

// log writes a line about an internal error.
func (q *request) log(text string, err error) {
	if suppressed, ok := q.lines.Allow(text); ok {
		q.Log.Error(text, "method", q.r.Method, "path", loglimit.Clip(q.r.URL.Path), "request", q.id, "error", err,
			"suppressed", suppressed)
	}
}
