package session

import (
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
)

// A dispatcher delivers events to subscribers, in order, in one goroutine, which runs while events are queued.
//
// Its queue has no limit: an event answers a call of the game, or reports one of a ticket's few changes, so that the
// game itself limits them; and the game would wait for ever for a dropped completion.
type dispatcher struct {
	log *slog.Logger // for panics of subscribers

	mu          sync.Mutex
	queue       []queued
	published   uint64 // events so far
	subscribers []*subscriber
	idle        chan struct{} // closed when the goroutine ends; nil while there is none
}

type queued struct {
	event  Event
	number uint64
}

type subscriber struct {
	receive func(Event)
	from    uint64 // number of the first event to deliver
	removed bool
}

// subscribe calls receive with all events from now on.
func (d *dispatcher) subscribe(receive func(Event)) (unsubscribe func()) {
	s := &subscriber{receive: receive}
	d.mu.Lock()
	defer d.mu.Unlock()
	s.from = d.published
	d.subscribers = append(d.subscribers, s)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		s.removed = true
		d.subscribers = slices.DeleteFunc(d.subscribers, func(other *subscriber) bool { return other == s })
	}
}

// publish queues an event.
func (d *dispatcher) publish(e Event) { d.complete(e, func() {}) }

// complete queues an event and calls done, which must be quick, before it is delivered.
func (d *dispatcher) complete(e Event, done func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue = append(d.queue, queued{e, d.published})
	d.published++
	done()
	if d.idle == nil {
		d.idle = make(chan struct{})
		go d.run(d.idle)
	}
}

// run delivers the queued events.
func (d *dispatcher) run(idle chan struct{}) {
	defer close(idle)
	for {
		e, subscribers, ok := d.take()
		if !ok {
			return
		}
		d.deliver(e, subscribers)
	}
}

// take removes the first event from the queue, and returns it with the subscribers.
func (d *dispatcher) take() (first queued, _ []*subscriber, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 {
		d.queue, d.idle = nil, nil
		return first, nil, false
	}
	first = d.queue[0]
	d.queue = d.queue[1:]
	return first, slices.Clone(d.subscribers), true
}

func (d *dispatcher) deliver(e queued, subscribers []*subscriber) {
	for _, s := range subscribers {
		if e.number >= s.from && d.present(s) {
			d.call(s, e.event)
		}
	}
}

func (d *dispatcher) present(s *subscriber) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !s.removed
}

// call calls a subscriber. A subscriber that panics misses only this event.
func (d *dispatcher) call(s *subscriber, e Event) {
	defer func() {
		if v := recover(); v != nil {
			d.log.Error("subscriber panicked", "event", e, "panic", v, "stack", string(debug.Stack()))
		}
	}()
	s.receive(e)
}

// wait waits until all events have been delivered, or ctx is done.
func (d *dispatcher) wait(ctx context.Context) error {
	d.mu.Lock()
	idle := d.idle
	d.mu.Unlock()
	if idle == nil {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
