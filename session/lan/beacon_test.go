package lan

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/session"
)

func TestBeaconAnswers(t *testing.T) {
	n := newNetwork(t, Config{})
	announce(t, n, advert("Friday"))
	p := newPeer(t)
	for build, sequence := range map[int32]uint32{0: 1, 3: 2} {
		p.send(t, n, asking(n, query{header{nonce: 42, sequence: sequence}, build}))
		r, err := parseReply(p.receive(t), n.cfg.AppID, 0)
		if err != nil || r.nonce != 42 || r.sequence != sequence || string(r.texts[3]) != "Friday" || r.port != 7777 {
			t.Errorf("the answer to build %d is %+v, %v", build, r, err)
		}
	}
}

func TestBeaconAnswersOverIPv6(t *testing.T) {
	n := newNetwork(t, Config{})
	announce(t, n, advert("Friday"))
	c, err := net.DialUDP("udp6", nil, &net.UDPAddr{IP: net.IPv6loopback, Port: n.cfg.Port})
	if err != nil {
		t.Logf("this machine has no IPv6: %v", err)
		return
	}
	defer c.Close()
	if _, err := c.Write(asking(n, query{header: header{nonce: 6}})); err != nil {
		t.Logf("this machine has no IPv6: %v", err)
		return
	}
	if r, err := parseReply(peer{c}.receive(t), n.cfg.AppID, 0); err != nil || r.nonce != 6 {
		t.Errorf("the answer is %+v, %v", r, err)
	}
}

func TestAnswerThatCannotBeSent(t *testing.T) {
	n := newNetwork(t, Config{})
	b := announce(t, n, advert("Friday")).(*beacon)
	noPort := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)
	b.answer(b.sockets[0], asking(n, query{}), noPort, new([maxPacket]byte))
	if got, want := n.Stats(), (Stats{Queries: 1, Failed: 1}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

func TestBeaconIsSilent(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*session.Advert)
		packet func(*Network) []byte
		want   Stats
	}{
		"not joinable": {func(a *session.Advert) { a.Joinable = false }, nil, Stats{Queries: 1, Silent: 1}},
		"full":         {func(a *session.Advert) { a.OpenConnections = 0 }, nil, Stats{Queries: 1, Silent: 1}},
		"another build": {nil, func(n *Network) []byte { return asking(n, query{build: 4}) },
			Stats{Queries: 1, Silent: 1}},
		"a short query": {nil, func(n *Network) []byte { return resized(asking(n, query{})[:leastQuery]) },
			Stats{Queries: 1, Limited: 1}},
		"another game": {nil, func(n *Network) []byte { return set(asking(n, query{}), atApp, 0xff) },
			Stats{Foreign: 1}},
		"another version": {nil, func(n *Network) []byte { return set(asking(n, query{}), 4, 9) }, Stats{Foreign: 1}},
		"nothing":         {nil, func(*Network) []byte { return []byte{} }, Stats{Malformed: 1}},
		"a reply": {nil, func(n *Network) []byte { return set(asking(n, query{}), atKind, kindReply) },
			Stats{Malformed: 1}},
		"an oversized one": {nil, func(n *Network) []byte { return extended(asking(n, query{}), 0) },
			Stats{Malformed: 1}},
		"the largest one":   {nil, func(*Network) []byte { return make([]byte, 65507) }, Stats{Malformed: 1}},
		"a truncated query": {nil, func(n *Network) []byte { return asking(n, query{})[:500] }, Stats{Malformed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t, Config{})
			a, packet := advert("Friday"), asking(n, query{})
			if c.change != nil {
				c.change(&a)
			}
			if c.packet != nil {
				packet = c.packet(n)
			}
			b := announce(t, n, a)
			p := newPeer(t)
			p.send(t, n, packet)
			await(t, "the packet is counted", func() bool { return n.Stats() != Stats{} })
			if got := n.Stats(); got != c.want {
				t.Errorf("counted %+v, want %+v", got, c.want)
			}
			if err := b.Update(advert("Friday")); err != nil {
				t.Fatal(err)
			}
			p.send(t, n, asking(n, query{header: header{nonce: 7}}))
			if r, err := parseReply(p.receive(t), n.cfg.AppID, 0); err != nil || r.nonce != 7 {
				t.Errorf("the next answer is %+v, %v", r, err)
			}
		})
	}
}

func TestRepliesAreLimited(t *testing.T) {
	clock := clockwork.NewFakeClock()
	n := newNetwork(t, Config{clock: clock, Limits: Limits{RepliesPerAsker: 2}})
	announce(t, n, advert("Friday"))
	p := newPeer(t)
	var want Stats
	for _, allowed := range []uint64{4, 2} {
		for range 10 {
			p.send(t, n, asking(n, query{}))
			want.Queries++
			await(t, "the query is counted", func() bool { s := n.Stats(); return s.Replies+s.Limited == want.Queries })
		}
		want.Replies += allowed
		want.Limited += 10 - allowed
		if got := n.Stats(); got != want {
			t.Fatalf("counted %+v, want %+v", got, want)
		}
		clock.Advance(time.Second)
	}
}

