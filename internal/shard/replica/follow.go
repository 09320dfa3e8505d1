package replica

import (
	"context"
	"errors"
	"fmt"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/shard"
)

// follow applies durable records until ctx is done. An error is final.
func (r *Replica[C, M]) follow(ctx context.Context) error {
	wait := shard.Retry{Backoff: r.cfg.Shard.Backoff}
	for {
		begin := r.cfg.Shard.Clock.Now()
		err := r.followOnce(ctx)
		wait.Served(r.cfg.Shard.Clock.Since(begin))
		switch {
		case ctx.Err() != nil:
			return nil
		case isFinal(err):
			return fmt.Errorf("follow: %w", err)
		}
		r.cfg.Shard.Log.Warn("following the journal failed; retrying", "error", err)
		if !wait.Wait(ctx, r.cfg.Shard.Clock) {
			return nil
		}
	}
}

// followOnce follows from the machine's last record, or from the stored state if there is no usable machine.
func (r *Replica[C, M]) followOnce(ctx context.Context) (err error) {
	defer func() {
		if err != nil && ctx.Err() == nil && !errors.Is(err, errReading) {
			r.mu.Lock()
			r.dropMachine()
			r.mu.Unlock()
		}
	}()
	defer shard.Catch("machine of a replica", &err)
	if err := r.load(ctx); err != nil {
		return err
	}
	if err := r.cfg.Shard.Journal.Replay(ctx, r.applied, r.apply); err != nil {
		return r.classify(err)
	}
	r.isLoaded()
	return r.classify(r.cfg.Shard.Journal.Follow(ctx, r.applied, r.apply))
}

// errReading reports that records could not be read, and the machine is still usable.
var errReading = errors.New("journal cannot be read")

// classify separates errors that leave the machine usable from others.
func (r *Replica[C, M]) classify(err error) error {
	if err == nil || errors.Is(err, journal.ErrMissing) || errors.Is(err, shard.ErrUnreadable) ||
		errors.Is(err, errNotApplied) {
		return err
	}
	return fmt.Errorf("%w: %w", errReading, err)
}

// load reads the stored state, unless the machine is usable, and shows it to the observer. It rejects a state older
// than one that was shown before: answers may depend on that.
func (r *Replica[C, M]) load(ctx context.Context) error {
	if r.usable { // only this goroutine changes it
		return nil
	}
	machine := r.cfg.Shard.NewMachine()
	applied, err := shard.RestoreSnapshot(ctx, r.cfg.Shard.Journal, r.cfg.Shard.Events, machine.Restore)
	if err != nil {
		return err
	}
	err = r.cfg.Shard.Journal.Replay(ctx, applied, func(seq uint64, data []byte) error {
		_, err := r.applyTo(machine, applied, seq, data)
		if err != nil {
			return fmt.Errorf("%w: record %d: %w", errNotApplied, seq, err)
		}
		applied = seq
		return nil
	})
	if err != nil {
		return r.classify(err)
	}
	r.showing.Lock()
	defer r.showing.Unlock()
	if applied < r.shown {
		return r.classify(fmt.Errorf("last readable record is %d, but record %d was shown before", applied, r.shown))
	}
	r.mu.Lock()
	r.machine, r.usable, r.applied = machine, true, applied
	commit := shard.Commit[M]{Seq: applied, Recovered: true, HasView: true, View: machine.Freeze()}
	r.mu.Unlock()
	return r.show(commit)
}

// errNotApplied reports that the machine must not be used any more.
var errNotApplied = errors.New("record was not applied")

func (r *Replica[C, M]) apply(seq uint64, data []byte) error {
	r.showing.Lock()
	defer r.showing.Unlock()
	commit, err := r.advance(seq, data)
	if err == nil {
		err = r.show(commit)
	}
	if err != nil {
		return fmt.Errorf("%w: record %d: %w", errNotApplied, seq, err)
	}
	return nil
}

// Refresh is shard.Shard.Refresh.
func (r *Replica[C, M]) Refresh() {
	if s := r.shard(); s != nil {
		s.Refresh()
		return
	}
	r.showing.Lock()
	defer r.showing.Unlock()
	r.mu.Lock()
	if !r.usable || r.ended { // the observer is about to get the state, or nothing any more
		r.mu.Unlock()
		return
	}
	commit := shard.Commit[M]{Seq: r.applied, HasView: true, View: r.machine.Freeze(), Refresh: true}
	r.mu.Unlock()
	if err := r.show(commit); err != nil {
		r.cfg.Shard.Log.Error("refresh of the observer failed", "error", err)
	}
}

// advance applies a record to the machine.
func (r *Replica[C, M]) advance(seq uint64, data []byte) (commit shard.Commit[M], err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer shard.Catch("machine of a replica", &err)
	if commit, err = r.applyTo(r.machine, r.applied, seq, data); err != nil {
		return commit, err
	}
	r.applied = seq
	when := r.cfg.Shard.ViewWhen
	if commit.HasView = commit.Recovered || when != nil && when(commit.Facts); commit.HasView {
		commit.View = r.machine.Freeze()
	}
	return commit, nil
}

// applyTo applies a record to a machine that has applied the one before.
func (r *Replica[C, M]) applyTo(machine M, applied, seq uint64, data []byte) (commit shard.Commit[M], err error) {
	if seq != applied+1 {
		return commit, fmt.Errorf("%w: it follows record %d", journal.ErrMissing, applied)
	}
	record, err := shard.ReadRecord(data)
	if err != nil {
		return commit, fmt.Errorf("%w: %w", shard.ErrUnreadable, err)
	}
	commit.Seq, commit.Recovered = seq, record.Opening
	err = record.Each(r.cfg.Shard.Events, func(f event.Fact) error {
		machine.Apply(f)
		commit.Facts = append(commit.Facts, f)
		return nil
	})
	if err != nil {
		return commit, fmt.Errorf("%w: %w", shard.ErrUnreadable, err)
	}
	return commit, nil
}

// show passes a commit to the observer, and then completes the waiters for it. showing is held.
func (r *Replica[C, M]) show(commit shard.Commit[M]) (err error) {
	if r.cfg.Shard.Observe != nil {
		defer shard.Catch("observer", &err)
		r.cfg.Shard.Observe(commit)
	}
	r.shown = commit.Seq
	r.mu.Lock()
	r.observed = commit.Seq
	r.mu.Unlock()
	r.finishDue()
	return nil
}

// awaitReady closes ready after the first successful read.
func (r *Replica[C, M]) awaitReady(ctx context.Context) {
	wait := shard.Retry{Backoff: r.cfg.Shard.Backoff}
	for r.Read(ctx, func(M) {}) != nil {
		if !wait.Wait(ctx, r.cfg.Shard.Clock) {
			return
		}
	}
	close(r.ready)
}
