package listen

import (
	"errors"
	"os"
	"sync"
	"time"
)

// A watch reads ahead from a connection whose request takes long to answer, so that the end of the connection cancels
// the request. The connection's own goroutine is with the handler meanwhile.
type watch struct {
	timer *time.Timer // starts it
	ahead chan []byte // what was read, once the watch is over

	mu   sync.Mutex
	over bool // the request has been answered
}

// begin starts the watch after a while.
func (w *watch) begin(c *conn) {
	if w.timer == nil {
		w.ahead = make(chan []byte, 1)
		w.timer = time.AfterFunc(watchAfter, func() { w.ahead <- w.look(c) })
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
	_ = c.nc.SetReadDeadline(time.Unix(1, 0)) // ends its read
	w.mu.Unlock()
	c.buf = append(c.buf, <-w.ahead...)
	w.over = false
	c.wait = forever // so that the deadline is set anew
}

// look reads once, and cancels the request when the connection has ended.
func (w *watch) look(c *conn) []byte {
	if !w.unlimited(c) {
		return nil
	}
	ahead := make([]byte, 64)
	n, err := c.nc.Read(ahead)
	if n == 0 && err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.cancel()
	}
	return ahead[:n]
}

// unlimited lets reads take as long as they like, and reports false when the request has been answered.
func (w *watch) unlimited(c *conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		_ = c.nc.SetReadDeadline(time.Time{})
	}
	return !w.over
}
