package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Do is shard.Shard.Do, wherever the owner is.
func (r *Replica[C, M]) Do(ctx context.Context, cmd C) (answer any, err error) {
	if s := r.shard(); s != nil {
		if answer, err = s.Do(ctx, cmd); r.alone != nil || !errors.Is(err, shard.ErrStopped) {
			return answer, err
		}
	}
	if err := r.sent.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("%w: %w", shard.ErrNotDone, context.Cause(ctx))
	}
	type outcome struct {
		answer any
		err    error
	}
	reply := make(chan outcome, 1)
	r.send(cmd, func(answer any, err error) {
		r.sent.Release(1)
		reply <- outcome{answer, err}
	})
	select {
	case o := <-reply:
		return o.answer, o.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", shard.ErrOutcomeUnknown, context.Cause(ctx))
	}
}

// Read is shard.Shard.Read, on this node's machine.
func (r *Replica[C, M]) Read(ctx context.Context, read func(m M)) error {
	if s := r.shard(); s != nil {
		if err := s.Read(ctx, read); r.alone != nil || !errors.Is(err, shard.ErrStopped) {
			return err
		}
	}
	done := make(chan error, 1)
	r.submitRead(read, func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", shard.ErrOutcomeUnknown, context.Cause(ctx))
	}
}

// View is shard.Shard.View.
func (r *Replica[C, M]) View(ctx context.Context) (M, error) {
	var view M
	if err := r.Read(ctx, func(m M) { view = m.Freeze() }); err != nil {
		var none M
		return none, err
	}
	return view, nil
}

// Submit is shard.Shard.Submit, wherever the owner is. A node that is not the owner rejects it if as many commands are
// in progress as the queue holds.
func (r *Replica[C, M]) Submit(cmd C, done func(answer any, err error)) {
	s := r.shard()
	switch {
	case r.alone != nil:
		s.Submit(cmd, done)
	case s != nil:
		s.Submit(cmd, r.orSend(cmd, done))
	case !r.sent.TryAcquire(1):
		if r.cfg.Shard.Metrics.Refused != nil {
			r.cfg.Shard.Metrics.Refused()
		}
		done(nil, shard.Full())
	default:
		r.send(cmd, func(answer any, err error) {
			r.sent.Release(1)
			done(answer, err)
		})
	}
}

// SubmitUnbounded is shard.Shard.SubmitUnbounded, wherever the owner is. If the command failed or its outcome is
// unknown, the observer is refreshed a little later: a recovery of a local shard would refresh it, but the next owner
// elsewhere may have started before its predecessor was given up.
func (r *Replica[C, M]) SubmitUnbounded(cmd C, done func(answer any, err error)) {
	s := r.shard()
	if r.alone != nil {
		s.SubmitUnbounded(cmd, done)
		return
	}
	answered := func(answer any, err error) {
		done(answer, err)
		if errors.Is(err, shard.ErrNotDone) || errors.Is(err, shard.ErrOutcomeUnknown) {
			r.refreshLater()
		}
	}
	if s != nil {
		s.SubmitUnbounded(cmd, r.orSend(cmd, answered))
		return
	}
	r.send(cmd, answered)
}

// refreshAfter is the delay of a refresh: other failures at the same time share it, and this node learns who owns the
// shard.
const refreshAfter = time.Second

func (r *Replica[C, M]) refreshLater() {
	if r.refreshPending.CompareAndSwap(false, true) {
		r.cfg.Shard.Clock.AfterFunc(refreshAfter, func() {
			r.refreshPending.Store(false)
			r.Refresh()
		})
	}
}

// Post is shard.Shard.Post, wherever the owner is.
func (r *Replica[C, M]) Post(cmd C) { r.SubmitUnbounded(cmd, func(any, error) {}) }

// SubmitRead is shard.Shard.SubmitRead, on this node's machine.
func (r *Replica[C, M]) SubmitRead(read func(m M), done func(err error)) {
	s := r.shard()
	switch {
	case r.alone != nil:
		s.SubmitRead(read, done)
	case s != nil:
		s.SubmitRead(read, func(err error) {
			if errors.Is(err, shard.ErrStopped) {
				r.submitRead(read, done)
				return
			}
			done(err)
		})
	default:
		r.submitRead(read, done)
	}
}

// orSend returns the answer of a local shard; if that has stopped, and so has not handled the command, it is sent to
// the next owner.
func (r *Replica[C, M]) orSend(cmd C, done func(any, error)) func(any, error) {
	return func(answer any, err error) {
		if errors.Is(err, shard.ErrStopped) {
			r.send(cmd, done)
			return
		}
		done(answer, err)
	}
}

// send lets the owner handle a command, and answers when everything is applied here that the answer may have seen.
func (r *Replica[C, M]) send(cmd C, done func(answer any, err error)) {
	r.mu.Lock()
	ended := r.ended
	r.mu.Unlock()
	if ended {
		done(nil, shard.Stopped())
		return
	}
	r.cfg.Peer.Send(cmd, func(answer any, seq uint64, err error) {
		if err != nil {
			err = failure(err)
		}
		r.await(waiter[M]{seq: seq, done: func(error) { done(answer, err) }})
	})
}

// failure converts an error of a Peer to one that clients may see.
func failure(err error) error {
	var known *fault.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, shard.ErrNotDone):
		return &fault.Error{Kind: fault.ServiceUnavailable,
			Message: "The service is switching to another node. Try again.",
			Err:     err}
	}
	return fault.Internal(err)
}
