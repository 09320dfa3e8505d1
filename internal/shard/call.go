package shard

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/muster-gg/muster/internal/fault"
)

// The stages of a call. Its caller may withdraw it while it waits, and not any
// more when the loop has begun to handle it.
const (
	callWaiting int32 = iota
	callHandled
	callWithdrawn
)

// A call is a request whose caller waits.
type call struct {
	stage atomic.Int32
	reply chan reply // buffered: the shard never waits for a caller
}

type reply struct {
	answer any
	err    error
}

// Do handles a command and returns when its outcome is durable. It waits while
// the queue is full.
//
// The error is the machine's refusal; or a fault, InternalService when the
// shard failed on the way and ServiceUnavailable when it has stopped; or ctx's,
// wrapped. Unless the machine refused, ErrNotDone or ErrOutcomeUnknown is in its
// chain.
func (s *Shard[C, M]) Do(ctx context.Context, cmd C) (answer any, err error) {
	return s.wait(ctx, request[C, M]{cmd: cmd})
}

// Read calls read with the machine, on the loop: it must be quick, and must
// neither change the machine nor keep anything of it that changes. Read returns
// when everything that read can have seen is durable; until then the caller must
// not let out what it saw. The error is as for Do; with ErrOutcomeUnknown in its
// chain read may have been called, or may just be running.
func (s *Shard[C, M]) Read(ctx context.Context, read func(m M)) error {
	_, err := s.wait(ctx, request[C, M]{read: read})
	return err
}

// View returns a frozen copy of the machine in which everything is durable. It
// may be used for as long as one likes. The error is as for Do.
func (s *Shard[C, M]) View(ctx context.Context) (M, error) {
	var view M
	if err := s.Read(ctx, func(m M) { view = m.Freeze() }); err != nil {
		var none M
		return none, err
	}
	return view, nil
}

// Submit handles a command without waiting: done is called exactly once, with
// what Do would return. It is called by the shard's goroutines, which everyone
// else waits for: it must be quick, and must not call Do, Read or View. When the
// queue is full (fault Throttling) or the shard has stopped (fault
// ServiceUnavailable) done is called before Submit returns.
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

// Tell handles a command that nobody waits for, and that is not refused when the
// queue is full: it says what has happened already, and must come in numbers that
// something else bounds. It is lost when the shard has stopped, or fails before it
// is durable.
func (s *Shard[C, M]) Post(cmd C) {
	s.queue.push(request[C, M]{cmd: cmd, done: func(any, error) {}})
}

// Follow is Submit for what follows from something that has happened already: like
// Tell it is not refused when the queue is full.
func (s *Shard[C, M]) SubmitUnbounded(cmd C, done func(answer any, err error)) {
	s.submitUnbounded(request[C, M]{cmd: cmd, done: done})
}

// Peek is Read without waiting, for those who Follow: done is called exactly once,
// with what Read would return, by the shard's goroutines or, when the shard has
// stopped, before Peek returns.
func (s *Shard[C, M]) SubmitRead(read func(m M), done func(err error)) {
	s.submitUnbounded(request[C, M]{read: read, done: func(_ any, err error) { done(err) }})
}

func (s *Shard[C, M]) submitUnbounded(r request[C, M]) {
	if !s.queue.push(r) {
		r.done(nil, Stopped())
	}
}

// Remind shows the observer the state once more, when everything in it is durable: for
// an observer that begins anew. When the shard recovers meanwhile, that shows it.
func (s *Shard[C, M]) Refresh() { s.queue.push(request[C, M]{refresh: true}) }

// Queued is how many requests wait for the loop at this moment.
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
	select { // it may have been answered in the meantime: then the outcome is known
	case a := <-c.reply:
		return a.answer, a.err
	default:
		return nil, fmt.Errorf("%w: %w", ErrOutcomeUnknown, context.Cause(ctx))
	}
}

// enqueue puts a request into the queue, when there is room.
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
