package gateway

// Patterns lists the operations as patterns of http.ServeMux, for what stands
// before the gateway and has to know them.
func Patterns() []string {
	patterns := make([]string, len(routes))
	for i := range routes {
		patterns[i] = routes[i].name()
	}
	return patterns
}
