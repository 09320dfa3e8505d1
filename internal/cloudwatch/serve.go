package cloudwatch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	// maxBody is the maximum size of a body, in bytes: 500 queries with the longest expressions and labels fit.
	maxBody = 2 << 20

	// deadline is when a call ends at the latest. Clients wait for 60 s.
	deadline = 50 * time.Second

	bodyTime  = 20 * time.Second // for a body to arrive
	writeTime = 30 * time.Second // for an answer to be written
)

// A call is one request.
type call struct {
	request   listen.Request
	protocol  protocol
	name      string     // of the operation, as it was sent
	operation *operation // nil: not offered
	form      *node      // of the query protocol
	from      access.Origin
	principal string
	read      int // bytes of the body
}

// ServeHTTP authenticates, decides, serves and answers a call.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := h.Clock.Now()
	c := &call{request: listen.RequestOf(r)}
	c.protocol = protocolOf(&c.request)
	c.from = access.Origin{Address: c.request.Client.Address, TLS: c.request.Client.TLS, UserAgent: r.UserAgent(),
		RequestID: uuid.NewString()}
	ctx, cancel := context.WithTimeout(r.Context(), deadline)
	defer cancel()
	body, err := h.handle(ctx, w, r, c)
	code, written := h.answer(ctx, w, c, body, err)
	if h.Observe == nil {
		return
	}
	name := "unknown"
	if c.operation != nil {
		name = c.operation.action.String()
	}
	h.Observe(name, code, h.Clock.Since(begun).Seconds(), c.read, written)
}

// handle returns the body of a successful answer. A panic becomes an error.
func (h *Handler) handle(ctx context.Context, w http.ResponseWriter, r *http.Request, c *call) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Internal(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	if !h.Ready(ctx) {
		return nil, fault.New(fault.ServiceUnavailable, "The service is starting or recovering. Try again.")
	}
	body, release, err := h.body(w, r, c)
	if err != nil {
		return nil, err
	}
	defer release()
	c.read = len(body)
	if err := h.find(c, body); err != nil {
		return nil, err
	}
	return h.serve(ctx, c, body)
}

// body reads the whole body. release must be called when it is not used any more.
func (h *Handler) body(w http.ResponseWriter, r *http.Request, c *call) (body []byte, release func(), err error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, nil, fault.New(fault.Serialization, "The body must not be compressed.")
	}
	room := listen.MaxBody // of a body of unknown length
	if r.ContentLength >= 0 {
		room = int(min(r.ContentLength, maxBody))
	}
	if room > listen.MaxBody { // a larger one needs an access key
		if err := h.verifier.Check(&c.request, h.Clock.Now()); err != nil {
			return nil, nil, err
		}
	}
	if !h.Bodies.Take(room) {
		return nil, nil, fault.New(fault.Throttling, "Too many large requests at a time. Try again later.")
	}
	release = func() { h.Bodies.Give(room) }
	conn := http.NewResponseController(w) // without deadlines in tests
	_ = conn.SetReadDeadline(time.Now().Add(bodyTime))
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, int64(room)))
	_ = conn.SetReadDeadline(time.Time{})
	if err == nil {
		return body, release, nil
	}
	release()
	if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
		return nil, nil, fault.New(fault.InvalidRequest, "The body of the request is larger than %d bytes.", room)
	}
	return nil, nil, &fault.Error{Kind: fault.Serialization, Message: "The body of the request did not arrive in " +
		"whole.",
		Err: err}
}

// serve serves a call whose operation was looked for.
func (h *Handler) serve(ctx context.Context, c *call, body []byte) ([]byte, error) {
	if !h.Enter() {
		return nil, fault.New(fault.Throttling, "The service is overloaded. Try again later.")
	}
	defer h.Leave()
	caller, err := h.verifier.Verify(&c.request, sha256.Sum256(body), h.Clock.Now())
	if err != nil {
		h.Access.Refused(sigv4.KeyID(&c.request), c.from, "cloudwatch:"+c.shownName(), err)
		return nil, err
	}
	c.from.Region, c.principal = caller.Region, caller.Principal
	if c.operation == nil {
		return nil, refusal(c.name)
	}
	if err := h.Access.Allow(h.Access.IdentityOf(caller), c.from, c.operation.action); err != nil {
		return nil, err
	}
	if !h.Allow(c.operation.action.String(), caller.Principal) {
		return nil, fault.New(fault.Throttling, "Rate exceeded: %s is called too often. Try again later.", c.name)
	}
	return c.run(ctx, body)
}

// shownName is the operation in the audit trail, in which clients can write no names of their own.
func (c *call) shownName() string {
	if _, known := reasons[c.name]; known || c.operation != nil {
		return c.name
	}
	return "unknown"
}

// run reads and checks the input, calls the operation's function and writes the output.
func (c *call) run(ctx context.Context, body []byte) (out []byte, err error) {
	if c.protocol == query {
		if body, err = c.form.json(c.operation.input); err != nil {
			return nil, err
		}
	}
	in := c.operation.Read(c.protocol.encoding(), body)
	if err := in.Serve(ctx, &out); err != nil {
		return nil, err
	}
	if c.protocol == query {
		return c.xml(out)
	}
	return out, nil
}

// A protocol is one of the three.
type protocol int

const (
	jsonProtocol protocol = iota
	cborProtocol
	query
)

func protocolOf(r *listen.Request) protocol {
	switch {
	case r.Header.Get("X-Amz-Target") != "":
		return jsonProtocol
	case r.Header.Get("Smithy-Protocol") != "":
		return cborProtocol
	default:
		return query
	}
}

// encoding is that of the shapes. The query protocol is translated from and to JSON.
func (p protocol) encoding() wire.Protocol {
	if p == cborProtocol {
		return wire.CBOR
	}
	return wire.JSON
}

var contentTypes = [...]string{
	jsonProtocol: "application/x-amz-json-1.0", cborProtocol: "application/cbor",
	query: "application/x-www-form-urlencoded",
}

func isForm(r *listen.Request) bool { return contentType(r) == contentTypes[query] }

func contentType(r *listen.Request) string {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// find finds the operation of a call.
func (h *Handler) find(c *call, body []byte) error {
	if c.request.Method != http.MethodPost {
		return fault.New(fault.UnknownOperation, "The method of the request must be POST.")
	}
	switch c.protocol {
	case jsonProtocol:
		c.name = strings.TrimPrefix(c.request.Header.Get("X-Amz-Target"), target+".")
	case cborProtocol:
		_, c.name, _ = strings.Cut(c.request.Path, "/service/"+target+"/operation/")
	case query:
		if err := c.parseForm(body); err != nil {
			return err
		}
	}
	c.operation = h.operations[c.name]
	if want := contentTypes[c.protocol]; c.read > 0 && contentType(&c.request) != want {
		return fault.New(fault.Serialization, "The Content-Type of the request must be %s.", want)
	}
	return nil
}
