package gamenet

import (
	"sync/atomic"
	"time"
)

// watched is what the watch knows of a session.
type watched struct {
	heard   atomic.Bool  // something was received since the watch last looked
	started atomic.Bool  // a packet of the game was received
	unsure  atomic.Bool  // the reader waits without having seen that nothing is left
	pinged  atomic.Int64 // when the last ping was sent, in Unix nanoseconds; 0 for never
	rtt     atomic.Int64 // in nanoseconds

	// Of the watch, but for the beginning.
	since atomic.Int64 // when it was opened, in Unix nanoseconds; 0 before
	last  int64        // when something was last heard
	asked int64        // when a ping was last asked for
}

// mark sets a flag. Most of the time it is set, and looking is cheaper.
func mark(flag *atomic.Bool) {
	if !flag.Load() {
		flag.Store(true)
	}
}

func (w *watched) opened(now time.Time) { w.since.Store(now.UnixNano()) }

// watch looks at all sessions in steps, for timeouts and pings: so that receiving sets a flag, and no timer.
func (s *service) watch(stop <-chan struct{}) {
	ticker := s.cfg.Clock.NewTicker(s.watchStep())
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

// watchStep is a quarter of the shortest limit, and short enough for nudges.
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

// look ends the session when it has been silent for too long, and asks for a sign of life before that.
func (s *Session) look(now time.Time) {
	w, cfg, at := &s.watched, &s.service.cfg, now.UnixNano()
	since := w.since.Load()
	if since == 0 || s.over.Load() {
		return
	}
	if w.heard.Swap(false) || w.last == 0 {
		w.last = at
	} else if w.unsure.Swap(false) {
		s.nudge()
	}
	silent := time.Duration(at - w.last)
	switch {
	case cfg.FirstPacketTimeout > 0 && !w.started.Load() && time.Duration(at-since) >= cfg.FirstPacketTimeout:
		s.abort(ErrFirstPacket, "no first packet in time")
	case cfg.IdleTimeout > 0 && silent >= cfg.IdleTimeout:
		s.abort(ErrIdle, "nothing received for too long")
	case cfg.PingInterval > 0 && silent >= cfg.PingInterval && time.Duration(at-w.asked) >= cfg.PingInterval:
		w.asked = at
		s.ping(now)
	}
}
