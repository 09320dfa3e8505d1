package gameserver

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Health is reported as the official SDKs do.
// Source: server SDK 5, HEALTHCHECK_INTERVAL, HEALTHCHECK_MAX_JITTER and HEALTHCHECK_TIMEOUT.
const (
	healthInterval = 60 * time.Second
	healthJitter   = 10 * time.Second // more or less
	healthBudget   = 50 * time.Second // for the callback
)

// reportHealth reports at once and then about once a minute, until the Server is closed or the process ends.
func (s *Server) reportHealth(check func() bool) {
	c := &checkup{server: s, check: check}
	for {
		next := s.clock.NewTimer(healthInterval - healthJitter + rand.N(2*healthJitter))
		if s.isEnding() {
			next.Stop()
			return
		}
		s.heartbeat(c.healthy())
		select {
		case <-next.Chan():
		case <-s.done:
			next.Stop()
			return
		}
	}
}

// heartbeat sends one report. That it fails is no reason to end the game: the service decides what a missing report
// means.
func (s *Server) heartbeat(healthy bool) {
	_, err := s.call(context.Background(), heartbeat, requestLimit, struct{ HealthStatus bool }{healthy})
	if err != nil && !errors.Is(err, ErrClosed) {
		s.log.Warn("health report failed", "error", err)
	}
}

// A checkup asks the game server how it is.
type checkup struct {
	server *Server
	check  func() bool // nil: always well
	answer chan bool   // of a call under way; nil if none is
}

// healthy calls the callback and waits for it as long as its budget lasts. A call that hangs is not made twice: the
// next report waits for the same answer.
func (c *checkup) healthy() bool {
	if c.check == nil {
		return true
	}
	if c.answer == nil {
		answer := make(chan bool, 1)
		c.answer = answer
		c.server.callbacks.Go(func() { answer <- c.check() })
	}
	budget := c.server.clock.NewTimer(healthBudget)
	defer budget.Stop()
	select {
	case well := <-c.answer:
		c.answer = nil
		return well
	case <-budget.Chan():
		c.server.log.Warn("health check took too long", "budget", healthBudget)
		return false
	case <-c.server.done:
		return false
	}
}
