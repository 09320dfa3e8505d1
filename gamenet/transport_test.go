package gamenet

import (
	"errors"
	"net"
	"testing"
)

// balanced is a listener as behind a load balancer: its connections have the address of a player.
type balanced struct{ net.Listener }

func (l balanced) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return balancedConn{c}, err
}

type balancedConn struct{ net.Conn }

var playerAddress = net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 7777}

func (balancedConn) RemoteAddr() net.Addr { return &playerAddress }

// TestWrapListener: sessions have the address that the wrapped listener gives them, before the handshake of TLS too.
func TestWrapListener(t *testing.T) {
	serverTLS, clientTLS := certificate(t)
	for name, c := range map[string]struct{ server, client Transport }{
		"default": {nil, nil},
		"tcp":     {TCP, TCP},
		"tls":     {TLS(serverTLS), TLS(clientTLS)},
	} {
		t.Run(name, func(t *testing.T) {
			here := newDiary()
			server := startServer(t, ServerConfig{
				Config:       Config{NewHandler: always(here), Transport: c.server},
				WrapListener: func(l net.Listener) net.Listener { return balanced{l} },
			})
			startClient(t, server, ClientConfig{Config: Config{NewHandler: always(newDiary()), Transport: c.client}})
			if a := await(t, "the session", here.onOpen).RemoteAddr(); a.String() != playerAddress.String() {
				t.Errorf("the address is %v, want %v", a, &playerAddress)
			}
		})
	}
}

// TestWrapListenerOfOthers: a transport without a listener of TCP cannot have one wrapped.
func TestWrapListenerOfOthers(t *testing.T) {
	_, err := NewServer(ServerConfig{Config: Config{NewHandler: always(echo), Transport: &dialCounter{Transport: TCP}},
		WrapListener: func(l net.Listener) net.Listener { return l }})
	if e, ok := errors.AsType[*ConfigError](err); !ok || e.Field != "WrapListener" {
		t.Errorf("the server fails with %v", err)
	}
}
