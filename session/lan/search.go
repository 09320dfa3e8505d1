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
	// settling is the time from a host's first answer to its report, for its answers over other links. The copies of a
	// query are sent within a millisecond.
	settling = 50 * time.Millisecond
)

// Search looks for sessions that can be joined and calls found with each, once, in the caller's goroutine, until
// r.Timeout has passed, or r.Stop or r.Limit of them are found: then it returns nil. It sends queries on all links
// every second, including links that have come up meanwhile.
//
// A host that answers over several links is one result. Of the addresses that answer within 50 ms it has the first of
// these: IPv4 that is routed, IPv6 that is routed, IPv4 link-local (169.254.0.0/16), IPv6 link-local (with its zone,
// "fe80::1%eth0"), IPv4 loopback, IPv6 loopback; of several of one kind the lowest. Ping is the shortest time from a
// query to its answer at that address.
//
// Any number of searches may run concurrently. Errors are session.ErrInvalid; session.ErrTransport when the first query
// cannot be sent on any link; and those of ctx, which are session.ErrTimeout or session.ErrClosed as well.
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

	// Used by run only.
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
			socket.receive(ctx, s.network.cfg.clock,
				func(packet []byte, from netip.AddrPort) { s.receive(ctx, packet, from) })
		})
	}
}

// receive forwards an answer to this search to run.
func (s *search) receive(ctx context.Context, packet []byte, from netip.AddrPort) {
	now, n := s.network.cfg.clock.Now(), s.network
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
	result.Ping = max(now.Sub(asked), 1) // 0 would mean that it was not measured
	select {
	case s.heard <- candidate{result: result, instance: r.instance, addr: from.Addr()}:
		n.stats.answers.Add(1)
	case <-ctx.Done():
	}
}

// run sends queries, collects answers and reports hosts.
func (s *search) run(ctx context.Context, timeout time.Duration) error {
	clock := s.network.cfg.clock
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

// takeAll takes the queued answers, which arrived before the event in progress.
func (s *search) takeAll() {
	for range len(s.heard) {
		c := <-s.heard
		s.take(&c, s.network.cfg.clock.Now())
	}
}

// take stores an answer of a new host, or one that is better than the stored answer.
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

// report reports the hosts that are ready, up to s.stop.
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
	due      time.Time // when it is to be reported
}

// better reports whether a is a better answer than b, of the same host.
func (a *candidate) better(b *candidate) bool {
	return cmp.Or(
		cmp.Compare(rank(a.addr), rank(b.addr)),
		a.addr.Compare(b.addr),
		cmp.Compare(a.result.Ping, b.result.Ping),
	) < 0
}

// result converts a reply from an address to a search result.
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
