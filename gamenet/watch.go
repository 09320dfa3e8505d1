package gamenet

import (
	"sync/atomic"
	"time"
)

// watched is the state of a session for the watch: its activity, pings and timeouts.
type watched struct {
	received atomic.Bool  // something was received since the last look
	started  atomic.Bool  // a packet of the game was received
	unsure   atomic.Bool  // the reader waits on the count of bytes left alone, see nudge
	pinged   atomic.Int64 // when the last ping was sent, in Unix nanoseconds; 0 for never
	rtt      atomic.Int64 // in nanoseconds

	// Used by the watch; since is set by opened.
	since    atomic.Int64 // when the session was opened, in Unix nanoseconds; 0 before
	last     int64        // when something was last received
	lastPing int64        // when the last ping was sent
}

// mark sets a flag. It loads first, because the flag is usually set and a load is cheaper.
func mark(flag *atomic.Bool) {
	if !flag.Load() {
		flag.Store(true)
	}
}

func (w *watched) opened(now time.Time) { w.since.Store(now.UnixNano()) }

// watch checks all sessions periodically for timeouts and pings, so that receiving only sets a flag instead of a timer.
func (s *service) watch(stop <-chan struct{}) {
	ticker := s.cfg.clock.NewTicker(s.watchStep())
	defer ticker.Stop()
	var sessions []*Session // used again in each step
	for {
		select {
		case <-stop:
			return
		case now := <-ticker.Chan():
			sessions = s.appendSessions(sessions[:0])
			for _, session := range sessions {
				session.look(now)
			}
			clear(sessions)
		}
	}
}

// watchStep returns a quarter of the shortest limit, at most the interval of nudges.
func (s *service) watchStep() time.Duration {
	const nudging = 250 * time.Millisecond
	shortest := 4 * nudging
	for _, d := range []time.Duration{s.cfg.FirstPacketTimeout, s.cfg.IdleTimeout, s.cfg.PingInterval} {
		if d > 0 && d < shortest {
			shortest = d
		}
	}
	return max(shortest/4, time.Millisecond)
}

// look ends a session that has been silent for too long, and sends a ping before that.
func (s *Session) look(now time.Time) {
	w, cfg, at := &s.watched, &s.service.cfg, now.UnixNano()
	since := w.since.Load()
	if since == 0 || s.over.Load() {
		return
	}
	if w.received.Swap(false) || w.last == 0 {
		w.last = at
	} else if w.unsure.Swap(false) {
		s.nudge()
	}
	silent := time.Duration(at - w.last)
	switch {
	case cfg.FirstPacketTimeout > 0 && !w.started.Load() && time.Duration(at-since) >= cfg.FirstPacketTimeout:
		s.abort(ErrFirstPacket, reasonFirstPacket)
	case cfg.IdleTimeout > 0 && silent >= cfg.IdleTimeout:
		if !s.turn.TryLock() { // a callback runs: nothing is received before it returns
			w.last = at
			return
		}
		s.turn.Unlock()
		s.abort(ErrIdle, reasonIdle)
	case cfg.PingInterval > 0 && silent >= cfg.PingInterval && time.Duration(at-w.lastPing) >= cfg.PingInterval:
		w.lastPing = at
		s.ping(now)
	}
}
