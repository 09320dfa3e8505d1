package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/wire/arn"
)

// The defaults of a Config.
const (
	DefaultDeadline      = 12 * time.Second // AWS-SAMUEL's gateway has a timeout of 15 s
	DefaultFindLimit     = 100
	DefaultMaxBody       = 64 << 10
	DefaultMaxStreams    = 10_000
	DefaultCallerStreams = 100
	DefaultLocalFleet    = "fleet-123" // of GameLift Local's documentation
)

// Fields selects the members of game sessions in the older interface's find.
type Fields string

// The values of Fields.
const (
	FieldsFull    Fields = "full"    // all members of the API
	FieldsMinimal Fields = "minimal" // name, id and the two player counts: all that clients read
)

// BuildCheck is how the gateway checks the build of a client.
type BuildCheck string

// The values of BuildCheck.
const (
	// BuildOff: the build selects the target, if it has a route.
	BuildOff BuildCheck = "off"
	// BuildWarn also logs what BuildEnforce would reject.
	BuildWarn BuildCheck = "warn"
	// BuildEnforce rejects creations for a build without a route, if there are routes, and joins of game sessions of
	// another build. A game session or a joining client without a build matches all.
	BuildEnforce BuildCheck = "enforce"
)

// Config configures a Gateway. Only Service and Region are required.
type Config struct {
	Service     Service
	Region      string      // of the service; part of game session ids
	Queues      Queues      // nil: targets must not be queues, and placements answer not_supported
	Matchmaking Matchmaking // nil: tickets answer not_supported

	Routes  map[int32]Target // where to create, by the client's build
	Default Target           // for other clients; zero is the fleet that the service chooses
	// Search are additional fleets and aliases to search, besides the targets of Routes and Default: usually the
	// destinations of a queue, which itself cannot be searched.
	Search []Target

	// LegacyIDs: the _local paths answer with ids in the form of GameLift Local, of the fleet LocalFleet ("" is
	// DefaultLocalFleet).
	LegacyIDs  bool
	LocalFleet string

	Deadline      time.Duration // for one request, activation included; 0 is DefaultDeadline
	Fields        Fields        // "" is FieldsFull
	BuildCheck    BuildCheck    // "" is BuildOff
	Reuse         bool          // create claims an empty game session, if there is one
	FindLimit     int           // game sessions in an answer of the older find; 0 is DefaultFindLimit
	CompatErrors  bool          // errors of the older interface in the format of AWS-SAMUEL's gateway
	Development   bool          // clients see the service's own error messages
	AllowTarget   bool          // clients of /v1/ may choose the target
	MaxBody       int64         // bytes; 0 is DefaultMaxBody
	MaxStreams    int           // concurrent event streams; 0 is DefaultMaxStreams
	CallerStreams int           // concurrent event streams of one caller; 0 is DefaultCallerStreams
	// MaxUnused limits the game sessions that one caller has created and no player has joined; 0 is no limit.
	MaxUnused int

	// Secret is the key of the hash of player and name in game session ids. Gateways with the same secret recognise
	// each other's game sessions; without one, anyone can compute who created a game session.
	Secret []byte

	// Subject returns the authenticated player of a request, "" for none. nil is Player of the request's context.
	Subject func(*http.Request) string
	// Caller identifies the caller, for CallerStreams and MaxUnused, and where the player id is not an identity. nil is
	// the address of the connection, without the port.
	Caller func(*http.Request) string
	// Limit reports whether a request for a player is within its rate, and the time to wait if not. It is called only
	// for players without a Subject, whose requests are counted during authentication. nil is no limit.
	Limit func(player string) (wait time.Duration, ok bool)
	// Observe is called for every answer, by several goroutines. It may be nil.
	Observe func(Observation)
	Clock   clockwork.Clock // nil is the system's
	Log     *slog.Logger    // nil: nothing is logged
}

// An Observation describes one answered request, for metrics.
type Observation struct {
	Route    string        // "METHOD path" as in openapi.yaml, or "unknown"
	Status   int           // HTTP status
	Code     Code          // "" for success
	Latency  time.Duration // until the answer was written; of a stream, until its end
	Waited   time.Duration // for a new game session to become ACTIVE; 0 if there was none
	Replayed bool          // the request is a repeat of an answered one
	Shared   bool          // the request joined an equal one in progress
	Retries  int           // failed attempts at locations and claims
}

// localFleet is the form of a fleet id in GameLift Local.
var localFleet = regexp.MustCompile(`^fleet-\S+$`)

// validate reports every invalid field.
func (c *Config) validate() error {
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("gateway: "+format, args...))
		}
	}
	add(c.Service == nil, "Service is missing")
	add(c.Deadline < 0 || c.FindLimit < 0 || c.MaxBody < 0 || c.MaxStreams < 0 || c.CallerStreams < 0 ||
		c.MaxUnused < 0,
		"Deadline, FindLimit, MaxBody, MaxStreams, CallerStreams and MaxUnused must not be negative")
	add(c.Fields != "" && c.Fields != FieldsFull && c.Fields != FieldsMinimal, "Fields is %q; use %q or %q", c.Fields,
		FieldsFull, FieldsMinimal)
	add(c.BuildCheck != "" && c.BuildCheck != BuildOff && c.BuildCheck != BuildWarn && c.BuildCheck != BuildEnforce,
		"BuildCheck is %q; use %q, %q or %q", c.BuildCheck, BuildOff, BuildWarn, BuildEnforce)
	add(c.LocalFleet != "" && !localFleet.MatchString(c.LocalFleet),
		"LocalFleet is %q; it must begin with fleet-", c.LocalFleet)
	add(!arn.ValidRegion(c.Region) && c.Region != arn.LocalRegion, "Region is %q; use one such as eu-west-1", c.Region)
	check := func(field string, t Target) {
		if err := t.Validate(c.Queues != nil); err != nil {
			errs = append(errs, fmt.Errorf("gateway: %s: %w", field, err))
		}
	}
	if c.Default != (Target{}) {
		check("Default", c.Default)
	}
	for build, t := range c.Routes {
		check(fmt.Sprintf("Routes, build %d", build), t)
	}
	for i, t := range c.Search {
		check(fmt.Sprintf("Search[%d]", i), t)
		add(t.Queue != "", "Search[%d]: a queue cannot be searched; name its fleets", i)
	}
	return errors.Join(errs...)
}

type playerKey struct{}

// WithPlayer returns a context for a request of an authenticated player, which may then act for this player only. An
// empty id means no authentication.
func WithPlayer(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, playerKey{}, id)
}

// Player returns the authenticated player of a request's context; "" for none.
func Player(ctx context.Context) string {
	id, _ := ctx.Value(playerKey{}).(string)
	return id
}

// playerOf is the default Config.Subject.
func playerOf(r *http.Request) string { return Player(r.Context()) }
