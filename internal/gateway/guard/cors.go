package guard

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/rs/cors"
)

// sameOrigin reports whether a request comes from a web page of its own host, or from no web page. It ignores the
// scheme, which is unknown behind a proxy.
func sameOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	u, err := url.Parse(origins[0])
	return len(origins) == 1 && err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// newCORS returns the rules for web origins; nil without any. Cookies are never allowed: credentials are in headers.
func newCORS(origins []string) *cors.Cors {
	if len(origins) == 0 {
		return nil
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
			http.MethodDelete},
		AllowedHeaders: []string{"Authorization", "Content-Type", "Idempotency-Key", "Last-Event-Id", apiKeyHeader,
			requestIDHeader},
		ExposedHeaders: []string{requestIDHeader, "Location", "Retry-After"},
		MaxAge:         600, // seconds
	})
}

// answerCORS answers preflight requests, and rejects requests of web pages of origins that are not in Config.Origins:
// the browser would hide the answer from the page, but the request would have had its effect.
func (g *Guard) answerCORS(next http.Handler) http.Handler {
	checked := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !sameOrigin(r) && (g.cors == nil || !g.cors.OriginAllowed(r)) {
			g.refuse(w, r, "origin", foreign)
			return
		}
		next.ServeHTTP(w, r)
	})
	if g.cors == nil {
		return checked
	}
	return g.cors.Handler(checked)
}
