package console

import (
	"strconv"
	"time"

	"github.com/muster-gg/muster/internal/listen/sse"
)

const (
	// livePause is the least time between two signals to a page: a page is read again no more often, however much
	// changes.
	livePause = 500 * time.Millisecond

	// liveBeat is the longest time without a signal: for what changes without an event of this node, such as what the
	// other nodes of a cluster own, and the times that a page shows.
	liveBeat = 5 * time.Second
)

// live tells a page when the region has changed. It carries no content: the page is read again, with whatever the
// person may see by then.
func live(v *visit) error {
	changed, end := v.h.Region.Changes()
	defer end()
	signals := int64(-1)
	v.signal(changed, livePause, func() int64 {
		signals++
		return signals
	})
	return nil
}

// signal sends a number after each change until the browser has gone, or the handler stops.
func (v *visit) signal(changed <-chan struct{}, pause time.Duration, number func() int64) {
	stream := sse.Start(v.w)
	defer stream.End()
	pace := sse.Pace{Clock: v.h.Clock, Changed: changed, Stop: v.h.stopping, Pause: pause, Beat: liveBeat}
	more := stream.Retry(time.Second) && stream.Send(sse.Event{Name: "open"})
	for more && pace.Wait(v.r.Context()) {
		more = stream.Send(sse.Event{Name: "changed", Data: strconv.AppendInt(nil, number(), 10)})
	}
}
