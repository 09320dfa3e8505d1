package shard

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/muster-gg/muster/internal/journal"
)

// Run recovers the machine, serves, and recovers again after failures. When ctx is done it rejects new requests,
// handles those that wait, makes them durable, answers them and returns nil. It returns an error that wraps
// journal.ErrFenced if another owner has written to the journal, journal.ErrBroken if the journal can no longer write,
// and an error if the stored state is unreadable or incomplete. When it has returned, every request is answered and
// nothing of the shard is running. A shard runs once.
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

// isFinal reports whether further attempts are useless.
func isFinal(err error, served bool) bool {
	return errors.Is(err, journal.ErrFenced) || errors.Is(err, journal.ErrBroken) || errors.Is(err, ErrUnreadable) ||
		!served && errors.Is(err, journal.ErrMissing)
}

// stopError returns the error of a failure during a stop: nil if the shard was recovering, because nobody was waiting
// for the journal then.
func stopError(served bool, err error) error {
	if !served {
		return nil
	}
	return fmt.Errorf("shard: stop: %w", err)
}

// A runner is what one Run keeps between recoveries.
type runner[C any, M Machine[C, M]] struct {
	s         *Shard[C, M]
	cfg       *Config[C, M]
	owner     uint64    // random number of this Run, in each record
	start     *State[M] // the state of the first recovery; nil: the stored one
	snapshots *snapshotter[C, M]
	retry     Retry

	taken []request[C, M] // from the queue
	next  int             // the first of taken that is not handled

	everServed bool
	known      uint64 // with everServed: the newest record known to be durable and our own
}

func newRunner[C any, M Machine[C, M]](s *Shard[C, M]) *runner[C, M] {
	var seed [8]byte
	_, _ = rand.Read(seed[:]) // never fails
	return &runner[C, M]{
		s: s, cfg: &s.cfg, owner: binary.BigEndian.Uint64(seed[:]), start: s.cfg.Start,
		snapshots: newSnapshotter(&s.cfg), retry: Retry{Backoff: s.cfg.Backoff},
	}
}

// serve recovers and runs the machine. served reports whether it came to serving; the error is nil after a graceful
// stop.
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
		r.cfg.Log.Error("shard's machine panicked", "error", err, "stack", string(p.stack))
		return
	}
	r.cfg.Log.Error("shard failed; recovering", "error", err)
}

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

// rejectRemaining closes the queue and rejects what is left in it.
func (r *runner[C, M]) rejectRemaining() {
	r.s.queue.close()
	for req, ok := r.request(); ok; req, ok = r.request() {
		if !req.refresh && req.claim() {
			a := answer{done: req.done, call: req.call}
			a.send(r.cfg.Log, nil, Stopped())
		}
	}
}
