package session

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"
)

// Config configures a Client. Everything is optional: calls that need a missing part return ErrUnsupported. A client
// without Remote, for the local network alone, needs no Configure.
type Config struct {
	// Remote reaches the session service. Matchmaking needs one that is a Matchmaker.
	Remote Provider
	// LAN finds and announces sessions on the local network.
	LAN LAN
	// Connector connects the player to game servers.
	Connector Connector
	// DefaultRegion is used when Configure is called without a region; "" for the provider's own default.
	DefaultRegion string

	// PlayerID is the player who hosts and joins named sessions; "": a new random one.
	PlayerID string
	// PlayerName is sent to searchers on the local network; default "NullUser".
	PlayerName string

	// ListenIP and ListenPort are the address at which this program listens for players when it hosts a session on the
	// local network; default the first address of this machine that is not a loopback, and 7777. The program opens the
	// socket itself.
	ListenIP   string
	ListenPort int
	// FallbackToLAN lets a named session, and a search, use the local network when the service cannot be reached, has
	// no capacity or does not answer in time, and while Configure has not succeeded. Such a session stays on the local
	// network. Without it, those failures are returned.
	FallbackToLAN bool

	// FindTimeout limits a search for named sessions at the service; default 15 s.
	FindTimeout time.Duration
	// PollInterval is the longest time between two requests for a ticket whose provider does not report changes, and
	// between two attempts to receive its changes; default 10 s, as AWS recommends. See Client.StartTracking.
	PollInterval time.Duration
	// CleanupTimeout limits the release of a reservation or a connection after a failed or canceled call; default 5 s.
	CleanupTimeout time.Duration

	// Log receives what is returned to no caller; nil: no log, except that slog.Default receives panics of subscribers.
	Log *slog.Logger

	// clock drives the timers; nil for the real one.
	clock clockwork.Clock
}

// fill sets the defaults.
func (c *Config) fill() {
	c.PlayerID = cmp.Or(c.PlayerID, newPlayerID())
	c.PlayerName = cmp.Or(c.PlayerName, "NullUser")
	c.ListenPort = cmp.Or(c.ListenPort, 7777)
	c.FindTimeout = cmp.Or(c.FindTimeout, 15*time.Second)
	c.PollInterval = cmp.Or(c.PollInterval, 10*time.Second)
	c.CleanupTimeout = cmp.Or(c.CleanupTimeout, 5*time.Second)
	if c.ListenIP == "" {
		c.ListenIP = localIP()
	}
	if c.clock == nil {
		c.clock = clockwork.NewRealClock()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}
