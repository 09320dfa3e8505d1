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

	writeTime = 10 * time.Second // real time, for a signal
)

// live tells a page when the region has changed. It carries no content: the page is read again, with whatever the
// person may see by then.
func live(v *visit) error {
	control := http.NewResponseController(v.w)
	_ = control.SetReadDeadline(time.Time{}) // a stream is long
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }()
	header := v.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no")
	changed, end := v.h.Region.Changes()
	defer end()
	send := func(text string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(writeTime)) // limits a browser that does not read
		_, err := io.WriteString(v.w, text)
		return err == nil && control.Flush() == nil
	}
	text := "retry: 1000\nevent: open\ndata:\n\n"
	for n := 0; send(text); n++ {
		text = fmt.Sprintf("event: changed\ndata: %d\n\n", n)
		select {
		case <-changed:
		case <-v.h.Clock.After(liveBeat):
		case <-v.h.stopping:
			return nil
		case <-v.r.Context().Done():
			return nil
		}
		select {
		case <-v.h.Clock.After(livePause):
		case <-v.h.stopping:
			return nil
		case <-v.r.Context().Done():
			return nil
		}
	}
	return nil // the browser has gone
}
