package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/mustertest/ports"
	"github.com/muster-gg/muster/mustertest"
)

// TestRunReportsAClosedPort names the port that it waits for, and the port again when it is not open after a while.
func TestRunReportsAClosedPort(t *testing.T) {
	port := netip.MustParseAddrPort(ports.Free(t, rand.IntN, 1)[0]).Port()
	clock, stderr := clockwork.NewFakeClock(), &lockedBuffer{}
	w := &wrapper{app: &app{clock: clock, stderr: stderr}, readyPort: port}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.awaitReady(ctx, nil, make(chan error, 1)) }()
	if err := clock.BlockUntilContext(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if got := stderr.String(); !strings.Contains(got, "waits for port ") || strings.Contains(got, "not open") {
		t.Errorf("printed %q", got)
	}
	clock.Advance(notReady)
	mustertest.Eventually(t, "the port is reported", func() bool {
		return strings.Contains(stderr.String(), " is not open yet: check --ready-port")
	})
	stop()
	if err := <-ended; !errors.Is(err, errEnded) {
		t.Errorf("got %v", err)
	}
}

// TestRunWithoutAProgram names the program in plain words.
func TestRunWithoutAProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]string{
		"./nope":          "there is no program ./nope",
		"muster-has-none": "there is no program muster-has-none",
	} {
		got := notStarted(program, exec.CommandContext(t.Context(), program).Start())
		if got == nil || got.Error() != want {
			t.Errorf("%s: got %v", program, got)
		}
	}
	if got := notStarted(file, os.ErrPermission); !strings.HasSuffix(got.Error(), "plain is not executable") {
		t.Errorf("got %v", got)
	}
}

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
