package guard

import (
	"net/http"
	"net/netip"
)

// limitAddress holds each address to its rate. Requests of unknown origin share one.
func (g *Guard) limitAddress(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wait, ok := g.address.Take(networkOf(Address(r.Context()))); !ok {
			g.refuseFor(w, r, "address_rate", limited, wait)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// networkOf is what counts as one address: of IPv6 a /64, which is what one
// customer of a provider has at least.
func networkOf(a netip.Addr) string {
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}

// limitPlayer holds each player to its rate, as far as it is known who that is.
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

// limitBody refuses a body that says that it is too large, and cuts off one that
// turns out to be: reading it then reports a *http.MaxBytesError.
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
