package metrics

import (
	"context"
	"fmt"
	"time"
)

// restored is how far back each level is read after a start: what must be in memory, and for the list of series.
var restored = [Levels]time.Duration{
	samples: inMemory[samples], minutes: inMemory[minutes], fiveMinutes: inMemory[samples], hours: listed,
}

// restore reads back what was in memory before the start. Without the journal, the Recorder begins anew. It returns the
// number of the newest record of each level that is followed.
func (r *Recorder) restore(ctx context.Context) map[level]uint64 {
	after := map[level]uint64{}
	var newest time.Time
	for l := hours; l >= samples; l-- {
		seq, err := r.restoreLevel(ctx, l, &newest)
		if err != nil && ctx.Err() == nil {
			r.cfg.Log.Warn("stored metrics cannot be read", "step", steps[l].step, "err", err)
		}
		if inMemory[l] > 0 {
			after[l] = seq
		}
	}
	if len(r.totals) == 0 {
		r.restoreLast(ctx, &newest)
	}
	if len(r.totals) > 0 {
		r.shown.Store(r.count(nil, r.cfg.Clock.Now()))
	}
	return after
}

// lastRecords is how many records of minutes are read for the totals, when this node has not recorded for hours.
const lastRecords = 64

// restoreLast takes the totals from the newest minutes, however old they are.
func (r *Recorder) restoreLast(ctx context.Context, newest *time.Time) {
	feed := r.cfg.Feeds[minutes]
	last, err := feed.Last(ctx)
	if err == nil {
		err = feed.Read(ctx, last-min(last, lastRecords), func(_ uint64, record []byte) bool {
			if f, err := r.codec.frame(record); err == nil {
				r.restoreOwn(minutes, &f, newest)
			}
			return true
		})
	}
	if err != nil && ctx.Err() == nil {
		r.cfg.Log.Warn("stored totals of metrics cannot be read", "err", err)
	}
}

func (r *Recorder) restoreLevel(ctx context.Context, l level, newest *time.Time) (seq uint64, err error) {
	now := r.cfg.Clock.Now()
	feed := r.cfg.Feeds[l]
	oldest := now.Add(-restored[l])
	seq, err = feed.After(ctx, oldest)
	if err != nil {
		return 0, fmt.Errorf("find the first record: %w", err)
	}
	err = feed.Read(ctx, seq, func(at uint64, record []byte) bool {
		seq = at
		f, err := r.codec.frame(record)
		if err == nil {
			err = f.check()
		}
		if err != nil {
			r.cfg.Log.Warn("metrics record cannot be read", "step", steps[l].step, "record", at, "err", err)
			return true
		}
		if !f.at.Before(oldest.Add(-steps[l].step)) && !f.at.After(now) {
			r.add(l, &f)
		}
		r.restoreOwn(l, &f, newest)
		return true
	})
	if err != nil {
		return seq, fmt.Errorf("read records: %w", err)
	}
	return seq, nil
}

// restoreOwn takes the newest totals of this node, and notes which of its frames are stored.
func (r *Recorder) restoreOwn(l level, f *frame, newest *time.Time) {
	if f.node != r.cfg.Node {
		return
	}
	r.last[l] = max(r.last[l], l.frameAt(f.at))
	end := f.at.Add(steps[l].step)
	if len(f.totals) == 0 || end.Before(*newest) {
		return
	}
	*newest = end
	for _, e := range f.totals {
		if columns, _, err := values(e.values, e.family()); err == nil {
			for i := range columns {
				if k := e.family().columns[i].kind; k != duration {
					columns[i].count = 0
				}
			}
			r.totals[e.entity] = &total{columns: columns, seen: r.cfg.Clock.Now()}
		}
	}
}

// check decodes all values of a frame.
func (f *frame) check() error {
	for _, e := range f.entities {
		if _, _, err := values(e.values, e.family()); err != nil {
			return err
		}
	}
	return nil
}

// follow adds what the other nodes record.
func (r *Recorder) follow(ctx context.Context, l level, after uint64) error {
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		err := r.cfg.Feeds[l].Follow(ctx, after, func(seq uint64, record []byte) bool {
			after, pause = seq, firstPause
			f, err := r.codec.frame(record)
			if err == nil && f.node != r.cfg.Node {
				if err = f.check(); err == nil {
					r.add(l, &f)
				}
			}
			if err != nil {
				r.cfg.Log.Warn("metrics record cannot be read", "step", steps[l].step, "record", seq, "err", err)
			}
			return true
		})
		if ctx.Err() == nil {
			r.cfg.Log.Warn("metrics of other nodes cannot be followed; trying again", "err", err)
		}
		select {
		case <-r.cfg.Clock.After(pause):
		case <-ctx.Done():
		}
	}
	return nil
}
