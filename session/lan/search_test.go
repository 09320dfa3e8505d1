package lan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/session"
)

// A searching is a search that runs beside the test.
type searching struct {
	found chan session.SearchResult
	err   chan error
}

// searchFor starts a search, which ends with the test.
func searchFor(t *testing.T, n *Network, r session.FindRequest) searching {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := searching{make(chan session.SearchResult, 1000), make(chan error, 1)}
	var running sync.WaitGroup
	running.Go(func() { s.err <- n.Search(ctx, r, func(f session.SearchResult) { s.found <- f }) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return s
}

// results waits for the end of the search.
func (s searching) results(t *testing.T) []session.SearchResult {
	t.Helper()
	select {
	case err := <-s.err:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatal("the search does not end")
	}
	close(s.found)
	var all []session.SearchResult
	for r := range s.found {
		all = append(all, r)
	}
	return all
}

// A fakeHost receives queries and sends the answers of the test.
type fakeHost struct {
	peer
	from netip.AddrPort // the last asker
}

func newFakeHost(t *testing.T, n *Network) *fakeHost {
	t.Helper()
	s, err := openSocket(t.Context(), "udp4", n.cfg.Port, reuse)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.join(loopback(t)); err != nil {
		t.Logf("loopback takes no multicast: %v", err)
	}
	return &fakeHost{peer: peer{s.UDPConn}}
}

// hear is the next query.
func (h *fakeHost) hear(t *testing.T, n *Network) query {
	t.Helper()
	if err := h.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 2*maxPacket)
	size, from, err := h.ReadFromUDPAddrPort(b)
	if err != nil {
		t.Fatal(err)
	}
	q, err := parseQuery(b[:size], n.cfg.AppID)
	if err != nil || size != maxPacket {
		t.Fatalf("heard %d bytes: %v", size, err)
	}
	h.from = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), from.Port())
	return q
}

// answer is an answer to a query.
func answer(t *testing.T, n *Network, q query, instance byte, a session.Advert) []byte {
	t.Helper()
	template, err := encodeAdvert("Announce", a, instanceID{instance}, n.cfg)
	if err != nil {
		t.Fatal(err)
	}
	return stamp(new([maxPacket]byte), template, q)
}

// block waits until so many timers of a fake clock are set.
func block(t *testing.T, clock *clockwork.FakeClock, timers int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := clock.BlockUntilContext(ctx, timers); err != nil {
		t.Fatalf("%d timers are not set: %v", timers, err)
	}
}

func names(results []session.SearchResult) []string {
	var all []string
	for _, r := range results {
		all = append(all, r.Name)
	}
	slices.Sort(all)
	return all
}

func TestSearchFinds(t *testing.T) {
	n := newNetwork(t, Config{})
	a := advert("Friday\n")
	a.SessionID, a.OwnerID, a.OwnerName = "s1", "o1", "Ada"
	a.Properties = map[string]string{"mode": "ctf"}
	announce(t, n, a)
	results := searchFor(t, n, session.FindRequest{BuildID: 3, Stop: 1}).results(t)
	if len(results) != 1 {
		t.Fatalf("found %+v", results)
	}
	r := results[0]
	if r.SessionID != "s1" || r.OwnerID != "o1" || r.OwnerName != "Ada" || r.Name != "Friday" || !r.LAN ||
		r.Port != 7777 ||
		r.BuildID != 3 || r.Connections != 4 || r.OpenConnections != 2 || !maps.Equal(r.Properties, a.Properties) {
		t.Errorf("found %+v", r)
	}
	if r.Ping <= 0 || net.ParseIP(r.IPAddress) == nil {
		t.Errorf("at %q, ping %v", r.IPAddress, r.Ping)
	}
}

func TestManyHostsAndSearchers(t *testing.T) {
	n := newNetwork(t, Config{})
	var want []string
	for i := range 40 {
		name := fmt.Sprintf("session %02d", i)
		want = append(want, name)
		announce(t, n, advert(name))
	}
	var searches []searching
	for range 3 {
		searches = append(searches, searchFor(t, n, session.FindRequest{Stop: len(want), Timeout: patience}))
	}
	for _, s := range searches {
		if got := names(s.results(t)); !slices.Equal(got, want) {
			t.Errorf("found %q", got)
		}
	}
}

func TestOthersAreNotFound(t *testing.T) {
	clock := clockwork.NewFakeClock()
	n := newNetwork(t, Config{clock: clock})
	other := n.cfg
	other.AppID++
	announce(t, newNetwork(t, other), advert("another game"))
	build := advert("another build")
	build.BuildID = 4
	announce(t, n, build)
	announce(t, n, advert("Friday"))
	s := searchFor(t, n, session.FindRequest{BuildID: 3})
	await(t, "all hosts have looked at a query", func() bool { return n.Stats().Answers > 0 && n.Stats().Silent > 0 })
	block(t, clock, 3+2+1) // the hosts, the search, and its one candidate
	clock.Advance(defaultTimeout)
	if got := names(s.results(t)); !slices.Equal(got, []string{"Friday"}) {
		t.Errorf("found %q", got)
	}
}

