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

// Transport is gamenet's transport over QUIC. A client's zero value is ready to use with servers whose certificates the
// system trusts.
type Transport struct {
	// TLS is required on a server, with a certificate; see SelfSigned for a first try. A client that has none checks
	// the server's certificate against the system's authorities and the host that it dials. Without NextProtos it is
	// "muster-gamenet/1"; both sides must agree.
	TLS *tls.Config
	// Config is how QUIC behaves; nil for defaults that suit games: a peer that has vanished is noticed after 30 s,
	// clients keep the connection alive with a packet every 10 s of silence, and at most 1 MiB waits to be read.
	//
	// Datagrams are on and 0-RTT is off whatever it says, and there is one stream.
	Config *quicgo.Config
	// ValidateAddress says whether a client has to prove its address before the server does anything for it, which
	// takes one more round trip. It is asked for each new connection, with an address that may be spoofed, and must be
	// quick. nil is never; a rate limiter that has run dry is a good reason.
	ValidateAddress func(net.Addr) bool
}

var _ gamenet.Transport = Transport{}

// Listen implements gamenet.Transport. The address is one of UDP.
func (t Transport) Listen(ctx context.Context, address string) (gamenet.Listener, error) {
	if t.TLS == nil {
		return nil, &gamenet.ConfigError{Field: "Transport.TLS", Fix: "a QUIC server needs a certificate"}
	}
	s, err := openSocket(ctx, address)
	if err != nil {
		return nil, err
	}
	s.transport.ConnectionIDLength = serverIDLength
	s.transport.VerifySourceAddress = t.ValidateAddress
	// Listen, not ListenEarly: quic-go does the handshakes side by side in goroutines of its own, and a client that has
	// not proven its address and its keys takes no session's place. Sending half a round trip sooner is not worth that
	// to a server that waits for the client's first byte anyway.
	quic, err := s.transport.Listen(serverTLS(t.TLS), serverConfig(t.Config))
	if err != nil {
		s.release()
		return nil, fmt.Errorf("quic: listen: %w", err)
	}
	return &listener{quic: quic, socket: s}, nil
}

// serverIDLength is the size of a server's connection ids in bytes. quic-go's 4 would let two of some ten thousand
// players meet now and then.
const serverIDLength = 8

// Dial implements gamenet.Transport. Of a host with several addresses it tries one, of IPv4 if there is one.
//
// Each connection has a UDP socket of its own: with its own buffer and port, it leaves nothing behind when it is
// closed, and a NAT or a load balancer sees many clients of one program as many.
func (t Transport) Dial(ctx context.Context, address string) (gamenet.Conn, error) {
	c, err := t.dial(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("quic: dial %s: %w", address, err)
	}
	return c, nil
}

func (t Transport) dial(ctx context.Context, address string) (*Conn, error) {
	host, remote, err := resolve(ctx, address)
	if err != nil {
		return nil, err
	}
	s, err := openSocket(ctx, localFor(remote.Addr()))
	if err != nil {
		return nil, err
	}
	quic, err := s.transport.Dial(ctx, net.UDPAddrFromAddrPort(remote), clientTLS(t.TLS, host), clientConfig(t.Config))
	if err != nil {
		s.release()
		return nil, broken(err)
	}
	c := &Conn{quic: quic, socket: s, client: true}
	if err := c.open(ctx); err != nil {
		_ = c.Close() // the error is why
		return nil, err
	}
	return c, nil
}

// resolve finds the address of a server. An empty host is this one.
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

// localFor is where a client's socket is bound: to any address, or within this computer, which no firewall asks about.
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
