package gamenet

import "time"

// Metrics takes what a service measures. The methods are called from many goroutines at once, some of them with a lock
// held: they must be quick and call nothing of this package. gamenet/netmetrics has one for Prometheus. One value may
// serve several services.
type Metrics interface {
	// Opened is called for each session that got a place, Closed when it has ended, with the cause that OnDisconnected
	// heard: their difference is the number of sessions.
	Opened()
	Closed(cause error)
	// Refused is called for each connection that was turned away: ErrFull, ErrFullAddress or ErrServiceClosed.
	Refused(cause error)
	// Received is called for what one read brought: its bytes, the packets that it completed, and how long their
	// callbacks took together.
	Received(bytes, packets int, callbacks time.Duration)
	// Sent is called for each write: its bytes and packets, and the bytes that are still queued for that session.
	Sent(bytes, packets, queued int)
	// Dropped is called with the number of packets that a full queue has cost.
	Dropped(packets int)
}
