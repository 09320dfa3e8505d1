package remote

import (
	"math/rand/v2"
	"time"
)

// A pace says how long to wait before the same thing is asked for again.
type pace struct {
	first, limit time.Duration // of the pause while all is well
	slow         time.Duration // limit of the pause while the service asks to slow down
}

var (
	// sessionPace is for game sessions and placements: they are ready within
	// seconds, and a player waits.
	sessionPace = pace{first: 250 * time.Millisecond, limit: 2 * time.Second, slow: 15 * time.Second}
	// ticketPace is for matchmaking tickets. Source: API reference,
	// DescribeMatchmaking: not more than once every 10 seconds.
	ticketPace = pace{first: 10 * time.Second, limit: 10 * time.Second, slow: time.Minute}
)

// next is the pause that follows pause; 0 for the first.
func (p pace) next(pause time.Duration) time.Duration {
	if pause == 0 {
		return p.first
	}
	return min(max(pause+pause/2, p.first), max(p.limit, p.first))
}

// slower is the pause after an answer that asks to slow down.
func (p pace) slower(pause time.Duration) time.Duration {
	return min(2*max(pause, p.first), p.slow)
}

// jitter lengthens a pause by up to a fifth, so that many gateways do not ask in
// step. It never shortens one.
func jitter(pause time.Duration) time.Duration {
	return pause + rand.N(pause/5+1)
}
