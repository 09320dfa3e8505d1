package shard

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// A snapshotter writes frozen machines to the journal in the background, one at a time. It belongs to Run, and a
// snapshot in progress outlives the machineRun that started it: its contents were durable before.
type snapshotter[C any, M Machine[C, M]] struct {
	cfg     *Config[C, M]
	cancel  context.CancelFunc // cancels the snapshot in progress
	running sync.WaitGroup
	busy    atomic.Bool
}

func newSnapshotter[C any, M Machine[C, M]](cfg *Config[C, M]) *snapshotter[C, M] {
	return &snapshotter[C, M]{cfg: cfg, cancel: func() {}}
}

// start begins to write the state after record seq. No other snapshot may be in progress.
func (s *snapshotter[C, M]) start(seq uint64, view M) {
	s.busy.Store(true)
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.running.Go(func() {
		defer s.busy.Store(false)
		defer cancel()
		s.save(ctx, seq, view)
	})
}

// stop cancels the snapshot in progress and waits for its end.
func (s *snapshotter[C, M]) stop() {
	s.cancel()
	s.running.Wait()
}

// final writes the snapshot of a stopped machine before it returns.
func (s *snapshotter[C, M]) final(seq uint64, machine M) {
	s.stop()
	s.save(context.Background(), seq, machine)
}

// save writes a snapshot. The shard continues if it fails: the records are still there, and the next snapshot is a
// retry.
func (s *snapshotter[C, M]) save(ctx context.Context, seq uint64, view M) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.SnapshotTimeout)
	defer cancel()
	begin := s.cfg.Clock.Now()
	size, err := s.write(ctx, seq, view)
	took := s.cfg.Clock.Since(begin)
	if s.cfg.Metrics.Snapshot != nil {
		s.cfg.Metrics.Snapshot(SnapshotStats{Seq: seq, Bytes: size, Duration: took, Err: err})
	}
	if err != nil {
		s.cfg.Log.Warn("snapshot failed", "seq", seq, "error", err)
		return
	}
	s.cfg.Log.Debug("snapshot written", "seq", seq, "bytes", size, "duration", took)
}

func (s *snapshotter[C, M]) write(ctx context.Context, seq uint64, view M) (size int64, err error) {
	defer Catch("machine's snapshot", &err)
	counter := &countingWriter{}
	err = s.cfg.Journal.SaveSnapshot(ctx, seq, func(w io.Writer) (err error) {
		defer Catch("machine's snapshot", &err) // before it unwinds the journal, which must clean up
		counter.w = w
		buffered := bufio.NewWriterSize(counter, frameSize)
		if err := writeSnapshot(buffered, s.cfg.Events, view.Snapshot); err != nil {
			return err
		}
		return buffered.Flush()
	})
	if err != nil {
		return counter.n, fmt.Errorf("save snapshot of record %d: %w", seq, err)
	}
	return counter.n, nil
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
