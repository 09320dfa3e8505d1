//go:build unix

package crash

import (
	"net/http"
	"sync"
	"time"
)

// watchedCalls is the transport of the AWS calls, and notes how they end.
type watchedCalls struct {
	http.RoundTripper

	mu      sync.Mutex
	longest time.Duration
	failed  int // answered 500 or 503
	cut     int // without an answer: the connection was cut or refused
}

// RoundTrip makes a call.
func (c *watchedCalls) RoundTrip(request *http.Request) (*http.Response, error) {
	begin := time.Now()
	response, err := c.RoundTripper.RoundTrip(request)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.longest = max(c.longest, time.Since(begin))
	switch {
	case err != nil:
		c.cut++
	case response.StatusCode == http.StatusInternalServerError || response.StatusCode == http.StatusServiceUnavailable:
		c.failed++
	}
	return response, err
}
