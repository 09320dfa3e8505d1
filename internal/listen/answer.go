package listen

import (
	"net/http"
	"strconv"
	"sync"
)

// room is the space for the head of the answer before a body, in bytes.
const room = 512

// An Answer is filled in by a [Handler]. [TakeAnswer] returns an empty one.
type Answer struct {
	Status int
	Header Header // without Content-Length and Connection; together less than 400 bytes, or the body is copied
	buf    []byte // room for the head, then the body
	head   []byte
}

var answers = sync.Pool{New: func() any { return &Answer{buf: make([]byte, room, 16<<10)} }}

// TakeAnswer returns an empty answer with status 200.
func TakeAnswer() *Answer {
	a := answers.Get().(*Answer)
	a.Status = http.StatusOK
	return a
}

// Release returns the answer to the pool, unless its body has grown large.
func (a *Answer) Release() {
	const large = 256 << 10
	if cap(a.buf) > large {
		return
	}
	a.buf, a.Header = a.buf[:room], a.Header[:0]
	answers.Put(a)
}

// Add adds a field to the head.
func (a *Answer) Add(name, value string) { a.Header = append(a.Header, Field{name, value}) }

// Drop has the connection closed without the answer. Dropped reports that.
func (a *Answer) Drop() { a.Status = 0 }

// Dropped reports whether the answer is not sent.
func (a *Answer) Dropped() bool { return a.Status == 0 }

// Buffer returns the buffer to which the body is appended. Its present contents must not be changed.
func (a *Answer) Buffer() *[]byte { return &a.buf }

// Body returns the body so far.
func (a *Answer) Body() []byte { return a.buf[room:] }

// Truncate removes the body.
func (a *Answer) Truncate() { a.buf = a.buf[:room] }

// wire returns the answer as it is sent. With last it announces that the connection is closed after it.
func (a *Answer) wire(last bool) []byte {
	h := append(a.head[:0], "HTTP/1.1 "...)
	h = strconv.AppendInt(h, int64(a.Status), 10)
	h = append(append(append(h, ' '), http.StatusText(a.Status)...), "\r\n"...)
	for i := range a.Header {
		h = append(append(h, a.Header[i].Name...), ": "...)
		h = append(append(h, a.Header[i].Value...), "\r\n"...)
	}
	h = append(h, "Content-Length: "...)
	h = strconv.AppendInt(h, int64(len(a.buf)-room), 10)
	if last {
		h = append(h, "\r\nConnection: close"...)
	}
	h = append(h, "\r\n\r\n"...)
	a.head = h
	if len(h) > room {
		return append(h, a.Body()...)
	}
	start := room - len(h)
	copy(a.buf[start:], h)
	return a.buf[start:]
}
