// Package console is the endpoint of the web pages with which operators see and change a region.
//
// It has no power of its own: a page calls the operations of the API as the person who has signed in, through
// [Calls], and the requests of operators (/v1) through [Requests], with the same decisions, checks and records as
// signed calls. The few numbers that only pages show it reads through [Region], after the decision for what they add
// up. A page leaves out the forms that would be refused: [page.May].
//
// Pages are made on the server and work without scripts. Parts of a page with the attribute data-live are read again
// when the region changes: console.js waits for a signal of /console/live, gets the page once more, and replaces the
// parts that differ. The server keeps nothing about an open page but a channel.
package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/telemetry/loglimit"
)

// Calls makes calls of the API. *api.Endpoint implements it.
type Calls interface {
	Invoke(ctx context.Context, id *access.Identity, from access.Origin, operation string, in any) (any, error)
	InvokeJSON(ctx context.Context, id *access.Identity, from access.Origin, operation string, body []byte) (
		answer []byte, err error)
}

// Region has what is not an operation of the API. The control plane implements it.
type Region interface {
	// Changes returns a channel that has an element after something has changed. The caller calls end.
	Changes() (changed <-chan struct{}, end func())

	// Counts adds up the numbers of the region.
	Counts(ctx context.Context) (fleet.Counts, error)

	// Timeline returns the timeline of a game session, with at most the given number of player sessions.
	Timeline(ctx context.Context, gameSession string, players int) (*control.Timeline, error)
}

// Access knows who has signed in, and what they may do. *access.Access implements it.
type Access interface {
	PersonIdentity(p *access.Person) *access.Identity
	LocalIdentity() *access.Identity
	Allow(id *access.Identity, from access.Origin, action policy.Action, resources ...string) error
	Permits(id *access.Identity, from access.Origin, action policy.Action, resources ...string) bool
	PermitsSome(id *access.Identity, action policy.Action) bool
}

// Config configures a Handler. All fields are required unless they say otherwise.
type Config struct {
	Calls    Calls
	Requests Requests
	Region   Region
	Access   Access

	// Metrics has what graphs show; nil: there are none.
	Metrics Metrics

	// Person returns who is signed in, by the cookie of a request.
	Person func(r *http.Request) (*access.Person, bool)

	// Open lets programs and people on this machine in without signing in.
	Open bool

	// Insecure serves pages over unencrypted connections from other machines too.
	Insecure bool

	// Reservation is how long a player session stays RESERVED.
	Reservation time.Duration

	// Operations are the operations of the API that are offered.
	Operations []OperationGroup

	CA         string // file of the CA that programs must be told to trust; "": none
	RegionName string
	Account    string // in ARNs
	Endpoint   string // URL of the API, for commands that pages show
	PublicURL  string // that browsers use, for addresses that pages show

	Ready func(context.Context) bool // waits until requests can be answered
	Clock clockwork.Clock
	Log   *slog.Logger
}

// Prefix is the path of all pages.
const Prefix = "/console/"

// A Handler serves the console. It is an http.Handler.
type Handler struct {
	Config
	routes *http.ServeMux
	pages  map[string]*tmpl
	csrf   *http.CrossOriginProtection
	lines  *loglimit.Limiter
	hosts  map[string]bool // that requests may be for without sign-in

	stopping chan struct{} // closed by Stop
	stop     sync.Once
}

// New returns the handler of the console.
func New(c Config) (*Handler, error) {
	endpoint, err := url.Parse(c.Endpoint)
	if err != nil || endpoint.Host == "" {
		return nil, errors.New("console: the endpoint must be a URL")
	}
	h := &Handler{Config: c, routes: http.NewServeMux(), csrf: http.NewCrossOriginProtection(),
		lines: loglimit.New(c.Clock), pages: parsePages(), stopping: make(chan struct{}),
		hosts: map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true, endpoint.Hostname(): true}}
	for _, r := range table {
		h.routes.HandleFunc(r.pattern, h.admit(r.serve))
	}
	h.routes.HandleFunc("GET "+assetPrefix+"{file}", h.asset)
	return h, nil
}

// Stop ends the streams of open pages, which try again until another process serves the port.
func (h *Handler) Stop() { h.stop.Do(func() { close(h.stopping) }) }

// Matches reports whether a request is for this package. A browser that opens the port itself is one.
func Matches(r *http.Request) bool {
	if strings.HasPrefix(r.URL.Path, Prefix) || r.URL.Path == strings.TrimSuffix(Prefix, "/") {
		return true
	}
	return r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		strings.Contains(r.Header.Get("Accept"), "text/html")
}

// ServeHTTP answers a request that Matches.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, Prefix) {
		http.Redirect(w, r, Prefix, http.StatusFound)
		return
	}
	h.routes.ServeHTTP(w, r)
}