func TestUpdateAndClose(t *testing.T) {
	n := newNetwork(t, Config{})
	b := announce(t, n, advert("Friday"))
	if err := b.Update(advert("Saturday")); err != nil {
		t.Fatal(err)
	}
	p := newPeer(t)
	var ids []string
	for range 2 {
		p.send(t, n, asking(n, query{}))
		r, err := parseReply(p.receive(t), n.cfg.AppID, 0)
		if err != nil || string(r.texts[3]) != "Saturday" {
			t.Fatalf("the answer is %+v, %v", r, err)
		}
		ids = append(ids, string(r.texts[0]))
		_ = b.Update(advert("Saturday"))
	}
	if ids[0] == "" || ids[0] != ids[1] {
		t.Errorf("the session had the ids %q", ids)
	}
	var closing sync.WaitGroup
	for range 3 {
		closing.Go(func() {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	closing.Wait()
	if err := b.Update(advert("Sunday")); !errors.Is(err, session.ErrClosed) {
		t.Errorf("Update after Close says %v", err)
	}
}

func TestAnnounceFails(t *testing.T) {
	n := newNetwork(t, Config{})
	n.scan = func() ([]link, error) { return nil, nil }
	if _, err := n.Announce(t.Context(), advert("a")); !errors.Is(err, session.ErrTransport) {
		t.Errorf("without a link: %v", err)
	}
	n.scan = new(interfaces).scan
	if _, err := n.Announce(t.Context(), advert("a")); !errors.Is(err, session.ErrTransport) ||
		!errors.Is(err, errNoList) {
		t.Errorf("without a list of links: %v", err)
	}
	n = newNetwork(t, Config{})
	for _, network := range []string{"udp4", "udp6"} { // another program, which does not share
		if c, err := net.ListenUDP(network, &net.UDPAddr{Port: n.cfg.Port}); err == nil {
			defer c.Close()
		}
	}
	if _, err := n.Announce(t.Context(), advert("a")); !errors.Is(err, session.ErrTransport) {
		t.Errorf("with the port taken: %v", err)
	}
}

// The interfaces of a machine: they come and go.
type interfaces struct {
	now   atomic.Pointer[[]link] // nil: they cannot be listed
	scans atomic.Int64
}

var errNoList = errors.New("no list")

func (i *interfaces) set(links ...link) { i.now.Store(&links) }

func (i *interfaces) scan() ([]link, error) {
	i.scans.Add(1)
	if links := i.now.Load(); links != nil {
		return *links, nil
	}
	return nil, errNoList
}

func TestLinksComeAndGo(t *testing.T) {
	clock, log := clockwork.NewFakeClock(), &logged{}
	n := newNetwork(t, Config{clock: clock, Log: log.logger()})
	var machine interfaces
	vanishing := fakeLink("vanishing0", net.FlagMulticast, "203.0.113.1/24")
	machine.set(vanishing)
	n.scan = machine.scan
	b := announce(t, n, advert("Friday")).(*beacon)
	p := newPeer(t)
	p.send(t, n, asking(n, query{}))
	await(t, "a query from elsewhere is ignored", func() bool { return n.Stats().OffLink == 1 })

	step := func() { // rescans once, and once more to see that the first is over
		block(t, clock, 1)
		before := b.links.Load()
		clock.Advance(rescan)
		await(t, "the links are listed again", func() bool { return b.links.Load() != before })
	}
	step()
	machine.set(vanishing, loopback(t))
	step()
	p.send(t, n, asking(n, query{header: header{nonce: 5}}))
	if r, err := parseReply(p.receive(t), n.cfg.AppID, 0); err != nil || r.nonce != 5 {
		t.Errorf("the answer on the new link is %+v, %v", r, err)
	}
	if got := log.count("interface=vanishing0"); got != len(b.sockets) {
		t.Errorf("a link without multicast was logged %d times by %d sockets", got, len(b.sockets))
	}
	machine.set()
	step()
	p.send(t, n, asking(n, query{}))
	await(t, "a query from elsewhere is ignored again", func() bool { return n.Stats().OffLink == 2 })
	step() // the one before is over
	machine.now.Store(nil)
	block(t, clock, 1)
	clock.Advance(rescan)
	await(t, "the failure is logged", func() bool { return log.count(errNoList.Error()) == 1 })
	_ = b.Close()
	if len(b.joined) != 0 {
		t.Errorf("%d memberships are left of links that are gone", len(b.joined))
	}
}

func TestAnnounceWithEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if b, err := newNetwork(t, Config{}).Announce(ctx, advert("a")); err == nil {
		b.Close()
		t.Error("it announces")
	}
}
