package gamenet

import (
	"cmp"
	"log/slog"
	"math"
	"net"
	"time"

	"github.com/jonboulle/clockwork"
)

// Config holds the settings common to servers and clients. NewHandler is required; the rest has defaults.
type Config struct {
	// Address is the address on which a server listens, or to which a client connects; default "127.0.0.1:7777".
	Address string
	// NewHandler is the session factory: it returns the Handler of a new session, in the session's goroutine, before
	// OnConnected. It cannot send yet. If it returns nil or panics, the session is closed at once.
	NewHandler func(*Session) Handler

	// Transport opens and accepts the connections; nil for TCP.
	Transport Transport
	// Codec splits the stream into packets; nil for U16.
	Codec Codec
	// MaxPacket is the size of the largest packet in bytes, header included, in both directions; default 65,535.
	MaxPacket int

	// QueueBytes and QueuePackets limit the send queue of one session; default 1 MiB and 1,024 packets.
	QueueBytes, QueuePackets int
	// WhenFull is the policy for a packet sent when the queue is full; default FullDisconnect.
	WhenFull FullPolicy
	// FlushDelay gathers packets: a packet sent within FlushDelay of the last write waits for at most that time, so
	// that one write sends all that are queued. 0 writes each packet at once, unless a write to that session is in
	// progress, or more received packets wait for their callbacks (which delays it by a millisecond at most). A game
	// that broadcasts many packets a tick gains much from a millisecond. See also Session.Flush.
	FlushDelay time.Duration

	// HandshakeTimeout limits the handshake of the transport; default 10 s.
	HandshakeTimeout time.Duration
	// FirstPacketTimeout limits the time from OnConnected to the first packet; 0 for no limit.
	FirstPacketTimeout time.Duration
	// IdleTimeout ends a session that has received nothing for this long, which is how a lost peer is detected;
	// negative for never. The time of a callback does not count, because nothing is received meanwhile. It is checked
	// at intervals of a quarter of itself, or shorter ones. The default is 30 s, three times a PingInterval of 30 s or
	// more, and never without pings.
	IdleTimeout time.Duration
	// PingInterval sends a ping when nothing has been received for this long; the other side answers it automatically.
	// It must be shorter than IdleTimeout; negative for never. It needs a codec with ids: the default is 5 s, or a
	// third of an IdleTimeout below 15 s, and never with codecs without ids.
	PingInterval time.Duration
	// WriteTimeout ends a session when a write makes no progress for this long; default 10 s.
	WriteTimeout time.Duration
	// CloseTimeout is how long Disconnect waits for the queue to be written and the other side to close; default 5 s.
	// Then the connection is closed.
	CloseTimeout time.Duration

	// Metrics receives measurements; nil for none.
	Metrics Metrics
	// Log receives the log; nil logs nothing. Errors of one kind are logged once a second at most, with the number of
	// those suppressed in between. A recovered panic is never silent: if Log drops it, slog.Default() receives it.
	Log *slog.Logger

	// clock drives the timers; nil for the system clock.
	clock clockwork.Clock
}

// FullPolicy is the treatment of a packet sent when its session's queue is full.
type FullPolicy int

const (
	// FullDisconnect ends the session with ErrSlowConsumer, which Send also returns.
	FullDisconnect FullPolicy = iota
	// FullDropNewest does not queue the packet: Send returns ErrDropped.
	FullDropNewest
	// FullDropOldest drops the packets that have waited longest. Send returns nil; Session.Stats and Metrics count the
	// dropped packets. If that cannot free enough space, because the queue is being written, the packet itself is
	// dropped: Send returns ErrDropped.
	FullDropOldest
	// FullBlock waits for space. If the peer reads nothing, the session ends after WriteTimeout, and the wait with it.
	// That also happens when both sides wait for space in OnPacket, because neither reads meanwhile.
	FullBlock
)

// ServerConfig configures a ServerService.
type ServerConfig struct {
	Config
	// MaxSessions limits the concurrent sessions; default 1,000. A connection beyond it is rejected before anything is
	// allocated for it.
	MaxSessions int
	// MaxPerAddress limits the concurrent sessions from one IP address; 0 for no limit.
	MaxPerAddress int
	// WrapListener, if not nil, wraps the listener of the transport TCP or TLS: to read a PROXY header, for example,
	// with github.com/pires/go-proxyproto, so that RemoteAddr returns the player's address, not the load balancer's.
	WrapListener func(net.Listener) net.Listener
}

