package guard

import (
	"context"
	"net/http"
	"net/netip"
	"strings"

	"github.com/google/uuid"
)

const requestIDHeader = "X-Request-Id"

// maxRequestID is how long a request id of a client may be.
const maxRequestID = 128

// A visit is what the guard knows of one request. Its parts note what they find
// out, and those around them read it afterwards.
type visit struct {
	id      string
	address netip.Addr // not valid: unknown
	subject string
	key     string
	refused bool
}

type visitKey struct{}

// of is the visit of a request; an empty one outside of a guard.
func of(ctx context.Context) *visit {
	if v, ok := ctx.Value(visitKey{}).(*visit); ok {
		return v
	}
	return &visit{}
}

// RequestID is the id of the request that ctx belongs to; "" outside of a guard.
func RequestID(ctx context.Context) string { return of(ctx).id }

// Address is where the request came from, behind trusted proxies; not valid when
// that is unknown.
func Address(ctx context.Context) netip.Addr { return of(ctx).address }

// Subject is the subject of the bearer token that the request carried; "" for none.
func Subject(ctx context.Context) string { return of(ctx).subject }

// Caller tells callers apart: a player by the token; the bearer of an API key by the
// key and the address, because a key in a game is shared by all its players; others by
// their address, of which an IPv6 /64 network counts as one.
func Caller(ctx context.Context) string {
	switch v := of(ctx); {
	case v.subject != "":
		return "player " + v.subject
	case v.key != "":
		return "key " + v.key + " " + networkOf(v.address)
	default:
		return networkOf(v.address)
	}
}

// admit begins a visit.
func (g *Guard) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{id: r.Header.Get(requestIDHeader), address: clientAddress(r, g.cfg.TrustedProxies)}
		if !saneID(v.id) {
			v.id = uuid.NewString()
		}
		w.Header().Set(requestIDHeader, v.id)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitKey{}, v)))
	})
}

// saneID reports whether a client's request id may stand in logs and headers.
func saneID(id string) bool {
	return id != "" && len(id) <= maxRequestID && !strings.ContainsFunc(id, func(c rune) bool {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		return !letter && !strings.ContainsRune("-_.:=+/@", c)
	})
}
