package guard

import (
	"context"
	"net/http"
	"net/netip"
	"strings"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/listen"
)

const requestIDHeader = "X-Request-Id"

// maxRequestID limits the length of a client's request id.
const maxRequestID = 128

// A visit is the guard's knowledge of one request. Inner handlers set its fields, outer ones read them afterwards.
type visit struct {
	id      string
	address netip.Addr // zero if unknown
	subject string
	key     string
	refused bool
}

type visitKey struct{}

// of returns the visit of a request; an empty one outside of a guard.
func of(ctx context.Context) *visit {
	if v, ok := ctx.Value(visitKey{}).(*visit); ok {
		return v
	}
	return &visit{}
}

// RequestID returns the id of the request of ctx; "" outside of a guard.
func RequestID(ctx context.Context) string { return of(ctx).id }

// Address returns the client's address, behind trusted proxies; zero if it is unknown.
func Address(ctx context.Context) netip.Addr { return of(ctx).address }

// Subject returns the subject of the request's bearer token; "" for none.
func Subject(ctx context.Context) string { return of(ctx).subject }

// Caller identifies the caller: by the subject of its token; by its API key and address, because all players of a game
// share the key; otherwise by its address, or its /64 network of IPv6.
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

// admit adds a visit to the request's context.
func (g *Guard) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{id: r.Header.Get(requestIDHeader), address: listen.Proxies(g.cfg.TrustedProxies).
			ClientOf(listen.ParseAddress(r.RemoteAddr), r.Header.Values("X-Forwarded-For"))}
		if !saneID(v.id) {
			v.id = uuid.NewString()
		}
		w.Header().Set(requestIDHeader, v.id)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitKey{}, v)))
	})
}

// saneID reports whether a client's request id is safe in logs and headers.
func saneID(id string) bool {
	return id != "" && len(id) <= maxRequestID && !strings.ContainsFunc(id, func(c rune) bool {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		return !letter && !strings.ContainsRune("-_.:=+/@", c)
	})
}
