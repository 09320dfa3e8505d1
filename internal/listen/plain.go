package listen

import (
	"context"
	"log/slog"
	"net"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// A conn is a connection whose requests have all been plain so far.
type conn struct {
	server *Server
	nc     net.Conn
	state  atomic.Int32       // waiting, working or closed
	cancel context.CancelFunc // of the request that is being answered, and later ones
	first  [16]byte           // the first buf: enough to recognise a request that is passed on

	buf  []byte   // received and not answered, from the first byte of a request on
	scan lineScan // of buf
	head int      // length of the head in buf; 0: not known yet
	wait waiting  // what the deadline of reads is for
	set  time.Time

	charged int       // bytes of buf that count in the server's budget
	writeBy time.Time // the deadline of writes

	request Request
	peer    Client
	trusted bool // the peer is a trusted proxy
	watch   watch
}

// The states of a connection.
const (
	waitsForRequest = iota
	works
	closed
)

// waiting is what a connection waits for.
type waiting int

const (
	forever     waiting = iota
	nextRequest         // at most the server's idle
	restOfRequest
)

// A decision is how a connection continues after its received bytes were inspected.
type decision int

const (
	more   decision = iota // wait for more bytes
	whole                  // answer a complete plain request
	passOn                 // to the other server
	end
)

// serve answers requests until the connection ends or is passed on.
func (c *conn) serve(ctx context.Context) {
	defer c.cancel()
	defer c.recover()
	defer c.server.forget(c)
	defer c.discharge() // after pass, the other server counts its own buffer
	decision := c.handshake(ctx)
	for decision == more {
		if decision = c.receive(); decision == whole {
			decision = c.respond(ctx)
		}
	}
	if decision == passOn {
		c.pass()
		return
	}
	_ = c.nc.Close()
}

// recover keeps a bug from ending the process. The handler recovers its own panics.
func (c *conn) recover() {
	if p := recover(); p != nil {
		c.server.log.Error("connection failed", "panic", p, slog.String("stack", string(debug.Stack())))
		_ = c.nc.Close()
	}
}

// handshake does the TLS handshake, if the connection uses TLS.
func (c *conn) handshake(ctx context.Context) decision {
	secure, ok := c.nc.(interface{ HandshakeContext(context.Context) error })
	if !ok {
		return more
	}
	ctx, cancel := context.WithTimeout(ctx, patientHandshake)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		c.server.log.Debug("TLS handshake failed", "remote", c.nc.RemoteAddr().String(), "error", err)
		return end
	}
	return more
}

// receive waits for a request.
func (c *conn) receive() decision {
	if len(c.buf) == 0 {
		if c.until(nextRequest); c.server.stopping.Load() {
			c.limitLinger() // Shutdown may have checked the state before
		}
		if !c.grow() || c.read() != nil {
			return end
		}
		if !c.state.CompareAndSwap(waitsForRequest, works) {
			return end // Shutdown has closed it
		}
	}
	decision := c.inspect()
	for decision == more {
		c.until(restOfRequest)
		if !c.grow() || c.read() != nil {
			return passOn // which answers incomplete requests
		}
		decision = c.inspect()
	}
	return decision
}

// inspect decides how to continue after the received bytes.
func (c *conn) inspect() decision {
	if c.head == 0 {
		n, plain := c.scan.end(c.buf)
		switch {
		case !plain || !mayBePlain(c.buf) || n > MaxHead || n == 0 && len(c.buf) > MaxHead:
			return passOn
		case n == 0:
			return more
		}
		if !c.request.parse(string(c.buf[:n])) || c.request.ContentLength > MaxBody ||
			!c.server.accepts(&c.request) {
			return passOn
		}
		c.head = n
	}
	if len(c.buf) < c.size() {
		return more
	}
	return whole
}

// size returns the size of the request, head and body.
func (c *conn) size() int { return c.head + int(c.request.ContentLength) }

// grow makes room in c.buf, which grows with the received bytes, not with the announced length. It returns false if the
// budget for bodies is used up. A head does not count in the budget.
func (c *conn) grow() bool {
	if len(c.buf) < cap(c.buf) {
		return true
	}
	size := max(firstBuffer, 2*cap(c.buf))
	if c.head > 0 {
		size = min(size, max(mostKept, c.size()))
	}
	if more := size - mostKept - c.charged; more > 0 {
		if !c.server.bodies.Take(more) {
			return false
		}
		c.charged += more
	}
	grown := make([]byte, len(c.buf), size)
	copy(grown, c.buf)
	c.buf = grown
	return true
}

