package gateway

import (
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

// routes is the table of all operations; openapi.yaml describes each.
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

// name is what an Observation calls the route.
func (r *route) name() string { return r.method + " " + r.path }

// match reports whether an escaped path is the route's, and what stands for {id}.
// A wildcard is one segment; loose, it takes slashes too.
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

// find returns the route of a request. Without one, allow are the methods that
// the path does have. Some proxies decode a path before they pass it on, so that
// the slashes of an id are slashes again: hence the second, loose look.
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
		if !ok || len(route.path) < len(best) { // the most precise path counts
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
