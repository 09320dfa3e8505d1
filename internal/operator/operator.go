// Package operator serves the requests of operators beyond the GameLift API, on the port of the API:
//
//	GET    /v1/placements/{id}        a placement with its trail: candidates, attempts and reasons
//	GET    /v1/tickets/{id}/explain   why a matchmaking ticket waits
//	GET    /v1/game-sessions          the game sessions of the region, by filters
//	GET    /v1/game-sessions/{id}/timeline   what happened to a game session and its players, and when
//	GET    /v1/game-sessions/{id}/log        output of the process of a game session, and lines as they are written
//	GET    /v1/processes/{id}/log            the same of a server process
//	GET    /v1/overview               the state of the region in a few numbers, and what needs attention
//	GET    /v1/fleets                 the busiest fleets, with their numbers
//	GET    /v1/fleets/{id}/computes   the computes of a fleet, with their server processes
//	GET    /v1/watch                  one of these answers as it changes, as server-sent events
//	GET    /v1/search                 what an id, a name, an address or a player id may mean
//	GET, PUT, DELETE /v1/views        the pages of the console that the caller has saved
//	POST   /v1/rulesets/check, /v1/rulesets/simulate   check a rule set, and match tickets with it
//	GET    /v1/players/{id}           the player sessions and tickets of a player; a reservation can be released
//	GET    /v1/queues/{name}/placements, /v1/configurations/{name}/tickets   those in memory
//	GET    /v1/latency                the latencies that players have reported in the last hour, by location
//	GET    /v1/gamesessions/ended     ended game sessions, by time and filters
//	GET    /v1/events                 the event feed
//	GET    /v1/backup                 the whole region as one file
//	GET    /v1/legacy                 the game servers on server SDK 3 and 4
//	GET    /v1/nodes                  the nodes of a cluster; DELETE /v1/nodes/{node} removes one for good
//	/v1/machines, /v1/machine-tokens  machines that have joined a location, and the tokens with which they join
//	/v1/instances                     instances of EC2-type fleets on machines
//	GET    /v1/shards                 what is stored of each shard, and figures of the nodes
//
// and who may do what:
//
//	/v1/openapi.json                  the description of these requests
//	/v1/whoami                        the caller; /v1/me/sign-ins its sign-in sessions
//	/v1/users, /v1/groups             people and service accounts, their policies and sign-in sessions
//	/v1/roles, /v1/assignments        roles, and who has them
//	/v1/policies                      policies; POST /v1/policies/check decides a call without making it
//	/v1/keys                          access keys
//	/v1/providers                     identity providers
//	GET /v1/settings                  the settings of this node, and where their values come from
//	/v1/settings/sign-in              whether passwords of this service are accepted
//	/v1/root-key, /v1/secret          rotation of the root key and of the secrets of sign-in
//	GET /v1/audit                     who did what
//
// routes.go is the table of all of them. Each row names an action of the policies (muster:UserPut), which is asked of
// [access.Access.Allow] before anything else of the request is looked at; the resource is
// arn:aws:muster:REGION:ACCOUNT:KIND/NAME, or "*" for requests without a name. Calls that change something, and
// backups, are recorded in the audit trail.
//
// Requests are signed like those of the API (Signature Version 4, service gamelift); a presigned URL is valid for 5
// minutes at most. A body is one JSON object of at most 64 KiB; unknown fields are refused. On a service without
// authentication (muster local) a call without a valid signature may read, and nothing else. Only POST
// /v1/root-key/recover is not signed: it takes a proof that the caller can read the region's secret, from this machine.
//
// Answers are JSON, the feed and the trail one line of JSON per event, and a backup is in the format of package backup.
// An error is {"error":"NotFoundException","message":"…"}.
package operator

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/telemetry/loglimit"
	"github.com/muster-gg/muster/internal/telemetry/logring"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Region answers the requests. The control plane implements it.
type Region interface {
	PlacementTrail(ctx context.Context, id string) (*control.PlacementTrail, error)
	ExplainTicket(ctx context.Context, id string) (*control.TicketExplanation, error)
	Timeline(ctx context.Context, id string, players int) (*control.Timeline, error)
	SessionLog(ctx context.Context, id string, q control.LogQuery) (*control.ProcessLog, error)
	ProcessOutput(ctx context.Context, id string, q control.LogQuery) (*control.ProcessLog, error)
	ListSessions(ctx context.Context, q control.SessionQuery) (*control.SessionList, error)
	Player(ctx context.Context, q control.PlayerQuery) (*control.Player, error)
	ReleasePlayerSession(ctx context.Context, player, id string) (*control.PlayerSessionRow, error)
	QueuePlacements(ctx context.Context, q control.RowQuery) (*control.PlacementList, error)
	ConfigurationTickets(ctx context.Context, q control.RowQuery) (*control.TicketList, error)
	Latencies(queue string) (*control.LatencyList, error)
	Lookup(ctx context.Context, q control.LookupQuery) (*control.Lookup, error)
	Overview(ctx context.Context, hidden func(fleetID string) bool) (*control.Overview, error)
	FleetRows(ctx context.Context, hidden func(fleetID string) bool, limit int) (*control.FleetList, error)
	ComputeRows(ctx context.Context, q control.ComputeQuery) (*control.ComputeList, error)
	MachineRegion
	BuildRegion
	EndedSessions(ctx context.Context, q control.EndedQuery) (*control.EndedSessions, error)

	// Changes returns a channel that has an element after something has changed. The caller calls end.
	Changes() (changed <-chan struct{}, end func())
}

