package gamenet

import (
	"cmp"
	"sync"
	"time"
)

// longestCork limits how long packets sent by callbacks are held back while more received packets wait, without
// FlushDelay.
const longestCork = time.Millisecond

// A delayer flushes the sessions that hold packets back: for Config.FlushDelay, or because more received packets wait
// for their callbacks. One timer serves all sessions added since it was set.
type delayer struct {
	service *service

	mu       sync.Mutex
	sessions []*Session
	spare    []*Session
	armed    bool
	running  sync.WaitGroup
	closed   bool
}

// add schedules a flush of the session within the delay.
func (d *delayer) add(s *Session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return // the session is closing, which writes everything
	}
	d.sessions = append(d.sessions, s)
	if !d.armed {
		d.armed = true
		d.service.cfg.clock.AfterFunc(cmp.Or(d.service.cfg.FlushDelay, longestCork), d.fire)
	}
}

// fire flushes all waiting sessions.
func (d *delayer) fire() {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return
	}
	d.running.Add(1)
	defer d.running.Done()
	sessions := d.sessions
	d.sessions, d.spare, d.armed = d.spare[:0], nil, false
	d.mu.Unlock()
	for i, s := range sessions {
		s.flushDelayed()
		sessions[i] = nil
	}
	d.mu.Lock()
	d.spare = sessions[:0]
	d.mu.Unlock()
}

// close waits until no flush is running.
func (d *delayer) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.running.Wait()
}
