package operator

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A route is a row of the table of requests. The mux, the authorisation, the audit trail and the text for unknown
// requests follow from it.
type route struct {
	pattern  string // of http.ServeMux: method and path
	action   string // asked of Access.Allow, "muster:" being left out; "": anyone with a valid signature
	resource string // KIND/NAME of the ARN, with {wildcards} of the path, {fleet} or {queue}; "": of the body, or "*"
	endpoint
	notes note
}

// A note is a deviation of a route from what its method implies.
type note int

const (
	sensitive note = 1 << iota // recorded in the audit trail, and refused without a valid signature, although a GET
	harmless                   // neither, although a POST
	unsigned                   // authenticated by the endpoint itself
	own                        // about the caller alone: no policy is asked
)

// An endpoint serves a route.
type endpoint struct {
	input    func() any             // makes a value for the JSON of the body; nil: the request must have no body
	limit    int                    // of the body, in bytes; 0: maxBody
	received *received              // the body is streamed, see receiving; nil: it is not
	query    []string               // names of the parameters of the query
	names    func(c *call) []string // KIND/NAME of the resources that the body names; may be nil
	serve    func(d *Handler, w http.ResponseWriter, c *call) error
	media    string       // type of the answer; "": application/json
	shape    reflect.Type // of the answer, or of a line of it; nil: it is not JSON

	answer func(d *Handler, c *call) (any, error) // the JSON that serve writes; nil: serve writes something else
}

// A call is a request in progress.
type call struct {
	*http.Request
	id     *access.Identity // nil: without a valid signature, on an open service
	from   access.Origin
	query  []string // names of the parameters that the route has
	input  any      // the decoded body
	failed error    // why the body could not be decoded
	noted
}

// streaming returns the endpoint of a handler that writes its own answer of a media type. An error means that it has
// written nothing.
func streaming(media string, serve func(*Handler, http.ResponseWriter, *call) error) endpoint {
	return endpoint{serve: serve, media: media}
}

// lines returns the endpoint of a handler that writes lines of JSON, each of which is an L.
func lines[L any](serve func(*Handler, http.ResponseWriter, *call) error) endpoint {
	return endpoint{serve: serve, media: ndjson, shape: reflect.TypeFor[L]()}
}

// ndjson is the media type of lines of JSON.
const ndjson = "application/x-ndjson"

// answering returns the endpoint of a request without a body. The description of the API has the type of its answer.
func answering[A any](do func(*Handler, *call) (A, error)) endpoint {
	answer := func(d *Handler, c *call) (any, error) { return do(d, c) }
	serve := func(d *Handler, w http.ResponseWriter, c *call) error {
		body, err := do(d, c)
		if err == nil {
			d.write(w, http.StatusOK, body)
		}
		return err
	}
	return endpoint{shape: reflect.TypeFor[A](), answer: answer, serve: serve}
}

// taking returns the endpoint of a request with a JSON body. names may be nil.
func taking[T, A any](names func(*call, *T) []string, do func(*Handler, *call, *T) (A, error)) endpoint {
	e := answering(func(d *Handler, c *call) (A, error) { return do(d, c, c.input.(*T)) })
	e.input = func() any { return new(T) }
	if names != nil {
		e.names = func(c *call) []string { return names(c, c.input.(*T)) }
	}
	return e
}

// upTo returns the endpoint with another limit of the body, in bytes.
func (e endpoint) upTo(limit int) endpoint {
	e.limit = limit
	return e
}

// with returns the endpoint with parameters of the query.
func (e endpoint) with(query ...string) endpoint {
	e.query = query
	return e
}

// bodyLimit returns the maximum size of the body in bytes; 0: there must be none.
func (e *endpoint) bodyLimit() int {
	if e.input == nil {
		return 0
	}
	return cmp.Or(e.limit, maxBody)
}

// method returns the method of the pattern.
func (r *route) method() string {
	method, _, _ := strings.Cut(r.pattern, " ")
	return method
}

// changes reports whether the route changes something, or reveals secrets. Such calls are in the audit trail, and need
// a valid signature on an open service, too.
func (r *route) changes() bool {
	return r.notes&sensitive != 0 || r.method() != http.MethodGet && r.notes&harmless == 0
}

// handler returns the route as an http.Handler.
func (d *Handler) handler(r *route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		c := &call{Request: request, query: r.query}
		err := d.perform(r, w, c)
		switch l := localOf(request); {
		case l != nil:
			l.err = err
		case err != nil:
			d.fail(w, err)
		}
	})
}

// perform authenticates and authorises the caller, serves the call, and records it.
func (d *Handler) perform(r *route, w http.ResponseWriter, c *call) error {
	if err := d.authenticate(r, w, c); err != nil {
		return err
	}
	resources := d.resources(r, c)
	if err := d.authorise(r, c, resources); err != nil {
		return err
	}
	err := c.failed
	if r.changes() {
		defer func() { d.record(r, c, resources, err) }()
	}
	if err == nil {
		err = errInterrupted // unless serve returns
		err = r.serve(d, w, c)
	}
	return err
}

