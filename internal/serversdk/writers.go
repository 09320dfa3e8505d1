package serversdk

import (
	"runtime"
	"slices"
	"sync"
)

// handful is how many sockets a writer takes at a time, and how many have to wait
// for each writer before another one starts.
const handful = 64

// writers are the goroutines that write to the sockets of a door: as many as
// there is work for, at most one for each processor, and none while all is quiet.
// None ever waits for a peer. That replies are written by others than those who
// make them keeps the shard going, and lets replies to one socket that are made
// at about the same time leave in one write.
type writers struct {
	running *sync.WaitGroup

	mu     sync.Mutex
	dirty  []*socket // those with something to write
	number int       // of goroutines
}

// call sees that a writer comes by at a socket, once.
func (w *writers) call(s *socket) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dirty = append(w.dirty, s)
	if len(w.dirty) > w.number*handful && w.number < runtime.GOMAXPROCS(0) {
		w.number++
		w.running.Add(1)
		go w.run()
	}
}

// run writes until there is nothing left to write.
func (w *writers) run() {
	defer w.running.Done()
	now := newInstant()
	var sockets [handful]*socket
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

// take takes the next sockets. Without any the writer is no more.
func (w *writers) take(sockets []*socket) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := copy(sockets, w.dirty)
	w.dirty = slices.Delete(w.dirty, 0, n)
	if n == 0 {
		w.number--
	}
	return n
}
