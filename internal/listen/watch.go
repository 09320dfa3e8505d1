package listen

import (
	"errors"
	"os"
	"sync"
	"time"
)

// A watch reads ahead from a connection whose request takes long to answer, so that the end of the connection cancels
// the request. Meanwhile the connection's own goroutine runs the handler.
type watch struct {
	timer *time.Timer // starts it
	ahead chan []byte // the bytes read, when the watch has ended

	mu   sync.Mutex
	over bool // the request has been answered
}

// begin starts the watch after watchAfter.
func (w *watch) begin(c *conn) {
	if w.timer == nil {
		w.ahead = make(chan []byte, 1)
		w.timer = time.AfterFunc(watchAfter, func() { w.ahead <- w.readAhead(c) })
		return
	}
	w.timer.Reset(watchAfter)
}

// end ends the watch and appends what it has read to the connection's buffer.
func (w *watch) end(c *conn) {
	if w.timer.Stop() {
		return // it has not begun, as with nearly all requests
	}
	w.mu.Lock()
	w.over = true
	_ = c.nc.SetReadDeadline(time.Unix(1, 0)) // interrupts its read
	w.mu.Unlock()
	c.buf = append(c.buf, <-w.ahead...)
	w.over = false
	c.wait = forever // so that the deadline is set again
}

// readAhead reads once, and cancels the request if the connection has ended.
func (w *watch) readAhead(c *conn) []byte {
	if !w.clearDeadline(c) {
		return nil
	}
	ahead := make([]byte, 64)
	n, err := c.nc.Read(ahead)
	if n == 0 && err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.cancel()
	}
	return ahead[:n]
}

// clearDeadline removes the deadline of reads, or returns false if the request has been answered.
func (w *watch) clearDeadline(c *conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		_ = c.nc.SetReadDeadline(time.Time{})
	}
	return !w.over
}
