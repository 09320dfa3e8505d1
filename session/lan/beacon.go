package lan

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-gg/muster/session"
)

// rescan is the interval at which a beacon lists the links of the machine again.
const rescan = 3 * time.Second

// Announce answers searches with advert until the beacon is closed. It returns when it listens; ctx applies until then.
// Names are cleaned: control characters are removed, and long names are cut to maxName.
//
// It starts a goroutine for each of IPv4 and IPv6 and one more, which the beacon's Close ends. It fails with
// session.ErrInvalid, which names the field that is wrong or does not fit into a packet, with session.ErrTransport when
// no link can be used, and when ctx is done, as Search does. Links that come up later are used as well, after a few
// seconds.
//
// The game must listen on all addresses: each searcher receives the one on its link.
func (n *Network) Announce(ctx context.Context, advert session.Advert) (session.Beacon, error) {
	const op = "Announce"
	b := &beacon{network: n, instance: newInstanceID(), limiter: newLimiter(n.cfg.Limits),
		joined: map[membership]bool{}}
	if err := b.set(op, advert); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, doneError(op, err)
	}
	sockets, err := openSockets(ctx, n.cfg.Port, reuse)
	if err != nil {
		return nil, transportError(op, err, "UDP port %d cannot be used, another program may have it", n.cfg.Port)
	}
	b.sockets = sockets
	if err := b.follow(); err != nil {
		closeSockets(sockets)
		return nil, transportError(op, err, "the links of this machine cannot be listed")
	}
	if len(*b.links.Load()) == 0 {
		closeSockets(sockets)
		return nil, transportError(op, errNoLink, "this machine has no link to receive from")
	}
	b.start()
	return b, nil
}

// transportError returns an error of the network.
func transportError(op string, cause error, format string, args ...any) error {
	err := session.Errorf(op, session.ErrTransport, format, args...)
	err.Message += ": " + cause.Error()
	err.Err = cause
	return err
}

// doneError returns the error of a context that is done.
func doneError(op string, err error) error {
	kind := session.ErrClosed
	if errors.Is(err, context.DeadlineExceeded) {
		kind = session.ErrTimeout
	}
	return &session.Error{Op: op, Kind: kind, Message: "ended by its context: " + err.Error(), Err: err}
}

// A beacon is an announced session.
type beacon struct {
	network  *Network
	instance instanceID
	limiter  *limiter
	sockets  []*socket
	links    atomic.Pointer[[]link]
	joined   map[membership]bool // false: it failed, and was logged; for follow only

	stop    context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	reply  []byte // nil: no answer; never changed, only replaced
	build  int32
}

// A membership is that of a socket in its multicast group on one link.
type membership struct {
	socket *socket
	index  int
}

func (b *beacon) start() {
	ctx, stop := context.WithCancel(context.Background())
	b.stop = stop
	for _, s := range b.sockets {
		b.running.Go(func() {
			var packet [maxPacket]byte
			s.receive(ctx, b.network.cfg.clock,
				func(heard []byte, from netip.AddrPort) { b.answer(s, heard, from, &packet) })
		})
	}
	b.running.Go(func() { b.followLinks(ctx) })
}

// Update replaces the advert, from the next query on. It fails with session.ErrInvalid as Announce does, and with
// session.ErrClosed; then the advert before stays.
func (b *beacon) Update(advert session.Advert) error { return b.set("Update", advert) }

func (b *beacon) set(op string, a session.Advert) error {
	if a.SessionID == "" {
		a.SessionID = b.instance.sessionID()
	}
	reply, err := encodeAdvert(op, a, b.instance, b.network.cfg)
	if err != nil {
		return err
	}
	if !a.Joinable || a.OpenConnections == 0 {
		reply = nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return session.Errorf(op, session.ErrClosed, "the announcement has ended, announce the session again")
	}
	b.reply, b.build = reply, a.BuildID
	return nil
}

// Close ends the announcement and returns when nothing of it is left.
func (b *beacon) Close() error {
	b.mu.Lock()
	first := !b.closed
	b.closed = true
	b.mu.Unlock()
	if first {
		b.stop()
		closeSockets(b.sockets)
	}
	b.running.Wait()
	return nil
}

// replyTo returns the reply for searchers of a build; nil for none.
func (b *beacon) replyTo(build int32) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if build != 0 && build != b.build {
		return nil
	}
	return b.reply
}

// answer answers a query; packet is its buffer.
func (b *beacon) answer(s *socket, heard []byte, from netip.AddrPort, packet *[maxPacket]byte) {
	n, stats := b.network, &b.network.stats
	q, err := parseQuery(heard, n.cfg.AppID)
	if err != nil {
		stats.ignore(err)
		return
	}
	stats.queries.Add(1)
	reply := b.replyTo(q.build)
	switch {
	case reply == nil:
		stats.silent.Add(1)
	case !b.reaches(from.Addr()):
		stats.offLink.Add(1)
	case len(heard) < len(reply) || !b.limiter.allow(from.Addr(), n.cfg.clock.Now()):
		stats.limited.Add(1)
	default:
		if _, err := s.WriteToUDPAddrPort(stamp(packet, reply, q), from); err != nil {
			stats.failed.Add(1)
			n.cfg.Log.Debug("search was not answered", "asker", from, "error", err)
			return
		}
		stats.replies.Add(1)
	}
}

// reaches reports whether an address is on one of the links.
func (b *beacon) reaches(addr netip.Addr) bool {
	for _, l := range *b.links.Load() {
		if l.reaches(addr) {
			return true
		}
	}
	return false
}

// followLinks calls follow after each interval until ctx is done.
func (b *beacon) followLinks(ctx context.Context) {
	ticker := b.network.cfg.clock.NewTicker(rescan)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.Chan():
			if err := b.follow(); err != nil {
				b.network.cfg.Log.Warn("network interfaces cannot be listed", "error", err)
			}
		}
	}
}

// follow joins the groups on new links and leaves those on removed links. A link whose group cannot be joined still
// receives broadcasts, and is retried.
func (b *beacon) follow() error {
	links, err := b.network.scan()
	if err != nil {
		return err
	}
	b.links.Store(&links)
	present := map[int]bool{}
	for _, l := range links {
		present[l.Index] = true
		for _, s := range b.sockets {
			if m := (membership{s, l.Index}); l.multicasts() && !b.joined[m] {
				b.join(m, l)
			}
		}
	}
	for m, joined := range b.joined {
		if present[m.index] {
			continue
		}
		if joined {
			m.socket.leave(m.index)
		}
		delete(b.joined, m)
	}
	return nil
}

func (b *beacon) join(m membership, l link) {
	err := m.socket.join(l)
	if _, known := b.joined[m]; err != nil && !known {
		b.network.cfg.Log.Warn("multicast group not joined", "interface", l.Name, "group", m.socket.group, "error", err)
	}
	b.joined[m] = err == nil
}
