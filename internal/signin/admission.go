package signin

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/style"
)

// maxBody is the maximum size of a body, in bytes.
const maxBody = 16 << 10

// A visit is one request with its answer.
type visit struct {
	w http.ResponseWriter
	r *http.Request

	kind     kind
	from     access.Origin
	loopback bool // the client is on this machine
}

// admit checks what applies to all requests of a route's kind, serves it, and answers its error.
func (h *Handler) admit(t route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := h.visit(w, r, t.kind)
		err := h.check(v)
		if err == nil {
			err = t.serve(h, v)
		}
		if err != nil {
			h.fail(v, err)
		}
	}
}

func (h *Handler) visit(w http.ResponseWriter, r *http.Request, k kind) *visit {
	v := visitOf(r)
	v.w, v.kind = w, k
	w.Header().Set("X-Amzn-Requestid", v.from.RequestID)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if k >= pageKind {
		style.Protect(w.Header(), "")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	return v
}

// visitOf returns a visit without its answer.
func visitOf(r *http.Request) *visit {
	client := listen.RequestOf(r).Client
	return &visit{r: r, loopback: listen.FromThisMachine(r), from: access.Origin{Address: client.Address,
		TLS: client.TLS, UserAgent: r.UserAgent(), RequestID: uuid.NewString()}}
}

// check refuses requests whatever they ask for. The portal's have a token, so that they need no budget.
func (h *Handler) check(v *visit) error {
	if v.kind == assetKind {
		return nil
	}
	if v.kind != portalKind {
		if wait, ok := h.budget.take(v.from.Address); !ok {
			return &refusal{why: tooMany, after: wait}
		}
	}
	if !v.from.TLS && !v.loopback && !h.Insecure && !(v.r.Method == http.MethodHead && v.r.URL.Path == startPath) {
		return &refusal{why: unencrypted}
	}
	if v.kind == pageKind {
		if err := h.csrf.Check(v.r); err != nil {
			return pageError(http.StatusForbidden, "The request came from another web site. Open the page again.")
		}
	}
	if !h.Ready(v.r.Context()) {
		return &refusal{why: starting, after: time.Second}
	}
	return nil
}

// network returns what counts as one address: of IPv6 a /64 network, the smallest one that providers assign to a
// customer.
func network(a netip.Addr) string {
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}
