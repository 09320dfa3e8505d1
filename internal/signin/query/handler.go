// Package query serves STS and a part of IAM in AWS's query protocol:
//
//	POST /    a form with Action, Version and parameters, signed (Signature Version 4, service sts or iam)
//	GET  /    GetCallerIdentity with a presigned URL, by which a client proves to others who it is
//
// Version tells the services apart: 2011-06-15 is STS (sts.go), 2010-05-08 is IAM (users.go, userpolicies.go, keys.go).
// Answers are XML. Only AssumeRoleWithWebIdentity is not signed: its token authenticates the caller.
//
// A call is decided after its signature and before its parameters are validated, so that a denial reveals nothing.
//
// Sources: service models sts and iam of botocore; STS API reference and IAM API reference, "Common Errors".
package query

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/control/audit"
	"github.com/muster-gg/muster/internal/control/idp"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/telemetry/loglimit"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Access authenticates, decides and does what is asked. An *access.Access implements it.
type Access interface {
	sigv4.Keys
	IdentityOf(c sigv4.Caller) *access.Identity
	Decide(id *access.Identity, from access.Origin, c access.Call) error
	Recorded(id *access.Identity, from access.Origin, name string, resources []string, err error) audit.Record
	Trail() *audit.Trail

	AssumeRole(ctx context.Context, id *access.Identity, from access.Origin, in access.AssumeRole) (
		*access.Temporary, error)
	RoleARN(sent string) string
	Refused(keyID string, from access.Origin, name string, err error)
	SessionToken(ctx context.Context, id *access.Identity, from access.Origin, seconds int32) (
		*access.Temporary, error)
	AssumeRoleWithWebIdentity(ctx context.Context, from access.Origin, in access.WebIdentity) (
		*access.Temporary, *idp.Claims, error)
	KeyAccount(keyID string) (string, error)

	Users(after string, limit int) (users []access.UserView, more bool)
	User(name string) (*access.UserView, error)
	CreateUser(ctx context.Context, by *access.Identity, in access.UserInput) (*access.UserCreated, error)
	DeleteUser(ctx context.Context, name string) error
	PutUserPolicy(ctx context.Context, by *access.Identity, user, name, document string) error
	DeleteUserPolicy(ctx context.Context, by *access.Identity, user, name string) error

	Keys(ctx context.Context, user string) []access.KeyView
	RootKeys(ctx context.Context) []access.KeyView
	Key(ctx context.Context, id string) (*access.KeyView, error)
	CreateKey(ctx context.Context, by *access.Identity, in access.KeyInput) (*access.KeyCreated, error)
	UpdateKey(ctx context.Context, by *access.Identity, id string, patch access.KeyPatch) (*access.KeyView, error)
	DeleteKey(ctx context.Context, id string) error
}

// Config configures a Handler. All fields are required unless they say otherwise.
type Config struct {
	Access Access
	Skew   time.Duration              // maximum clock difference of clients; 0 is sigv4.DefaultSkew
	Ready  func(context.Context) bool // waits until requests can be answered

	// Admit reports whether an unsigned call from an address may be served now. nil: all may.
	Admit func(netip.Addr) bool

	// Observe is called for every answer. operation is one that is offered, with its service ("sts:AssumeRole"), or
	// "unknown"; code is that of the error, or "". nil: nothing is observed.
	Observe func(operation, code string, seconds float64, bytesIn, bytesOut int)

	Clock clockwork.Clock
	Log   *slog.Logger
}

// The maximum sizes of bodies, in bytes.
const (
	maxUnsigned = 16 << 10
	maxSigned   = 64 << 10
)

// maxExpires limits the validity of presigned URLs, whatever they state. Source: AWS, GetCallerIdentity.
const maxExpires = 15 * time.Minute

