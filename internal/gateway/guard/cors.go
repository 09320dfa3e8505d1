package guard

import (
	"net/http"

	"github.com/rs/cors"
)

// newCORS makes the rules for web origins; nil without any. Cookies are never
// allowed: credentials come in headers.
func newCORS(origins []string) *cors.Cors {
	if len(origins) == 0 {
		return nil
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		AllowedHeaders: []string{"Authorization", "Content-Type", "Idempotency-Key", "Last-Event-Id", apiKeyHeader, requestIDHeader},
		ExposedHeaders: []string{requestIDHeader, "Location", "Retry-After"},
		MaxAge:         600, // seconds; browsers forget sooner
	})
}

func (g *Guard) answerCORS(next http.Handler) http.Handler {
	if g.cors == nil {
		return next
	}
	return g.cors.Handler(next)
}
