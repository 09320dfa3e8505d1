package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ackTime is the timeout for the acknowledgement of a record, which is then sent again: a lost leader does not answer,
// and its successor does not know the request.
const ackTime = 500 * time.Millisecond

// publishSurely is publish that survives the loss of the stream's leader. It sends a record again if no acknowledgement
// arrives. The record cannot be stored twice, because only one record can follow the last one. If there is one, its
// data shows whether it is this one: records of two writers differ. The outcome is unknown only after patience.
func (j *shardJournal) publishSurely(ctx context.Context, last uint64, data []byte) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, j.engine.patience())
	defer cancel()
	unknown := error(nil) // why an earlier attempt may have succeeded
	for {
		attempt, cancel := context.WithTimeout(ctx, ackTime)
		seq, err := j.publish(attempt, last, data)
		cancel()
		switch {
		case err == nil:
			return seq, nil
		case isFence(err) && unknown == nil:
			return 0, err
		case isFence(err):
			if stored, known := j.stored(ctx, last+1, data); known {
				if stored {
					j.engine.acknowledged.note(j.name, last+1)
					return last + 1, nil
				}
				return 0, err
			}
		case j.engine.broken.Err() != nil || !passes(err):
			return 0, err
		default:
			unknown = err
		}
		if ended := pause(ctx, patiencePause); ended != nil {
			// Not %w: the fence may be an earlier attempt.
			return 0, fmt.Errorf("%w: no acknowledgement (%v)", ended, err)
		}
	}
}

// stored reports whether the record with this number contains this data; known is false if there is none, or if that is
// not certain: it may be in flight.
func (j *shardJournal) stored(ctx context.Context, seq uint64, data []byte) (stored, known bool) {
	// One attempt with a long timeout: there is a leader, and the largest record takes a busy machine a while.
	reading, cancel := context.WithTimeout(ctx, j.engine.patience()/2)
	defer cancel()
	have, err := j.engine.ask(reading, j.name, question{Seq: seq})
	if err == nil {
		return bytes.Equal(have.Data, data), true
	}
	if !errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, false
	}
	state, err := j.state(ctx)
	return false, err == nil && state.LastSeq >= seq // stored by another writer, and deleted since
}
