package console

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/style"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	maxBody = 512 << 10 // a rule set of 65,535 characters, as a form

	// pageLimit is the deadline of a page, which shows what it has by then. What changes something takes longer: its
	// outcome would be unknown. Downloads and streams have no deadline.
	pageLimit   = 2 * time.Second
	changeLimit = 10 * time.Second
)

// A visit is one request with its answer.
type visit struct {
	h      *Handler
	w      http.ResponseWriter
	r      *http.Request
	ctx    context.Context // of a page: it ends at the deadline
	limit  time.Duration   // until the deadline
	id     *access.Identity
	from   access.Origin
	person string // who is signed in; "" in an open console
	lacks  lacks  // of the page
}

// admit serves a page to people who may see it.
func (h *Handler) admit(serve func(*visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		client := listen.RequestOf(r).Client
		limit := pageLimit
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			limit = changeLimit
		}
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		v := &visit{h: h, w: w, r: r, ctx: ctx, limit: limit, from: access.Origin{
			Address: client.Address, TLS: client.TLS, Host: r.Host,
			UserAgent: r.UserAgent(), RequestID: uuid.NewString(), Region: h.RegionName}}
		v.headers()
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		if err := v.enter(); err != nil {
			v.fail(err)
			return
		}
		if v.id == nil {
			http.Redirect(w, r, "/signin/in?return="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
			return
		}
		if err := h.Access.Allow(v.id, v.from, consoleUse); err != nil {
			v.fail(err)
			return
		}
		if err := r.ParseForm(); err != nil {
			v.fail(invalid("The form cannot be read, or is too large."))
			return
		}
		if err := serve(v); err != nil {
			v.fail(err)
		}
	}
}

// enter finds out who asks; id stays nil if nobody has signed in.
func (v *visit) enter() error {
	onHere := listen.FromThisMachine(v.r)
	switch {
	case !v.h.Ready(v.ctx):
		return fault.New(fault.ServiceUnavailable, "The service is starting. Try again in a moment.")
	case !v.from.TLS && !onHere && !v.h.Insecure:
		return fault.New(fault.AccessDenied,
			"The console needs an encrypted connection from other machines: open it with https.")
	}
	if err := v.h.csrf.Check(v.r); err != nil {
		return fault.New(fault.AccessDenied, "The request came from another web site. Open the page again.")
	}
	if v.h.Open && onHere && v.ownHost() {
		v.id = v.h.Access.LocalIdentity()
		return nil
	}
	if p, ok := v.h.Person(v.r); ok {
		v.id, v.person = v.h.Access.PersonIdentity(p), p.User.Name
	}
	return nil
}

// ownHost reports whether the request names this machine: a page of another site whose name was made to resolve to it
// names that site.
func (v *visit) ownHost() bool {
	host, _, err := net.SplitHostPort(v.r.Host)
	if err != nil {
		host = v.r.Host
	}
	if v.h.hosts[host] {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

func (v *visit) headers() {
	v.w.Header().Set("X-Amzn-Requestid", v.from.RequestID)
	style.Protect(v.w.Header(), "")
}

// call makes a call of the API as the person who has signed in.
func call[I, O any](v *visit, op wire.Operation[I, O], in *I) (*O, error) {
	out, err := v.h.Calls.Invoke(v.ctx, v.id, v.from, op.Name, in)
	if err != nil {
		return nil, err
	}
	return out.(*O), nil
}

// form returns a field of the form or the query.
func (v *visit) form(name string) string { return v.r.FormValue(name) }

// redirect answers a form with the page to see next.
func (v *visit) redirect(to string) error {
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}
