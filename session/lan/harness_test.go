package lan

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/session"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

func TestMain(m *testing.M) { leaktest.Main(m) }

// loopback is the link that every machine has.
func loopback(t *testing.T) link {
	t.Helper()
	links, err := systemLinks(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if l.Flags&net.FlagLoopback != 0 {
			return l
		}
	}
	t.Fatal("this machine has no loopback interface")
	return link{}
}

// newNetwork makes a network on loopback, with a port and an application of its
// own unless cfg has them.
func newNetwork(t *testing.T, cfg Config) *Network {
	t.Helper()
	if cfg.Port == 0 {
		cfg.Port = 20_000 + rand.IntN(12_000) // below those that systems give away
	}
	if cfg.AppID == 0 {
		cfg.AppID = rand.Uint32N(1<<30) + 1
	}
	cfg.Interfaces = []string{loopback(t).Name}
	n, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// advert is a session that can be joined.
func advert(name string) session.Advert {
	return session.Advert{Name: name, Port: 7777, BuildID: 3, Connections: 4, OpenConnections: 2, Joinable: true}
}

// announce announces a session until the test ends.
func announce(t *testing.T, n *Network, a session.Advert) session.Beacon {
	t.Helper()
	b, err := n.Announce(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// await waits for a condition.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// A peer is a stranger on the link, who sends what he wants.
type peer struct{ *net.UDPConn }

func newPeer(t *testing.T) peer {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return peer{c}
}

// send sends a packet to the only host of a network.
func (p peer) send(t *testing.T, n *Network, packet []byte) {
	t.Helper()
	p.sendTo(t, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(n.cfg.Port)), packet)
}

func (p peer) sendTo(t *testing.T, to netip.AddrPort, packet []byte) {
	t.Helper()
	if _, err := p.WriteToUDPAddrPort(packet, to); err != nil {
		t.Fatal(err)
	}
}

// receive is the next packet.
func (p peer) receive(t *testing.T) []byte {
	t.Helper()
	if err := p.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 2*maxPacket)
	n, err := p.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return b[:n]
}

// asking is a query as a packet.
func asking(n *Network, q query) []byte {
	var b [maxPacket]byte
	q.app = n.cfg.AppID
	encodeQuery(&b, q)
	return b[:]
}

// logged keeps what is logged.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) count(line string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Count(l.b.Bytes(), []byte(line))
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
