package browser_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/console"
)

// otherRoutes are those of the console that are no page of their own.
var otherRoutes = map[string]string{
	"GET /console/":                    "unknown addresses: TestConsole checks the page",
	"GET /console/live":                "a stream",
	"GET /console/log/live":            "a stream",
	"GET /console/output/live":         "a stream",
	"GET /console/game-session":        "redirects to the game session",
	"GET /console/game-sessions/{id}":  "TestConsole checks the page of the game session that it plays",
	"GET /console/placements":          "redirects to the placement",
	"GET /console/tickets":             "redirects to the ticket",
	"GET /console/players/{id}/export": "a file",
}

// TestConsoleRoutes: each page of the console is in a list of the pages that are checked.
func TestConsoleRoutes(t *testing.T) {
	t.Parallel()
	routes := http.NewServeMux()
	missing := map[string]bool{}
	for _, pattern := range console.Pages() {
		routes.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
		missing[pattern] = otherRoutes[pattern] == "" && !strings.HasSuffix(pattern, ".csv")
	}
	for pattern := range otherRoutes {
		if _, ok := missing[pattern]; !ok {
			t.Errorf("%s is no route", pattern)
		}
	}
	paths := slices.Clone(playedPages)
	for _, page := range regionPages("first", "build-1") {
		paths = append(paths, page.path)
	}
	for _, path := range paths {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil)
		must(t, err)
		_, pattern := routes.Handler(request)
		missing[pattern] = false
	}
	for pattern, is := range missing {
		if is {
			t.Errorf("%s is in no list of pages: add one to regionPages, or to playedPages", pattern)
		}
	}
}
