// Package netcut stands between processes of a test: a Wire that the test cuts and mends, in one direction or both, and
// a Balancer that leads connections to nodes that are ready.
package netcut

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
)

// A Way is a direction of a Wire.
type Way int

// The ways. They can be added.
const (
	Forth Way = 1 << iota // from who dials
	Back                  // to who dials
	Both  = Forth | Back
)

// A Wire takes TCP connections and leads each to another address. Where it is cut nothing comes through, as in a
// network that loses every packet: no connection is closed, and what was sent comes when it is mended, if both ends
// still wait for it then. A connection that is made meanwhile hangs. Any goroutine may use it.
type Wire struct {
	to       string
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	cut    Way
	mended chan struct{} // closed when something is mended, and made anew
	closed bool
	ends   map[net.Conn]bool
}

// NewWire makes a wire that leads to an address and is not cut. The test's end closes it.
func NewWire(t testing.TB, to string) *Wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &Wire{to: to, listener: listener, mended: make(chan struct{}), ends: map[net.Conn]bool{}}
	w.running.Go(w.accept)
	t.Cleanup(w.close)
	return w
}

// Addr is where the wire begins.
func (w *Wire) Addr() string { return w.listener.Addr().String() }

// Cut cuts the wire, and leaves the other way as it is.
func (w *Wire) Cut(way Way) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut |= way
}

// Mend undoes Cut.
func (w *Wire) Mend(way Way) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut &^= way
	close(w.mended)
	w.mended = make(chan struct{})
}

// close ends all connections.
func (w *Wire) close() {
	w.mu.Lock()
	w.closed = true
	ends := w.ends
	w.ends = map[net.Conn]bool{}
	close(w.mended)
	w.mended = make(chan struct{})
	w.mu.Unlock()
	w.listener.Close()
	for c := range ends {
		c.Close()
	}
	w.running.Wait()
}

// keep has a connection closed with the wire; false, and it is closed at once, when that is closed already.
func (w *Wire) keep(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		c.Close()
		return false
	}
	w.ends[c] = true
	return true
}

func (w *Wire) drop(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.ends, c)
	c.Close()
}

// pass waits until a way is not cut; false when the wire is closed.
func (w *Wire) pass(way Way) bool {
	for {
		w.mu.Lock()
		free, closed, mended := w.cut&way == 0, w.closed, w.mended
		w.mu.Unlock()
		if free || closed {
			return !closed
		}
		<-mended
	}
}

func (w *Wire) accept() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		if w.keep(near) {
			w.running.Go(func() { w.lead(near) })
		}
	}
}

// lead is the whole life of a connection.
func (w *Wire) lead(near net.Conn) {
	defer w.drop(near)
	if !w.pass(Both) { // a handshake takes both ways
		return
	}
	far, err := net.Dial("tcp", w.to)
	if err != nil || !w.keep(far) {
		return
	}
	defer w.drop(far)
	var back sync.WaitGroup
	back.Go(func() { w.carry(near, far, Back, Forth) })
	w.carry(far, near, Forth, Back)
	back.Wait()
}

// carry forwards what comes from one end to the other, and in the end that nothing more comes. That the other end takes
// nothing any more goes the other way.
func (w *Wire) carry(to, from net.Conn, way, against Way) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if !w.pass(way) {
			return
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				if w.pass(against) {
					from.Close()
				}
				return
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			_ = to.(*net.TCPConn).CloseWrite() // an end that has gone needs no word of it
			return
		case err != nil:
			to.Close()
			return
		}
	}
}
