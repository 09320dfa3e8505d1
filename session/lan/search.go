package lan

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"net/netip"
	"sync"
	"time"

	"github.com/muster-gg/muster/session"
)

// The defaults of a search. Source: Unreal LAN beacon, the timeout of a query and the interval at which it is repeated.
const (
	defaultTimeout = 5 * time.Second
	resend         = time.Second
	defaultLimit   = 100
	// settling is how long a host that was heard may be heard over other links before it is reported. Copies of a query
	// leave within a millisecond.
	settling = 50 * time.Millisecond
)

// Search looks for sessions that can be joined and calls found with each, once, in the caller's goroutine, until
// r.Timeout has passed, r.Stop are found, or r.Limit: then it returns nil. It asks all links, again every second, and
// those too that have come meanwhile.
//
// A host that is heard over several links is one result. Of the addresses heard within 50 ms it has the first of these:
// IPv4 that is routed, IPv6 that is routed, IPv4 link-local (169.254.0.0/16), IPv6 link-local (with its zone,
// "fe80::1%eth0"), IPv4 loopback, IPv6 loopback; of several of one kind the lowest. Ping is the shortest time from a
// query to its answer at that address.
//
// Any number of searches may run at the same time. Errors are session.ErrInvalid; session.ErrTransport when no link
// takes the first query; and those of ctx, which are session.ErrTimeout or session.ErrClosed as well.
func (n *Network) Search(ctx context.Context, r session.FindRequest, found func(session.SearchResult)) error {
	if err := checkRequest(r); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return doneError(opSearch, err)
	}
	sockets, err := openSockets(ctx, 0, nil)
	if err != nil {
		return transportError(opSearch, err, "no link can be used")
	}
	limit := min(cmp.Or(r.Limit, defaultLimit), n.cfg.Limits.Results)
	s := &search{
		network: n, sockets: sockets, nonce: newNonce(), build: r.BuildID,
		limit: limit, stop: min(cmp.Or(r.Stop, limit), limit),
		heard: make(chan candidate, 64), known: map[instanceID]*candidate{}, found: found,
	}
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		closeSockets(sockets)
		s.running.Wait()
	}()
	s.listen(ctx)
	return s.run(ctx, cmp.Or(r.Timeout, defaultTimeout))
}

const opSearch = "Search"

func checkRequest(r session.FindRequest) error {
	for _, f := range []struct {
		field string
		value int64
	}{{"Limit", int64(r.Limit)}, {"Timeout", int64(r.Timeout)}, {"Stop", int64(r.Stop)}} {
		if f.value < 0 {
			return session.Errorf(opSearch, session.ErrInvalid, "%s is negative, 0 is its default", f.field)
		}
	}
	return nil
}

func newNonce() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return binary.BigEndian.Uint64(b[:])
}

// A search is one call of Search.
type search struct {
	network *Network
	sockets []*socket
	nonce   uint64
	build   int32
	sent    sendTimes

	running sync.WaitGroup
	heard   chan candidate

	// Of run alone.
	limit, stop int
	known       map[instanceID]*candidate
	settling    []*candidate // those not reported yet, oldest first
	reported    int
	found       func(session.SearchResult)
}

// listen starts the goroutines that receive.
func (s *search) listen(ctx context.Context) {
	for _, socket := range s.sockets {
		s.running.Go(func() {
			socket.receive(ctx, s.network.cfg.Clock,
				func(packet []byte, from netip.AddrPort) { s.receive(ctx, packet, from) })
		})
	}
}

// receive passes on an answer to this search.
func (s *search) receive(ctx context.Context, packet []byte, from netip.AddrPort) {
	now, n := s.network.cfg.Clock.Now(), s.network
	r, err := parseReply(packet, n.cfg.AppID, n.cfg.Limits.Properties)
	if err != nil {
		n.stats.ignore(err)
		return
	}
	asked, ok := s.sent.at(r.sequence)
	if !ok || r.nonce != s.nonce || s.build != 0 && r.build != s.build {
		n.stats.unasked.Add(1)
		return
	}
	result := r.result(from.Addr())
	result.Ping = max(now.Sub(asked), 1) // 0 would say that it was not measured
	select {
	case s.heard <- candidate{result: result, instance: r.instance, addr: from.Addr()}:
		n.stats.answers.Add(1)
	case <-ctx.Done():
	}
}

// run asks, gathers and reports.
func (s *search) run(ctx context.Context, timeout time.Duration) error {
	clock := s.network.cfg.Clock
	end, again := clock.NewTimer(timeout), clock.NewTicker(resend)
	defer end.Stop()
	defer again.Stop()
	if err := s.ask(); err != nil {
		return transportError(opSearch, err, "no link takes a query")
	}
	var settled <-chan time.Time
	for s.reported < s.stop {
		if settled == nil && len(s.settling) > 0 {
			settled = clock.After(s.settling[0].due.Sub(clock.Now()))
		}
		select {
		case <-ctx.Done():
			return doneError(opSearch, ctx.Err())
		case <-end.Chan():
			s.takeAll()
			s.report(func(*candidate) bool { return true })
			return nil
		case <-again.Chan():
			if err := s.ask(); err != nil {
				s.network.cfg.Log.Warn("no link takes a query", "error", err)
			}
		case c := <-s.heard:
			s.take(&c, clock.Now())
		case now := <-settled:
			settled = nil
			s.takeAll()
			s.report(func(c *candidate) bool { return !c.due.After(now) })
		}
	}
	return nil
}

// takeAll takes what has been heard and waits: it came before what is done next.
func (s *search) takeAll() {
	for range len(s.heard) {
		c := <-s.heard
		s.take(&c, s.network.cfg.Clock.Now())
	}
}

// take keeps an answer, if it is of a new host or better than what is known.
func (s *search) take(c *candidate, now time.Time) {
	known := s.known[c.instance]
	switch {
	case known == nil && len(s.known) >= s.limit:
		s.network.stats.overflow.Add(1)
	case known == nil:
		c.due = now.Add(settling)
		s.known[c.instance] = c
		s.settling = append(s.settling, c)
	case !known.reported && c.better(known):
		known.result, known.addr = c.result, c.addr
	}
}

// report tells of the hosts that are ready, as many as are asked for.
func (s *search) report(ready func(*candidate) bool) {
	for len(s.settling) > 0 && s.reported < s.stop && ready(s.settling[0]) {
		c := s.settling[0]
		s.settling = s.settling[1:]
		c.reported = true
		s.reported++
		s.found(c.result)
	}
}

// A candidate is an answer of a host.
type candidate struct {
	result   session.SearchResult
	instance instanceID
	addr     netip.Addr
	reported bool
	due      time.Time // when it has been heard long enough to be reported
}

// better says whether a host is to be reported as in a rather than as in b.
func (a *candidate) better(b *candidate) bool {
	return cmp.Or(
		cmp.Compare(rank(a.addr), rank(b.addr)),
		a.addr.Compare(b.addr),
		cmp.Compare(a.result.Ping, b.result.Ping),
	) < 0
}

// result is what a reply from an address says.
func (r *reply) result(from netip.Addr) session.SearchResult {
	return session.SearchResult{
		SessionID:       string(r.texts[0]),
		OwnerID:         string(r.texts[1]),
		OwnerName:       cleanName(string(r.texts[2])),
		Name:            cleanName(string(r.texts[3])),
		LAN:             true,
		IPAddress:       from.String(),
		Port:            int(r.port),
		BuildID:         r.build,
		Connections:     int(r.places),
		OpenConnections: int(r.free),
		Properties:      r.propertyMap(),
	}
}
