package remote

import (
	"math/rand/v2"
	"time"
)

// A pace is the schedule of a poller.
type pace struct {
	first, limit time.Duration // of the pause after successful calls
	slow         time.Duration // limit of the pause after failed and throttled calls
}

var (
	// sessionPace is for game sessions and placements, which are ready within seconds.
	sessionPace = pace{first: 250 * time.Millisecond, limit: 2 * time.Second, slow: 15 * time.Second}
	// ticketPace is for matchmaking tickets. Source: API reference, DescribeMatchmaking: at most once every 10 seconds.
	ticketPace = pace{first: 10 * time.Second, limit: 10 * time.Second, slow: time.Minute}
)

// next returns the pause after pause, which is 0 at first.
func (p pace) next(pause time.Duration) time.Duration {
	if pause == 0 {
		return p.first
	}
	return min(max(pause+pause/2, p.first), max(p.limit, p.first))
}

// slower returns the pause after a failed or throttled call.
func (p pace) slower(pause time.Duration) time.Duration {
	return min(2*max(pause, p.first), p.slow)
}

// jitter lengthens a pause by up to 20 %, so that gateways do not poll in step.
func jitter(pause time.Duration) time.Duration {
	return pause + rand.N(pause/5+1)
}
