package session

import (
	"cmp"
	"log/slog"
	"os/user"
	"time"

	"github.com/jonboulle/clockwork"
)

// Config configures a Client. Everything is optional: what needs a part that is missing answers ErrUnsupported.
type Config struct {
	// Remote reaches the session service. With a Matchmaker there is matchmaking.
	Remote Provider
	// LAN finds and announces sessions on the local network.
	LAN LAN
	// Connector takes the player to game servers.
	Connector Connector
	// DefaultRegion is used when Configure is called without a region; "" for the provider's own default.
	DefaultRegion string

	// PlayerID is who owns named sessions and takes places in those that are joined; "" for a new random one.
	PlayerID string
	// PlayerName is sent to searchers on the local network; default "NullUser".
	PlayerName string

	// ListenIP and ListenPort are where this program listens for players when it hosts a session on the local network;
	// default the first address of this machine that is not a loopback, and 7777. The program does the listening.
	ListenIP   string
	ListenPort int
	// FallbackToLAN lets a named session go to the local network, and a search too, when the service cannot be reached,
	// has no capacity or does not answer in time. A session that went there stays there. Off, those failures are the
	// answer.
	FallbackToLAN bool

	// FindTimeout limits a search for named sessions at the service; default 15 s.
	FindTimeout time.Duration
	// PollInterval is the time between two looks at a ticket whose provider does not tell of changes by itself; default
	// 10 s, which is also the least that AWS asks for.
	PollInterval time.Duration
	// CleanupTimeout limits what gives back a place or a connection when a call has failed or been canceled; default 5
	// s.
	CleanupTimeout time.Duration

	// Clock drives the timers; nil for the real one.
	Clock clockwork.Clock
	// Log gets what is returned to no caller; nil logs nothing.
	Log *slog.Logger
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
	if c.Clock == nil {
		c.Clock = clockwork.NewRealClock()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}

// userName is the name of the operating system's user.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "NullUser"
}
