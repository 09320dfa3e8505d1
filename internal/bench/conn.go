package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"time"

	"github.com/muster-gg/muster/internal/listen/sigv4"
)

const (
	callLimit = 30 * time.Second // for one call
	maxAnswer = 64 << 20         // bytes of a body
)

type endpoint struct {
	address string // host:port
	host    string // for the Host header
	tls     *tls.Config
}

func parseEndpoint(raw string, trust *tls.Config) (endpoint, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Path != "" && u.Path != "/" {
		return endpoint{}, fmt.Errorf("the endpoint %q must be an http:// or https:// URL without a path", raw)
	}
	e := endpoint{address: u.Host, host: u.Host}
	port := "80"
	if u.Scheme == "https" {
		port = "443"
		e.tls = &tls.Config{MinVersion: tls.VersionTLS12}
		if trust != nil {
			e.tls = trust.Clone()
		}
		e.tls.ServerName = u.Hostname()
	}
	if u.Port() == "" {
		e.address = net.JoinHostPort(u.Hostname(), port)
	}
	return e, nil
}

func (e endpoint) dial(ctx context.Context) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: callLimit}
	if e.tls != nil {
		return (&tls.Dialer{NetDialer: dialer, Config: e.tls}).DialContext(ctx, "tcp", e.address)
	}
	return dialer.DialContext(ctx, "tcp", e.address)
}

// A conn makes calls over one HTTP/1.1 connection, one after the other. It implements HTTP itself, because a general
// client costs as much as the measured service: it wakes three goroutines per call. The next call replaces a broken
// connection.
type conn struct {
	endpoint endpoint
	signer   signer

	raw   net.Conn // nil: to be dialed
	in    *bufio.Reader
	watch func() bool // stops watching the context
	out   []byte
	body  []byte // of the last answer
}

// A CallError is an exception that the service returned.
type CallError struct {
	Operation string
	Status    int
	Exception string // its name without a namespace
	Message   string
}

// Error names the operation, the exception and its message.
func (e *CallError) Error() string {
	return fmt.Sprintf("%s: %d %s: %s", e.Operation, e.Status, e.Exception, e.Message)
}

// call makes a call and returns the body of its answer, valid until the next one. The error is a *CallError for an
// exception of the service.
func (c *conn) call(ctx context.Context, operation string, body []byte) ([]byte, error) {
	if err := c.connect(ctx); err != nil {
		return nil, err
	}
	now := time.Now()
	c.out = c.signer.appendRequest(c.out[:0], now, operation, body)
	status, err := c.exchange(now)
	if err != nil {
		c.close()
		return nil, errors.Join(err, ctx.Err())
	}
	if status == http.StatusOK {
		return c.body, nil
	}
	return nil, c.exception(operation, status)
}

// connect dials unless there is a connection.
func (c *conn) connect(ctx context.Context) error {
	if c.raw != nil {
		return nil
	}
	raw, err := c.endpoint.dial(ctx)
	if err != nil {
		return err
	}
	c.raw = raw
	c.watch = context.AfterFunc(ctx, func() { _ = raw.Close() }) // ends a call in progress
	if c.in == nil {
		c.in = bufio.NewReaderSize(raw, 16<<10)
	} else {
		c.in.Reset(raw)
	}
	return nil
}

func (c *conn) close() {
	if c.raw != nil {
		c.watch()
		_ = c.raw.Close() // no data is lost
		c.raw = nil
	}
}

// exchange writes the request and reads the answer.
func (c *conn) exchange(now time.Time) (status int, err error) {
	if err := c.raw.SetDeadline(now.Add(callLimit)); err != nil {
		return 0, err
	}
	if _, err := c.raw.Write(c.out); err != nil {
		return 0, err
	}
	a, err := c.readHead()
	if err != nil {
		return 0, err
	}
	if err := c.readBody(a); err != nil {
		return 0, err
	}
	if a.last {
		c.close()
	}
	return a.status, nil
}

// An answer is the parsed head of an answer.
type answer struct {
	status  int
	length  int // of the body; -1: until the connection closes
	chunked bool
	last    bool // the service closes the connection
}

var errMalformed = errors.New("the answer is not HTTP/1.1")

