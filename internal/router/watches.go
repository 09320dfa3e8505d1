package router

import (
	"sync"
	"sync/atomic"
)

// Watches notifies callers that wait for changes of things with keys. A notified caller then reads the thing: a slow
// one may miss states in between, but never the last one. The zero value is empty.
type Watches[K comparable] struct {
	watched atomic.Int64 // number of watches

	mu sync.Mutex
	of map[K]map[chan struct{}]struct{}
}

// Add starts a watch: the channel has an element when the thing with this key has changed. The caller calls end.
func (w *Watches[K]) Add(key K) (changed <-chan struct{}, end func()) {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = make(map[K]map[chan struct{}]struct{})
	}
	if w.of[key] == nil {
		w.of[key] = make(map[chan struct{}]struct{}, 1)
	}
	w.of[key][c] = struct{}{}
	w.watched.Add(1)
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.watched.Add(-1)
		if delete(w.of[key], c); len(w.of[key]) == 0 {
			delete(w.of, key)
		}
	}
}

// Any reports whether there is a watch. Without one, an event costs no more than this.
func (w *Watches[K]) Any() bool { return w.watched.Load() > 0 }

// Notify wakes the watches of a key.
func (w *Watches[K]) Notify(key K) {
	if !w.Any() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.of[key] {
		Wake(c)
	}
}

// NotifyAll wakes all watches, for changes that are not known one by one.
func (w *Watches[K]) NotifyAll() {
	if !w.Any() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, watches := range w.of {
		for c := range watches {
			Wake(c)
		}
	}
}

// Wake adds an element to a channel of capacity one, unless it has one.
func Wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // the receiver has yet to read the last one
	}
}
