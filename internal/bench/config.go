package bench

import (
	"context"
	"crypto/tls"
	"slices"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/listen/sigv4"
)

// A Config selects the service and the load.
type Config struct {
	Endpoint     string      // base URL of the API, http:// or https://
	WebSocketURL string      // for game servers; "": as RegisterCompute returns
	MetricsURL   string      // Prometheus metrics of the service; "": not measured
	TLS          *tls.Config // nil: trust the system's CAs
	Credentials  sigv4.ClientCredentials

	Connections int           // workers, each with an HTTP connection
	InFlight    int           // requests in flight per game server, in profile accept
	Duration    time.Duration // of the work, without preparation
	Rate        float64       // offered operations per second; 0: as fast as possible
	Pool        int           // prepared server processes; 0: the profile's default
	Batch       int           // players per CreatePlayerSessions, 1 to 25
	Locations   int           // of the fleet, sharing the work
	Filter      string        // of SearchGameSessions; may be ""
	Sort        string        // of SearchGameSessions; may be ""
	Limit       int           // page size of SearchGameSessions
	Waiting     int           // tickets waiting when profile matchmaking begins

	// Note reports the present step, for people; may be nil.
	Note func(text string)
	// Progress reports the rates of each second; may be nil.
	Progress func(Progress)
	// Clock; nil: the system's.
	Clock clockwork.Clock
}

// DefaultConfig is a run of ten seconds, without an endpoint.
func DefaultConfig() Config {
	return Config{
		Connections: 64, InFlight: 1, Duration: 10 * time.Second, Batch: 25, Locations: 1, Limit: 20, Waiting: 10_000,
		Filter: "hasAvailablePlayerSessions=true", Sort: "creationTimeMillis ASC",
	}
}

// fill sets the defaults for a profile.
func (c Config) fill(p Profile) Config {
	if c.Pool == 0 {
		c.Pool = p.Pool
	}
	c.Locations = max(c.Locations, p.Locations)
	c.Pool = max(c.Pool, c.Locations)
	if p.Name != acceptProfile.Name {
		c.InFlight = 1
	}
	if c.Note == nil {
		c.Note = func(string) {}
	}
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	if c.Clock == nil {
		c.Clock = clockwork.NewRealClock()
	}
	return c
}

// Progress is the last second of a run.
type Progress struct {
	Elapsed    time.Duration // since the start
	Operations float64       // per second
	Units      float64       // per second
	Failures   int64         // since the start
}

// A Profile is one kind of work.
type Profile struct {
	Name      string
	Summary   string // one line, for help
	Unit      string // result of an operation, in the plural
	Pool      int    // default of Config.Pool; 0: the profile needs no pool
	Locations int    // minimum for the fleet

	// prepare creates resources and returns a function that makes a worker's operation.
	prepare func(context.Context, *site) (func(worker int) operation, error)
}

// Profiles returns all profiles, in the order in which they are run.
func Profiles() []Profile {
	return []Profile{
		playersProfile, playerProfile, sessionsProfile, placementsProfile, livesProfile, acceptProfile, searchProfile,
		matchmakingProfile,
	}
}

// Lookup finds a profile by its name.
func Lookup(name string) (Profile, bool) {
	all := Profiles()
	i := slices.IndexFunc(all, func(p Profile) bool { return p.Name == name })
	if i < 0 {
		return Profile{}, false
	}
	return all[i], true
}
