package shard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/journal"
)

// A recovery restores a machine from the newest snapshot and the records after it.
type recovery[C any, M Machine[C, M]] struct {
	*runner[C, M]
	machine  M
	last     uint64 // the newest applied record
	replayed progress
	snapshot uint64
}

type progress struct {
	records int
	bytes   int64
}

// recover restores the machine and appends the opening record of a new machineRun.
func (r *runner[C, M]) recover(ctx context.Context) (t *machineRun[C, M], err error) {
	begin := r.cfg.Clock.Now()
	v := &recovery[C, M]{runner: r}
	defer func() { v.report(begin, err) }()
	defer Catch("machine's recovery", &err)
	if err := v.begin(ctx); err != nil {
		return nil, err
	}
	if err := v.replay(ctx); err != nil {
		return nil, err
	}
	t = newMachineRun(r, v.machine, v.last, v.replayed)
	if err := t.open(); err != nil {
		return nil, err
	}
	return t, nil
}

// begin uses the given state the first time, and the newest snapshot later.
func (v *recovery[C, M]) begin(ctx context.Context) error {
	if start := v.start; start != nil {
		v.start = nil
		v.machine, v.last = start.Machine, start.Seq
		return nil
	}
	v.machine = v.cfg.NewMachine()
	seq, err := RestoreSnapshot(ctx, v.cfg.Journal, v.cfg.Events, v.machine.Restore)
	if err != nil {
		return err
	}
	if v.everServed && seq > v.known {
		return fmt.Errorf("%w: found its snapshot of record %d", journal.ErrFenced, seq)
	}
	v.snapshot, v.last = seq, seq
	return nil
}

// RestoreSnapshot calls restore with the facts of a journal's newest snapshot, and returns the number of the last
// record that it includes: 0 if there is none.
func RestoreSnapshot(ctx context.Context, j journal.Journal, events *event.Set,
	restore func(event.Fact) error) (seq uint64, err error) {
	seq, reader, err := j.LoadSnapshot(ctx)
	if err != nil {
		return 0, fmt.Errorf("load snapshot: %w", err)
	}
	if reader == nil {
		return 0, nil
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	if err := ReadSnapshot(reader, events, restore); err != nil {
		return 0, fmt.Errorf("read snapshot of record %d: %w", seq, err)
	}
	return seq, nil
}

// replay applies the records after the snapshot.
func (v *recovery[C, M]) replay(ctx context.Context) error {
	err := v.cfg.Journal.Replay(ctx, v.last, v.apply)
	if err != nil {
		return fmt.Errorf("replay after record %d: %w", v.last, err)
	}
	if v.everServed && v.last < v.known {
		return fmt.Errorf("%w: last record is %d, but record %d was durable", journal.ErrMissing, v.last, v.known)
	}
	return nil
}

func (v *recovery[C, M]) apply(seq uint64, data []byte) error {
	if seq != v.last+1 {
		return fmt.Errorf("%w: record %d follows record %d", journal.ErrMissing, seq, v.last)
	}
	record, err := ReadRecord(data)
	if err != nil {
		return fmt.Errorf("%w: record %d: %w", ErrUnreadable, seq, err)
	}
	if v.everServed && seq > v.known && record.Owner != v.owner {
		return fmt.Errorf("%w: found its record %d", journal.ErrFenced, seq)
	}
	err = record.Each(v.cfg.Events, func(f event.Fact) error {
		v.machine.Apply(f)
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: record %d: %w", ErrUnreadable, seq, err)
	}
	v.last = seq
	v.replayed.records++
	v.replayed.bytes += int64(len(data))
	return nil
}

func (v *recovery[C, M]) report(begin time.Time, err error) {
	took := v.cfg.Clock.Since(begin)
	if v.cfg.Metrics.Recovery != nil {
		v.cfg.Metrics.Recovery(RecoveryStats{SnapshotSeq: v.snapshot,
			Records: v.replayed.records, Duration: took, Err: err})
	}
	if err == nil {
		v.cfg.Log.Info("shard recovered", "snapshot_seq", v.snapshot, "records", v.replayed.records, "duration", took)
	}
}
