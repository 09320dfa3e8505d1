package outbox

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// batchSize is how many sockets a writer takes at a time, and how many must wait per writer before another one starts.
const batchSize = 64

// Writers are the goroutines that write to the connections of an endpoint: as many as there is work for, at most one
// per processor, and none without work. They never block on a peer. Because shards do not write replies themselves,
// they continue, and replies to one socket at about the same time are sent in one write.
type Writers struct {
	Running *sync.WaitGroup // counts them, beside the other goroutines of the endpoint

	mu     sync.Mutex
	dirty  []*Outbox // with something to write
	number int       // of goroutines
}

// call schedules a socket for writing.
func (w *Writers) call(s *Outbox) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dirty = append(w.dirty, s)
	if len(w.dirty) > w.number*batchSize && w.number < runtime.GOMAXPROCS(0) {
		w.number++
		w.Running.Add(1)
		go w.run()
	}
}

// run writes until there is nothing left to write.
func (w *Writers) run() {
	defer w.Running.Done()
	now := newInstantWriter()
	var sockets [batchSize]*Outbox
	for {
		n := w.take(sockets[:])
		if n == 0 {
			return
		}
		for _, s := range sockets[:n] {
			s.write(now)
		}
		clear(sockets[:n])
	}
}

// take fills sockets with the next ones. If there are none, the writer ends.
func (w *Writers) take(sockets []*Outbox) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := copy(sockets, w.dirty)
	w.dirty = slices.Delete(w.dirty, 0, n)
	if n == 0 {
		w.number--
	}
	return n
}

// Wait waits until nothing that Running counts is left. The error is ctx's.
func (w *Writers) Wait(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		w.Running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Waiting returns how many connections wait for a writer.
func (w *Writers) Waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.dirty)
}
