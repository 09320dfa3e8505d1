package listen

import (
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// Unambiguous makes s reject requests on l whose length can be read in two ways: those with both Content-Length and
// Transfer-Encoding, and those of HTTP/1.0 with Transfer-Encoding. s answers with status 400 and closes the connection.
// The caller passes the result to s.Serve. Otherwise s would use one field, a proxy in front of it perhaps the other,
// and they would disagree about where the next client's request begins. Source: RFC 9112, section 6.1.
//
// Unambiguous changes a line of such a request so that it is no field, which s rejects.
func Unambiguous(s *http.Server, l net.Listener) net.Listener {
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if f, ok := c.(*framed); ok && state == http.StateHijacked {
			f.other = true
		}
	}
	return framedListener{l}
}

type framedListener struct{ net.Listener }

func (l framedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &framed{Conn: c}, nil
}

// A framed is a connection whose requests are parsed while they are read.
type framed struct {
	net.Conn
	framing framing
	other   bool // it has switched to another protocol
}

// errFraming ends a connection whose requests cannot be separated. http.Server, which is no more lenient, has rejected
// the request already.
var errFraming = errors.New("the length of a request cannot be read")

// Read reads, and invalidates requests that must be rejected.
func (c *framed) Read(p []byte) (int, error) {
	if c.framing.at == lost && !c.other {
		return 0, errFraming
	}
	n, err := c.Conn.Read(p)
	if !c.other {
		c.framing.follow(p[:n])
	}
	return n, err
}

func (c *framed) NetConn() net.Conn { return c.Conn }

// SyscallConn returns the raw connection, for writing.
func (c *framed) SyscallConn() (syscall.RawConn, error) { return syscallConn(c.Conn) }

func (c *framed) CloseWrite() error { return closeWrite(c.Conn) }

func (c *framed) ReadFrom(r io.Reader) (int64, error) { return readFrom(c.Conn, r) }

// A place is the part of a request to which the next byte belongs.
type place uint8

const (
	beforeRequest place = iota // maybe with empty lines
	requestLine
	lineStart // of the head
	fieldName
	fieldValue
	body // left is what remains of it
	chunkSize
	chunkExtension
	chunkData // left is what remains of it, with its CRLF
	trailerStart
	trailer
	lost // the rest cannot be parsed
)

const (
	oldVersion       = "HTTP/1.0"
	contentLength    = "content-length"
	transferEncoding = "transfer-encoding"
)

// framing parses requests byte by byte, as far as necessary to find where each begins. It is at least as lenient as
// http.Server: it parses everything that http.Server accepts. Its zero value is at the beginning of a request.
type framing struct {
	at    place
	tail  [len(oldVersion)]byte           // of the request line
	name  [len(transferEncoding) + 1]byte // of the field; longer names do not matter
	named int                             // bytes of name
	kind  string                          // of the field: one of the two names, or ""

	encoded bool  // there is a Transfer-Encoding
	length  int64 // Content-Length; -1: there is none
	number  int64 // that is being read
	digits  int   // of it
	ended   bool  // it may have no more digits
	left    int64 // of the body or chunk
}

// follow parses p, and invalidates the field in it that makes a request ambiguous.
func (f *framing) follow(p []byte) {
	for len(p) > 0 && f.at != lost {
		if f.at == body || f.at == chunkData {
			n := min(f.left, int64(len(p)))
			if f.left, p = f.left-n, p[n:]; f.left == 0 {
				f.endData()
			}
			continue
		}
		if f.at < body {
			f.head(&p[0])
		} else {
			f.chunked(p[0])
		}
		p = p[1:]
	}
}

// endData continues after a body or a chunk.
func (f *framing) endData() {
	if f.at == body {
		f.at = beforeRequest
		return
	}
	f.beginNumber(chunkSize)
}

func (f *framing) beginNumber(at place) { f.at, f.number, f.digits, f.ended = at, 0, 0, false }

