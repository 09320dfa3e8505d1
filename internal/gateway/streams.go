package gateway

import (
	"net"
	"net/http"
	"sync"
)

// streams limits the open event streams, in total and per caller: each holds a connection and a watch until its client
// disconnects.
type streams struct {
	most, mostEach int

	mu   sync.Mutex
	open int
	by   map[string]int
}

// take counts a stream; false if a limit is reached.
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

// release ends the counting of a stream.
func (s *streams) release(caller string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.by[caller]--; s.by[caller] == 0 {
		delete(s.by, caller)
	}
}

// hostOf is the default Config.Caller.
func hostOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
