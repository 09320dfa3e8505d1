package control

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/memory"
)

// A narrowFeed takes no large records.
type narrowFeed struct {
	journal.Feed
	most int
}

func (f narrowFeed) Append(ctx context.Context, id string, data []byte) (uint64, error) {
	if len(data) > f.most {
		return 0, journal.ErrTooLarge
	}
	return f.Feed.Append(ctx, id, data)
}

// An event that fits in no record of the feed is lost, and no other one.
func TestEventTooLarge(t *testing.T) {
	feed := memory.NewFeed()
	a := matchmakers(t, 0, func(w *world) { w.config.Feed = narrowFeed{feed, 2000} })
	for i, player := range []string{"p1", strings.Repeat("x", 1000), "p3"} { // events name a player twice
		a.seek("duel", fmt.Sprint("t", i), player)
		a.must("StopMatchmaking", object{"TicketId": fmt.Sprint("t", i)})
	}
	a.await("the last event", func() bool {
		var all bytes.Buffer
		err := feed.Read(a.ctx, 0, func(_ uint64, data []byte) bool {
			all.Write(data)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		events := all.String()
		return strings.Contains(events, `"ticketId":"t0"`) && strings.Contains(events, `"ticketId":"t2"`) &&
			!strings.Contains(events, `"ticketId":"t1"`)
	})
}