func (c *conn) readHead() (answer, error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return answer{}, err
	}
	if len(line) < len("HTTP/1.1 200") || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return answer{}, errMalformed
	}
	a := answer{length: -1, last: line[7] == '0'}
	if a.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return answer{}, errMalformed
	}
	for {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return answer{}, err
		}
		name, value, ok := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
		if !ok {
			return a, nil
		}
		if err := a.header(name, bytes.TrimSpace(value)); err != nil {
			return answer{}, err
		}
	}
}

// header takes notice of one header.
func (a *answer) header(name, value []byte) (err error) {
	switch {
	case equal(name, "Content-Length"):
		if a.length, err = strconv.Atoi(string(value)); err != nil || a.length < 0 || a.length > maxAnswer {
			return errMalformed
		}
	case equal(name, "Transfer-Encoding"):
		a.chunked = equal(value, "chunked")
	case equal(name, "Connection"):
		a.last = a.last || equal(value, "close")
	}
	return nil
}

func equal(b []byte, s string) bool { return len(b) == len(s) && bytes.EqualFold(b, []byte(s)) }

func (c *conn) readBody(a answer) (err error) {
	switch {
	case a.chunked:
		// The last chunk is followed by the end of an empty trailer.
		if c.body, err = io.ReadAll(io.LimitReader(httputil.NewChunkedReader(c.in), maxAnswer)); err == nil {
			_, err = c.in.ReadSlice('\n')
		}
	case a.length >= 0:
		if cap(c.body) < a.length {
			c.body = make([]byte, a.length)
		}
		c.body = c.body[:a.length]
		_, err = io.ReadFull(c.in, c.body)
	default:
		c.body, err = io.ReadAll(io.LimitReader(c.in, maxAnswer))
	}
	return err
}

// exception reads the answer as an exception.
func (c *conn) exception(operation string, status int) error {
	name := []byte(textMember(c.body, "__type"))
	if i := bytes.LastIndexByte(name, '#'); i >= 0 {
		name = name[i+1:]
	}
	if len(name) == 0 {
		name = []byte("HTTP " + strconv.Itoa(status))
	}
	message := textMember(c.body, "Message")
	if message == "" {
		message = textMember(c.body, "message")
	}
	return &CallError{Operation: operation, Status: status, Exception: string(name), Message: message}
}

// longestEvent is the maximum size of an event in bytes.
const longestEvent = 1 << 20

// follow reads the event feed from its beginning and calls visit with each line, valid until visit returns. It ends
// with ctx or the connection.
func (c *conn) follow(ctx context.Context, visit func(line []byte)) error {
	if err := c.connect(ctx); err != nil {
		return err
	}
	defer c.close()
	if _, err := c.raw.Write(c.signer.appendGet(nil, time.Now(), "/v1/events", "follow=true")); err != nil {
		return err
	}
	a, err := c.readHead()
	switch {
	case err != nil:
		return err
	case a.status != http.StatusOK:
		return fmt.Errorf("the event feed answers with status %d", a.status)
	case !a.chunked:
		return errMalformed
	}
	lines := bufio.NewReaderSize(httputil.NewChunkedReader(c.in), longestEvent)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return err
		}
		visit(line)
	}
}

// A Caller makes signed calls over one HTTP connection, one after the other. It costs a tenth of a general client, so a
// test on the same machine can overload a service. It is not safe for concurrent use.
type Caller struct{ conn conn }

// NewCaller returns a caller of the API at a base URL, which connects with the first call. trust is the TLS
// configuration; nil trusts the system's CAs.
func NewCaller(baseURL string, trust *tls.Config, credentials sigv4.ClientCredentials) (*Caller, error) {
	e, err := parseEndpoint(baseURL, trust)
	if err != nil {
		return nil, err
	}
	return &Caller{conn{endpoint: e, signer: signer{credentials: credentials, host: e.host}}}, nil
}

// Call makes a call with a JSON body and returns the body of the answer, valid until the next call. The error is a
// *CallError for an exception of the service.
func (c *Caller) Call(ctx context.Context, operation string, body []byte) ([]byte, error) {
	return c.conn.call(ctx, operation, body)
}

// Close closes the connection, if there is one.
func (c *Caller) Close() { c.conn.close() }
