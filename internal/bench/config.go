package bench

import (
	"crypto/tls"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/sigv4"
)

// A Config says what to work on, and how hard.
type Config struct {
	Endpoint     string      // base URL of the API, http:// or https://
	WebSocketURL string      // for game servers; "" uses what RegisterCompute answers
	MetricsURL   string      // of the service's Prometheus metrics; "" measures nothing of the service
	TLS          *tls.Config // whom to trust; nil: the system's authorities
	Credentials  sigv4.ClientCredentials

	Connections int           // workers; each has an HTTP connection of its own
	InFlight    int           // requests that a game server has under way at the same time, in profile accept
	Duration    time.Duration // of the work; preparing comes on top
	Rate        float64       // operations a second that are offered; 0: as fast as they are answered
	Pool        int           // server processes that are prepared; 0: the profile's own number
	Batch       int           // players in a call of CreatePlayerSessions, 1 to 25
	Locations   int           // locations of the fleet, which share the work
	Filter      string        // of SearchGameSessions; "" for none
	Sort        string        // of SearchGameSessions; "" for none
	Limit       int           // game sessions on a page of SearchGameSessions
	Waiting     int           // tickets that wait when the work of profile matchmaking begins

	// Note takes what is being done, for people; nil for nobody.
	Note func(text string)
	// Progress takes the rates of each second; nil for nobody.
	Progress func(Progress)
	// Clock is what the work goes by; nil is the system's.
	Clock clockwork.Clock
}

// DefaultConfig is a run of ten seconds on an unknown service.
func DefaultConfig() Config {
	return Config{
		Connections: 64, InFlight: 1, Duration: 10 * time.Second, Batch: 25, Locations: 1, Limit: 20, Waiting: 10_000,
		Filter: "hasAvailablePlayerSessions=true", Sort: "creationTimeMillis ASC",
	}
}

// fill sets what is missing for a profile.
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

// Progress is what happened in the last second of a run.
type Progress struct {
	Elapsed    time.Duration // since the beginning of the work
	Operations float64       // a second
	Units      float64       // a second
	Failures   int64         // since the beginning
}
