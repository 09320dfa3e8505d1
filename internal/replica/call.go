package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/shard"
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

// Submit is shard.Shard.Submit, wherever the owner is. On another node than the
// owner's it is refused when as many commands are on their way as the queue holds.
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

// Follow is shard.Shard.Follow, wherever the owner is. When nobody knows what became of the
// command, or it was not done, the observer is reminded a little later: of a shard here it would
// hear when that recovers, but the next owner elsewhere may have begun before his
// predecessor was given up.
func (r *Replica[C, M]) SubmitUnbounded(cmd C, done func(answer any, err error)) {
	s := r.shard()
	if r.alone != nil {
		s.SubmitUnbounded(cmd, done)
		return
	}
	told := func(answer any, err error) {
		done(answer, err)
		if errors.Is(err, shard.ErrNotDone) || errors.Is(err, shard.ErrOutcomeUnknown) {
			r.refreshLater()
		}
	}
	if s != nil {
		s.SubmitUnbounded(cmd, r.orSend(cmd, told))
		return
	}
	r.send(cmd, told)
}

// remindAfter is how long a reminder waits for others that failed at the same time, and
// for this node to learn who owns the shard.
const refreshAfter = time.Second

func (r *Replica[C, M]) refreshLater() {
	if r.refreshPending.CompareAndSwap(false, true) {
		r.cfg.Shard.Clock.AfterFunc(refreshAfter, func() {
			r.refreshPending.Store(false)
			r.Refresh()
		})
	}
}

// Tell is shard.Shard.Tell, wherever the owner is.
func (r *Replica[C, M]) Post(cmd C) { r.SubmitUnbounded(cmd, func(any, error) {}) }

// Peek is shard.Shard.Peek, on this node's machine.
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

// orSend gives the answer of a shard that runs here; when that has stopped, and so has
// not handled the command, it is sent to the next owner.
func (r *Replica[C, M]) orSend(cmd C, done func(any, error)) func(any, error) {
	return func(answer any, err error) {
		if errors.Is(err, shard.ErrStopped) {
			r.send(cmd, done)
			return
		}
		done(answer, err)
	}
}

// send has the owner handle a command, and answers when everything is applied here
// that the answer may have seen.
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

// failure makes an error that clients may see of what a Peer gave.
func failure(err error) error {
	var known *fault.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, shard.ErrNotDone):
		return &fault.Error{Kind: fault.ServiceUnavailable, Message: "The service is changing hands. Try again.", Err: err}
	}
	return fault.Internal(err)
}
