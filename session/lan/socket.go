package lan

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

const (
	// largestDatagram is the size of the receive buffers. A smaller one would make large datagrams errors on Windows.
	largestDatagram = 1 << 16
	// After so many failures in a row, receive pauses for a moment. Other machines can only provoke single errors.
	failuresInRow = 16
	pauseOnError  = 100 * time.Millisecond
)

// A socket is bound to all addresses of IPv4 or of IPv6.
type socket struct {
	*net.UDPConn
	groups multicaster
	group  netip.Addr
}

// A multicaster sets the multicast options of a socket, with package ipv4 or ipv6.
type multicaster interface {
	JoinGroup(*net.Interface, net.Addr) error
	LeaveGroup(*net.Interface, net.Addr) error
	SetMulticastInterface(*net.Interface) error
	SetMulticastLoopback(bool) error
}

// A controller sets options of a socket before it is bound.
type controller func(network, address string, c syscall.RawConn) error

// openSockets opens a socket for IPv4 and one for IPv6 at a port, 0 for any. A machine may lack one of the two, so it
// fails only if both fail.
func openSockets(ctx context.Context, port int, control controller) ([]*socket, error) {
	var sockets []*socket
	var errs []error
	for _, network := range []string{"udp4", "udp6"} {
		s, err := openSocket(ctx, network, port, control)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		sockets = append(sockets, s)
	}
	if len(sockets) == 0 {
		return nil, errors.Join(errs...)
	}
	return sockets, nil
}

func openSocket(ctx context.Context, network string, port int, control controller) (*socket, error) {
	config := net.ListenConfig{Control: control}
	conn, err := config.ListenPacket(ctx, network, net.JoinHostPort("", strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	s := &socket{UDPConn: conn.(*net.UDPConn)}
	if network == "udp4" {
		s.groups, s.group = ipv4.NewPacketConn(conn), group4
	} else {
		s.groups, s.group = ipv6.NewPacketConn(conn), group6
	}
	_ = s.groups.SetMulticastLoopback(true) // it is the default everywhere
	return s, nil
}

func closeSockets(sockets []*socket) {
	for _, s := range sockets {
		_ = s.Close()
	}
}

// carries reports whether the socket can send to an address.
func (s *socket) carries(addr netip.Addr) bool { return s.group.Is4() == addr.Is4() }

// sendOn sends a packet on a link to one of its targets.
func (s *socket) sendOn(l link, target netip.AddrPort, packet []byte) error {
	if target.Addr().IsMulticast() {
		if err := s.groups.SetMulticastInterface(&l.Interface); err != nil {
			return err
		}
	}
	_, err := s.WriteToUDPAddrPort(packet, target)
	return err
}

func (s *socket) join(l link) error {
	return s.groups.JoinGroup(&l.Interface, &net.UDPAddr{IP: s.group.AsSlice()})
}

// leave leaves the group on a link, which may be removed already: systems limit the memberships of a socket.
func (s *socket) leave(index int) {
	_ = s.groups.LeaveGroup(&net.Interface{Index: index}, &net.UDPAddr{IP: s.group.AsSlice()})
}

// receive calls handle with each packet, which is valid until it returns, until the socket is closed.
func (s *socket) receive(ctx context.Context, clock clockwork.Clock, handle func(packet []byte, from netip.AddrPort)) {
	buffer := make([]byte, largestDatagram)
	for failures := 0; ; {
		n, from, err := s.ReadFromUDPAddrPort(buffer)
		if err == nil {
			failures = 0
			handle(buffer[:n], netip.AddrPortFrom(from.Addr().Unmap(), from.Port()))
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if failures++; failures < failuresInRow {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-clock.After(pauseOnError):
		}
	}
}