// ClientConfig configures a ClientService.
type ClientConfig struct {
	Config
	// Sessions is the number of connections to open; default 1.
	Sessions int
	// ConnectTimeout limits one attempt to connect, the handshake included; default 10 s.
	ConnectTimeout time.Duration
	// Reconnect opens a new session when one has ended, until the service closes; nil for never. The new session has a
	// new id and handler. It connects again after every cause but one: a *PeerError whose Reason has no Reconnect, such
	// as that of a player who was kicked. A server that closes, for a restart for example, invites its clients to
	// connect again.
	Reconnect *Backoff
}

// Backoff is the time between attempts to connect: it doubles from Initial to Max. Each wait is shortened by a random
// part, up to a half, so that clients that lost the same server do not all reconnect at once.
type Backoff struct {
	Initial  time.Duration // default 100 ms
	Max      time.Duration // default 10 s
	Attempts int           // consecutive failures before it gives up; 0 for no limit
}

// fill sets the defaults.
func (c *Config) fill() {
	c.Address = cmp.Or(c.Address, "127.0.0.1:7777")
	if c.Transport == nil {
		c.Transport = TCP
	}
	if c.Codec == nil {
		c.Codec = U16
	}
	c.MaxPacket = cmp.Or(c.MaxPacket, math.MaxUint16)
	c.QueueBytes = cmp.Or(c.QueueBytes, 1<<20)
	c.QueuePackets = cmp.Or(c.QueuePackets, 1024)
	c.HandshakeTimeout = cmp.Or(c.HandshakeTimeout, 10*time.Second)
	c.fillWatch()
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 10*time.Second)
	c.CloseTimeout = cmp.Or(c.CloseTimeout, 5*time.Second)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.clock == nil {
		c.clock = clockwork.NewRealClock()
	}
}

// fillWatch sets the defaults of PingInterval and IdleTimeout. After it, 0 is never.
func (c *Config) fillWatch() {
	const ping, idle = 5 * time.Second, 30 * time.Second
	if c.PingInterval == 0 && c.Codec.HasIDs() {
		c.PingInterval = ping
		if c.IdleTimeout > 0 {
			c.PingInterval = min(ping, c.IdleTimeout/3)
		}
	}
	c.PingInterval = max(c.PingInterval, 0)
	if c.IdleTimeout == 0 && c.PingInterval > 0 {
		c.IdleTimeout = idle
		if c.PingInterval >= idle {
			c.IdleTimeout = 3 * c.PingInterval
		}
	}
	c.IdleTimeout = max(c.IdleTimeout, 0)
}

// wrapTransport applies WrapListener to the transport.
func (c *ServerConfig) wrapTransport() error {
	if c.WrapListener == nil {
		return nil
	}
	t, ok := c.Transport.(interface {
		wrapping(wrap func(net.Listener) net.Listener) Transport
	})
	if !ok {
		return configError("WrapListener", "only the transports TCP and TLS have a listener to wrap")
	}
	c.Transport = t.wrapping(c.WrapListener)
	return nil
}

// validate checks a configuration after fill.
func (c *Config) validate(server bool) error {
	if c.NewHandler == nil {
		return configError("NewHandler", "a session factory is needed")
	}
	if t, ok := c.Transport.(interface{ Validate(server bool) error }); ok {
		if err := t.Validate(server); err != nil {
			return err
		}
	}
	smallest := c.Codec.Header() + 1
	if c.Codec.HasIDs() {
		smallest = c.Codec.Header() + pingSize
	}
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
		{"FirstPacketTimeout", c.FirstPacketTimeout}, {"WriteTimeout", c.WriteTimeout},
		{"CloseTimeout", c.CloseTimeout},
	} {
		if d.value < 0 {
			return configError(d.field, "%v is negative", d.value)
		}
	}
	if c.WhenFull < FullDisconnect || c.WhenFull > FullBlock {
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
