package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ackTime is how long a record waits for its acknowledgement, before it is sent
// again: a leader that was lost does not answer, and its successor knows of no
// question.
const ackTime = 500 * time.Millisecond

// publishSurely is publish that outlives the loss of the stream's leader. A record
// whose acknowledgement does not come is sent again. It cannot be stored twice:
// only one record comes behind the last one. When that one is there, it tells
// whether it is this one, for the records of two writers differ. The fate of the
// record is unknown only when all of this takes too long.
func (j *shardJournal) publishSurely(ctx context.Context, last uint64, data []byte) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	unknown := error(nil) // why there may be an earlier attempt that was stored
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
			return 0, fmt.Errorf("%w: no acknowledgement (%v)", ended, err) // err may be the fence, and that is not what it means here
		}
	}
}

// stored reports whether the record with this number holds this data; known is
// false while there is none, or nobody can tell: it may be under way.
func (j *shardJournal) stored(ctx context.Context, seq uint64, data []byte) (stored, known bool) {
	have, err := j.get(ctx, seq)
	if err == nil {
		return bytes.Equal(have, data), true
	}
	if !errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, false
	}
	state, err := j.state(ctx)
	return false, err == nil && state.LastSeq >= seq // it was stored, and forgotten since: by another writer
}
