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
	cancel context.CancelFunc // of the request that is being answered, and those behind it
	first  [16]byte           // where buf begins: enough to see what it is, for those that are passed on

	buf  []byte   // what has arrived and is not answered, a request's first byte first
	scan lineScan // of buf
	head int      // length of the head in buf; 0: not known yet
	wait waiting  // what the deadline of reads is for
	set  time.Time

	charged int       // bytes of buf that count in the server's budget
	writeBy time.Time // the deadline of writes

	request Request
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
	nextRequest         // for so long as the server's idle
	restOfRequest
)

// A fate is what becomes of a connection after a look at what has arrived.
type fate int

const (
	more   fate = iota // must arrive
	whole              // request that is plain
	passOn             // to the other server
	end
)

// serve answers requests until the connection ends or is passed on.
func (c *conn) serve(ctx context.Context) {
	defer c.cancel()
	defer c.recover()
	defer c.server.forget(c)
	defer c.discharge() // who reads on has a buffer that counts
	fate := c.handshake(ctx)
	for fate == more {
		if fate = c.receive(); fate == whole {
			fate = c.respond(ctx)
		}
	}
	if fate == passOn {
		c.pass()
		return
	}
	_ = c.nc.Close()
}

// recover keeps a defect from ending the process. The server's own panics do not come this far.
func (c *conn) recover() {
	if p := recover(); p != nil {
		c.server.log.Error("connection failed", "panic", p, slog.String("stack", string(debug.Stack())))
		_ = c.nc.Close()
	}
}

// handshake makes that of TLS, if the connection speaks it.
func (c *conn) handshake(ctx context.Context) fate {
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
func (c *conn) receive() fate {
	if len(c.buf) == 0 {
		if c.until(nextRequest); c.server.stopping.Load() {
			c.lingers() // Shutdown may have looked before
		}
		if !c.grow() || c.read() != nil {
			return end
		}
		if !c.state.CompareAndSwap(waitsForRequest, works) {
			return end // Shutdown was faster
		}
	}
	fate := c.look()
	for fate == more {
		c.until(restOfRequest)
		if !c.grow() || c.read() != nil {
			return passOn // which knows what to say to half a request
		}
		fate = c.look()
	}
	return fate
}

// look says what to do with what has arrived.
func (c *conn) look() fate {
	if c.head == 0 {
		n, plain := c.scan.end(c.buf)
		switch {
		case !plain || !mayBePlain(c.buf) || n > MaxHead || n == 0 && len(c.buf) > MaxHead:
			return passOn
		case n == 0:
			return more
		}
		if !c.request.parse(string(c.buf[:n])) || c.request.ContentLength > MaxBody {
			return passOn
		}
		c.head = n
	}
	if len(c.buf) < c.size() {
		return more
	}
	return whole
}

// size is that of the request, head and body.
func (c *conn) size() int { return c.head + int(c.request.ContentLength) }

// grow makes room in c.buf, which grows with what arrives, not with what is announced. It reports false when the budget
// for bodies has no more. A head counts in no budget.
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
		return nil // an error will come again
	}
	return err
}

// discharge gives back what the budget for bodies has given.
func (c *conn) discharge() {
	if c.charged > 0 {
		c.server.bodies.Give(c.charged)
		c.charged = 0
	}
}

// until sets the deadline of reads. It costs something, so that of a connection that waits for its next request moves
// in steps of a tenth.
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

// respond answers the request in c.buf, and takes it out.
func (c *conn) respond(ctx context.Context) fate {
	a := TakeAnswer()
	defer a.Release()
	c.request.Body = c.buf[c.head:c.size()]
	c.watch.begin(c)
	c.server.handler.Answer(ctx, &c.request, a)
	c.watch.end(c)
	c.limitWrite()
	last := c.server.stopping.Load()
	if _, err := c.nc.Write(a.wire(last)); err != nil || last {
		return end
	}
	if c.consume(); len(c.buf) > 0 {
		return more
	}
	if c.state.Store(waitsForRequest); c.server.stopping.Load() && c.server.linger == 0 {
		return end // Shutdown may have looked before
	}
	return more
}

// limitWrite sets the deadline of writes, which costs something, so it moves in steps.
func (c *conn) limitWrite() {
	if now := time.Now(); c.writeBy.Sub(now) < writeTime*2/3 {
		c.writeBy = now.Add(writeTime)
		_ = c.nc.SetWriteDeadline(c.writeBy)
	}
}

// consume takes the request out of c.buf. What lies behind it is the next one, of a client that does not wait for
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
		c.wait = forever // the next request has time of its own
	}
}

// pass hands the connection to the other server, unless either stops.
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

// closeSoon closes the connection if it waits for a request, or has it do so.
func (c *conn) closeSoon() {
	if c.server.linger > 0 {
		if c.state.Load() == waitsForRequest {
			c.lingers()
		}
		return
	}
	if c.state.CompareAndSwap(waitsForRequest, closed) {
		_ = c.nc.Close()
	}
}

// lingers waits for a request no longer than the server lingers.
func (c *conn) lingers() { _ = c.nc.SetReadDeadline(time.Now().Add(c.server.linger)) }

// abort closes the connection and cancels its request.
func (c *conn) abort() {
	c.cancel()
	_ = c.nc.Close()
}
