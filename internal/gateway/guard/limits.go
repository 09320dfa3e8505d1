package guard

import (
	"net/http"
	"net/netip"
)

// limitAddress limits the rate of each address. Requests without one share a bucket.
func (g *Guard) limitAddress(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wait, ok := g.address.Take(networkOf(Address(r.Context()))); !ok {
			g.refuseFor(w, r, "address_rate", limited, wait)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// networkOf returns what counts as one address: of IPv6 a /64 network, the smallest one that providers assign to a
// customer.
func networkOf(a netip.Addr) string {
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}

// limitPlayer limits the rate of each known player.
func (g *Guard) limitPlayer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if player := g.cfg.Player(r); player != "" {
			if wait, ok := g.player.Take(player); !ok {
				g.refuseFor(w, r, "player_rate", limited, wait)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// limitBody rejects a body whose Content-Length is too large. Reading a longer one fails with a *http.MaxBytesError.
func (g *Guard) limitBody(next http.Handler) http.Handler {
	limit := g.cfg.MaxBody
	if limit < 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > limit {
			g.refuse(w, r, "body_too_large", tooLarge)
			return
		}
		if r.Body != nil {
			r.Body = http.MaxBytesReader(w, r.Body, limit)
		}
		next.ServeHTTP(w, r)
	})
}
