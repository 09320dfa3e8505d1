package gamenet

import (
	"cmp"
	"log/slog"
	"math"
	"time"

	"github.com/jonboulle/clockwork"
)

// Config is what servers and clients have in common. NewHandler is required; the rest has defaults.
type Config struct {
	// Address is where a server listens and a client connects; default "127.0.0.1:7777".
	Address string
	// NewHandler is the session factory: it makes the Handler of a new session, in the session's goroutine, before
	// OnConnected. Sending does not work yet. A session whose handler is nil, or whose factory panics, is closed at
	// once.
	NewHandler func(*Session) Handler

	// Transport makes the connections; nil for TCP{}.
	Transport Transport
	// Codec cuts the stream into packets; nil for U16{}.
	Codec Codec
	// MaxPacket is the size of the largest packet in bytes, header included, in both directions; default 65,535.
	MaxPacket int

	// QueueBytes and QueuePackets limit what waits to be written to one session; default 1 MiB and 1,024 packets.
	QueueBytes, QueuePackets int
	// WhenFull is what happens to a packet that finds the queue full; default Disconnect.
	WhenFull FullPolicy
	// FlushDelay gathers packets: one that follows another within FlushDelay waits so long that both go out in one
	// write. 0 writes each packet at once, unless a write to that session is under way, or more received packets wait
	// for their callbacks (which holds it back for a millisecond at most). A game that broadcasts many packets a tick
	// wins much with a millisecond. See also Session.Flush.
	FlushDelay time.Duration

	// HandshakeTimeout limits the handshake of the transport; default 10 s.
	HandshakeTimeout time.Duration
	// FirstPacketTimeout limits the time from OnConnected to the first packet; 0 for no limit.
	FirstPacketTimeout time.Duration
	// IdleTimeout ends a session when nothing has been received for so long; 0 for never. It is checked in steps of a
	// quarter of itself, or shorter ones.
	IdleTimeout time.Duration
	// PingInterval sends a ping when nothing has been received for so long, which the other side answers by itself; 0
	// for never. It needs a codec with ids. With an IdleTimeout that is longer, a peer that has vanished is noticed.
	PingInterval time.Duration
	// WriteTimeout ends a session whose peer takes no byte for so long; default 10 s.
	WriteTimeout time.Duration
	// CloseTimeout is how long Disconnect waits for the queue to be written and the other side to close; default 5 s.
	// Then the connection is cut.
	CloseTimeout time.Duration

	// Metrics takes measurements; nil for none.
	Metrics Metrics
	// Log takes what happens; nil logs nothing. Errors of one kind are logged once a second at most, with the number of
	// those in between.
	Log *slog.Logger
	// Clock drives the timers; nil for the real one.
	Clock clockwork.Clock
}

// FullPolicy is what happens to a packet that finds its session's queue full.
type FullPolicy int

const (
	// Disconnect ends the session with ErrSlowConsumer, which Send returns too.
	Disconnect FullPolicy = iota
	// DropNewest does not queue the packet: Send returns ErrDropped.
	DropNewest
	// DropOldest makes place by dropping the packets that have waited longest. Send returns nil; what was dropped is
	// counted, see Session.Stats and Metrics. If that would not be enough, because the queue is being written, the
	// packet itself is dropped: Send returns ErrDropped.
	DropOldest
	// Block waits for place. A peer that reads nothing at all ends the wait after WriteTimeout, by ending the session:
	// so do two sides that both wait for place in OnPacket, and do not read meanwhile.
	Block
)

// ServerConfig configures a ServerService.
type ServerConfig struct {
	Config
	// MaxSessions limits the sessions at one time; default 1,000. A connection beyond it is refused before anything is
	// made for it.
	MaxSessions int
	// MaxPerAddress limits the sessions from one IP address; 0 for no limit.
	MaxPerAddress int
}

// ClientConfig configures a ClientService.
type ClientConfig struct {
	Config
	// Sessions is the number of connections to make; default 1.
	Sessions int
	// ConnectTimeout limits one attempt to connect, the handshake included; default 10 s.
	ConnectTimeout time.Duration
	// Reconnect makes a new session when one has ended, however it did, until the service closes; nil for never. The
	// new session has a new id and handler.
	Reconnect *Backoff
}

// Backoff is the time between attempts to connect: it doubles from Initial to Max, and a random part of it, up to a
// half, is left out, so that clients that lost their server together do not come back together.
type Backoff struct {
	Initial  time.Duration // default 100 ms
	Max      time.Duration // default 10 s
	Attempts int           // in a row that may fail before it gives up; 0 for no limit
}

// fill sets the defaults.
func (c *Config) fill() {
	c.Address = cmp.Or(c.Address, "127.0.0.1:7777")
	if c.Transport == nil {
		c.Transport = TCP{}
	}
	if c.Codec == nil {
		c.Codec = U16{}
	}
	c.MaxPacket = cmp.Or(c.MaxPacket, math.MaxUint16)
	c.QueueBytes = cmp.Or(c.QueueBytes, 1<<20)
	c.QueuePackets = cmp.Or(c.QueuePackets, 1024)
	c.HandshakeTimeout = cmp.Or(c.HandshakeTimeout, 10*time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 10*time.Second)
	c.CloseTimeout = cmp.Or(c.CloseTimeout, 5*time.Second)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = clockwork.NewRealClock()
	}
}

// validate says what cannot be right in a filled configuration.
func (c *Config) validate() error {
	if c.NewHandler == nil {
		return configError("NewHandler", "a session factory is needed")
	}
	smallest := c.Codec.Header() + 1
	for _, n := range []struct {
		field        string
		value, least int
	}{
		{"MaxPacket", c.MaxPacket, smallest},
		{"QueueBytes", c.QueueBytes, c.MaxPacket},
		{"QueuePackets", c.QueuePackets, 1},
	} {
		if n.value < n.least {
			return configError(n.field, "%d is too small, it must be at least %d", n.value, n.least)
		}
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"FlushDelay", c.FlushDelay}, {"HandshakeTimeout", c.HandshakeTimeout},
		{"FirstPacketTimeout", c.FirstPacketTimeout},
		{"IdleTimeout", c.IdleTimeout}, {"PingInterval", c.PingInterval}, {"WriteTimeout", c.WriteTimeout},
		{"CloseTimeout", c.CloseTimeout},
	} {
		if d.value < 0 {
			return configError(d.field, "%v is negative", d.value)
		}
	}
	if c.WhenFull < Disconnect || c.WhenFull > Block {
		return configError("WhenFull", "%d is not a policy", c.WhenFull)
	}
	if c.PingInterval > 0 && !c.Codec.HasIDs() {
		return configError("PingInterval", "pings need a codec with packet ids, such as U16")
	}
	if c.IdleTimeout > 0 && c.PingInterval >= c.IdleTimeout {
		return configError("PingInterval", "%v is not shorter than IdleTimeout, %v", c.PingInterval, c.IdleTimeout)
	}
	return nil
}
