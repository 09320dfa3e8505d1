package gateway

import (
	"net"
	"net/http"
	"sync"
)

// streams counts the event streams that are open: each holds a connection and a
// watch for as long as its client wants, so they are limited, in all and for each
// caller.
type streams struct {
	most, mostEach int

	mu   sync.Mutex
	open int
	by   map[string]int
}

// take takes a place for a stream; false when there is none.
func (s *streams) take(caller string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= s.most || s.by[caller] >= s.mostEach {
		return false
	}
	if s.by == nil {
		s.by = make(map[string]int)
	}
	s.open++
	s.by[caller]++
	return true
}

// release gives a place back.
func (s *streams) release(caller string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.by[caller]--; s.by[caller] == 0 {
		delete(s.by, caller)
	}
}

// hostOf is the Config.Caller that is used by default.
func hostOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