// read waits for bytes and appends them to c.buf, which has room.
func (c *conn) read() error {
	n, err := c.nc.Read(c.buf[len(c.buf):cap(c.buf)])
	c.buf = c.buf[:len(c.buf)+n]
	if n > 0 {
		return nil // the next read returns the error again
	}
	return err
}

// discharge returns what was taken from the budget for bodies.
func (c *conn) discharge() {
	if c.charged > 0 {
		c.server.bodies.Give(c.charged)
		c.charged = 0
	}
}

// until sets the deadline of reads. That costs time, so the deadline of a connection that waits for its next request
// moves in steps of a tenth.
func (c *conn) until(w waiting) {
	now := time.Now()
	switch {
	case w == c.wait && w == restOfRequest:
		return
	case w == c.wait && now.Sub(c.set) < c.server.idle/10:
		return
	case w == restOfRequest:
		_ = c.nc.SetReadDeadline(now.Add(patience))
	default:
		_ = c.nc.SetReadDeadline(now.Add(c.server.idle))
	}
	c.wait, c.set = w, now
}

// respond answers the request in c.buf, and removes it.
func (c *conn) respond(ctx context.Context) decision {
	a := TakeAnswer()
	defer a.Release()
	c.request.Body = c.buf[c.head:c.size()]
	if c.request.Client = c.peer; c.trusted {
		c.request.Client = Client{c.server.proxies.ClientOf(c.peer.Address, c.request.Header.values(forwardedFor)),
			c.server.proxies.EncryptedOf(c.peer, c.request.Header.values(forwardedProto))}
	}
	c.watch.begin(c)
	c.server.handler.Answer(ctx, &c.request, a)
	if c.watch.end(c); a.Dropped() {
		return end
	}
	c.limitWrite()
	last := c.server.stopping.Load()
	if _, err := c.nc.Write(a.wire(last)); err != nil || last {
		return end
	}
	if c.consume(); len(c.buf) > 0 {
		return more
	}
	if c.state.Store(waitsForRequest); c.server.stopping.Load() && c.server.linger == 0 {
		return end // Shutdown may have checked the state before
	}
	return more
}

// limitWrite sets the deadline of writes. That costs time, so the deadline moves in steps.
func (c *conn) limitWrite() {
	if now := time.Now(); c.writeBy.Sub(now) < writeTime*2/3 {
		c.writeBy = now.Add(writeTime)
		_ = c.nc.SetWriteDeadline(c.writeBy)
	}
}

// consume removes the request from c.buf. The bytes after it are the next request, of a client that does not wait for
// answers.
func (c *conn) consume() {
	left := c.buf[c.size():]
	if cap(c.buf) > mostKept && len(left) <= firstBuffer {
		c.buf = append(make([]byte, 0, firstBuffer), left...)
		c.discharge()
	} else {
		c.buf = c.buf[:copy(c.buf, left)]
	}
	c.scan, c.head, c.request.Body = lineScan{}, 0, nil
	if c.wait == restOfRequest {
		c.wait = forever // the next request has its own deadline
	}
}

// pass passes the connection to the other server, unless either stops.
func (c *conn) pass() {
	_ = c.nc.SetDeadline(time.Time{})
	select {
	case c.server.rest.conns <- Replay(c.nc, c.buf):
	case <-c.server.rest.closed:
		_ = c.nc.Close()
	case <-c.server.stopped:
		_ = c.nc.Close()
	}
}

// closeSoon closes the connection if it waits for a request: immediately, or after the server's linger.
func (c *conn) closeSoon() {
	if c.server.linger > 0 {
		if c.state.Load() == waitsForRequest {
			c.limitLinger()
		}
		return
	}
	if c.state.CompareAndSwap(waitsForRequest, closed) {
		_ = c.nc.Close()
	}
}

// limitLinger limits the wait for a request to the server's linger.
func (c *conn) limitLinger() { _ = c.nc.SetReadDeadline(time.Now().Add(c.server.linger)) }

// abort closes the connection and cancels its request.
func (c *conn) abort() {
	c.cancel()
	_ = c.nc.Close()
}