// A Feed is the event feed: see journal.Feed.
type Feed interface {
	Read(ctx context.Context, after uint64, visit func(seq uint64, data []byte) (more bool)) error
	Follow(ctx context.Context, after uint64, visit func(seq uint64, data []byte) (more bool)) error
	Last(ctx context.Context) (seq uint64, err error)
}

// Config configures a Handler. All fields but Skew are required.
type Config struct {
	Region Region
	Feed   Feed
	// Backup writes the whole region, and the bytes of builds and objects if they are wanted.
	Backup func(ctx context.Context, to io.Writer, builds bool) error
	Nodes  Nodes
	// Metrics has the values of the region's metrics.
	Metrics Metrics
	// Settings are the settings of this node.
	Settings []Setting
	Legacy   func(ctx context.Context) any // describes the old game servers; nil: there are none
	Access   *access.Access
	Keys     sigv4.Keys
	Open     bool                       // requests that only read need no valid signature
	Skew     time.Duration              // maximum clock difference of clients; 0 is sigv4.DefaultSkew
	Ready    func(context.Context) bool // waits until requests can be answered
	Clock    clockwork.Clock
	Log      *slog.Logger
	Lines    *logring.Ring // the newest lines of the log; nil: they are not kept

	RegionName, Account string // in ARNs
	PublicURL           string // base URL of the sign-in pages, in links of invitations
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
	verifier  *sigv4.Verifier
	mux       *http.ServeMux
	table     map[string]*route               // by pattern
	lines     *loglimit.Limiter               // limits the log: some callers are not authenticated
	described func() (json.RawMessage, error) // the description of the requests
	busy      chan struct{}                   // holds an element while a simulation runs
	recent    recentCache
	looks     looks
	stopped   chan struct{} // ends the streams that follow, and backups
	stop      sync.Once
}

// New returns the handler of operator calls.
func New(c Config) *Handler {
	d := &Handler{
		Config: c, mux: http.NewServeMux(), table: map[string]*route{}, lines: loglimit.New(c.Clock),
		stopped: make(chan struct{}), busy: make(chan struct{}, 1), described: sync.OnceValues(Description),
		verifier: sigv4.New(sigv4.Config{Keys: c.Keys, Skew: c.Skew, MaxExpires: maxExpires, Open: c.Open}),
	}
	var paths []string
	for _, r := range d.routes() {
		d.mux.Handle(r.pattern, d.handler(&r))
		d.table[r.pattern] = &r
		paths = append(paths, strings.TrimPrefix(r.pattern, r.method()+" "))
	}
	slices.Sort(paths)
	known := strings.Join(slices.Compact(paths), ", ")
	unknown := streaming("", func(_ *Handler, _ http.ResponseWriter, c *call) error {
		return fault.New(fault.UnknownOperation, "Unknown request %s %.200s. The paths are %s.", c.Method, c.URL.Path,
			known)
	})
	d.mux.Handle("/", d.handler(&route{endpoint: unknown, notes: harmless}))
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
	d.mux.ServeHTTP(w, r)
}

func (d *Handler) placement(c *call) (*control.PlacementTrail, error) {
	return d.Region.PlacementTrail(c.Context(), c.PathValue("id"))
}

func (d *Handler) ticket(c *call) (*control.TicketExplanation, error) {
	return d.Region.ExplainTicket(c.Context(), c.PathValue("id"))
}

func (d *Handler) legacy(c *call) (any, error) { return d.Legacy(c.Context()), nil }

// A failure is the body of an error.
type failure struct {
	Error   fault.Kind `json:"error"`
	Message string     `json:"message"`
}

func (d *Handler) fail(w http.ResponseWriter, err error) {
	f := d.failureOf(err)
	d.write(w, status(f.Error), f)
}

// failureOf returns the body of an error, and logs one that is not the client's.
func (d *Handler) failureOf(err error) failure {
	f := fault.Of(err)
	if f.Err != nil {
		if suppressed, ok := d.lines.Allow("failed"); ok {
			d.Log.Warn("operator request failed", "err", f, "suppressed", suppressed)
		}
	}
	return failure{f.Kind, f.Message}
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
