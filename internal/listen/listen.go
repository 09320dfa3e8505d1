// Package listen serves one port: TLS and unencrypted connections, their limits, and the HTTP/1.1 requests on them.
//
// A [Listener] distinguishes TLS from unencrypted connections by the first byte that a client sends: a TLS connection
// begins with a handshake record (0x16), and no HTTP method does. Accept returns a *tls.Conn for a client that uses
// TLS, so that http.Server sets Request.TLS, and any other net.Conn for one that does not. [Limits] limits the
// connections of all ports together, and [Unambiguous] makes http.Server reject requests whose length can be read in
// two ways.
//
// A [Server] reads and answers the plain requests of API clients, at a fraction of the cost of net/http, and leaves
// everything else to net/http. A plain request is a POST that arrives quickly, with nothing in its head that can be
// read in two ways: lines end in CRLF, the target is a path, there is one Host and at most one Content-Length, and no
// Transfer-Encoding, Expect, Upgrade or Connection: close. At the first request of another kind on a connection (a
// WebSocket handshake, a page, a chunked, large, slow or broken request), the Server passes the connection on:
// [Server.Rest] accepts it, with every byte of that request. So net/http handles the difficult parts of HTTP, and a
// plain request is read as net/http would read it.
//
// A Server does not watch a connection during every request, as net/http does, but only when an answer takes long. A
// client that disconnects then cancels its request.
//
// docs/decisions/0010-http-server.md gives the reasons, with figures.
package listen

import (
	"container/list"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// Config configures a Listener.
type Config struct {
	// TLS holds the certificate. It is required. Versions before 1.2 are rejected, and no protocol but HTTP/1.1 is
	// negotiated.
	TLS *tls.Config

	// RefusePlain rejects unencrypted connections, with an answer that says so.
	RefusePlain bool

	// FirstByte is the timeout for the first byte of a client; 0 is ten seconds.
	FirstByte time.Duration

	// MaxPending limits the connections that have not sent anything or that Accept has not returned yet; 0 is 1024. At
	// the limit, each new connection closes the one that has been silent for longest, so that silent clients do not
	// keep others from connecting.
	MaxPending int
}

// A Listener is a net.Listener for both unencrypted and TLS connections.
type Listener struct {
	inner       net.Listener
	tls         *tls.Config
	refusePlain bool
	firstByte   time.Duration

	accepted chan accepted
	slots    chan struct{} // one for each pending connection
	start    sync.Once     // of the loop that accepts
	stop     chan struct{}
	running  sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	pending map[net.Conn]*list.Element // its element in silent, from which it may be removed
	silent  *list.List                 // of net.Conn, the oldest first
}

type accepted struct {
	conn net.Conn
	err  error
}

// New returns a listener that owns inner.
func New(inner net.Listener, c Config) *Listener {
	l := &Listener{
		inner: inner, tls: c.TLS.Clone(), refusePlain: c.RefusePlain, firstByte: c.FirstByte,
		accepted: make(chan accepted), stop: make(chan struct{}), pending: map[net.Conn]*list.Element{},
		silent: list.New(),
	}
	l.tls.MinVersion = max(l.tls.MinVersion, tls.VersionTLS12)
	l.tls.NextProtos = []string{"http/1.1"}
	if l.firstByte == 0 {
		l.firstByte = 10 * time.Second
	}
	if c.MaxPending == 0 {
		c.MaxPending = 1024
	}
	l.slots = make(chan struct{}, c.MaxPending)
	return l
}

// Addr returns the address of the inner listener.
func (l *Listener) Addr() net.Addr { return l.inner.Addr() }

// Accept waits for a connection that has sent its first byte. The first call starts the goroutines that Close ends.
// After Close the error is net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	l.start.Do(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.closed {
			l.running.Go(l.run)
		}
	})
	select {
	case a := <-l.accepted:
		return a.conn, a.err
	case <-l.stop:
		return nil, net.ErrClosed
	}
}

// Close closes the inner listener and every connection that Accept has not returned, and waits until their goroutines
// have ended. It may be called again.
func (l *Listener) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	close(l.stop)
	for c := range l.pending {
		_ = c.Close() // ends the goroutine that waits for its first byte
	}
	l.mu.Unlock()
	err := l.inner.Close()
	l.running.Wait()
	return err
}

// run accepts until the listener is closed, and reads the first byte of each connection in a goroutine.
func (l *Listener) run() {
	for {
		conn, err := l.inner.Accept()
		if err != nil {
			if !l.offer(accepted{err: err}) || errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		if !l.makeRoom() || !l.track(conn) {
			_ = conn.Close()
			return
		}
		l.running.Go(func() {
			defer func() { <-l.slots }()
			l.admit(conn)
		})
	}
}

// makeRoom takes a slot for a pending connection. If none is free, it first closes the connection that has been silent
// for longest. It returns false if the listener was closed.
func (l *Listener) makeRoom() bool {
	select {
	case l.slots <- struct{}{}:
		return true
	default:
		l.dropSilent()
	}
	select {
	case l.slots <- struct{}{}:
		return true
	case <-l.stop:
		return false
	}
}

// dropSilent closes the connection that has been silent for longest, if there is one.
func (l *Listener) dropSilent() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if oldest := l.silent.Front(); oldest != nil {
		_ = l.silent.Remove(oldest).(net.Conn).Close() // its goroutine does the rest
	}
}

// offer passes a to Accept, or returns false if the listener was closed.
func (l *Listener) offer(a accepted) bool {
	select {
	case l.accepted <- a:
		return true
	case <-l.stop:
		return false
	}
}

// track records a pending connection, or returns false if the listener was closed.
func (l *Listener) track(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.pending[c] = l.silent.PushBack(c)
	}
	return !l.closed
}

// notSilent records that a connection has sent something, or has failed.
func (l *Listener) notSilent(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent.Remove(l.pending[c]) // does nothing if it was dropped
}

// admit waits for the first byte of a connection and offers the connection to Accept.
func (l *Listener) admit(raw net.Conn) {
	conn := l.identify(raw)
	l.notSilent(raw)
	if conn != nil && !l.offer(accepted{conn: conn}) {
		conn = nil
	}
	l.mu.Lock()
	delete(l.pending, raw)
	l.mu.Unlock()
	if conn == nil {
		_ = raw.Close()
	}
}

// identify reads the first byte of raw. It returns nil if the connection is not accepted.
func (l *Listener) identify(raw net.Conn) net.Conn {
	_ = raw.SetDeadline(time.Now().Add(l.firstByte))
	var first [1]byte
	if n, err := raw.Read(first[:]); n != 1 || err != nil {
		return nil
	}
	conn := Replay(raw, first[:])
	const handshake = 0x16
	if first[0] != handshake && l.refusePlain {
		refuse(conn)
		return nil
	}
	if raw.SetDeadline(time.Time{}) != nil {
		return nil
	}
	if first[0] == handshake {
		return tls.Server(conn, l.tls)
	}
	return conn
}
