package shard

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/muster-gg/muster/internal/journal"
)

// Run recovers the machine, serves, and after a failure recovers and serves
// again. It returns nil when ctx is done: then it takes no more requests,
// handles those that wait, makes them durable and answers them. It returns an
// error that wraps journal.ErrFenced when another owner has written to the
// journal, journal.ErrBroken when the journal can no longer write, and an error
// when what is stored cannot be read or is not complete. When it has
// returned, every request is answered, further ones are refused, and nothing of
// the shard is running any more. A shard runs once.
func (s *Shard[C, M]) Run(ctx context.Context) error {
	r := newRunner(s)
	defer r.rejectRemaining()
	defer r.snapshots.stop()
	for {
		served, err := r.serve(ctx)
		switch {
		case err == nil:
			return nil
		case isFinal(err, served):
			return fmt.Errorf("shard: %w", err)
		case ctx.Err() != nil:
			return stopError(served, err)
		}
		r.report(err)
		if !r.retry.Wait(ctx, s.cfg.Clock) {
			return nil
		}
	}
}

// isFinal reports whether no further attempt can succeed.
func isFinal(err error, served bool) bool {
	return errors.Is(err, journal.ErrFenced) || errors.Is(err, journal.ErrBroken) || errors.Is(err, ErrUnreadable) ||
		!served && errors.Is(err, journal.ErrMissing)
}

// stopError is what a failure means during a stop: nothing when the shard was
// only about to recover, for then nobody was waiting for the journal.
func stopError(served bool, err error) error {
	if !served {
		return nil
	}
	return fmt.Errorf("shard: stop: %w", err)
}

// A runner is what one Run keeps from one recovery to the next.
type runner[C any, M Machine[C, M]] struct {
	s         *Shard[C, M]
	cfg       *Config[C, M]
	owner     uint64    // drawn for this Run; stands in each record
	start     *State[M] // what the first recovery begins with; nil: what is stored
	snapshots *snapshotter[C, M]
	retry     Retry

	taken []request[C, M] // from the queue
	next  int             // the first one of taken that is not handled

	everServed bool
	known      uint64 // with everServed: the newest record known to be durable and ours
}

func newRunner[C any, M Machine[C, M]](s *Shard[C, M]) *runner[C, M] {
	var seed [8]byte
	_, _ = rand.Read(seed[:]) // never fails
	return &runner[C, M]{
		s: s, cfg: &s.cfg, owner: binary.BigEndian.Uint64(seed[:]), start: s.cfg.Start,
		snapshots: newSnapshotter(&s.cfg), retry: Retry{Backoff: s.cfg.Backoff},
	}
}

// serve recovers and runs one term. It reports whether it came to serving; the
// error is nil after a graceful stop.
func (r *runner[C, M]) serve(ctx context.Context) (served bool, err error) {
	t, err := r.recover(ctx)
	if err != nil {
		return false, fmt.Errorf("recover: %w", err)
	}
	if !r.everServed {
		r.everServed = true
		close(r.s.ready)
	}
	begin := r.cfg.Clock.Now()
	r.s.serving.Store(true)
	defer func() {
		r.s.serving.Store(false)
		r.retry.Served(r.cfg.Clock.Since(begin))
	}()
	return true, t.run(ctx)
}

func (r *runner[C, M]) report(err error) {
	if p, ok := errors.AsType[*panicError](err); ok {
		r.cfg.Log.Error("a panic ended the shard's machine", "error", err, "stack", string(p.stack))
		return
	}
	r.cfg.Log.Error("the shard failed and will recover", "error", err)
}

// request returns the next request to handle.
func (r *runner[C, M]) request() (req request[C, M], ok bool) {
	if r.next == len(r.taken) {
		r.taken, r.next = r.s.queue.take(r.taken), 0
		if len(r.taken) == 0 {
			return req, false
		}
	}
	var none request[C, M]
	req, r.taken[r.next] = r.taken[r.next], none
	r.next++
	return req, true
}

// refuseRest ends the life of the queue.
func (r *runner[C, M]) rejectRemaining() {
	r.s.queue.close()
	for req, ok := r.request(); ok; req, ok = r.request() {
		if !req.refresh && req.claim() {
			a := answer{done: req.done, call: req.call}
			a.send(r.cfg.Log, nil, Stopped())
		}
	}
}
