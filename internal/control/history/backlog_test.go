package history

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A brokenHistory takes no batches while it is broken.
type brokenHistory struct {
	journal.History
	err error
}

func (b *brokenHistory) Append(ctx context.Context, data []byte) (uint64, error) {
	if b.err != nil {
		return 0, b.err
	}
	return b.History.Append(ctx, data)
}

// TestOverdue lets ended placements pile up, until new work is refused, and then moves them.
func TestOverdue(t *testing.T) {
	r := newRegion(t, 2)
	r.stop() // it would watch too
	broken := &brokenHistory{r.History.cfg.Entries, errors.New("no quorum")}
	var log bytes.Buffer
	r.History.cfg.Entries, r.History.cfg.MaxOverdue = broken, 4
	r.History.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	var w warnings
	watch := func(records int, late time.Duration, refused bool, warned string) {
		t.Helper()
		log.Reset()
		r.watch(t.Context(), &w)
		if o := r.overdue.Load(); o.Records != records || o.Late != late {
			t.Errorf("%d records, %v late, want %d, %v", o.Records, o.Late, records, late)
		}
		if err := r.Admit(); fault.Is(err, fault.Throttling) != refused {
			t.Errorf("new work: %v, want refused %v", err, refused)
		}
		if text := log.String(); !strings.Contains(text, warned) || warned == "" && text != "" {
			t.Errorf("logged %q, want %q", text, warned)
		}
	}
	r.end("", "a", "b", "c")
	r.clock.Advance(inMemory + maxHold + time.Second)
	r.Move(t.Context())
	watch(0, 0, false, "")
	r.clock.Advance(2*grace - time.Second)
	watch(3, 2*grace, false, `records=3 late=2m0s refusing_new_work=false reason="no quorum"`)
	watch(3, 2*grace, false, "") // warns once a minute
	r.end("", "d")
	r.clock.Advance(inMemory + maxHold)
	watch(3, inMemory+maxHold+2*grace, false, "records=3")
	r.clock.Advance(grace + time.Second)
	watch(4, inMemory+maxHold+3*grace+time.Second, true, "refusing_new_work=true")
	broken.err = nil
	r.Move(t.Context())
	watch(0, 0, false, "")
	r.start()
	r.wantPast("a", "b", "c", "d")
}

func TestWarning(t *testing.T) {
	var w warning
	at := start
	for i, c := range []struct {
		after time.Duration
		wrong bool
		want  bool
	}{
		{0, true, false}, {59 * time.Second, true, false}, {time.Second, true, true}, {59 * time.Second, true, false},
		{time.Second, true, true}, {time.Second, false, false}, {time.Hour, true, false}, {time.Minute, true, true},
	} {
		at = at.Add(c.after)
		if got := w.due(at, c.wrong, time.Minute); got != c.want {
			t.Errorf("%d: %v, want %v", i, got, c.want)
		}
	}
}
