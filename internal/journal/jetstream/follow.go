package jetstream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/muster-gg/muster/internal/journal"
)

// followPause is the time without messages after which a subscriber reads the stream by itself: what the leader
// publishes can be lost with the leader or on the way.
const followPause = 250 * time.Millisecond

// sizeHeader is in a message that is republished without its data. Source: NATS ADR-28.
const sizeHeader = "Nats-Msg-Size"

// A subscriber receives each committed message, which the stream's leader republishes. Those can be lost, so it
// compares the numbers, and reads what is missing.
type subscriber struct {
	*reader
	committed *nats.Subscription
}

// Follow applies existing and new records. It waits while no leader can answer.
func (j *shardJournal) Follow(ctx context.Context, after uint64, apply func(uint64, []byte) error) error {
	committed, err := j.engine.subscribe(j.committed)
	if err != nil {
		return fmt.Errorf("follow: %w", err)
	}
	defer func() { _ = committed.Unsubscribe() }() // fails if the connection is closed, which has the same effect
	r, err := j.newReader()
	if err != nil {
		return fmt.Errorf("follow: %w", err)
	}
	defer r.close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(j.engine.broken, func() { cancel(context.Cause(j.engine.broken)) })()
	s := &subscriber{reader: r, committed: committed}
	for err = s.begin(ctx, after); err == nil; {
		if after, err = s.catchUp(ctx, after, apply); err == nil {
			after, err = s.listen(ctx, after, apply)
		}
	}
	return err
}

// begin checks that the records after the given one exist.
func (s *subscriber) begin(ctx context.Context, after uint64) error {
	for {
		state, err := s.j.stateWith(ctx, after)
		if err == nil {
			return checkRange(state, after)
		}
		if err := s.rest(ctx, err); err != nil {
			return err
		}
	}
}

// rest waits a little after a temporary error, and returns any other.
func (s *subscriber) rest(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !passes(err):
		return err
	}
	return pause(ctx, followPause)
}

// catchUp applies existing records, and stops where the nearest replica ends. For a hole in that replica it asks the
// leader, until it answers.
func (s *subscriber) catchUp(ctx context.Context, after uint64, apply func(uint64, []byte) error) (uint64, error) {
	for {
		last, err := s.read(ctx, after, math.MaxUint64, apply)
		if last == after && errors.Is(err, errHole) {
			last, err = s.overHole(ctx, after, apply)
		}
		if err != nil && !errors.Is(err, errHole) || err == nil && last == after {
			return last, err
		}
		after = last
	}
}

// overHole applies the record that is missing in the nearest replica.
func (s *subscriber) overHole(ctx context.Context, after uint64, apply func(uint64, []byte) error) (uint64, error) {
	applied := error(nil)
	for {
		last, err := s.readOne(ctx, after, func(seq uint64, data []byte) error {
			applied = apply(seq, data)
			return applied
		})
		if err == nil || applied != nil || errors.Is(err, journal.ErrMissing) {
			return last, err
		}
		if err := s.rest(ctx, err); err != nil {
			return after, err
		}
	}
}

// listen applies republished records, until one between is missing, or none has arrived for followPause.
func (s *subscriber) listen(ctx context.Context, after uint64, apply func(uint64, []byte) error) (uint64, error) {
	for {
		msg, err := next(ctx, s.committed, followPause)
		if err != nil || msg == nil {
			return after, err
		}
		seq, err := sequence(msg)
		if err != nil {
			return after, err
		}
		if seq <= after {
			continue
		}
		if seq > after+1 || msg.Header.Get(sizeHeader) != "" { // without its data
			return after, nil
		}
		after = seq
		if err := apply(after, msg.Data); err != nil {
			return after, err
		}
	}
}
