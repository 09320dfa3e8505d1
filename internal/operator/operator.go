// Package operator serves the requests of operators beyond the GameLift API, on the port of the API:
//
//	GET    /v1/placements/{id}        a placement with its trail: candidates, attempts and reasons
//	GET    /v1/tickets/{id}/explain   why a matchmaking ticket waits
//	GET    /v1/events                 the event feed
//	GET    /v1/backup                 the whole region as one file; root key only
//	GET    /v1/legacy                 the game servers on server SDK 3 and 4
//	GET    /v1/nodes                  the nodes of a cluster
//	DELETE /v1/nodes/{node}           removes a node for good; root key only
//
// Requests are signed like those of the API (Signature Version 4, service gamelift); a presigned URL is valid for 5
// minutes at most. Answers are JSON, the feed one line of JSON per event, and a backup is in the format of package
// backup. An error is {"error":"NotFoundException","message":"…"}.
package operator

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/telemetry/loglimit"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Region answers the requests. The control plane implements it.
type Region interface {
	PlacementTrail(ctx context.Context, id string) (*control.PlacementTrail, error)
	ExplainTicket(ctx context.Context, id string) (*control.TicketExplanation, error)
	EndedSessions(ctx context.Context, q control.EndedQuery) (*control.EndedSessions, error)
	IsRootKey(id string) bool
}

// A Feed is the event feed: see journal.Feed.
type Feed interface {
	Read(ctx context.Context, after uint64, visit func(seq uint64, data []byte) (more bool)) error
	Follow(ctx context.Context, after uint64, visit func(seq uint64, data []byte) (more bool)) error
}

// Config configures a Handler. All fields but Skew are required.
type Config struct {
	Region Region
	Feed   Feed
	Backup func(ctx context.Context, to io.Writer) error // writes the whole region
	Nodes  Nodes
	Legacy func(ctx context.Context) any // describes the old game servers; nil: there are none
	Keys   sigv4.Keys
	Open   bool                       // requests need no valid signature; those for the root key do
	Skew   time.Duration              // maximum clock difference of clients; 0 is sigv4.DefaultSkew
	Ready  func(context.Context) bool // waits until requests can be answered
	Clock  clockwork.Clock
	Log    *slog.Logger
}

// maxExpires limits the validity of presigned URLs, whatever they state: they end up in logs and histories, and some
// reveal all secrets of a region.
const maxExpires = 5 * time.Minute

const prefix = "/v1/"

// Matches reports whether a request is for this package.
func Matches(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, prefix) }

// A Handler serves operators. It is an http.Handler.
type Handler struct {
	Config
	verifier *sigv4.Verifier
	routes   *http.ServeMux
	lines    *loglimit.Limiter // limits the log: some callers are not authenticated
	stopped  chan struct{}     // ends the streams that follow, and backups
	stop     sync.Once
}

// New returns the handler of operator calls.
func New(c Config) *Handler {
	d := &Handler{
		Config: c, routes: http.NewServeMux(), lines: loglimit.New(c.Clock), stopped: make(chan struct{}),
		verifier: sigv4.New(sigv4.Config{Keys: c.Keys, Skew: c.Skew, MaxExpires: maxExpires, Open: c.Open}),
	}
	d.routes.HandleFunc("GET /v1/placements/{id}", d.placement)
	d.routes.HandleFunc("GET /v1/tickets/{id}/explain", d.ticket)
	d.routes.HandleFunc("GET /v1/gamesessions/ended", d.endedSessions)
	d.routes.HandleFunc("GET /v1/events", d.events)
	d.routes.HandleFunc("GET /v1/backup", d.backup)
	if c.Legacy != nil {
		d.routes.HandleFunc("GET /v1/legacy", func(w http.ResponseWriter, r *http.Request) {
			d.answer(w, c.Legacy(r.Context()), nil)
		})
	}
	d.routes.HandleFunc("GET /v1/nodes", d.listNodes)
	d.routes.HandleFunc("DELETE /v1/nodes/{node}", d.removeNode)
	d.routes.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		d.fail(w, fault.New(fault.UnknownOperation, "Unknown request %s %.200s. See GET /v1/placements/{id}, "+
			"/v1/tickets/{id}/explain, /v1/gamesessions/ended, /v1/events, /v1/backup, /v1/legacy and /v1/nodes.",
			r.Method, r.URL.Path))
	})
	return d
}

// Stop ends backups and the streams that follow the feed, which have no other end.
func (d *Handler) Stop() { d.stop.Do(func() { close(d.stopped) }) }

// ServeHTTP checks the signature and answers.
func (d *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !d.Ready(r.Context()) {
		d.fail(w, fault.New(fault.ServiceUnavailable, "The service is starting or recovering. Try again."))
		return
	}
	if r.ContentLength != 0 {
		d.fail(w, fault.New(fault.InvalidRequest, "The request must have no body."))
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // there is no body, and streams are long
	request := listen.RequestOf(r)
	caller, err := d.verifier.Verify(&request, sha256.Sum256(nil), d.Clock.Now())
	if err != nil {
		d.fail(w, err)
		return
	}
	d.routes.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
}

// callerKey is the context key of the caller, a sigv4.Caller.
type callerKey struct{}

func (d *Handler) placement(w http.ResponseWriter, r *http.Request) {
	trail, err := d.Region.PlacementTrail(r.Context(), r.PathValue("id"))
	d.answer(w, trail, err)
}

func (d *Handler) ticket(w http.ResponseWriter, r *http.Request) {
	explanation, err := d.Region.ExplainTicket(r.Context(), r.PathValue("id"))
	d.answer(w, explanation, err)
}

func (d *Handler) answer(w http.ResponseWriter, body any, err error) {
	if err != nil {
		d.fail(w, err)
		return
	}
	d.write(w, http.StatusOK, body)
}

// A failure is the body of an error.
type failure struct {
	Error   fault.Kind `json:"error"`
	Message string     `json:"message"`
}

func (d *Handler) fail(w http.ResponseWriter, err error) {
	f := fault.Of(err)
	if f.Err != nil {
		if suppressed, ok := d.lines.Allow("failed"); ok {
			d.Log.Warn("operator request failed", "err", f, "suppressed", suppressed)
		}
	}
	d.write(w, status(f.Kind), failure{f.Kind, f.Message})
}

// status returns the HTTP status of an exception. Unlike the API's, where nearly all are 400, it is specific.
func status(k fault.Kind) int {
	switch k {
	case fault.NotFound, fault.UnknownOperation:
		return http.StatusNotFound
	case fault.AccessDenied, fault.ExpiredToken, fault.IncompleteSignature, fault.InvalidSignature,
		fault.MissingAuthenticationToken, fault.UnrecognizedClient:
		return http.StatusForbidden
	case fault.Conflict:
		return http.StatusConflict
	default:
		return k.HTTPStatus()
	}
}

func (d *Handler) write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil { // the client has gone
		d.Log.Debug("answer not written", "err", err)
	}
}
