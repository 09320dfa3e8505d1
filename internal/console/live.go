package console

import (
	"fmt"
	"io"
	"net/http"
	"time"
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
	flush := http.NewResponseController(v.w)
	header := v.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no")
	changed, end := v.h.Region.Changes()
	defer end()
	if _, err := io.WriteString(v.w, "retry: 1000\nevent: open\ndata:\n\n"); err != nil {
		return nil
	}
	for n := 0; flush.Flush() == nil; n++ {
		select {
		case <-changed:
		case <-v.h.Clock.After(liveBeat):
		case <-v.ctx.Done():
			return nil
		}
		if _, err := fmt.Fprintf(v.w, "event: changed\ndata: %d\n\n", n); err != nil {
			return nil // the browser has gone
		}
		if err := flush.Flush(); err != nil {
			return nil
		}
		select {
		case <-v.h.Clock.After(livePause):
		case <-v.ctx.Done():
			return nil
		}
	}
	return nil
}
