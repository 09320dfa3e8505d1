package gamenet

import (
	"sync"
	"time"
)

// A reporter logs failures that any host of the network can cause, each kind once a second at most.
type reporter struct {
	mu    sync.Mutex
	kinds map[string]*reported
}

type reported struct {
	at     time.Time
	silent int // since then
}

// report logs a failure, unless one of its kind was logged just now.
func (s *service) report(kind string, err error) {
	const interval = time.Second
	now := s.cfg.Clock.Now()
	r := &s.reporter
	r.mu.Lock()
	last := r.kinds[kind]
	if last != nil && now.Sub(last.at) < interval {
		last.silent++
		r.mu.Unlock()
		return
	}
	silent := 0
	if last != nil {
		silent = last.silent
	}
	if r.kinds == nil {
		r.kinds = make(map[string]*reported)
	}
	r.kinds[kind] = &reported{at: now}
	r.mu.Unlock()
	s.cfg.Log.Warn(kind, "error", err, "not_logged", silent)
}
