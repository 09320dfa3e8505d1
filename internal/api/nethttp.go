package api

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	// bodyTime is how long the body of a request may take to arrive.
	bodyTime = 20 * time.Second

	// writeTime is how long an answer may take to be written.
	writeTime = 30 * time.Second

	// largeBody is the size of a body, in bytes, above which a request must have a Content-Length and a valid access
	// key before the body is read.
	largeBody = listen.MaxBody
)

// A buffer holds the body of a request.
type buffer struct {
	in      []byte
	bodies  *listen.Budget
	charged int // in bodies
}

var buffers = sync.Pool{New: func() any { return &buffer{in: make([]byte, 0, 4<<10)} }}

// release returns the buffer to the pool, unless it has grown large.
func (b *buffer) release() {
	b.bodies.Give(b.charged)
	b.bodies, b.charged = nil, 0
	if cap(b.in) <= largeBody {
		b.in = b.in[:0]
		buffers.Put(b)
	}
}

// ServeHTTP answers an AWS call that was read by net/http.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in, a := buffers.Get().(*buffer), listen.TakeAnswer()
	in.bodies = e.bodies
	defer in.release()
	defer a.Release()
	request := listen.RequestOf(r)
	// A writer without deadlines belongs to a server that sets its own.
	conn := http.NewResponseController(w)
	e.call(r.Context(), &request, func() ([]byte, error) {
		err := e.readBody(in, conn, r, &request)
		return in.in, err
	}, a)
	if a.Dropped() {
		panic(http.ErrAbortHandler) // closes the connection
	}
	h := w.Header()
	for _, f := range a.Header {
		h[f.Name] = []string{f.Value}
	}
	h["Content-Length"] = []string{strconv.Itoa(len(a.Body()))}
	_ = conn.SetWriteDeadline(time.Now().Add(writeTime))
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body()) // the client may have closed the connection
}

// readBody reads the whole body into b. The rest of a rejected body is discarded, within the same time: a client that
// is still sending when the connection closes would not see the answer.
func (e *Endpoint) readBody(b *buffer, conn *http.ResponseController, r *http.Request, request *listen.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	_ = conn.SetReadDeadline(time.Now().Add(bodyTime))
	err := e.checkBody(request)
	if err == nil {
		err = b.fill(r.Body, request.ContentLength)
	}
	if err != nil {
		_, _ = io.CopyN(io.Discard, r.Body, MaxBody)
		return err
	}
	_ = conn.SetReadDeadline(time.Time{})
	return nil
}

// checkBody rejects a body by the head of its request.
func (e *Endpoint) checkBody(r *listen.Request) error {
	switch {
	case r.ContentLength > MaxBody:
		return tooLarge(MaxBody)
	case r.ContentLength > largeBody:
		return e.verifier.Check(r, e.clock.Now())
	default:
		return nil
	}
}

// fill reads from r until its end, but not far beyond size, which is -1 if unknown. Memory grows with the received
// bytes, not with the announced size, and within the budget.
func (b *buffer) fill(r io.Reader, size int64) error {
	most := int(size)
	if size < 0 {
		most = largeBody
	}
	for {
		if !b.grow(most + 1) {
			return fault.New(fault.Throttling, "Too many large requests at a time. Try again later.")
		}
		n, err := r.Read(b.in[len(b.in):min(cap(b.in), most+1)])
		b.in = b.in[:len(b.in)+n]
		switch {
		case len(b.in) > most:
			return tooLarge(most)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			const message = "The body of the request did not arrive in whole."
			return &fault.Error{Kind: fault.Serialization, Message: message, Err: err}
		}
	}
}

// grow makes room for another read, of most bytes in total, and reports whether the budget allows it.
func (b *buffer) grow(most int) bool {
	size := cap(b.in)
	if len(b.in) == size {
		size = min(2*size, most)
	}
	if more := size - b.charged; more > 0 {
		if !b.bodies.Take(more) {
			return false
		}
		b.charged = size
	}
	if size > cap(b.in) {
		b.in = append(make([]byte, 0, size), b.in...)
	}
	return true
}

// tooLarge rejects a body of more than most bytes.
func tooLarge(most int) error {
	if most < MaxBody {
		return fault.New(fault.InvalidRequest,
			"The body of the request is larger than %d bytes, and has no Content-Length header.", most)
	}
	return fault.New(fault.InvalidRequest, "The body of the request is larger than %d bytes.", most)
}
