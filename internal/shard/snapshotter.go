package shard

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// A snapshotter writes frozen machines to the journal beside the loop, one at a
// time. It belongs to Run, and outlives the term that started it: what it writes
// was durable when it began.
type snapshotter[C any, M Machine[C, M]] struct {
	cfg     *Config[C, M]
	cancel  context.CancelFunc // gives up the one under way
	running sync.WaitGroup
	busy    atomic.Bool
}

func newSnapshotter[C any, M Machine[C, M]](cfg *Config[C, M]) *snapshotter[C, M] {
	return &snapshotter[C, M]{cfg: cfg, cancel: func() {}}
}

// start begins to write the state after record seq. None must be under way.
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

// stop gives up the one under way and waits for its end.
func (s *snapshotter[C, M]) stop() {
	s.cancel()
	s.running.Wait()
}

// final writes a last one of a machine that rests, before it returns.
func (s *snapshotter[C, M]) final(seq uint64, machine M) {
	s.stop()
	s.save(context.Background(), seq, machine)
}

// save writes a snapshot. Its failure is no failure of the shard: the records
// are still there, and a later one is tried.
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
		s.cfg.Log.Warn("a snapshot was not written", "seq", seq, "error", err)
		return
	}
	s.cfg.Log.Debug("a snapshot was written", "seq", seq, "bytes", size, "duration", took)
}

func (s *snapshotter[C, M]) write(ctx context.Context, seq uint64, view M) (size int64, err error) {
	defer Catch("machine's snapshot", &err)
	counter := &countingWriter{}
	err = s.cfg.Journal.SaveSnapshot(ctx, seq, func(w io.Writer) (err error) {
		defer Catch("machine's snapshot", &err) // before the journal's own frames: it has to clean up
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
