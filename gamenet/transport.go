package gamenet

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
)

// A Transport opens and accepts the connections of sessions. This package has TCP and TLS, package gamenet/quic has
// QUIC. If it has a method Validate(server bool) error, NewServer and NewClient call that and return its error.
type Transport interface {
	// Listen opens the address for players ("127.0.0.1:7777"; port 0 for any).
	Listen(ctx context.Context, address string) (Listener, error)
	// Dial connects to a server. The connection is ready when it returns, with the handshake, if there is one,
	// completed. If the handshake fails, the error wraps ErrHandshake.
	Dial(ctx context.Context, address string) (Conn, error)
}

// A Listener accepts connections.
type Listener interface {
	// Accept waits for the next connection. It does not wait for a handshake: see Handshaker. After Close it returns an
	// error that wraps net.ErrClosed.
	Accept() (Conn, error)
	// Close stops accepting. Accepted connections stay open.
	Close() error
	Addr() net.Addr
}

// A Conn is a reliable stream of bytes in both directions. Reads, writes and the other methods may be called
// concurrently; Close ends them all.
type Conn interface {
	net.Conn
	// CloseWrite ends this side's stream; the other side reads io.EOF.
	CloseWrite() error
}

// A Handshaker is a Conn with a handshake, which the session's own goroutine performs after Accept, so that a slow
// client does not delay others.
type Handshaker interface {
	HandshakeContext(ctx context.Context) error
}

// A DatagramConn is a Conn that also carries datagrams: packets that may be lost or overtake one another, and never
// wait for earlier ones.
type DatagramConn interface {
	Conn
	// SendDatagram queues a datagram without waiting. It fails with an error that wraps ErrPacketTooLarge when one
	// datagram cannot hold it.
	SendDatagram(b []byte) error
	// ReceiveDatagram waits for the next datagram. The caller owns it.
	ReceiveDatagram(ctx context.Context) ([]byte, error)
}

// TCP is the transport of plain TCP connections, with TCP_NODELAY and TCP keep-alive as Go sets them.
var TCP Transport = &tcpTransport{}

type tcpTransport struct {
	wrap func(net.Listener) net.Listener // ServerConfig.WrapListener; nil for none
}

func (*tcpTransport) wrapping(wrap func(net.Listener) net.Listener) Transport {
	return &tcpTransport{wrap}
}

func (t *tcpTransport) Listen(ctx context.Context, address string) (Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if t.wrap != nil {
		l = t.wrap(l)
	}
	return tcpListener{l}, nil
}

func (*tcpTransport) Dial(ctx context.Context, address string) (Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), nil
}

// A tcpListener returns connections that can be closed in one direction.
type tcpListener struct{ net.Listener }

func (l tcpListener) Accept() (Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return halfCloser(c), nil
}

// halfCloser adds a CloseWrite to a wrapped connection that has none: it closes both directions at once.
func halfCloser(c net.Conn) Conn {
	if h, ok := c.(Conn); ok {
		return h
	}
	return wholeConn{c}
}

type wholeConn struct{ net.Conn }

func (c wholeConn) CloseWrite() error { return c.Close() }

// TLS returns the transport of TLS over TCP. A server needs a config with a certificate. A client may have nil, which
// checks the server's certificate against the system's CAs. NewServer and NewClient fail with a *ConfigError if the
// config cannot work.
func TLS(config *tls.Config) Transport { return &tlsTransport{config: config} }

type tlsTransport struct {
	tcp    tcpTransport
	config *tls.Config
}

func (t *tlsTransport) wrapping(wrap func(net.Listener) net.Listener) Transport {
	return &tlsTransport{tcpTransport{wrap}, t.config}
}

// Validate returns a *ConfigError if the config cannot work, for a server or for a client.
func (t *tlsTransport) Validate(server bool) error {
	const field = "Transport"
	c := t.config
	if c == nil {
		c = new(tls.Config)
	}
	if server && len(c.Certificates) == 0 && c.GetCertificate == nil && c.GetConfigForClient == nil {
		return configError(field, "a TLS server needs a certificate")
	}
	for i, certificate := range c.Certificates {
		if len(certificate.Certificate) == 0 || certificate.PrivateKey == nil {
			return configError(field, "certificate %d of the TLS config is empty or has no private key", i)
		}
	}
	if c.MaxVersion != 0 && c.MaxVersion < c.MinVersion {
		return configError(field, "MaxVersion of the TLS config is below MinVersion")
	}
	return nil
}

func (t *tlsTransport) Listen(ctx context.Context, address string) (Listener, error) {
	if err := t.Validate(true); err != nil {
		return nil, err
	}
	l, err := t.tcp.Listen(ctx, address)
	if err != nil {
		return nil, err
	}
	return tlsListener{l, t.config}, nil
}

func (t *tlsTransport) Dial(ctx context.Context, address string) (Conn, error) {
	config := new(tls.Config)
	if t.config != nil {
		config = t.config.Clone()
	}
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		config.ServerName = cmp.Or(host, "localhost")
	}
	under, err := t.tcp.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	c := tls.Client(under, config)
	if err := c.HandshakeContext(ctx); err != nil {
		under.Close()
		return nil, fmt.Errorf("%w: %w", ErrHandshake, err)
	}
	return c, nil
}

// isAlert reports whether the other side has ended a connection with a TLS alert.
func isAlert(err error) bool {
	e, ok := errors.AsType[*net.OpError](err)
	return ok && e.Op == "remote error" // of crypto/tls
}

type tlsListener struct {
	Listener
	config *tls.Config
}

func (l tlsListener) Accept() (Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tls.Server(c, l.config), nil // *tls.Conn is a Conn and a Handshaker
}
