package listen

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// A Replayed is a connection from which some bytes were read already. Its Read returns them first.
type Replayed struct {
	net.Conn
	unread []byte
}

// Replay returns c as it was before unread was read from it.
func Replay(c net.Conn, unread []byte) *Replayed { return &Replayed{c, unread} }

// Read returns the unread bytes first, then reads from the connection.
func (c *Replayed) Read(p []byte) (int, error) {
	if len(c.unread) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.unread)
	if c.unread = c.unread[n:]; len(c.unread) == 0 {
		c.unread = nil
	}
	return n, nil
}

// NetConn returns the underlying connection, for callers that close it directly.
func (c *Replayed) NetConn() net.Conn { return c.Conn }

// SyscallConn returns the raw connection, for writing only: it does not have the unread bytes.
func (c *Replayed) SyscallConn() (syscall.RawConn, error) {
	return syscallConn(c.Conn)
}

// CloseWrite closes the sending half. http.Server does so before it closes a connection whose request it has not read
// to the end.
func (c *Replayed) CloseWrite() error { return closeWrite(c.Conn) }

// ReadFrom sends what r has, with sendfile if the connection can. http.Server uses it for files.
func (c *Replayed) ReadFrom(r io.Reader) (int64, error) { return readFrom(c.Conn, r) }

// syscallConn returns the raw connection of c, if it has one.
func syscallConn(c net.Conn) (syscall.RawConn, error) {
	conn, ok := c.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return conn.SyscallConn()
}

// closeWrite closes the sending half of a connection, if it has one.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// readFrom sends what r has over c, with c's own way to do so if it has one.
func readFrom(c net.Conn, r io.Reader) (int64, error) {
	if to, ok := c.(io.ReaderFrom); ok {
		return to.ReadFrom(r)
	}
	return io.Copy(struct{ io.Writer }{c}, r)
}

const tlsOnly = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: " +
	"45\r\nConnection: close\r\n\r\n" +
	"This port speaks TLS only: use https or wss.\n"

// refusedRest is how much of a refused request is read, within the time limit of the first byte.
const refusedRest = 1 << 20

// refuse answers an unencrypted client that it must use TLS. It reads the rest of the request, up to a limit, because
// closing with unread input would discard the answer.
func refuse(c *Replayed) {
	if _, err := io.WriteString(c, tlsOnly); err != nil || c.CloseWrite() != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, c, refusedRest)
}
