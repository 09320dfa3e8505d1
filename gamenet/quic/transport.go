package quic

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"

	quicgo "github.com/quic-go/quic-go"

	"github.com/muster-gg/muster/gamenet"
)

// Config configures a transport. A client's zero value is ready to use with servers whose certificates the system
// trusts.
type Config struct {
	// TLS is required on a server, with a certificate; see SelfSigned for a first try. Without one, a client checks the
	// server's certificate against the system's CAs and the dialed host. Without NextProtos it is "muster-gamenet/1";
	// both sides must agree.
	TLS *tls.Config
	// QUIC configures QUIC; nil for defaults that suit games: a lost peer is detected after 30 s, clients send a
	// keep-alive after every 10 s of silence, and at most 1 MiB waits to be read.
	//
	// Datagrams are always on, 0-RTT is always off, and there is one stream, whatever QUIC sets.
	QUIC *quicgo.Config
	// ValidateAddress reports whether a client must prove its address before the server starts the handshake, which
	// costs one more round trip. It is called for each new connection, with an address that may be spoofed, and must be
	// quick. nil for never; an exhausted rate limiter is a good reason to require it.
	ValidateAddress func(net.Addr) bool
}

// New returns gamenet's transport over QUIC. Addresses are UDP addresses; a client tries one address of a host, an IPv4
// address if there is one. gamenet.NewServer and NewClient fail with a *gamenet.ConfigError if TLS cannot work.
//
// Session.Conn returns a connection with the methods ConnectionState and ConnectionStats of quic-go's Conn, for the
// result of the handshake, round-trip times and losses. Its errors wrap those of quic-go for errors.AsType.
func New(config Config) gamenet.Transport { return &transport{config} }

type transport struct{ Config }

// Validate returns a *gamenet.ConfigError if TLS cannot work, for a server or for a client.
func (t *transport) Validate(server bool) error {
	if checks, ok := gamenet.TLS(t.TLS).(interface{ Validate(server bool) error }); ok {
		if err := checks.Validate(server); err != nil {
			return err
		}
	}
	if t.TLS != nil && t.TLS.MaxVersion != 0 && t.TLS.MaxVersion < tls.VersionTLS13 {
		return &gamenet.ConfigError{Field: "Transport", Fix: "QUIC needs TLS 1.3, which MaxVersion excludes"}
	}
	return nil
}

func (t *transport) Listen(ctx context.Context, address string) (gamenet.Listener, error) {
	if err := t.Validate(true); err != nil {
		return nil, err
	}
	s, err := openSocket(ctx, address)
	if err != nil {
		return nil, err
	}
	s.transport.ConnectionIDLength = serverIDLength
	s.transport.VerifySourceAddress = t.ValidateAddress
	// Listen, not ListenEarly: quic-go does the handshakes concurrently in its own goroutines, and a client that has
	// not proven its address and its keys uses no session slot. ListenEarly would let the server send half a round trip
	// sooner, but it waits for the client's first byte anyway.
	quic, err := s.transport.Listen(serverTLS(t.TLS), serverConfig(t.QUIC))
	if err != nil {
		s.release()
		return nil, fmt.Errorf("quic: listen: %w", err)
	}
	return &listener{quic: quic, socket: s}, nil
}

// serverIDLength is the size of a server's connection ids in bytes. With quic-go's 4, ids of some ten thousand players
// would collide now and then.
const serverIDLength = 8

// Dial tries one address of a host, an IPv4 address if there is one.
//
// Each connection has its own UDP socket, buffer and port: it leaves nothing open when it is closed, and a NAT or a
// load balancer sees many clients of one program as separate clients.
func (t *transport) Dial(ctx context.Context, address string) (gamenet.Conn, error) {
	c, err := t.dial(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("quic: dial %s: %w", address, err)
	}
	return c, nil
}

func (t *transport) dial(ctx context.Context, address string) (*connection, error) {
	host, remote, err := resolve(ctx, address)
	if err != nil {
		return nil, err
	}
	s, err := openSocket(ctx, localFor(remote.Addr()))
	if err != nil {
		return nil, err
	}
	quic, err := s.transport.Dial(ctx, net.UDPAddrFromAddrPort(remote), clientTLS(t.TLS, host), clientConfig(t.QUIC))
	if err != nil {
		s.release()
		return nil, broken(err)
	}
	c := &connection{quic: quic, socket: s, client: true}
	if err := c.open(ctx); err != nil {
		_ = c.Close() // the error of open is returned
		return nil, err
	}
	return c, nil
}

// resolve returns the address of a server. An empty host is 127.0.0.1.
func resolve(ctx context.Context, address string) (host string, remote netip.AddrPort, err error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return "", netip.AddrPort{}, err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "udp", service)
	if err != nil {
		return "", netip.AddrPort{}, err
	}
	if host == "" {
		host = "127.0.0.1"
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return "", netip.AddrPort{}, err
	}
	ip := ips[0]
	for _, candidate := range ips {
		if candidate = candidate.Unmap(); candidate.Is4() {
			ip = candidate
			break
		}
	}
	return host, netip.AddrPortFrom(ip, uint16(port)), nil
}

// localFor returns the local address of a client's socket: any, or loopback for a loopback server, where no firewall
// prompts.
func localFor(remote netip.Addr) string {
	ip := netip.IPv6Unspecified()
	switch {
	case remote.Is4() && remote.IsLoopback():
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case remote.Is4():
		ip = netip.IPv4Unspecified()
	case remote.IsLoopback():
		ip = netip.IPv6Loopback()
	}
	return netip.AddrPortFrom(ip, 0).String()
}
