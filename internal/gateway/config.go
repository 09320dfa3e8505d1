package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/arn"
)

// What a Config's zero values stand for.
const (
	DefaultDeadline      = 12 * time.Second // the first gateway of this interface gave up after 15
	DefaultFindLimit     = 100
	DefaultMaxBody       = 64 << 10
	DefaultMaxStreams    = 10_000
	DefaultCallerStreams = 100
	DefaultLocalFleet    = "fleet-123" // as in the local test tool's documentation
)

// Fields says how much of a game session the older interface's find shows.
type Fields string

// The values of Fields.
const (
	FieldsFull    Fields = "full"    // the API's whole object
	FieldsMinimal Fields = "minimal" // name, id and the two numbers of players: all that clients read
)

// BuildCheck says what the build of a client decides.
type BuildCheck string

// The values of BuildCheck.
const (
	// BuildOff: the build chooses the target, if there is a route for it.
	BuildOff BuildCheck = "off"
	// BuildWarn logs, besides, what BuildEnforce would refuse.
	BuildWarn BuildCheck = "warn"
	// BuildEnforce refuses to create for a build that has no route, where there are
	// routes, and to join a game session of another build. A game session that says
	// no build fits all; so does a client that joins without saying one.
	BuildEnforce BuildCheck = "enforce"
)

// Config is what a Gateway needs. Only Service and Region are required.
type Config struct {
	Service     Service
	Region      string      // of the service: ids of game sessions hold it
	Queues      Queues      // nil: targets must not be queues, and placements answer not_supported
	Matchmaking Matchmaking // nil: tickets answer not_supported

	Routes  map[int32]Target // where to create for a client's build
	Default Target           // for other clients; zero is the service's first ACTIVE fleet
	// Search are fleets and aliases where game sessions are looked for besides the
	// targets of Routes and Default: those that a queue places on, as a rule, since a
	// queue itself cannot be searched.
	Search []Target

	// LegacyIDs has the _local paths answer with ids as the local test tool for
	// game servers makes them, of the fleet LocalFleet ("" is DefaultLocalFleet).
	LegacyIDs  bool
	LocalFleet string

	Deadline      time.Duration // for one request, activation included; 0 is DefaultDeadline
	Fields        Fields        // "" is FieldsFull
	BuildCheck    BuildCheck    // "" is BuildOff
	Reuse         bool          // create takes over an empty game session, if there is one
	FindLimit     int           // game sessions in an answer of the older find; 0 is DefaultFindLimit
	CompatErrors  bool          // the older interface's errors, byte for byte, on its paths
	Development   bool          // clients see the service's own error messages
	AllowTarget   bool          // clients of /v1/ may choose where to create
	MaxBody       int64         // bytes; 0 is DefaultMaxBody
	MaxStreams    int           // event streams at the same time; 0 is DefaultMaxStreams
	CallerStreams int           // event streams of one caller; 0 is DefaultCallerStreams
	// MaxUnused is how many game sessions that no player has entered one caller may
	// have created; 0 sets no bound.
	MaxUnused int

	// Secret keys the hash of player and name that stands in the ids of game
	// sessions. With the same one, all gateways and their successors recognise what
	// they created; without it nobody is kept from guessing who created a game session.
	Secret []byte

	// Subject is the authenticated player of a request, "" for none. nil is Player
	// of the request's context.
	Subject func(*http.Request) string
	// Caller tells callers apart, for CallerStreams and MaxUnused, and where a player's
	// id names nobody. nil is the address of the connection, without the port.
	Caller func(*http.Request) string
	// Limit says whether a request for a player may go on, and how long to wait if
	// not. It is asked about players whom only the request names; whoever found out
	// a Subject has counted the request already. nil: all may.
	Limit func(player string) (wait time.Duration, ok bool)
	// Observe is told of every answer, from several goroutines. nil: nobody is told.
	Observe func(Observation)
	Clock   clockwork.Clock // nil is the system's
	Log     *slog.Logger    // nil: nothing is logged
}

// An Observation is what there is to count about one answered request.
type Observation struct {
	Route    string        // "METHOD path" as in openapi.yaml, or "unknown"
	Status   int           // HTTP status
	Code     Code          // "" for success
	Latency  time.Duration // until the answer was written; of a stream, until its end
	Waited   time.Duration // for a new game session to become ACTIVE; 0 if there was none
	Replayed bool          // the answer was given before
	Shared   bool          // the answer was made for an equal request that came first
	Retries  int           // locations and claims that were tried in vain
}

// localFleet is what the local test tool takes for a fleet id.
var localFleet = regexp.MustCompile(`^fleet-\S+$`)

// validate reports every field that cannot be right.
func (c *Config) validate() error {
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("gateway: "+format, args...))
		}
	}
	add(c.Service == nil, "Service is missing")
	add(c.Deadline < 0 || c.FindLimit < 0 || c.MaxBody < 0 || c.MaxStreams < 0 || c.CallerStreams < 0 || c.MaxUnused < 0,
		"Deadline, FindLimit, MaxBody, MaxStreams, CallerStreams and MaxUnused must not be negative")
	add(c.Fields != "" && c.Fields != FieldsFull && c.Fields != FieldsMinimal, "Fields is %q; use %q or %q", c.Fields, FieldsFull, FieldsMinimal)
	add(c.BuildCheck != "" && c.BuildCheck != BuildOff && c.BuildCheck != BuildWarn && c.BuildCheck != BuildEnforce,
		"BuildCheck is %q; use %q, %q or %q", c.BuildCheck, BuildOff, BuildWarn, BuildEnforce)
	add(c.LocalFleet != "" && !localFleet.MatchString(c.LocalFleet), "LocalFleet is %q; it must begin with fleet-", c.LocalFleet)
	add(!arn.ValidRegion(c.Region), "Region is %q; use one such as eu-west-1", c.Region)
	check := func(field string, t Target) {
		if err := t.validate(c.Queues != nil); err != nil {
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
