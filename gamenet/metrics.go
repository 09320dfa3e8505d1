package gamenet

import "time"

// Metrics receives the measurements of a service. The methods are called from many goroutines concurrently, some of
// them with a lock held: they must be quick and must not call this package. gamenet/netmetrics implements it for
// Prometheus. One value may serve several services.
type Metrics interface {
	// Opened is called for each new session, Closed when it has ended, with the cause that OnDisconnected received:
	// their difference is the number of sessions.
	Opened()
	Closed(cause error)
	// Refused is called for each rejected connection: ErrFull, ErrFullAddress or ErrServiceClosed.
	Refused(cause error)
	// Received is called after each read with its bytes, the packets that it completed, and the total time of their
	// callbacks.
	Received(bytes, packets int, callbacks time.Duration)
	// Sent is called after each write with its bytes and packets, and the bytes still queued for that session.
	Sent(bytes, packets, queued int)
	// Dropped is called with the number of packets dropped because of a full queue.
	Dropped(packets int)
}
