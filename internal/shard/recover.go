package shard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/journal"
)

// A recovery brings a machine back from the newest snapshot and the records
// behind it.
type recovery[C any, M Machine[C, M]] struct {
	*runner[C, M]
	machine  M
	last     uint64 // the newest record that is in the machine
	replayed progress
	snapshot uint64
}

// progress is what was appended since the last snapshot.
type progress struct {
	records int
	bytes   int64
}

// recover brings the machine back and appends the opening record of a new term.
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

// begin takes the state that was handed in, the first time, and else the newest
// snapshot.
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
		return fmt.Errorf("%w: it wrote a snapshot of record %d", journal.ErrFenced, seq)
	}
	v.snapshot, v.last = seq, seq
	return nil
}

// RestoreSnapshot calls restore with the facts of the newest snapshot of a journal,
// and returns the number of the record that it is the state after: 0 when there is
// none.
func RestoreSnapshot(ctx context.Context, j journal.Journal, events *event.Set, restore func(event.Fact) error) (seq uint64, err error) {
	seq, reader, err := j.LoadSnapshot(ctx)
	if err != nil {
		return 0, fmt.Errorf("load snapshot: %w", err)
	}
	if reader == nil {
		return 0, nil
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	if err := readSnapshot(reader, events, restore); err != nil {
		return 0, fmt.Errorf("read snapshot of record %d: %w", seq, err)
	}
	return seq, nil
}

// replay applies the records behind the snapshot.
func (v *recovery[C, M]) replay(ctx context.Context) error {
	err := v.cfg.Journal.Replay(ctx, v.last, v.apply)
	if err != nil {
		return fmt.Errorf("replay after record %d: %w", v.last, err)
	}
	if v.everServed && v.last < v.known {
		return fmt.Errorf("%w: the journal ends with record %d, and record %d was durable", journal.ErrMissing, v.last, v.known)
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
		return fmt.Errorf("%w: it wrote record %d", journal.ErrFenced, seq)
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
		v.cfg.Metrics.Recovery(RecoveryStats{SnapshotSeq: v.snapshot, Records: v.replayed.records, Duration: took, Err: err})
	}
	if err == nil {
		v.cfg.Log.Info("the shard has recovered", "snapshot_seq", v.snapshot, "records", v.replayed.records, "duration", took)
	}
}