func TestSearchAsksEverySecond(t *testing.T) {
	clock := clockwork.NewFakeClock()
	n := newNetwork(t, Config{clock: clock})
	var machine interfaces
	machine.set(loopback(t))
	n.scan = machine.scan
	h := newFakeHost(t, n)
	s := searchFor(t, n, session.FindRequest{BuildID: 17, Timeout: 3 * time.Second})
	for round := range int64(3) {
		await(t, "it asks", func() bool { return machine.scans.Load() == round+1 })
		block(t, clock, 2)
		clock.Advance(resend)
	}
	if found := s.results(t); len(found) != 0 {
		t.Errorf("found %+v", found)
	}
	var last query
	for range 3 {
		q := h.hear(t, n)
		if q.build != 17 || q.sequence <= last.sequence || last.sequence > 0 && q.nonce != last.nonce {
			t.Fatalf("heard %+v after %+v", q, last)
		}
		last = q
	}
}

func TestHostileReplies(t *testing.T) {
	clock := clockwork.NewFakeClock()
	n := newNetwork(t, Config{clock: clock, Limits: Limits{Properties: 2}})
	h := newFakeHost(t, n)
	s := searchFor(t, n, session.FindRequest{BuildID: 3})
	q := h.hear(t, n)
	good := answer(t, n, q, 1, advert("Friday"))
	changed := func(change func(*query)) []byte {
		q := q
		change(&q)
		return answer(t, n, q, 9, advert("liar"))
	}
	build := advert("liar")
	build.BuildID = 4
	wide := n.cfg
	wide.Limits.Properties = 3
	rich := advert("liar")
	rich.Properties = map[string]string{"a": "", "b": "", "c": ""}
	for name, c := range map[string]struct {
		packet []byte
		want   func(Stats) uint64
	}{
		"another nonce": {changed(func(q *query) { q.nonce++ }), func(s Stats) uint64 { return s.Unasked }},
		"never asked": {changed(func(q *query) { q.sequence = 1 << 30 }),
			func(s Stats) uint64 { return s.Unasked }},
		"sequence 0":        {changed(func(q *query) { q.sequence = 0 }), func(s Stats) uint64 { return s.Unasked }},
		"another build":     {answer(t, n, q, 9, build), func(s Stats) uint64 { return s.Unasked }},
		"another game":      {set(good, atApp, 0xff), func(s Stats) uint64 { return s.Foreign }},
		"a query":           {asking(n, q), func(s Stats) uint64 { return s.Malformed }},
		"oversized":         {extended(good, make([]byte, maxPacket)...), func(s Stats) uint64 { return s.Malformed }},
		"much too large":    {make([]byte, 65507), func(s Stats) uint64 { return s.Malformed }},
		"bytes behind":      {extended(good, 0), func(s Stats) uint64 { return s.Malformed }},
		"many properties":   {answer(t, &Network{cfg: wide}, q, 9, rich), func(s Stats) uint64 { return s.Malformed }},
		"the first of them": {good, func(s Stats) uint64 { return s.Answers }},
		"the same again":    {good, func(s Stats) uint64 { return s.Answers }},
	} {
		before := c.want(n.Stats())
		h.sendTo(t, h.from, c.packet)
		await(t, name+" is counted", func() bool { return c.want(n.Stats()) == before+1 })
	}
	block(t, clock, 3)
	clock.Advance(defaultTimeout)
	if got := names(s.results(t)); !slices.Equal(got, []string{"Friday"}) {
		t.Errorf("found %q", got)
	}
}

func TestOneHostOnSeveralAddressesIsOneResult(t *testing.T) {
	second := peer{}
	if c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 2)}); err == nil {
		second.UDPConn = c
		defer c.Close()
	} else {
		t.Logf("loopback has one address alone, from which both answers come: %v", err)
		second = newPeer(t)
	}
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		clock := clockwork.NewFakeClock()
		n := newNetwork(t, Config{clock: clock})
		h := newFakeHost(t, n)
		s := searchFor(t, n, session.FindRequest{Stop: 1})
		packet := answer(t, n, h.hear(t, n), 1, advert("Friday"))
		peers := []peer{newPeer(t), second}
		for i, which := range order {
			peers[which].sendTo(t, h.from, packet)
			await(t, "the answer is heard", func() bool { return n.Stats().Answers == uint64(i+1) })
		}
		block(t, clock, 3)
		clock.Advance(settling)
		if got := s.results(t); len(got) != 1 || got[0].IPAddress != "127.0.0.1" {
			t.Errorf("found %+v", got)
		}
	}
}

func TestHostIsReportedOnce(t *testing.T) {
	clock := clockwork.NewFakeClock()
	n := newNetwork(t, Config{clock: clock})
	h := newFakeHost(t, n)
	s := searchFor(t, n, session.FindRequest{})
	packet := answer(t, n, h.hear(t, n), 1, advert("Friday"))
	h.sendTo(t, h.from, packet)
	block(t, clock, 3)
	clock.Advance(settling)
	if r := <-s.found; r.Name != "Friday" {
		t.Errorf("found %+v", r)
	}
	h.sendTo(t, h.from, packet)
	await(t, "the second answer is heard", func() bool { return n.Stats().Answers == 2 })
	clock.Advance(defaultTimeout)
	if again := s.results(t); len(again) != 0 {
		t.Errorf("found again: %+v", again)
	}
}

