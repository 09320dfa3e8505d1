package bench

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
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

	SDK           string // of the game servers: SDK5 or SDKLegacy; "": SDK5
	LegacyAddress string // host:port of socket.io; SDKLegacy only
	LegacyFleet   string // which game servers join, created by the service; SDKLegacy only

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

// The server SDKs of game servers.
const (
	SDK5      = "5"
	SDKLegacy = "legacy" // server SDK 3, with socket.io
)

// DefaultConfig is a run of ten seconds, without an endpoint.
func DefaultConfig() Config {
	return Config{
		SDK: SDK5, LegacyAddress: "127.0.0.1:5757", LegacyFleet: "fleet-123",
		Connections: 64, InFlight: 1, Duration: 10 * time.Second, Batch: 25, Locations: 1, Limit: 20, Waiting: 10_000,
		Filter: "hasAvailablePlayerSessions=true", Sort: "creationTimeMillis ASC",
	}
}

// fill sets the defaults for a profile.
func (c Config) fill(p Profile) Config {
	c.SDK = cmp.Or(c.SDK, SDK5)
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

// CheckSDK reports whether the profile can run with the server SDK.
func (c Config) CheckSDK(p Profile) error {
	switch c.SDK {
	case "", SDK5:
		return nil
	case SDKLegacy:
	default:
		return fmt.Errorf("the server SDK %q must be %s or %s", c.SDK, SDK5, SDKLegacy)
	}
	if !p.Legacy {
		return fmt.Errorf("profile %s needs server SDK 5", p.Name)
	}
	if c.Locations > 1 {
		return fmt.Errorf("the fleet of server SDK %s has one location, not %d", SDKLegacy, c.Locations)
	}
	if _, _, err := net.SplitHostPort(c.LegacyAddress); err != nil {
		return fmt.Errorf("the legacy address %q must be HOST:PORT", c.LegacyAddress)
	}
	return nil
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
	Legacy    bool   // it also runs with SDKLegacy

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
