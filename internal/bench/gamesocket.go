package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// socketBuffer is the size of a read buffer: replies and most pushes fit, and idle sockets are cheap.
	socketBuffer = 1 << 10
	// maxFrame is the maximum size of a message from the service, in bytes.
	maxFrame = 1 << 20
	// maxReason is the maximum size of the text of a refusal, in bytes.
	maxReason = 200
	// writeLimit is how long a write may take.
	writeLimit = 10 * time.Second
)

// A gameSocket is a minimal WebSocket of a game server. It sends each message in one write as the SDKs do, and passes
// received text messages on, on the reading goroutine.
// Source: RFC 6455.
type gameSocket struct {
	conn net.Conn
	in   *bufio.Reader

	mu       sync.Mutex
	deadline time.Time // of writes
}

// A refusal is an answer other than success to a handshake or a request of a game server.
type refusal struct {
	action  string
	status  int
	message string
}

// Error names the action, the status and the reason.
func (r *refusal) Error() string { return fmt.Sprintf("%s: %d %s", r.action, r.status, r.message) }

// connectAction is the action of a refused handshake.
const connectAction = "connecting"

func parseSocketURL(raw string, trust *tls.Config) (at endpoint, path string, err error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return at, "", fmt.Errorf("the URL for game servers %q must be a ws:// or wss:// URL", raw)
	}
	at, err = parseEndpoint("http"+strings.TrimPrefix(u.Scheme, "ws")+"://"+u.Host, trust)
	return at, cmp.Or(u.EscapedPath(), "/"), err
}

// dialSocket connects. The error is a *refusal if the service answered.
func dialSocket(ctx context.Context, at endpoint, path string, query url.Values) (*gameSocket, error) {
	raw, err := at.dial(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() }) // ends the handshake
	c := conn{
		endpoint: at, raw: raw, watch: stop,
		in: bufio.NewReaderSize(raw, socketBuffer), out: handshake(at.host, path, query),
	}
	if err := upgrade(&c); err != nil {
		c.close()
		return nil, errors.Join(err, ctx.Err())
	}
	if !stop() {
		return nil, ctx.Err()
	}
	return &gameSocket{conn: raw, in: c.in}, raw.SetDeadline(time.Time{})
}

// handshake returns the request for a socket.
func handshake(host, path string, query url.Values) []byte {
	var nonce [16]byte
	rand.Read(nonce[:])
	return fmt.Appendf(nil, "GET %s?%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: muster-bench\r\nUpgrade: "+
		"websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n", path, query.Encode(), host,
		base64.StdEncoding.EncodeToString(nonce[:]))
}

// upgrade turns a connection into a socket.
func upgrade(c *conn) error {
	if err := c.raw.SetDeadline(time.Now().Add(callLimit)); err != nil {
		return err
	}
	if _, err := c.raw.Write(c.out); err != nil {
		return err
	}
	a, err := c.readHead()
	if err != nil || a.status == http.StatusSwitchingProtocols {
		return err
	}
	if err := c.readBody(a); err != nil {
		return err
	}
	text := bytes.TrimSpace(c.body[:min(len(c.body), maxReason)])
	return &refusal{connectAction, a.status, cmp.Or(textMember(c.body, "ErrorMessage"), string(text))}
}

// The frames in use. Source: RFC 6455 section 5.2.
const (
	final    = 0x80
	opText   = 0x1
	opBinary = 0x2
	opClose  = 0x8
	opPing   = 0x9
	opPong   = 0xa
	masked   = 0x80
)

var errFrame = errors.New("the service sent an invalid frame")

// read passes text messages to take until the socket is closed. A message is valid until take returns.
func (s *gameSocket) read(take func(message []byte)) error {
	for {
		opcode, payload, err := s.frame()
		switch {
		case err != nil:
			return err
		case opcode == opText:
			take(payload)
		case opcode == opClose:
			return io.EOF
		case opcode == opPing:
			err = s.write(opPong, payload)
		case opcode != opPong:
			err = errFrame // services do not send fragments
		}
		if err != nil {
			return err
		}
	}
}

// frame reads one frame. Its payload is valid until the next call.
func (s *gameSocket) frame() (opcode byte, payload []byte, err error) {
	head, err := s.in.Peek(2)
	if err != nil {
		return 0, nil, err
	}
	if head[0]&^0xf != final || head[1]&masked != 0 {
		return 0, nil, errFrame
	}
	opcode = head[0] & 0xf
	size, start := uint64(head[1]), 2
	switch size {
	case 126:
		if head, err = s.in.Peek(4); err != nil {
			return 0, nil, err
		}
		size, start = uint64(binary.BigEndian.Uint16(head[2:])), 4
	case 127:
		if head, err = s.in.Peek(10); err != nil {
			return 0, nil, err
		}
		size, start = binary.BigEndian.Uint64(head[2:]), 10
	}
	if size > maxFrame {
		return 0, nil, errFrame
	}
	if _, err = s.in.Discard(start); err != nil {
		return 0, nil, err
	}
	n := int(size)
	if n <= s.in.Size() { // no copy needed
		if payload, err = s.in.Peek(n); err == nil {
			_, err = s.in.Discard(n)
		}
		return opcode, payload, err
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(s.in, payload)
	return opcode, payload, err
}

// frames holds write buffers, so that idle sockets have none.
var frames = sync.Pool{New: func() any { b := make([]byte, 0, socketBuffer); return &b }}

// write sends a message or a control frame.
func (s *gameSocket) write(opcode byte, payload []byte) error {
	b := frames.Get().(*[]byte)
	defer frames.Put(b)
	*b = appendMasked((*b)[:0], opcode, payload, mathrand.Uint32())
	return s.send(*b)
}

// writeAttached sends a text message and a binary one, with none between them, in one write.
func (s *gameSocket) writeAttached(text, attachment []byte) error {
	b := frames.Get().(*[]byte)
	defer frames.Put(b)
	*b = appendMasked((*b)[:0], opText, text, mathrand.Uint32())
	*b = appendMasked(*b, opBinary, attachment, mathrand.Uint32())
	return s.send(*b)
}

// send sends whole frames.
func (s *gameSocket) send(frames []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.deadline.Sub(now) < writeLimit/2 { // setting it each time would cost too much
		s.deadline = now.Add(writeLimit)
		if err := s.conn.SetWriteDeadline(s.deadline); err != nil {
			return err
		}
	}
	_, err := s.conn.Write(frames)
	return err
}

// appendMasked appends an unfragmented frame, as a client sends it.
func appendMasked(dst []byte, opcode byte, payload []byte, mask uint32) []byte {
	dst = append(dst, final|opcode)
	switch n := len(payload); {
	case n <= 125:
		dst = append(dst, masked|byte(n))
	case n <= 0xffff:
		dst = binary.BigEndian.AppendUint16(append(dst, masked|126), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, masked|127), uint64(n))
	}
	dst = binary.LittleEndian.AppendUint32(dst, mask)
	wide := uint64(mask)<<32 | uint64(mask)
	for ; len(payload) >= 8; payload = payload[8:] {
		dst = binary.LittleEndian.AppendUint64(dst, binary.LittleEndian.Uint64(payload)^wide)
	}
	for _, c := range payload {
		dst = append(dst, c^byte(mask))
		mask = bits.RotateLeft32(mask, -8)
	}
	return dst
}

// close closes the connection, like the official SDK for Go without a Close frame. The reader gets an error.
func (s *gameSocket) close() { _ = s.conn.Close() } // closing twice is no failure
