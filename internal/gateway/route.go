package gateway

import (
	_ "embed" // of the description
	"net/http"
	"net/url"
	"strings"
)

// A route is one operation. Its path has at most one wildcard, {id}.
type route struct {
	method string
	path   string
	serve  func(*call) (answer, error)
}

// routes is the table of all operations, as in openapi.yaml.
var routes = []route{
	{http.MethodPost, "/create_session", pluginCreate},
	{http.MethodPost, "/create_session_local", local(pluginCreate)},
	{http.MethodGet, "/find_session", pluginFind},
	{http.MethodGet, "/find_session_local", local(pluginFind)},
	{http.MethodPost, "/join_session", pluginJoin},
	{http.MethodPost, "/join_session_local", local(pluginJoin)},

	{http.MethodPost, "/v1/sessions", createSession},
	{http.MethodGet, "/v1/sessions", listSessions},
	{http.MethodGet, "/v1/sessions/{id}", getSession},
	{http.MethodDelete, "/v1/sessions/{id}", endSession},
	{http.MethodPost, "/v1/sessions/{id}/players", joinSession},
	{http.MethodGet, "/v1/sessions/{id}/events", watchSession},
	{http.MethodPost, "/v1/tickets", startMatchmaking},
	{http.MethodGet, "/v1/tickets/{id}", getTicket},
	{http.MethodDelete, "/v1/tickets/{id}", stopMatchmaking},
	{http.MethodPost, "/v1/tickets/{id}/acceptance", acceptMatch},
	{http.MethodGet, "/v1/tickets/{id}/events", watchTicket},
	{http.MethodGet, "/v1/placements/{id}", getPlacement},
	{http.MethodGet, "/v1/openapi.yaml", getDescription},
}

// name returns the route's name in an Observation.
func (r *route) name() string { return r.method + " " + r.path }

// match reports whether an escaped path matches the route, and returns the value of {id}: one segment, or with loose
// any number of them.
func (r *route) match(escaped string, loose bool) (id string, ok bool) {
	before, after, wild := strings.Cut(r.path, "{id}")
	if !wild {
		return "", escaped == r.path
	}
	rest, ok := strings.CutPrefix(escaped, before)
	if !ok {
		return "", false
	}
	rest, ok = strings.CutSuffix(rest, after)
	if !ok || rest == "" || !loose && strings.Contains(rest, "/") {
		return "", false
	}
	id, err := url.PathUnescape(rest)
	return id, err == nil
}

// find returns the route of a request. If there is none, allow lists the methods of the path. Some proxies decode a
// path before they forward it, with the slashes of an id: hence the second, loose search.
func find(r *http.Request) (found *route, id string, allow []string) {
	for _, loose := range []bool{false, true} {
		if found, id, allow = lookFor(r, loose); found != nil || allow != nil {
			break
		}
	}
	return found, id, allow
}

func lookFor(r *http.Request, loose bool) (found *route, id string, allow []string) {
	escaped, best := r.URL.EscapedPath(), ""
	for i := range routes {
		route := &routes[i]
		matched, ok := route.match(escaped, loose)
		if !ok || len(route.path) < len(best) { // the most specific path wins
			continue
		}
		if len(route.path) > len(best) {
			best, found, allow = route.path, nil, nil
		}
		if route.method == r.Method {
			found, id = route, matched
		}
		allow = append(allow, route.method)
	}
	return found, id, allow
}

// Patterns returns the operations as patterns of http.ServeMux, for handlers in front of the gateway.
func Patterns() []string {
	patterns := make([]string, len(routes))
	for i := range routes {
		patterns[i] = routes[i].name()
	}
	return patterns
}

// openapi describes every route.
//
//go:embed openapi.yaml
var openapi []byte

// getDescription answers GET /v1/openapi.yaml.
func getDescription(*call) (answer, error) {
	return answer{raw: &rawBody{contentType: "application/yaml", text: openapi}}, nil
}
