package shard

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// The stages of a call. Its caller may withdraw it until the loop begins to handle it.
const (
	callWaiting int32 = iota
	callHandled
	callWithdrawn
)

// A call is a request with a waiting caller.
type call struct {
	stage atomic.Int32
	reply chan reply // buffered: the shard does not wait for the caller
}

type reply struct {
	answer any
	err    error
}

// Do handles a command and returns when its outcome is durable. It waits while the queue is full.
//
// The error is the machine's rejection; or a fault, InternalService if the shard failed and ServiceUnavailable if it
// has stopped; or ctx's, wrapped. Unless the machine rejected the command, ErrNotDone or ErrOutcomeUnknown is in its
// chain.
func (s *Shard[C, M]) Do(ctx context.Context, cmd C) (answer any, err error) {
	return s.wait(ctx, request[C, M]{cmd: cmd})
}

// Read calls read with the machine, on the loop: it must be quick, must not change the machine, and must not keep
// anything of it that changes. Read returns when everything that read may have seen is durable; until then the caller
// must not pass it on. The error is as for Do; with ErrOutcomeUnknown in its chain read may have been called, or may be
// running.
func (s *Shard[C, M]) Read(ctx context.Context, read func(m M)) error {
	_, err := s.wait(ctx, request[C, M]{read: read})
	return err
}

// View returns a frozen copy of the machine in which everything is durable. The error is as for Do.
func (s *Shard[C, M]) View(ctx context.Context) (M, error) {
	var view M
	if err := s.Read(ctx, func(m M) { view = m.Freeze() }); err != nil {
		var none M
		return none, err
	}
	return view, nil
}

// Submit handles a command without waiting: done is called exactly once, with the results of Do, by the shard's
// goroutines. It must be quick, and must not call Do, Read or View. If the queue is full (fault Throttling) or the
// shard has stopped (fault ServiceUnavailable), done is called before Submit returns.
func (s *Shard[C, M]) Submit(cmd C, done func(answer any, err error)) {
	_, err := s.queue.put(request[C, M]{cmd: cmd, done: done}, false)
	if err == nil {
		return
	}
	if s.cfg.Metrics.Refused != nil && fault.Is(err, fault.Throttling) {
		s.cfg.Metrics.Refused()
	}
	done(nil, err)
}

// Post handles a command without an answer, even if the queue is full: it reports something that has already happened,
// and its callers must be bounded by something else. It is lost if the shard has stopped, or fails before it is
// durable.
func (s *Shard[C, M]) Post(cmd C) {
	s.queue.push(request[C, M]{cmd: cmd, done: func(any, error) {}})
}

// SubmitUnbounded is Submit for consequences of something that has already happened: like Post it accepts commands when
// the queue is full.
func (s *Shard[C, M]) SubmitUnbounded(cmd C, done func(answer any, err error)) {
	s.submitUnbounded(request[C, M]{cmd: cmd, done: done})
}

// SubmitRead is Read without waiting, even if the queue is full: done is called exactly once, with the result of Read,
// by the shard's goroutines or, if the shard has stopped, before SubmitRead returns.
func (s *Shard[C, M]) SubmitRead(read func(m M), done func(err error)) {
	s.submitUnbounded(request[C, M]{read: read, done: func(_ any, err error) { done(err) }})
}

func (s *Shard[C, M]) submitUnbounded(r request[C, M]) {
	if !s.queue.push(r) {
		r.done(nil, Stopped())
	}
}

// Refresh sends the state to the observer again, when everything in it is durable. A recovery meanwhile does so too.
func (s *Shard[C, M]) Refresh() { s.queue.push(request[C, M]{refresh: true}) }

// Queued returns how many requests wait for the loop.
func (s *Shard[C, M]) Queued() int { return s.queue.len() }

func (s *Shard[C, M]) wait(ctx context.Context, r request[C, M]) (any, error) {
	c := &call{reply: make(chan reply, 1)}
	r.call = c
	if err := s.enqueue(ctx, r); err != nil {
		return nil, err
	}
	select {
	case a := <-c.reply:
		return a.answer, a.err
	case <-ctx.Done():
	}
	if c.stage.CompareAndSwap(callWaiting, callWithdrawn) {
		return nil, fmt.Errorf("%w: %w", ErrNotDone, context.Cause(ctx))
	}
	select { // if it has been answered meanwhile, the outcome is known
	case a := <-c.reply:
		return a.answer, a.err
	default:
		return nil, fmt.Errorf("%w: %w", ErrOutcomeUnknown, context.Cause(ctx))
	}
}

// enqueue waits for room in the queue.
func (s *Shard[C, M]) enqueue(ctx context.Context, r request[C, M]) error {
	for {
		room, err := s.queue.put(r, true)
		if room == nil {
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrNotDone, context.Cause(ctx))
		}
	}
}
