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

// Conn is the connection of one session; Session.Conn gives it. Reading and writing are those of its stream. An error
// is io.EOF when the other side has closed, net.ErrClosed after Close, os.ErrDeadlineExceeded after a deadline, and
// else what happened, with the errors of quic-go inside for errors.AsType.
type Conn struct {
	quic      *quicgo.Conn
	socket    *socket
	client    bool
	stream    atomic.Pointer[quicgo.Stream] // nil on a server before HandshakeContext
	datagrams datagrams

	writing  sync.Mutex // quic-go wants no Write while the stream is being ended
	wroteEnd atomic.Bool
	readEnd  atomic.Bool

	closed    atomic.Bool
	closeOnce sync.Once
}

var (
	_ gamenet.DatagramConn = (*Conn)(nil)
	_ gamenet.Handshaker   = (*Conn)(nil)
)

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	stream, err := c.opened()
	if err != nil {
		return 0, err
	}
	n, err := stream.Read(b)
	if n > 0 || err == nil {
		return n, nil // an error comes again with the next Read
	}
	if err == io.EOF {
		c.readEnd.Store(true)
	}
	return 0, c.named(err)
}

// Write implements net.Conn. It returns when all but the last packet of UDP has been sent, which flow and congestion
// control may delay.
func (c *Conn) Write(b []byte) (int, error) {
	stream, err := c.opened()
	if err != nil {
		return 0, err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	n, err := stream.Write(b)
	return n, c.named(err)
}

// CloseWrite implements gamenet.Conn. It waits for a Write under way.
func (c *Conn) CloseWrite() error {
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

// Close implements net.Conn: the connection ends now, and with it what has not arrived. Only when both sides have ended
// their streams does it wait until everything has, for a second at most.
func (c *Conn) Close() error {
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

// linger waits until both sides have everything. quic-go does not say when the other side has acknowledged the end of a
// stream, but it then gives the client credit for another one. With it the client knows that the server has read
// everything and has been told that the client has everything; so the client closes, and the server waits for that.
func (c *Conn) linger() {
	ctx, cancel := context.WithTimeout(c.quic.Context(), lingering)
	defer cancel()
	if c.client {
		_, _ = c.quic.OpenStreamSync(ctx) // if it fails nobody is left to wait for
		return
	}
	<-ctx.Done()
}

// end closes the connection of quic-go, with what the other side is to hear. It returns when the goroutines of the
// connection have ended.
func (c *Conn) end(code quicgo.ApplicationErrorCode, reason string) {
	_ = c.quic.CloseWithError(code, reason) // it cannot fail
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.quic.LocalAddr() }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.quic.RemoteAddr() }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	return c.withStream(func(s *quicgo.Stream) error { return s.SetDeadline(t) })
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	return c.withStream(func(s *quicgo.Stream) error { return s.SetReadDeadline(t) })
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	return c.withStream(func(s *quicgo.Stream) error { return s.SetWriteDeadline(t) })
}

// ConnectionState is what was agreed on in the handshake, TLS included.
func (c *Conn) ConnectionState() quicgo.ConnectionState { return c.quic.ConnectionState() }

// ConnectionStats is what QUIC knows of the path: round-trip times and losses.
func (c *Conn) ConnectionStats() quicgo.ConnectionStats { return c.quic.ConnectionStats() }

var errNotOpen = errors.New("quic: the handshake has not been done")

// opened is the stream, if the connection may be used.
func (c *Conn) opened() (*quicgo.Stream, error) {
	stream := c.stream.Load()
	switch {
	case c.closed.Load():
		return nil, net.ErrClosed
	case stream == nil:
		return nil, errNotOpen
	}
	return stream, nil
}

func (c *Conn) withStream(do func(*quicgo.Stream) error) error {
	stream, err := c.opened()
	if err != nil {
		return err
	}
	return do(stream)
}

// named gives an error of quic-go the name that the rest of Go has for it.
func (c *Conn) named(err error) error {
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
	codeProtocol quicgo.ApplicationErrorCode = 1 // the other side speaks something else
)

// A brokenError is the end of a connection that nobody on this side has closed. All such errors of quic-go are
// net.ErrClosed too, which everywhere else in Go means one's own Close: this one is not.
type brokenError struct{ cause error }

func (e *brokenError) Error() string { return "quic: " + e.cause.Error() }

// Is finds everything but net.ErrClosed in the cause.
func (e *brokenError) Is(target error) bool {
	return target != net.ErrClosed && errors.Is(e.cause, target)
}

// As finds the errors of quic-go and crypto/tls in the cause.
func (e *brokenError) As(target any) bool { return errors.As(e.cause, target) }

// broken names the end of a connection as the rest of Go does: io.EOF when the other side has closed it.
func broken(err error) error {
	if e, ok := errors.AsType[*quicgo.ApplicationError](err); ok && e.Remote && e.ErrorCode == codeClosed {
		return io.EOF
	}
	return &brokenError{err}
}
