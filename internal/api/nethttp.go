package api

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/http1"
)

// bodyTime is how long the body of a request may take to arrive.
const bodyTime = 20 * time.Second

// A buffer holds the body of a request.
type buffer struct{ in []byte }

var buffers = sync.Pool{New: func() any { return &buffer{in: make([]byte, 0, 4<<10)} }}

// release gives the buffer back for another request, unless it has grown large.
func (b *buffer) release() {
	const large = 256 << 10
	if cap(b.in) <= large {
		b.in = b.in[:0]
		buffers.Put(b)
	}
}

// ServeHTTP answers one AWS call that was read by net/http.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in, a := buffers.Get().(*buffer), http1.TakeAnswer()
	defer in.release()
	defer a.Release()
	request := http1.Of(r)
	d.call(r.Context(), &request, func() ([]byte, error) {
		err := in.readBody(w, r)
		return in.in, err
	}, a)
	h := w.Header()
	for _, f := range a.Header {
		h[f.Name] = []string{f.Value}
	}
	h["Content-Length"] = []string{strconv.Itoa(len(a.Body()))}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body()) // a client that has gone needs no answer
}

// readBody reads the whole body into b.in.
func (b *buffer) readBody(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	conn := http.NewResponseController(w)
	// A writer that knows no deadlines belongs to a server that sets its own.
	_ = conn.SetReadDeadline(time.Now().Add(bodyTime))
	defer func() { _ = conn.SetReadDeadline(time.Time{}) }()
	if r.ContentLength > MaxBody {
		return tooLarge(r)
	}
	if err := b.fill(r.Body); err != nil {
		return &fault.Error{Kind: fault.Serialization, Message: "The body of the request did not arrive in whole.", Err: err}
	}
	if len(b.in) > MaxBody {
		return tooLarge(r)
	}
	return nil
}

// fill reads from r until its end, or just beyond MaxBody. Memory grows with
// what arrives, not with what is announced.
func (b *buffer) fill(r io.Reader) error {
	for len(b.in) <= MaxBody {
		if len(b.in) == cap(b.in) {
			b.in = append(b.in, 0)[:len(b.in)]
		}
		n, err := r.Read(b.in[len(b.in):min(cap(b.in), MaxBody+1)])
		b.in = b.in[:len(b.in)+n]
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tooLarge refuses a body. It takes in as much again: a client that is still
// sending when the connection closes would not see the answer.
func tooLarge(r *http.Request) error {
	_, _ = io.CopyN(io.Discard, r.Body, MaxBody)
	return fault.New(fault.InvalidRequest, "The body of the request is larger than %d bytes.", MaxBody)
}
