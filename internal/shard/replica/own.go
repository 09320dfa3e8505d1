package replica

import (
	"context"
	"errors"
	"fmt"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/shard"
)

// own runs the shard for a term. An error is final.
func (r *Replica[C, M]) own(ctx context.Context, t Term) error {
	defer t.Ended()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := r.begin(t)
	stepDown := make(chan struct{})
	go func() {
		defer close(stepDown)
		select {
		case <-t.Done:
		case <-ctx.Done():
		}
		r.setOwner(s, nil) // first: further requests are for the next owner
		cancel()
	}()
	go func() { // if the term begins before all was read, the shard reads it
		select {
		case <-s.Ready():
			r.isLoaded()
		case <-ctx.Done():
		}
	}()
	err := s.Run(ctx)
	cancel()
	<-stepDown
	r.resume(s.FinalState())
	switch {
	case err == nil:
		return nil
	case isFinal(err):
		return err
	case errors.Is(err, journal.ErrFenced):
		r.cfg.Shard.Log.Info("another node took over the shard", "reason", err)
	default:
		r.cfg.Shard.Log.Warn("shard ended; following its journal", "reason", err)
	}
	return nil
}

// isFinal reports whether this process can no longer serve the shard.
func isFinal(err error) bool {
	return errors.Is(err, shard.ErrUnreadable) || errors.Is(err, journal.ErrBroken)
}

// begin creates the shard of a term, with the replica's machine if that is usable. Waiters wait for the shard from now
// on.
func (r *Replica[C, M]) begin(t Term) *shard.Shard[C, M] {
	cfg := r.cfg.Shard
	cfg.HoldsLease, cfg.Observe = t.HoldsLease, r.serialize(cfg.Observe)
	r.mu.Lock()
	if r.usable {
		cfg.Start = &shard.State[M]{Machine: r.machine, Seq: r.applied}
	}
	r.dropMachine()
	s := shard.New(cfg)
	r.setOwner(nil, s)
	waiting := r.waiting.takeAll()
	r.mu.Unlock()
	for i := range waiting {
		r.finishOn(s, waiting[i])
	}
	return s
}

// serialize keeps the commits of an owner apart from a refresh that the replica began before.
func (r *Replica[C, M]) serialize(observe func(shard.Commit[M])) func(shard.Commit[M]) {
	if observe == nil {
		return nil
	}
	return func(c shard.Commit[M]) {
		r.showing.Lock()
		defer r.showing.Unlock()
		observe(c)
		r.shown = c.Seq
	}
}

// resume continues with the final machine of a shard, if there is one.
func (r *Replica[C, M]) resume(rest *shard.State[M]) {
	if rest == nil {
		return // load reads it
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.machine, r.usable, r.applied, r.observed = rest.Machine, true, rest.Seq, rest.Seq
}

// dropMachine drops the machine. mu is held.
func (r *Replica[C, M]) dropMachine() {
	var none M
	r.machine, r.usable, r.applied, r.observed = none, false, 0, 0
}

// finishOn completes a waiter on a shard: when that serves, every record is applied.
func (r *Replica[C, M]) finishOn(s *shard.Shard[C, M], w waiter[M]) {
	read := w.read
	if read == nil {
		read = func(M) {}
	}
	s.SubmitRead(read, func(err error) {
		if errors.Is(err, shard.ErrStopped) {
			r.setOwner(s, nil)
			r.await(w)
			return
		}
		w.finish(err)
	})
}

// Serve handles a command of another node: done is called exactly once, with the result of Peer.Send there. The error
// has ErrNotOwner in its chain if this process does not own the shard, and has not handled the command.
func (r *Replica[C, M]) Serve(cmd C, done func(answer any, seq uint64, err error)) {
	s := r.shard()
	if s == nil {
		done(nil, 0, ErrNotOwner)
		return
	}
	s.SubmitUnbounded(cmd, func(answer any, err error) {
		if errors.Is(err, shard.ErrStopped) {
			done(nil, 0, ErrNotOwner)
			return
		}
		done(answer, s.Durable(), err)
	})
}

// ServeBarrier handles Peer.Barrier of another node.
func (r *Replica[C, M]) ServeBarrier(done func(seq uint64, err error)) {
	s := r.shard()
	if s == nil {
		done(0, ErrNotOwner)
		return
	}
	s.SubmitRead(func(M) {}, func(err error) {
		if errors.Is(err, shard.ErrStopped) {
			err = ErrNotOwner
		}
		done(s.Durable(), err)
	})
}

// ErrNotOwner reports that this process does not own the shard. The request was not carried out.
var ErrNotOwner = fmt.Errorf("%w: this node does not own the shard", shard.ErrNotDone)
