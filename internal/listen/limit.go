package listen

import (
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/time/rate"
)

// Limits limits the open connections of all listeners that share it, together, so that some of the process's files stay
// free for other use. It is safe for concurrent use.
type Limits struct {
	most     int // in all
	mostEach int // from one address
	log      *slog.Logger
	logged   rate.Sometimes // refusals

	mu      sync.Mutex
	open    int
	by      map[netip.Prefix]int
	refused int // not yet in the log
}

// NewLimits allows most connections in all, and mostEach from one address. An address is an IPv4 address, or the first
// 64 bits of an IPv6 address, which is what one client gets.
func NewLimits(most, mostEach int, log *slog.Logger) *Limits {
	return &Limits{most: most, mostEach: mostEach, log: log, logged: rate.Sometimes{Interval: 10 * time.Second},
		by: map[netip.Prefix]int{}}
}

// Most returns the maximum number of open connections.
func (l *Limits) Most() int { return l.most }

// Listen returns a listener that owns inner, and immediately closes connections beyond the limits.
func (l *Limits) Listen(inner net.Listener) net.Listener { return &limited{inner, l} }

type limited struct {
	net.Listener
	limits *Limits
}

// Accept waits for a connection within the limits.
func (l *limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := origin(conn)
		if l.limits.enter(from) {
			return &counted{Conn: conn, limits: l.limits, from: from}, nil
		}
		_ = conn.Close()
	}
}

// origin returns the address that a connection counts for; zero if it is not an IP address.
func origin(c net.Conn) (p netip.Prefix) {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return p
	}
	address := tcp.AddrPort().Addr().Unmap()
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	p, _ = address.WithZone("").Prefix(bits)
	return p
}

func (l *Limits) enter(from netip.Prefix) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open < l.most && l.by[from] < l.mostEach {
		l.open++
		l.by[from]++
		return true
	}
	l.refused++
	l.logged.Do(func() {
		l.log.Warn("connections refused", "connections", l.refused, "open", l.open, "max_connections", l.most,
			"address", from, "open_of_address", l.by[from], "max_connections_per_address", l.mostEach)
		l.refused = 0
	})
	return false
}

func (l *Limits) leave(from netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.by[from]--; l.by[from] == 0 {
		delete(l.by, from)
	}
}

// A counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	limits *Limits
	from   netip.Prefix
	closed atomic.Bool
}

// Close closes the connection, which then no longer counts.
func (c *counted) Close() error {
	if !c.closed.Swap(true) {
		defer c.limits.leave(c.from)
	}
	return c.Conn.Close()
}

// SyscallConn returns the raw connection.
func (c *counted) SyscallConn() (syscall.RawConn, error) { return syscallConn(c.Conn) }

func (c *counted) CloseWrite() error { return closeWrite(c.Conn) }

func (c *counted) ReadFrom(r io.Reader) (int64, error) { return readFrom(c.Conn, r) }
