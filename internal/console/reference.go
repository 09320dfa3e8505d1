package console

import "strings"

// Pages returns the patterns of the pages, as http.ServeMux takes them: of everything that a browser can open.
func Pages() (patterns []string) {
	for _, r := range table {
		if strings.HasPrefix(r.pattern, "GET ") {
			patterns = append(patterns, r.pattern)
		}
	}
	return patterns
}
