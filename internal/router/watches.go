package router

import (
	"sync"
	"sync/atomic"
)

// Watches are the callers that wait for changes of things that keys name. They are notified that something has changed
// and then look at it: a slow one misses the steps in between and never the last one. The zero value is empty.
type Watches[K comparable] struct {
	watched atomic.Int64 // how many there are

	mu sync.Mutex
	of map[K]map[chan struct{}]struct{}
}

// Add begins a watch: the channel holds one when what the key names has changed. The caller ends it.
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

// Notify wakes those who watch what the key names.
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

// NotifyAll wakes everybody, for changes that are not known one by one.
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

// Wake leaves one in a channel of capacity one, unless it is there.
func Wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is about to look
	}
}
