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

// followPause is how long a follower hears nothing before it looks by itself. What
// the server tells it of can be lost with the server or on the way.
const followPause = 250 * time.Millisecond

// sizeHeader stands in a message that is told of without its data. Source: NATS
// ADR-28.
const sizeHeader = "Nats-Msg-Size"

// A follower is told of each message that is committed: the stream's leader
// publishes it again. That can be lost; so it goes by the numbers, and reads what
// lies between.
type follower struct {
	*reader
	told *nats.Subscription
}

// Follow applies what is there and what comes. While nobody can tell what is
// there it waits.
func (j *shardJournal) Follow(ctx context.Context, after uint64, apply func(uint64, []byte) error) error {
	told, err := j.subscribe(j.told)
	if err != nil {
		return fmt.Errorf("follow: %w", err)
	}
	defer func() { _ = told.Unsubscribe() }() // fails when the connection is closed, and then it is done
	r, err := j.newReader()
	if err != nil {
		return fmt.Errorf("follow: %w", err)
	}
	defer r.close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(j.engine.broken, func() { cancel(context.Cause(j.engine.broken)) })()
	f := &follower{reader: r, told: told}
	for err = f.begin(ctx, after); err == nil; {
		if after, err = f.catchUp(ctx, after, apply); err == nil {
			after, err = f.listen(ctx, after, apply)
		}
	}
	return err
}

// begin says whether the records after the given one are there.
func (f *follower) begin(ctx context.Context, after uint64) error {
	for {
		state, err := f.j.stateWith(ctx, after)
		if err == nil {
			return checkRange(state, after)
		}
		if err := f.rest(ctx, err); err != nil {
			return err
		}
	}
}

// rest waits a little after an error that passes, and returns any other.
func (f *follower) rest(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !passes(err):
		return err
	}
	return pause(ctx, followPause)
}

// catchUp applies what is there, and stops where the nearest replica stops. Where
// that has a hole the leader is asked, for as long as it takes.
func (f *follower) catchUp(ctx context.Context, after uint64, apply func(uint64, []byte) error) (uint64, error) {
	for {
		last, err := f.read(ctx, after, math.MaxUint64, apply)
		if last == after && errors.Is(err, errHole) {
			last, err = f.overHole(ctx, after, apply)
		}
		if err != nil && !errors.Is(err, errHole) || err == nil && last == after {
			return last, err
		}
		after = last
	}
}

// overHole applies the record that the nearest replica does not have.
func (f *follower) overHole(ctx context.Context, after uint64, apply func(uint64, []byte) error) (uint64, error) {
	applied := error(nil)
	for {
		last, err := f.readOne(ctx, after, func(seq uint64, data []byte) error {
			applied = apply(seq, data)
			return applied
		})
		if err == nil || applied != nil || errors.Is(err, journal.ErrMissing) {
			return last, err
		}
		if err := f.rest(ctx, err); err != nil {
			return after, err
		}
	}
}

// listen applies the records that it is told of, until one is missing between, or
// none has come for a while.
func (f *follower) listen(ctx context.Context, after uint64, apply func(uint64, []byte) error) (uint64, error) {
	for {
		msg, err := next(ctx, f.told, followPause)
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
