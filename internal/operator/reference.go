package operator

import "context"

// A Request describes a row of the table of requests, for the reference.
type Request struct {
	Pattern  string // method and path
	Action   string // of policies; "": none is asked
	Resource string // KIND/NAME, with {wildcards} of the path; "": what the body names, or "*"
	Body     bool   // the body names resources
	Recorded bool   // in the audit trail
}

// Requests returns the requests that a service serves, with all settings on.
func Requests() (all []Request) {
	everything := Handler{Config: Config{Legacy: func(context.Context) any { return nil }}}
	for _, r := range everything.routes() {
		q := Request{Pattern: r.pattern, Resource: r.resource, Body: r.names != nil, Recorded: r.changes()}
		if r.action != "" && r.notes&(unsigned|own) == 0 {
			q.Action = source + ":" + r.action
		}
		all = append(all, q)
	}
	return all
}