func TestResultsAreLimited(t *testing.T) {
	for name, c := range map[string]struct {
		limits   Limits
		request  session.FindRequest
		overflow uint64
	}{
		"by the network": {Limits{Results: 3}, session.FindRequest{}, 2},
		"by Limit":       {Limits{}, session.FindRequest{Limit: 3}, 2},
		"by Stop":        {Limits{}, session.FindRequest{Stop: 3}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clockwork.NewFakeClock()
			n := newNetwork(t, Config{clock: clock, Limits: c.limits})
			h := newFakeHost(t, n)
			s := searchFor(t, n, c.request)
			q := h.hear(t, n)
			for i := range 5 {
				h.sendTo(t, h.from, answer(t, n, q, byte(i), advert("Friday")))
				await(t, "the answer is heard", func() bool { return n.Stats().Answers == uint64(i+1) })
			}
			block(t, clock, 3)
			clock.Advance(settling)
			if got := s.results(t); len(got) != 3 {
				t.Errorf("found %d sessions, want 3", len(got))
			}
			if got := n.Stats().Overflow; got != c.overflow {
				t.Errorf("%d answers were one too many, want %d", got, c.overflow)
			}
		})
	}
}

func TestLateAnswersAreIgnored(t *testing.T) {
	var times sendTimes
	now := time.Unix(1e9, 0)
	for i := range 300 {
		times.next(now.Add(time.Duration(i)))
	}
	for sequence, want := range map[uint32]bool{0: false, 1: false, 44: false, 45: true, 300: true, 301: false} {
		at, ok := times.at(sequence)
		if ok != want || ok && !at.Equal(now.Add(time.Duration(sequence-1))) {
			t.Errorf("query %d was sent at %v, %v; want %v", sequence, at, ok, want)
		}
	}
}

func TestSearchEnds(t *testing.T) {
	n := newNetwork(t, Config{})
	none := func(session.SearchResult) {}
	for field, r := range map[string]session.FindRequest{
		"Limit": {Limit: -1}, "Timeout": {Timeout: -1}, "Stop": {Stop: -1},
	} {
		if err := n.Search(t.Context(), r, none); !errors.Is(err, session.ErrInvalid) ||
			err.Error() != "Search: "+field+" is negative, 0 is its default" {
			t.Errorf("with a negative %s: %v", field, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if err := n.Search(ctx, session.FindRequest{}, none); !errors.Is(err, session.ErrTimeout) ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after its deadline: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	b := announce(t, n, advert("Friday"))
	err := n.Search(ctx, session.FindRequest{Stop: 2, Timeout: patience}, func(session.SearchResult) {
		_ = b.Close() // the host ends during the search
		cancel()
	})
	if !errors.Is(err, session.ErrClosed) || !errors.Is(err, context.Canceled) {
		t.Errorf("when it is cancelled: %v", err)
	}
}

func TestLinksVanishDuringASearch(t *testing.T) {
	clock, log := clockwork.NewFakeClock(), &logged{}
	n := newNetwork(t, Config{clock: clock, Log: log.logger()})
	var machine interfaces
	machine.set(loopback(t))
	n.scan = machine.scan
	s := searchFor(t, n, session.FindRequest{Stop: 1})
	await(t, "it asks", func() bool { return n.Stats().Asked > 0 })
	for i, links := range []*[]link{nil, {}} {
		machine.now.Store(links)
		block(t, clock, 2)
		clock.Advance(resend)
		await(t, "the failure is logged", func() bool { return log.count("no link takes a query") == i+1 })
	}
	machine.set(loopback(t))
	h := newFakeHost(t, n)
	block(t, clock, 2)
	clock.Advance(resend)
	packet := answer(t, n, h.hear(t, n), 1, advert("Friday"))
	h.sendTo(t, h.from, packet)
	block(t, clock, 3)
	clock.Advance(settling)
	if got := s.results(t); len(got) != 1 {
		t.Errorf("found %+v", got)
	}
}

func TestLinksFail(t *testing.T) {
	n := newNetwork(t, Config{})
	broken := fakeLink("broken0", net.FlagMulticast, "203.0.113.1/24")
	var machine interfaces
	n.scan = machine.scan
	for name, links := range map[string][]link{
		"one that fails": {broken}, "none": nil, "none with an address": {fakeLink("bare0", net.FlagMulticast)},
	} {
		machine.set(links...)
		if err := n.Search(t.Context(), session.FindRequest{}, nil); !errors.Is(err, session.ErrTransport) {
			t.Errorf("with %s: %v", name, err)
		}
	}
	machine.set(broken, loopback(t))
	announce(t, n, advert("Friday"))
	if got := searchFor(t, n, session.FindRequest{Stop: 1}).results(t); len(got) != 1 {
		t.Errorf("with one of two links: %+v", got)
	}
	if n.Stats().Failed == 0 {
		t.Error("the link that fails is not counted")
	}
}
