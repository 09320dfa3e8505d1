// Package outbox writes WebSocket frames to many connections without blocking the callers. Frames are encoded here and
// not by the WebSocket library, so that queued frames are sent in one write, idle connections have no buffer, and a
// Pong is queued instead of waiting for the lock of a blocked write.
package outbox

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/gorilla/websocket"
)

const (
	// MaxQueued limits the bytes queued for a connection. A message of any length is accepted by an empty queue.
	MaxQueued = 4 << 20
	// writeLimit is the time-out of a write.
	writeLimit = 10 * time.Second
	// keptBuffer is the maximum size in bytes of a reused buffer.
	keptBuffer = 64 << 10
)

// A Buffer is reused memory for a message.
type Buffer struct{ Bytes []byte }

var buffers = sync.Pool{New: func() any { return &Buffer{make([]byte, 0, 1024)} }}

// NewBuffer returns an empty buffer.
func NewBuffer() *Buffer {
	b := buffers.Get().(*Buffer)
	b.Bytes = b.Bytes[:0]
	return b
}

// Free returns the buffer for reuse.
func (b *Buffer) Free() {
	if cap(b.Bytes) <= keptBuffer {
		buffers.Put(b)
	}
}

// ReadMessage appends a received message, up to slightly more than limit bytes.
func (b *Buffer) ReadMessage(message io.Reader, limit int) error {
	for len(b.Bytes) <= limit {
		b.Bytes = slices.Grow(b.Bytes, bytes.MinRead)
		n, err := message.Read(b.Bytes[len(b.Bytes):cap(b.Bytes)])
		b.Bytes = b.Bytes[:len(b.Bytes)+n]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// An Outbox is the frames for one connection. Frames may be queued before it is opened.
type Outbox struct {
	writers *Writers
	slow    func()

	mu      sync.Mutex
	conn    net.Conn        // nil until open
	raw     syscall.RawConn // of conn; nil if it has none
	out     *Buffer         // queued frames; nil if there are none
	writing bool            // a writer is scheduled or active
	last    bool            // close after writing out
	closed  bool
}

// Init sets who writes the frames, and what is called after too much was queued. Call it before any other method.
func (o *Outbox) Init(writers *Writers, slow func()) { o.writers, o.slow = writers, slow }

// Open starts writing to a connection, unless the outbox is closed.
func (o *Outbox) Open(conn net.Conn) {
	o.mu.Lock()
	o.conn, o.raw = conn, rawOf(conn)
	closed := o.closed
	o.flush()
	o.mu.Unlock()
	if closed {
		o.Close()
	}
}

// answer answers the Pings and the Close that a connection receives. A Close is echoed, as RFC 6455 section 5.5.1
// requires: server SDK 5 for C# waits for it, and the one for C++ does not reconnect after it.
func (o *Outbox) answer(ws *websocket.Conn) {
	ws.SetPingHandler(func(data string) error {
		o.Enqueue(websocket.PongMessage, []byte(data))
		return nil
	})
	ws.SetCloseHandler(func(code int, _ string) error {
		o.Enqueue(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""))
		o.Finish()
		return nil
	})
}

// Finishing reports whether the outbox will close the connection when everything queued has been written.
func (o *Outbox) Finishing() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last && (o.writing || o.out != nil)
}

// Closed reports whether Close was called.
func (o *Outbox) Closed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed
}

// Close closes the TCP connection without a Close frame and without TLS's close_notify, which could block if the peer
// does not read.
func (o *Outbox) Close() {
	o.mu.Lock()
	o.closed = true
	o.out = nil
	conn := o.conn
	o.mu.Unlock()
	for { // TLS may be wrapped by a connection with bytes read ahead
		outer, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		conn = outer.NetConn()
	}
	if conn != nil {
		_ = conn.Close() // may be closed already
	}
}

// Enqueue queues a frame for writing; false if the outbox is closed. It never blocks. If too much is queued, the outbox
// is closed: the process reconnects and receives everything again.
func (o *Outbox) Enqueue(opcode int, payload []byte) bool {
	o.mu.Lock()
	if o.closed || o.last {
		o.mu.Unlock()
		return false
	}
	if o.out != nil && len(o.out.Bytes)+len(payload) > MaxQueued {
		o.mu.Unlock()
		o.Close()
		o.slow()
		return false
	}
	if o.out == nil {
		o.out = NewBuffer()
	}
	o.out.Bytes = AppendFrame(o.out.Bytes, opcode, payload)
	o.flush()
	o.mu.Unlock()
	return true
}

// Finish closes the socket when everything queued has been written.
func (o *Outbox) Finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = true
	o.flush()
}

// flush schedules a writer if there is something to do. The lock must be held.
func (o *Outbox) flush() {
	if o.writing || o.closed || o.conn == nil || o.out == nil && !o.last {
		return
	}
	o.writing = true
	o.writers.call(o)
}

// write sends what is queued, as far as the connection accepts it. The rest is left to a goroutine that may block.
func (o *Outbox) write(now *instantWriter) {
	for batch := o.next(nil); batch != nil; batch = o.next(batch) {
		sent, err := 0, error(nil)
		if o.raw != nil {
			sent, err = now.write(o.raw, batch.Bytes)
		}
		switch {
		case err != nil:
			o.Close()
		case sent < len(batch.Bytes):
			o.writers.Running.Add(1)
			go o.writeOn(batch, sent)
			return
		}
	}
}

// writeOn sends the rest of a batch, then the queue until it is empty.
func (o *Outbox) writeOn(batch *Buffer, sent int) {
	defer o.writers.Running.Done()
	for ; batch != nil; batch, sent = o.next(batch), 0 {
		// Network deadlines are in real time, even with a fake clock.
		err := o.conn.SetWriteDeadline(time.Now().Add(writeLimit))
		if err == nil {
			_, err = o.conn.Write(batch.Bytes[sent:])
		}
		if err == nil {
			err = o.conn.SetWriteDeadline(time.Time{})
		}
		if err != nil {
			o.Close()
		}
	}
}

// next returns all that is queued and recycles the written batch; nil if there is nothing left to write.
func (o *Outbox) next(written *Buffer) *Buffer {
	o.mu.Lock()
	batch := o.out
	o.out = nil
	o.writing = batch != nil && !o.closed
	writing, last := o.writing, o.last
	o.mu.Unlock()
	if written != nil {
		written.Free()
	}
	if writing {
		return batch
	}
	if last {
		o.Close()
	}
	return nil
}

// AppendFrame appends an unfragmented, unmasked frame. Source: RFC 6455 section 5.2.
func AppendFrame(dst []byte, opcode int, payload []byte) []byte {
	const final = 0x80
	dst = append(dst, final|byte(opcode))
	switch n := len(payload); {
	case n <= 125:
		dst = append(dst, byte(n))
	case n <= 0xffff:
		dst = binary.BigEndian.AppendUint16(append(dst, 126), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, 127), uint64(n))
	}
	return append(dst, payload...)
}