// head parses a byte of a head.
func (f *framing) head(b *byte) {
	switch f.at {
	case beforeRequest:
		if *b == '\r' || *b == '\n' {
			return
		}
		*f = framing{at: requestLine, length: -1}
		f.head(b)
	case requestLine:
		switch *b {
		case '\n':
			f.at = lineStart
		case '\r':
		default:
			copy(f.tail[:], f.tail[1:])
			f.tail[len(f.tail)-1] = *b
		}
	case lineStart:
		f.line(*b)
	case fieldName:
		switch {
		case *b == '\n':
			f.at = lost // no field
		case *b == ':':
			f.field(b)
		case f.named < len(f.name):
			f.name[f.named] = *b
			f.named++
		}
	case fieldValue:
		switch {
		case *b == '\n':
			f.at = lineStart
		case f.kind == contentLength:
			f.decimal(*b)
		}
	}
}

// line parses the first byte of a line that is not the first of the head.
func (f *framing) line(b byte) {
	if b == ' ' || b == '\t' {
		f.at = fieldValue // continues the previous line
		return
	}
	if f.kind == contentLength && !f.endLength() {
		f.at = lost
		return
	}
	f.kind = ""
	switch b {
	case '\r':
	case '\n':
		f.endHead()
	default:
		f.name[0], f.named, f.at = b, 1, fieldName
	}
}

// field processes the colon after a field's name.
func (f *framing) field(colon *byte) {
	f.at = fieldValue
	switch name := f.name[:f.named]; {
	case strings.EqualFold(string(name), contentLength):
		f.kind = contentLength
		f.beginNumber(fieldValue)
		if f.encoded {
			*colon = ' '
		}
	case strings.EqualFold(string(name), transferEncoding):
		if f.length >= 0 || string(f.tail[:]) == oldVersion {
			*colon = ' '
		}
		f.encoded = true
	}
}

// decimal parses a byte of Content-Length.
func (f *framing) decimal(b byte) {
	switch {
	case b == ' ' || b == '\t' || b == '\r':
		f.ended = f.digits > 0
	case b < '0' || b > '9' || f.ended || f.number > (math.MaxInt64-9)/10:
		f.at = lost
	default:
		f.number = 10*f.number + int64(b-'0')
		f.digits++
	}
}

// endLength sets the Content-Length, and returns false if it is none, or differs from an earlier one.
func (f *framing) endLength() bool {
	if f.digits == 0 || f.length >= 0 && f.length != f.number {
		return false
	}
	f.length = f.number
	return true
}

func (f *framing) endHead() {
	switch {
	case f.encoded:
		f.beginNumber(chunkSize)
	case f.length > 0:
		f.at, f.left = body, f.length
	default:
		f.at = beforeRequest
	}
}

// chunked parses a byte of a chunked body that is not data.
func (f *framing) chunked(b byte) {
	switch {
	case f.at == trailerStart && b == '\n':
		f.at = beforeRequest
	case f.at == trailerStart && b != '\r':
		f.at = trailer
	case f.at == trailer && b == '\n':
		f.at = trailerStart
	case f.at == chunkSize || f.at == chunkExtension:
		f.size(b)
	}
}

// size parses a byte of the line before a chunk.
func (f *framing) size(b byte) {
	digit := strings.IndexByte("0123456789abcdef", b|0x20)
	switch {
	case b == '\n' && (f.digits == 0 || f.number > math.MaxInt64-2):
		f.at = lost
	case b == '\n' && f.number == 0:
		f.at = trailerStart
	case b == '\n':
		f.at, f.left = chunkData, f.number+2
	case f.at == chunkExtension:
	case b == ';' || b == ' ' || b == '\t' || b == '\r':
		f.at = chunkExtension
	case digit < 0 || f.digits == 16 || f.number > math.MaxInt64>>4:
		f.at = lost
	default:
		f.number = f.number<<4 | int64(digit)
		f.digits++
	}
}
