package main

import (
	"net"
	"testing"
)

func TestIsOpen(t *testing.T) {
	ctx := t.Context()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if !isOpen(ctx, uint16(listener.Addr().(*net.TCPAddr).Port)) { //nolint:gosec // a port
		t.Error("the TCP port is not seen")
	}
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::]:0"} {
		conn, err := new(net.ListenConfig).ListenPacket(ctx, "udp", address)
		if err != nil {
			t.Fatal(err)
		}
		port := uint16(conn.LocalAddr().(*net.UDPAddr).Port) //nolint:gosec // a port
		if !isOpen(ctx, port) || !bindFails(ctx, port) {
			t.Errorf("%s is not seen", conn.LocalAddr())
		}
		_ = conn.Close() // nothing was sent
		if isOpen(ctx, port) || bindFails(ctx, port) {
			t.Errorf("port %d is still seen", port)
		}
	}
}
