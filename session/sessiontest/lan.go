package sessiontest

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/muster-gg/muster/session"
)

// A LAN is a local network in memory: clients that share it find one another. All hosts are at 127.0.0.1. The zero
// value has no hosts. A search does not wait for its timeout: it ends when all hosts have answered.
type LAN struct {
	Faults
	mu    sync.Mutex
	last  int
	hosts []*beacon
}

type beacon struct {
	lan    *LAN
	advert session.Advert
	closed bool
}

// Announce implements session.LAN.
func (l *LAN) Announce(ctx context.Context, advert session.Advert) (session.Beacon, error) {
	if err := l.enter(ctx, "Announce"); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	advert.SessionID = cmp.Or(advert.SessionID, "lan-"+strconv.Itoa(l.last))
	b := &beacon{lan: l, advert: advert}
	l.hosts = append(l.hosts, b)
	return b, nil
}

// Adverts returns the current adverts, the oldest first.
func (l *LAN) Adverts() []session.Advert {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []session.Advert
	for _, b := range l.hosts {
		all = append(all, b.advert)
	}
	return all
}

// Search implements session.LAN.
func (l *LAN) Search(ctx context.Context, r session.FindRequest, found func(session.SearchResult)) error {
	if err := l.enter(ctx, "Search"); err != nil {
		return err
	}
	n := 0
	for _, a := range l.Adverts() {
		if !a.Joinable || r.BuildID != 0 && a.BuildID != r.BuildID {
			continue
		}
		found(session.SearchResult{
			SessionID: a.SessionID, OwnerID: a.OwnerID, OwnerName: a.OwnerName, Name: a.Name, LAN: true,
			IPAddress: "127.0.0.1", Port: a.Port, BuildID: a.BuildID,
			Connections: a.Connections, OpenConnections: a.OpenConnections, Properties: a.Properties,
		})
		if n++; n == r.Stop {
			break
		}
	}
	return nil
}

func (b *beacon) Update(advert session.Advert) error {
	if err := b.lan.enter(context.Background(), "Update"); err != nil {
		return err
	}
	b.lan.mu.Lock()
	defer b.lan.mu.Unlock()
	if b.closed {
		return session.Errorf("Update", session.ErrClosed, "the beacon is closed")
	}
	advert.SessionID = cmp.Or(advert.SessionID, b.advert.SessionID)
	b.advert = advert
	return nil
}

func (b *beacon) Close() error {
	b.lan.mu.Lock()
	defer b.lan.mu.Unlock()
	b.closed = true
	b.lan.hosts = slices.DeleteFunc(b.lan.hosts, func(other *beacon) bool { return other == b })
	return nil
}
