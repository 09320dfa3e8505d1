package listen

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// A Request is one request, as it was sent.
type Request struct {
	Method string
	Target string // of the request line: path and query, escapes included
	Path   string // of Target, without the query and with escapes resolved
	Host   string
	Header Header // all fields but Host, those of one name in the order in which they were sent

	ContentLength int64  // of the body; -1: unknown
	Body          []byte // all of it; nil after RequestOf

	Client Client
}

// A Client has sent a request: the other end of the connection, or the client of a trusted proxy there.
type Client struct {
	Address netip.Addr // the zero Addr if it is not known
	TLS     bool       // of its connection; that to a trusted proxy, if the proxy reports it
}

// clientOf returns the other end of a connection.
func clientOf(c net.Conn) Client {
	return Client{Address: ParseAddress(c.RemoteAddr().String()), TLS: encrypted(c)}
}

// encrypted reports whether a connection, or one that it wraps, uses TLS.
func encrypted(c net.Conn) bool {
	for {
		if _, ok := c.(*tls.Conn); ok {
			return true
		}
		outer, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return false
		}
		c = outer.NetConn()
	}
}

type connectionKey struct{}

// A connection is what [RequestOf] must know of a connection.
type connection struct {
	encrypted bool
	proxies   Proxies
}

// ConnContext is for http.Server.ConnContext. It records whether a connection is encrypted, because http.Request.TLS is
// not set for one that a [Server] has passed on, and which proxies are trusted.
func (p Proxies) ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, connection{encrypted(c), p})
}

func connectionOf(r *http.Request) connection {
	c, _ := r.Context().Value(connectionKey{}).(connection)
	return c
}

// Encrypted reports whether a request came over TLS, to a server with [Proxies.ConnContext]. It reads no headers.
func Encrypted(r *http.Request) bool { return connectionOf(r).encrypted || r.TLS != nil }

// RequestOf returns the request that net/http has read. Its body must still be read from r. Its client is behind the
// proxies of [Proxies.ConnContext].
func RequestOf(r *http.Request) Request {
	v := Request{Method: r.Method, Target: r.RequestURI, Path: r.URL.Path, Host: r.Host, ContentLength: r.ContentLength}
	if !strings.HasPrefix(v.Target, "/") { // the whole URL, as it is sent to proxies
		if v.Target = r.URL.EscapedPath(); v.Target == "" {
			v.Target = "/"
		}
		if r.URL.RawQuery != "" {
			v.Target += "?" + r.URL.RawQuery
		}
	}
	peer, proxies := Client{ParseAddress(r.RemoteAddr), Encrypted(r)}, connectionOf(r).proxies
	v.Client = Client{proxies.ClientOf(peer.Address, r.Header.Values(forwardedFor)),
		proxies.EncryptedOf(peer, r.Header.Values(forwardedProto))}
	v.Header = make(Header, 0, len(r.Header))
	for name, values := range r.Header {
		for _, value := range values {
			v.Header = append(v.Header, Field{name, value})
		}
	}
	return v
}

// SentPath returns the path as sent in the request line, escapes included.
func (r *Request) SentPath() string {
	path, _, _ := strings.Cut(r.Target, "?")
	return path
}

// Query returns the query as sent, without the question mark.
func (r *Request) Query() string {
	_, query, _ := strings.Cut(r.Target, "?")
	return query
}

// A Field is one line of a head.
type Field struct {
	Name  string // in any case
	Value string // without space around it
}

// Is reports whether the field has this name, in any case.
func (f Field) Is(name string) bool { return equalFold(f.Name, name) }

// A Header is the lines of a head.
type Header []Field

// Get returns the value of the first field of this name, or "".
func (h Header) Get(name string) string {
	value, _ := h.Lookup(name)
	return value
}

// Lookup returns the value of the first field of this name, and how many there are.
func (h Header) Lookup(name string) (value string, fields int) {
	for i := range h {
		if h[i].Is(name) {
			if fields++; fields == 1 {
				value = h[i].Value
			}
		}
	}
	return value, fields
}

// equalFold reports whether two names are the same but for the case of letters. The names of fields are ASCII.
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if x, y := a[i], b[i]; x != y && (x|0x20 != y|0x20 || x|0x20 < 'a' || x|0x20 > 'z') {
			return false
		}
	}
	return true
}
