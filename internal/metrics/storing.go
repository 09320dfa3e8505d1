package metrics

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jonboulle/clockwork"
)

const (
	// appendTime bounds one attempt to store a record, in real time. It exceeds the patience of the journal.
	appendTime = 15 * time.Second

	// firstPause and lastPause are the pauses after failed attempts: each is twice the one before.
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second

	// endTime is how long Run goes on storing what waits at its end.
	endTime = 2 * time.Second
)

// store stores the frames of the queue until ctx is done, and for 2 s what waits then.
func (r *Recorder) store(ctx context.Context) error {
	for r.storeAll(ctx) == nil {
		select {
		case <-r.queue.wake:
			continue
		case <-ctx.Done():
		}
		break
	}
	ending, cancel := clockwork.WithTimeout(context.WithoutCancel(ctx), r.cfg.Clock, endTime)
	defer cancel()
	if err := r.storeAll(ending); err != nil {
		r.cfg.Log.Warn("metrics dropped at the end", "err", err)
	}
	return nil
}

// storeAll returns when the queue is empty, or with the cause of ctx.
func (r *Recorder) storeAll(ctx context.Context) error {
	for f, number, ok := r.queue.oldest(); ok; f, number, ok = r.queue.oldest() {
		for part, record := range r.codec.records(f.frame) {
			id := fmt.Sprintf("%s %d %d", f.node, f.at.Unix(), part)
			if err := r.append(ctx, f.level, id, record); err != nil {
				return err
			}
		}
		r.queue.remove(number)
		if f.shown != nil {
			r.shown.Store(f.shown)
		}
	}
	return nil
}

// append appends a record, and repeats that until it succeeds or ctx is done. The id prevents a second copy.
func (r *Recorder) append(ctx context.Context, l level, id string, record []byte) error {
	for pause, failed := firstPause, false; ; pause = min(2*pause, lastPause) {
		attempt, cancel := context.WithTimeout(ctx, appendTime)
		_, err := r.cfg.Feeds[l].Append(attempt, id, record)
		cancel()
		if err == nil {
			if failed {
				r.cfg.Log.Info("metrics can be written again")
			}
			return nil
		}
		if ctx.Err() == nil && !failed {
			r.cfg.Log.Warn("metrics cannot be written; trying again", "err", err)
			failed = true
		}
		select {
		case <-r.cfg.Clock.After(pause):
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}
