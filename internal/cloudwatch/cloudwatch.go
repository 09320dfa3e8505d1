// Package cloudwatch serves the region's metrics as Amazon CloudWatch does, so that the AWS CLI, SDKs and Grafana read
// them. It offers reading alone: [Offers] has the operations, and why others are refused.
//
// There are three protocols, all with POST and a signature for the service monitoring:
//
//	AWS JSON 1.0        /, X-Amz-Target: GraniteServiceVersion20100801.ListMetrics    AWS CLI, boto3
//	Smithy RPC v2 CBOR  /service/GraniteServiceVersion20100801/operation/ListMetrics  AWS SDKs for Go, Rust, …
//	AWS query           /, a form with Action, Version and parameters                 older SDKs; answers are XML
//
// Errors have a code in the header x-amzn-query-error, by which clients of the first two protocols see the codes of the
// third.
//
// A call is decided after its signature and before its input is validated, so that a denial reveals nothing. All
// actions are on the resource "*", as on AWS.
//
// Sources: service model monitoring of botocore; CloudWatch API reference, "Common Errors"; Smithy specification, "AWS
// query-compatible".
package cloudwatch

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/metrics"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/telemetry/loglimit"
)

// Namespace is the namespace of all metrics.
const Namespace = "AWS/GameLift"

// A Store has the metrics. A *metrics.Store implements it.
type Store interface {
	// List returns the series of the last 14 days, or if recent of the last 3 hours, sorted by
	// [metrics.Series.Compare]. The caller owns the list.
	List(recent bool) []metrics.Series

	// Points returns the points of the periods that begin in [from, to), ascending, without those that have no data or
	// that are kept in longer periods only. from is a multiple of the period. A series that does not exist has none.
	Points(ctx context.Context, series metrics.Series, from, to time.Time, period time.Duration) ([]metrics.Point,
		error)

	// Quantile returns the quantile q, from 0 to 1, of the durations in each period; none for a metric that is no
	// duration. Otherwise it is like Points.
	Quantile(ctx context.Context, series metrics.Series, q float64, from, to time.Time, period time.Duration) (
		[]metrics.Quantile, error)

	// Unit returns the unit of a metric: Count, Percent or Seconds; "" of an unknown one.
	Unit(metric string) string
}

// Access authenticates and decides. An *access.Access implements it.
type Access interface {
	sigv4.Keys
	IdentityOf(sigv4.Caller) *access.Identity
	Allow(id *access.Identity, from access.Origin, action policy.Action, resources ...string) error
	Refused(keyID string, from access.Origin, name string, err error)
}

// Config configures a Handler. All fields are required unless they say otherwise.
type Config struct {
	Store   Store
	Access  Access
	Account string        // of the region
	Skew    time.Duration // maximum clock difference of clients; 0 is sigv4.DefaultSkew
	Open    bool          // calls need no valid signature

	Ready func(context.Context) bool // waits until requests can be answered

	// Allow reports whether a principal may call an operation now. If not, the answer is a ThrottlingException.
	Allow func(operation, principal string) bool

	// Enter admits a call, and Leave ends it. If Enter returns false, the answer is a ThrottlingException.
	Enter func() bool
	Leave func()

	Bodies *listen.Budget // limits the memory of bodies; nil: no limit

	// Observe is called for every answer. operation is one that is offered, with its service
	// ("cloudwatch:ListMetrics"), or "unknown"; exception is the code of the error, or "". nil: nothing is observed.
	Observe func(operation, exception string, seconds float64, bytesIn, bytesOut int)

	Clock clockwork.Clock
	Log   *slog.Logger
}

// A Handler serves calls. It is an http.Handler.
type Handler struct {
	Config
	verifier   *sigv4.Verifier
	operations map[string]*operation
	lines      *loglimit.Limiter
}

// New returns the handler of calls.
func New(c Config) *Handler {
	h := &Handler{Config: c, lines: loglimit.New(c.Clock), verifier: sigv4.New(sigv4.Config{
		Keys: c.Access, Service: service, Skew: c.Skew, Open: c.Open,
	})}
	h.operations = h.bind()
	return h
}

const (
	service = "monitoring"                    // of signatures
	target  = "GraniteServiceVersion20100801" // the service's name in the protocols
	version = "2010-08-01"
)

// Matches reports whether a request is for this package, by its head.
func Matches(r *listen.Request) bool {
	if t := r.Header.Get("X-Amz-Target"); t != "" {
		return strings.HasPrefix(t, target+".")
	}
	if r.Header.Get("Smithy-Protocol") != "" {
		return strings.Contains(r.Path, "/service/"+target+"/")
	}
	return r.Method == http.MethodPost && r.Path == "/" && isForm(r) &&
		strings.Contains(r.Header.Get("Authorization"), "/"+service+"/aws4_request")
}

// MatchesHTTP is Matches for requests that net/http has read.
func MatchesHTTP(r *http.Request) bool {
	if r.Method != http.MethodPost {
		return false
	}
	request := listen.RequestOf(r)
	return Matches(&request)
}
