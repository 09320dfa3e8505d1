package lan

import (
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
)

// A socket that only fails does not keep a processor busy, and works again later.
func TestSocketThatFails(t *testing.T) {
	s, err := openSocket(t.Context(), "udp4", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetReadDeadline(time.Unix(1, 0)); err != nil { // every read fails
		t.Fatal(err)
	}
	clock := clockwork.NewFakeClock()
	heard := make(chan string, 1)
	var running sync.WaitGroup
	defer running.Wait()
	defer s.Close()
	running.Go(func() {
		s.receive(t.Context(), clock, func(packet []byte, _ netip.AddrPort) { heard <- string(packet) })
	})
	block(t, clock, 1)
	if err := s.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	clock.Advance(pauseOnError)
	port := uint16(s.LocalAddr().(*net.UDPAddr).Port)
	newPeer(t).sendTo(t, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port), []byte("hello"))
	select {
	case got := <-heard:
		if got != "hello" {
			t.Errorf("heard %q", got)
		}
	case <-time.After(patience):
		t.Error("nothing is heard after the failure")
	}
}
