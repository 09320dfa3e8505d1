package signin

// A Request describes a row of the table of requests, for the reference.
type Request struct {
	Method, Path string
	Protocol     string // of a client; "" for pages
}

// protocols are the names of the kinds that clients speak.
var protocols = map[kind]string{oidcKind: "SSO-OIDC", portalKind: "SSO", loginKind: "Sign-in"}

// Requests returns all requests that are served.
func Requests() (all []Request) {
	for _, t := range table {
		all = append(all, Request{t.method, t.path, protocols[t.kind]})
	}
	return all
}
