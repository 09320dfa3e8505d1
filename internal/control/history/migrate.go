package history

import (
	"context"
	"errors"
	"time"

	"github.com/muster-gg/muster/internal/journal"
)

// moveTime bounds how long old entries are moved at a time, in real time.
const moveTime = 2 * time.Second

// errEnough ends a walk over the journal's history.
var errEnough = errors.New("enough")

// moveOldEntries moves entries of a release before the batches into batches, and deletes them. They keep their
// numbers, so the index replaces each by itself, and repeating a move that was interrupted changes nothing. They are
// kept for the whole time again.
func (h *History) moveOldEntries(ctx context.Context) error {
	newest, err := h.cfg.Entries.NewestEntry(ctx)
	if err != nil || newest == 0 {
		return err
	}
	var p packed
	var through uint64
	write := func() error {
		if p.n == 0 {
			return nil
		}
		_, err := h.cfg.Entries.Append(ctx, p.message())
		return err
	}
	limit := time.Now().Add(moveTime)
	err = h.cfg.Entries.Follow(ctx, 0, func(s journal.Stored) error {
		if s.Seq > newest {
			return errEnough
		}
		if p.full() {
			if err := write(); err != nil {
				return err
			}
		}
		err := entriesOf(s, func(e entry) error { return p.add(&e) })
		if err != nil { // the index cannot read it either
			h.cfg.Log.Error("entry of the history cannot be read; it is dropped", "seq", s.Seq, "err", err)
		}
		through = s.Seq
		if through == newest || time.Now().After(limit) {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	if through == newest {
		h.cfg.Log.Info("moved the entries of the release before into batches", "through", through)
	}
	return h.cfg.Entries.DropThrough(ctx, through)
}
