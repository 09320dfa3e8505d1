package api

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/fault"
)

// bodyTime is how long the body of a request may take to arrive.
const bodyTime = 20 * time.Second

// buffers holds the bodies of one request and its answer.
type buffers struct{ in, out []byte }

var pool = sync.Pool{New: func() any {
	return &buffers{in: make([]byte, 0, 4<<10), out: make([]byte, 0, 8<<10)}
}}

func takeBuffers() *buffers { return pool.Get().(*buffers) }

// release gives the buffers back for another request, unless they have grown
// large.
func (b *buffers) release() {
	const large = 256 << 10
	if cap(b.in) <= large && cap(b.out) <= large {
		b.in, b.out = b.in[:0], b.out[:0]
		pool.Put(b)
	}
}

// readBody reads the whole body into b.in.
func (b *buffers) readBody(w http.ResponseWriter, r *http.Request) error {
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
func (b *buffers) fill(r io.Reader) error {
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