// Matches reports whether a request is for this package. It does not read the body.
func Matches(r *http.Request) bool {
	if r.URL.Path != "/" {
		return false
	}
	if r.Method == http.MethodGet {
		return strings.Contains(r.URL.RawQuery, "Action=")
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && r.Method == http.MethodPost && kind == "application/x-www-form-urlencoded" &&
		r.Header.Get("X-Amz-Target") == ""
}

// A Handler serves calls. It is an http.Handler.
type Handler struct {
	Config
	verifiers map[string]*sigv4.Verifier // by service
	lines     *loglimit.Limiter
}

// New returns the handler of calls.
func New(c Config) *Handler {
	h := &Handler{Config: c, verifiers: map[string]*sigv4.Verifier{}, lines: loglimit.New(c.Clock)}
	for _, s := range services {
		h.verifiers[s.name] = sigv4.New(sigv4.Config{
			Keys: c.Access, Service: s.name, Skew: c.Skew, MaxExpires: maxExpires,
		})
	}
	return h
}

// A call is one request.
type call struct {
	service   *service
	operation *operation // nil: not found
	form      form
	from      access.Origin
	id        *access.Identity  // nil for unsigned calls
	resources []string          // ARNs that the call was decided for
	details   map[string]string // for the audit trail
	read      int               // bytes of the body
}

// ServeHTTP authenticates, decides, serves and answers a call.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := h.Clock.Now()
	request := listen.RequestOf(r)
	c := &call{service: &services[0], from: access.Origin{
		Address: request.Client.Address, TLS: request.Client.TLS, UserAgent: r.UserAgent(), RequestID: uuid.NewString(),
	}}
	result, err := h.serve(w, r, &request, c)
	code, written := h.answer(w, c, result, err)
	if h.Observe == nil {
		return
	}
	name := "unknown"
	if c.operation != nil {
		name = c.name()
	}
	h.Observe(name, code, h.Clock.Since(begun).Seconds(), c.read, written)
}

func (c *call) name() string { return c.service.name + ":" + c.operation.name }

// serve returns the result of a call, nil if the operation has none.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, request *listen.Request, c *call) (any, error) {
	if !h.Ready(r.Context()) {
		return nil, fault.New(fault.ServiceUnavailable, "The service is starting or recovering. Try again.")
	}
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	c.read = len(body)
	if err := c.parse(r, body); err != nil {
		return nil, err
	}
	if err := h.authenticate(request, c, body); err != nil {
		return nil, err
	}
	if err := h.decide(r.Context(), c); err != nil {
		return nil, err
	}
	result, err := c.operation.serve(r.Context(), h, c)
	if c.operation.changes {
		record := h.Access.Recorded(c.id, c.from, c.name(), c.resources, err)
		record.Details = c.details
		h.Access.Trail().Record(record)
	}
	return result, err
}

// readBody reads all of a body. Only what seems to be signed may be long.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	most := int64(maxUnsigned)
	if r.Header.Get("Authorization") != "" {
		most = maxSigned
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
		return nil, fault.New(tooLarge, "The request body is longer than %d bytes.", most)
	}
	if err != nil {
		return nil, fault.New(malformedQuery, "The request body did not arrive.")
	}
	return body, nil
}

// parse reads the parameters and finds the operation.
func (c *call) parse(r *http.Request, body []byte) error {
	text := string(body)
	if r.Method == http.MethodGet {
		text = r.URL.RawQuery
	}
	values, err := url.ParseQuery(text)
	if err != nil {
		return fault.New(malformedQuery, "The parameters of the request are not an URL-encoded form.")
	}
	c.form.values = values
	name, version := values.Get("Action"), values.Get("Version")
	if name == "" {
		return fault.New(missingAction, "The request must contain the parameter Action.")
	}
	for i := range services {
		if services[i].version == version {
			c.service = &services[i]
			c.operation = c.service.find(name)
		}
	}
	switch {
	case c.operation == nil:
		return fault.New(invalidAction, "Could not find operation %.64s for version %.16s. Offered are %s.",
			name, version, offered())
	case r.Method == http.MethodGet && !c.operation.presigned:
		c.operation = nil
		return fault.New(invalidAction, "Operation %.64s must be called with POST.", name)
	}
	return nil
}

// authenticate sets the identity of the caller, unless the operation needs none.
func (h *Handler) authenticate(request *listen.Request, c *call, body []byte) error {
	if c.operation.unsigned {
		if h.Admit != nil && !h.Admit(c.from.Address) {
			return fault.New(fault.Throttling, "Rate exceeded")
		}
		return nil
	}
	caller, err := h.verifiers[c.service.name].Verify(request, sha256.Sum256(body), h.Clock.Now())
	if err != nil {
		h.Access.Refused(sigv4.KeyID(request), c.from, c.name(), err)
		return err
	}
	c.from.Region = caller.Region
	if c.id = h.Access.IdentityOf(caller); c.id == nil {
		return fault.New(fault.UnrecognizedClient, "The security token included in the request is invalid.")
	}
	return nil
}

// decide asks the policies of the caller, and sets the resources of the call.
func (h *Handler) decide(ctx context.Context, c *call) error {
	if c.operation.resources == nil {
		return nil
	}
	c.resources = c.operation.resources(ctx, h, c)
	asked := []access.Call{{Action: c.operation.action, Resources: c.resources}}
	if c.operation.also != nil {
		asked = append(asked, c.operation.also(c)...)
	}
	for _, each := range asked {
		if err := h.Access.Decide(c.id, c.from, each); err != nil {
			return err
		}
	}
	return nil
}
