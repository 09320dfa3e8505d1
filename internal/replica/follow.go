package replica

import (
	"context"
	"errors"
	"fmt"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/shard"
)

// follow applies what becomes durable, until ctx is done. An error is final.
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
		r.cfg.Shard.Log.Warn("the shard's journal cannot be followed; trying again", "error", err)
		if !wait.Wait(ctx, r.cfg.Shard.Clock) {
			return nil
		}
	}
}

// followOnce follows from where the machine stands; from what is stored when there is none
// that can be used.
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

// errLost says that records could not be read, and the machine is as good as before.
var errReading = errors.New("the journal was lost sight of")

// lost tells errors that leave the machine as it is from others.
func (r *Replica[C, M]) classify(err error) error {
	if err == nil || errors.Is(err, journal.ErrMissing) || errors.Is(err, shard.ErrUnreadable) || errors.Is(err, errNotApplied) {
		return err
	}
	return fmt.Errorf("%w: %w", errReading, err)
}

// load reads all that is stored, unless the machine can be used, and shows the observer
// the state at its end: one that is older than what it was shown before would take away
// what callers were answered.
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
		return r.classify(fmt.Errorf("what can be read ends with record %d, and record %d was shown before", applied, r.shown))
	}
	r.mu.Lock()
	r.machine, r.usable, r.applied = machine, true, applied
	commit := shard.Commit[M]{Seq: applied, Recovered: true, HasView: true, View: machine.Freeze()}
	r.mu.Unlock()
	return r.show(commit)
}

// errNotApplied says that the machine is not to be used any more.
var errNotApplied = errors.New("a record was not applied")

// apply applies one record.
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

// Remind is shard.Shard.Remind.
func (r *Replica[C, M]) Refresh() {
	if s := r.shard(); s != nil {
		s.Refresh()
		return
	}
	r.showing.Lock()
	defer r.showing.Unlock()
	r.mu.Lock()
	if !r.usable || r.ended { // the observer is about to be shown the state, or nothing any more
		r.mu.Unlock()
		return
	}
	commit := shard.Commit[M]{Seq: r.applied, HasView: true, View: r.machine.Freeze(), Refresh: true}
	r.mu.Unlock()
	if err := r.show(commit); err != nil {
		r.cfg.Shard.Log.Error("a reminder failed", "error", err)
	}
}

// advance brings the machine to a record.
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

// applyTo applies a record to a machine that has come to the one before it.
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

// show shows a commit to the observer, and answers those who have waited for it. showing is
// held.
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

// awaitReady closes ready when the first read was answered.
func (r *Replica[C, M]) awaitReady(ctx context.Context) {
	wait := shard.Retry{Backoff: r.cfg.Shard.Backoff}
	for r.Read(ctx, func(M) {}) != nil {
		if !wait.Wait(ctx, r.cfg.Shard.Clock) {
			return
		}
	}
	close(r.ready)
}
