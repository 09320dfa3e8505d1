package operator

import (
	"context"
	"net/http"

	"github.com/muster-gg/muster/internal/control/access"
)

// A local is a request of this program for a person who has signed in.
type local struct {
	id   *access.Identity
	from access.Origin
	err  error // why it was refused, instead of an answer
}

type localKey struct{}

// ServeLocal answers a request that this program makes for a person who has signed in, which needs no signature:
// policies decide, and the audit trail has it, as if the person had signed it. id is not nil. If the error, which is
// that of a signed request, is not nil, nothing was written to w.
func (d *Handler) ServeLocal(w http.ResponseWriter, r *http.Request, id *access.Identity, from access.Origin) error {
	l := &local{id: id, from: from}
	d.mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), localKey{}, l)))
	return l.err
}

// localOf returns the local request that a request is, or nil.
func localOf(r *http.Request) *local {
	l, _ := r.Context().Value(localKey{}).(*local)
	return l
}

// authenticateLocal is authenticate for a local request.
func (d *Handler) authenticateLocal(r *route, c *call, l *local) error {
	body, err := readBody(c.Request, r.bodyLimit())
	if err != nil {
		return err
	}
	c.id, c.from = l.id, l.from
	d.decodeInput(r, c, body)
	return nil
}

// decodeInput decodes the body of a request that takes one.
func (d *Handler) decodeInput(r *route, c *call, body []byte) {
	if r.input == nil {
		return
	}
	c.input = r.input()
	if c.failed = decode(body, c.input); c.failed == nil {
		c.note("fields", fieldsOf(body))
	}
}
