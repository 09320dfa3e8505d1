package lan

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync/atomic"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/session"
)

// A Network finds and announces the sessions of one game on the local network. Its methods may be called from any
// goroutine. It holds nothing between calls and need not be closed.
type Network struct {
	cfg   Config
	stats counters
	// scan lists the links of the machine. Tests replace it.
	scan func() ([]link, error)
}

var _ session.LAN = (*Network)(nil)

// New makes a Network and starts nothing. It fails with session.ErrInvalid.
func New(cfg Config) (*Network, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Network{cfg: cfg, scan: func() ([]link, error) { return systemLinks(cfg.Interfaces) }}, nil
}

// An instanceID identifies an announced session on all links.
type instanceID [16]byte

func newInstanceID() (id instanceID) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

// sessionID returns the session's id if the host has set none.
func (id instanceID) sessionID() string { return "lan-" + hex.EncodeToString(id[:]) }

// The defaults of Config. Source: Unreal LAN beacon, LanAnnouncePort and LanGameUniqueId.
const (
	defaultPort  = 14001
	defaultAppID = 9999
)

// Config configures a Network. The zero value is ready for use.
type Config struct {
	// Port is the UDP port that hosts listen on, the same for all; default 14001.
	Port int
	// AppID separates the games on one network: hosts and searchers ignore packets with another one; default 9999.
	AppID uint32
	// Interfaces are the names of the network interfaces to use; none for all that are up. Loopback is needed for two
	// processes of one machine only while it has no network.
	Interfaces []string
	// Limits bound the effect of received packets.
	Limits Limits
	// Log receives the failures that no call returns; nil logs nothing.
	Log *slog.Logger

	// clock drives timeouts and rates; nil for the real one.
	clock clockwork.Clock
}

// Limits bound the effect of received packets. Zero means the default.
type Limits struct {
	Results    int // of one search, whatever it asks for; default 256
	Properties int // of one session; default 64, at most 255
	// RepliesPerAsker and Replies are the maximum numbers of queries, of one address and in all, that an announced
	// session answers per second, with bursts of twice as many; default 32 and 256. A search on a machine with one
	// network sends about four queries per second.
	RepliesPerAsker, Replies int
}

// withDefaults sets the defaults.
func (c Config) withDefaults() Config {
	c.Port = cmp.Or(c.Port, defaultPort)
	c.AppID = cmp.Or(c.AppID, defaultAppID)
	c.Interfaces = slices.Clone(c.Interfaces)
	c.Limits.Results = cmp.Or(c.Limits.Results, 256)
	c.Limits.Properties = cmp.Or(c.Limits.Properties, 64)
	c.Limits.RepliesPerAsker = cmp.Or(c.Limits.RepliesPerAsker, 32)
	c.Limits.Replies = cmp.Or(c.Limits.Replies, 256)
	if c.clock == nil {
		c.clock = clockwork.NewRealClock()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// validate checks a configuration with its defaults filled in.
func (c Config) validate() error {
	for _, f := range []struct {
		field       string
		value, most int
	}{
		{"Port", c.Port, math.MaxUint16},
		{"Limits.Results", c.Limits.Results, math.MaxInt32},
		{"Limits.Properties", c.Limits.Properties, math.MaxUint8},
		{"Limits.RepliesPerAsker", c.Limits.RepliesPerAsker, math.MaxInt32},
		{"Limits.Replies", c.Limits.Replies, math.MaxInt32},
	} {
		if f.value < 1 || f.value > f.most {
			return session.Errorf("New", session.ErrInvalid, "%s is %d, it must be 1 to %d", f.field, f.value, f.most)
		}
	}
	if slices.Contains(c.Interfaces, "") {
		return session.Errorf("New", session.ErrInvalid, "Interfaces has an empty name, leave it out")
	}
	return nil
}

// Stats count the packets of a Network since its creation.
type Stats struct {
	// Of announced sessions.
	Queries uint64 // received, of this application
	Replies uint64 // sent
	Silent  uint64 // queries without reply: the session cannot be joined, or is of another build
	OffLink uint64 // queries without reply: the asker is not on a link of this machine
	Limited uint64 // queries without reply: too many (Limits), or shorter than the reply

	// Of searches.
	Asked    uint64 // queries sent
	Answers  uint64 // replies accepted, those of sessions found before included
	Unasked  uint64 // replies ignored: to another search, to an old query, or of another build
	Overflow uint64 // replies ignored: the search has its maximum number of results

	// Of both.
	Malformed uint64 // packets ignored: not of the protocol
	Foreign   uint64 // packets ignored: of another application or version
	Failed    uint64 // packets that could not be sent
}

// counters are the values behind Stats.
type counters struct {
	queries, replies, silent, offLink, limited atomic.Uint64
	asked, answers, unasked, overflow          atomic.Uint64
	malformed, foreign, failed                 atomic.Uint64
}

// ignore counts a packet that could not be read.
func (c *counters) ignore(err error) {
	if errors.Is(err, errForeign) {
		c.foreign.Add(1)
		return
	}
	c.malformed.Add(1)
}

// Stats returns the counts up to now.
func (n *Network) Stats() Stats {
	c := &n.stats
	return Stats{
		Queries: c.queries.Load(), Replies: c.replies.Load(), Silent: c.silent.Load(),
		OffLink: c.offLink.Load(), Limited: c.limited.Load(),
		Asked: c.asked.Load(), Answers: c.answers.Load(), Unasked: c.unasked.Load(), Overflow: c.overflow.Load(),
		Malformed: c.malformed.Load(), Foreign: c.foreign.Load(), Failed: c.failed.Load(),
	}
}
