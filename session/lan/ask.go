package lan

import (
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// ask sends a query to all targets of all links. It fails if none was sent.
func (s *search) ask() error {
	links, err := s.network.scan()
	if err != nil {
		return err
	}
	sent, failed := false, errNoLink
	for _, l := range links {
		for _, target := range l.targets() {
			if err := s.askOne(l, target); err != nil {
				s.network.stats.failed.Add(1)
				s.network.cfg.Log.Debug("query not sent", "interface", l.Name, "to", target, "error", err)
				failed = err
				continue
			}
			s.network.stats.asked.Add(1)
			sent = true
		}
	}
	if sent {
		return nil
	}
	return failed
}

// askOne sends a query with a sequence number of its own, which identifies its send time when the answer arrives.
func (s *search) askOne(l link, target netip.Addr) error {
	i := slices.IndexFunc(s.sockets, func(socket *socket) bool { return socket.carries(target) })
	if i < 0 {
		return errors.New("this machine has no sockets for " + target.String())
	}
	var packet [maxPacket]byte
	sequence := s.sent.next(s.network.cfg.clock.Now())
	encodeQuery(&packet, query{header{s.network.cfg.AppID, s.nonce, sequence}, s.build})
	return s.sockets[i].sendOn(l, netip.AddrPortFrom(target, uint16(s.network.cfg.Port)), packet[:])
}

// sendTimes stores the send times of the latest queries of a search.
type sendTimes struct {
	mu    sync.Mutex
	count uint32
	times [256]time.Time
}

// next returns the sequence number, from 1 on, of a query that is sent now.
func (t *sendTimes) next(now time.Time) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count++
	t.times[t.count%uint32(len(t.times))] = now
	return t.count
}

// at returns when a query was sent; false if it was not sent, or is too old.
func (t *sendTimes) at(sequence uint32) (time.Time, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if sequence == 0 || sequence > t.count || t.count-sequence >= uint32(len(t.times)) {
		return time.Time{}, false
	}
	return t.times[sequence%uint32(len(t.times))], true
}
