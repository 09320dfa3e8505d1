package shard

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/muster-gg/muster/internal/journal"
)

// A committer is the commit goroutine of a machineRun: it makes batches durable in order, sends them to the observer
// and answers their callers.
type committer[C any, M Machine[C, M]] struct {
	cfg     *Config[C, M]
	owner   uint64
	durable *atomic.Uint64 // same as last
	in      chan *batch[M]
	out     chan committed[M] // buffered for one batch in progress
	last    uint64            // the newest record; the loop reads it when no batch is in progress
}

// committed is the result of a batch.
type committed[M any] struct {
	batch *batch[M]
	err   error // not nil: the machineRun ends, and the remaining callers in the batch must be answered
}

func newCommitter[C any, M Machine[C, M]](r *runner[C, M], last uint64) *committer[C, M] {
	return &committer[C, M]{
		cfg: r.cfg, owner: r.owner, durable: &r.s.durable,
		in: make(chan *batch[M], 1), out: make(chan committed[M], 1), last: last,
	}
}

// run commits batches until in is closed.
func (c *committer[C, M]) run() {
	for b := range c.in {
		c.out <- committed[M]{b, c.commit(b)}
	}
}

func (c *committer[C, M]) commit(b *batch[M]) error {
	if b.records() == 0 && c.cfg.HoldsLease != nil && !c.cfg.HoldsLease() {
		b.open(c.owner)
	}
	took, err := c.append(b)
	if err != nil {
		return err // the loop answers the callers
	}
	stats := BatchStats{
		Requests: len(b.answers), Facts: len(b.facts), Records: b.records(), Bytes: b.buf.Len(), Append: took,
	}
	observed := c.observe(b)
	b.answerAll(c.cfg.Log)
	if c.cfg.Metrics.Batch != nil {
		c.cfg.Metrics.Batch(stats)
	}
	return observed
}

func (c *committer[C, M]) append(b *batch[M]) (took time.Duration, err error) {
	if b.records() == 0 {
		return 0, nil
	}
	begin := c.cfg.Clock.Now()
	for i := range b.records() {
		if err := c.appendRecord(b.record(i)); err != nil {
			return 0, err
		}
	}
	return c.cfg.Clock.Since(begin), nil
}

func (c *committer[C, M]) appendRecord(data []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.cfg.AppendTimeout)
	defer cancel()
	seq, err := c.cfg.Journal.Append(ctx, c.last, data)
	if err != nil {
		return fmt.Errorf("append after record %d: %w", c.last, err)
	}
	if seq != c.last+1 {
		return fmt.Errorf("append after record %d: %w: stored as record %d", c.last, journal.ErrMissing, seq)
	}
	c.last = seq
	c.durable.Store(seq)
	return nil
}

// observe sends a durable batch to the observer. If that panics the shard recovers, and the observer starts over from
// the recovered state.
func (c *committer[C, M]) observe(b *batch[M]) (err error) {
	if c.cfg.Observe == nil {
		return nil
	}
	defer Catch("observer", &err)
	if b.records() > 0 {
		commit := Commit[M]{Seq: c.last, Facts: b.facts, Recovered: b.recovered}
		if b.showView {
			commit.View, commit.HasView = b.view, true
		}
		c.cfg.Observe(commit)
	}
	if b.refresh {
		c.cfg.Observe(Commit[M]{Seq: c.last, View: b.view, HasView: true, Refresh: true})
	}
	return nil
}
