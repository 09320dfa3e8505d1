package api

import (
	"net/http"
	"strconv"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/wire"
)

// Header values that many answers share; net/http does not change them.
var (
	jsonTypeValue     = []string{jsonType}
	cborTypeValue     = []string{cborType}
	cborProtocolValue = []string{cborProtocol}
)

// answer writes the answer: the body in bufs.out, or the fault in its place.
func (d *Door) answer(w http.ResponseWriter, c *call, f *fault.Error, bufs *buffers) {
	status := http.StatusOK
	if f != nil {
		status = f.Kind.HTTPStatus()
		bufs.out = wire.AppendError(bufs.out[:0], c.protocol, f, c.models(f.Kind))
	}
	h := w.Header()
	h["X-Amzn-Requestid"] = []string{c.requestID}
	// The clock that judges signatures tells the time: clients correct theirs by it.
	h["Date"] = []string{d.clock.Now().UTC().Format(http.TimeFormat)}
	h["Content-Length"] = []string{strconv.Itoa(len(bufs.out))}
	if c.protocol == wire.CBOR {
		h["Smithy-Protocol"] = cborProtocolValue // without it, clients do not even read an error
		if len(bufs.out) > 0 {
			h["Content-Type"] = cborTypeValue
		}
	} else {
		h["Content-Type"] = jsonTypeValue
	}
	w.WriteHeader(status)
	_, _ = w.Write(bufs.out) // a client that has gone needs no answer
}