// errInterrupted is recorded for an answer that was not sent to its end.
var errInterrupted = fault.New(fault.InternalService, "The answer was interrupted.")

// bodyTime is the time limit for reading a body.
const bodyTime = 10 * time.Second

// authenticate reads the body and checks the signature. A caller without a valid signature sends its body in vain.
func (d *Handler) authenticate(r *route, w http.ResponseWriter, c *call) error {
	if l := localOf(c.Request); l != nil {
		return d.authenticateLocal(r, c, l)
	}
	signed := listen.RequestOf(c.Request)
	c.from = access.Origin{Address: signed.Client.Address, TLS: signed.Client.TLS, UserAgent: c.UserAgent(),
		RequestID: uuid.NewString()}
	w.Header().Set("X-Amzn-Requestid", c.from.RequestID)
	checked := r.notes&unsigned == 0
	if checked {
		if err := d.verifier.Check(&signed, d.Clock.Now()); err != nil {
			d.Access.Refused(sigv4.KeyID(&signed), c.from, actionName(r.action), err)
			return err
		}
	}
	if r.received != nil {
		return d.authenticateStream(r, w, c)
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime))
	body, err := readBody(c.Request, r.bodyLimit())
	if err != nil {
		return err
	}
	_ = control.SetReadDeadline(time.Time{}) // streams are long
	if checked {
		if err := d.verify(r, c, &signed, sha256.Sum256(body)); err != nil {
			return err
		}
	}
	d.decodeInput(r, c, body)
	return nil
}

// authenticateStream is authenticate for a body that is read later: its hash, which the signature covers, is in the
// head.
func (d *Handler) authenticateStream(r *route, w http.ResponseWriter, c *call) error {
	sum, err := r.received.checkReceived(c.Request)
	if err != nil {
		return err
	}
	signed := listen.RequestOf(c.Request)
	if err := d.verify(r, c, &signed, sum); err != nil {
		return err
	}
	c.Body = &signedBody{c.Body, http.NewResponseController(w), sha256.New(), sum}
	return nil
}

// verify verifies the signature of a request whose body has the SHA-256 sum, and sets the caller.
func (d *Handler) verify(r *route, c *call, signed *listen.Request, sum [sha256.Size]byte) error {
	caller, err := d.verifier.Verify(signed, sum, d.Clock.Now())
	if err != nil {
		d.Access.Refused(sigv4.KeyID(signed), c.from, actionName(r.action), err)
		return err
	}
	c.id, c.from.Region = d.Access.IdentityOf(caller), caller.Region
	return nil
}

var wildcard = regexp.MustCompile(`\{(\w+)\}`)

// resources returns the ARNs that the call names.
func (d *Handler) resources(r *route, c *call) (arns []string) {
	var names []string
	switch {
	case r.resource != "":
		for name := range strings.FieldsSeq(r.resource) {
			names = append(names, wildcard.ReplaceAllStringFunc(name, func(w string) string {
				switch w {
				case "{fleet}":
					return d.fleetOf(c)
				case "{queue}":
					return cmp.Or(c.URL.Query().Get("queue"), anyQueue)
				}
				return c.PathValue(strings.Trim(w, "{}"))
			}))
		}
	case r.names != nil && c.failed == nil:
		names = r.names(c)
	}
	for _, name := range names {
		arns = append(arns, d.resource(groupName(name)))
	}
	return arns
}

// fleetOf returns the fleet that a request is about: the path has it, or its game session, or it is a parameter.
func (*Handler) fleetOf(c *call) string {
	if id := c.PathValue("id"); id != "" {
		return fleetIn(id)
	}
	return cmp.Or(c.PathValue("fleet"), c.URL.Query().Get("fleet"), anyFleet)
}

// resource returns the ARN of a resource of these requests.
func (d *Handler) resource(name string) string {
	return "arn:aws:muster:" + d.RegionName + ":" + d.Account + ":" + name
}

// groupName returns the resource of a subject: a user, or a group that is written as @NAME.
func groupName(resource string) string {
	if name, ok := strings.CutPrefix(resource, "user/@"); ok {
		return "group/" + name
	}
	return resource
}

// authorise asks whether the caller may do it.
func (d *Handler) authorise(r *route, c *call, resources []string) error {
	switch {
	case r.action == "" || r.notes&(unsigned|own) != 0:
		return nil
	case c.id != nil:
		return d.Access.Allow(c.id, c.from, action(r.action), resources...)
	case r.changes():
		return errUnsigned
	}
	return nil
}

// source is the service of these calls in the audit trail, and the prefix of their actions.
const source = "muster"

// actionName returns an action of the table with its service.
func actionName(name string) string {
	if strings.Contains(name, ":") {
		return name
	}
	return source + ":" + name
}

// action returns an action of the table. A test has the whole table.
func action(name string) policy.Action {
	a, ok := policy.ActionOf(actionName(name))
	if !ok {
		panic("unknown action " + name)
	}
	return a
}

// errUnsigned is the answer to a caller of an open service whose signature is not valid.
var errUnsigned = fault.New(fault.AccessDenied, "The request must be signed with an access key of this service. "+
	"Use the access key that was created with the region.")
