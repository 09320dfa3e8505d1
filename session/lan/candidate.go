package lan

import (
	"cmp"
	"net/netip"
	"time"

	"github.com/muster-gg/muster/session"
)

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
