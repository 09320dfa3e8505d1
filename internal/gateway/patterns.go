package gateway

// Patterns returns the operations as patterns of http.ServeMux, for handlers in front of the gateway.
func Patterns() []string {
	patterns := make([]string, len(routes))
	for i := range routes {
		patterns[i] = routes[i].name()
	}
	return patterns
}
