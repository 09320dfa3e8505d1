package console

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/control/access"
)

// A followedNode has a log that is followed: it writes what comes from the channel.
type followedNode struct {
	*world
	lines chan string
	query chan string // of the request that follows
}

func (n followedNode) ServeLocal(w http.ResponseWriter, r *http.Request, id *access.Identity,
	from access.Origin,
) error {
	if r.URL.Query().Get("follow") != "true" {
		return n.world.ServeLocal(w, r, id, from)
	}
	n.query <- r.URL.RawQuery
	for {
		select {
		case text := <-n.lines:
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				return err
			}
		case <-r.Context().Done():
			return nil
		}
	}
}

// TestLogLive signals how many lines have come, and only once for many.
func TestLogLive(t *testing.T) {
	node := followedNode{lines: make(chan string), query: make(chan string, 1)}
	w := newWorld(t, func(c *Config) {
		node.world = c.Requests.(*world)
		c.Requests = node
	})
	w.answers["GET /v1/logs"] = ""
	w.shows("GET", "/console/log?level=warn&text=a%26b", nil, 200,
		`data-stream="/console/log/live?level=warn&amp;text=a%26b"`)
	answer := w.openLive("/console/log/live?level=warn&text=a%26b")
	// come writes lines, and lets the pause after them pass. The timers are that of the beat, and the pause.
	come := func(text string) {
		t.Helper()
		node.lines <- text
		if err := w.clock.BlockUntilContext(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(logPause)
	}
	w.reads(answer, "retry: 1000\n\nevent: open\ndata: \n\n")
	if q := <-node.query; q != "follow=true&level=warn&text=a%26b" {
		t.Errorf("followed %s", q)
	}
	come("{}\n")
	w.reads(answer, "event: changed\ndata: 1\n\n")
	come(strings.Repeat("{}\n", 10_000))
	w.reads(answer, "event: changed\ndata: 10001\n\n")
	w.h.Stop()
	if rest, err := io.ReadAll(answer.Body); err != nil || len(rest) > 0 {
		t.Errorf("after the end: %q, %v", rest, err)
	}
	w.fails["GET /v1/logs"] = denied
	w.shows("GET", "/console/log/live", nil, 403)
}
