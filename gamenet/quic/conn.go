package quic

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"github.com/muster-gg/muster/gamenet"
)

// A connection is the connection of one session; Session.Conn returns it. Read and Write use its stream. Errors are
// io.EOF when the other side has closed, net.ErrClosed after Close, os.ErrDeadlineExceeded after a deadline, and
// otherwise wrap the errors of quic-go for errors.AsType.
type connection struct {
	quic      *quicgo.Conn
	socket    *socket
	client    bool
	stream    atomic.Pointer[quicgo.Stream] // nil on a server before HandshakeContext
	datagrams datagrams

	writing  sync.Mutex // quic-go forbids a Write concurrent with Close of the stream
	wroteEnd atomic.Bool
	readEnd  atomic.Bool

	closed    atomic.Bool
	closeOnce sync.Once
}

var (
	_ gamenet.DatagramConn = (*connection)(nil)
	_ gamenet.Handshaker   = (*connection)(nil)
)

// Read implements net.Conn.
func (c *connection) Read(b []byte) (int, error) {
	stream, err := c.opened()
	if err != nil {
		return 0, err
	}
	n, err := stream.Read(b)
	if n > 0 || err == nil {
		return n, nil // the next Read returns the error again
	}
	if err == io.EOF {
		c.readEnd.Store(true)
	}
	return 0, c.named(err)
}

// Write implements net.Conn. It returns when all but the last UDP packet has been sent, which flow and congestion
// control may delay.
func (c *connection) Write(b []byte) (int, error) {
	stream, err := c.opened()
	if err != nil {
		return 0, err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	n, err := stream.Write(b)
	return n, c.named(err)
}

// CloseWrite implements gamenet.Conn. It waits for a running Write.
func (c *connection) CloseWrite() error {
	stream, err := c.opened()
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := stream.Close(); err != nil {
		return c.named(err)
	}
	c.wroteEnd.Store(true)
	return nil
}

// Close implements net.Conn: it ends the connection at once and discards undelivered data. Only if both sides have
// ended their streams, it waits until everything has arrived, for a second at most.
func (c *connection) Close() error {
	c.closeOnce.Do(func() {
		if c.wroteEnd.Load() && c.readEnd.Load() {
			c.linger()
		}
		c.closed.Store(true)
		c.end(codeClosed, "")
		c.datagrams.stop()
		c.socket.release()
	})
	return nil
}

// lingering limits how long Close waits for the last acknowledgements.
const lingering = time.Second

// linger waits until both sides have received everything. quic-go does not report when the other side has acknowledged
// the end of a stream, but the server then grants the client credit for another one. The credit shows the client that
// the server has read everything and received all acknowledgements; so the client closes, and the server waits for
// that.
func (c *connection) linger() {
	ctx, cancel := context.WithTimeout(c.quic.Context(), lingering)
	defer cancel()
	if c.client {
		_, _ = c.quic.OpenStreamSync(ctx) // an error also ends the wait
		return
	}
	<-ctx.Done()
}

// end closes quic-go's connection and sends code and reason. It returns when the goroutines of the connection have
// ended.
func (c *connection) end(code quicgo.ApplicationErrorCode, reason string) {
	_ = c.quic.CloseWithError(code, reason) // it cannot fail
}

// LocalAddr implements net.Conn.
func (c *connection) LocalAddr() net.Addr { return c.quic.LocalAddr() }

// RemoteAddr implements net.Conn.
func (c *connection) RemoteAddr() net.Addr { return c.quic.RemoteAddr() }

// SetDeadline implements net.Conn.
func (c *connection) SetDeadline(t time.Time) error {
	return c.withStream(func(s *quicgo.Stream) error { return s.SetDeadline(t) })
}

// SetReadDeadline implements net.Conn.
func (c *connection) SetReadDeadline(t time.Time) error {
	return c.withStream(func(s *quicgo.Stream) error { return s.SetReadDeadline(t) })
}

// SetWriteDeadline implements net.Conn.
func (c *connection) SetWriteDeadline(t time.Time) error {
	return c.withStream(func(s *quicgo.Stream) error { return s.SetWriteDeadline(t) })
}

// ConnectionState returns the result of the handshake, TLS included.
func (c *connection) ConnectionState() quicgo.ConnectionState { return c.quic.ConnectionState() }

// ConnectionStats returns QUIC's statistics of the path: round-trip times and losses.
func (c *connection) ConnectionStats() quicgo.ConnectionStats { return c.quic.ConnectionStats() }

var errNotOpen = errors.New("quic: the handshake has not been done")

// opened returns the stream, if the connection is usable.
func (c *connection) opened() (*quicgo.Stream, error) {
	stream := c.stream.Load()
	switch {
	case c.closed.Load():
		return nil, net.ErrClosed
	case stream == nil:
		return nil, errNotOpen
	}
	return stream, nil
}

func (c *connection) withStream(do func(*quicgo.Stream) error) error {
	stream, err := c.opened()
	if err != nil {
		return err
	}
	return do(stream)
}

// named maps an error of quic-go to the error of the standard library.
func (c *connection) named(err error) error {
	switch {
	case err == nil, err == io.EOF, errors.Is(err, os.ErrDeadlineExceeded):
		return err
	case c.closed.Load():
		return net.ErrClosed
	default:
		return broken(err)
	}
}

// The application error codes that end a connection.
const (
	codeClosed   quicgo.ApplicationErrorCode = 0 // Close was called
	codeProtocol quicgo.ApplicationErrorCode = 1 // the other side has another protocol
)

// A brokenError is the end of a connection that this side has not closed. quic-go's errors for it match net.ErrClosed,
// which elsewhere in Go means a local Close; a brokenError does not.
type brokenError struct{ cause error }

func (e *brokenError) Error() string { return "quic: " + e.cause.Error() }

// Is matches everything but net.ErrClosed in the cause, and gamenet.ErrHandshake if the cause is a failed handshake.
func (e *brokenError) Is(target error) bool {
	if target == gamenet.ErrHandshake {
		return e.handshake()
	}
	return target != net.ErrClosed && errors.Is(e.cause, target)
}

// handshake reports whether the two sides could not agree: on the keys, or on the protocol. A client may find out after
// Dial, because its side of the handshake ends before the server's.
func (e *brokenError) handshake() bool {
	if t, ok := errors.AsType[*quicgo.TransportError](e.cause); ok {
		return t.ErrorCode.IsCryptoError()
	}
	a, ok := errors.AsType[*quicgo.ApplicationError](e.cause)
	_, version := errors.AsType[*quicgo.VersionNegotiationError](e.cause)
	return version || ok && a.ErrorCode == codeProtocol
}

// As finds the errors of quic-go and crypto/tls in the cause.
func (e *brokenError) As(target any) bool { return errors.As(e.cause, target) }

// broken maps the end of a connection: to io.EOF when the other side has closed it.
func broken(err error) error {
	if e, ok := errors.AsType[*quicgo.ApplicationError](err); ok && e.Remote && e.ErrorCode == codeClosed {
		return io.EOF
	}
	return &brokenError{err}
}
