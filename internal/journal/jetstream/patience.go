package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// patience is how long a call waits for a leader, or for its answer. In a cluster
	// an election takes less.
	patience = 5 * time.Second

	// patiencePause lies between two attempts.
	patiencePause = 20 * time.Millisecond

	// answerTime is how long the next part of an answer takes at most: who was asked may
	// be gone, and another one in his place.
	answerTime = time.Second
)

// patiently asks a stream's leader for something. In a cluster it asks again for as
// long as an election takes: there may be no leader just now, and whoever has
// asked one that was lost gets no answer.
func patiently[T any](ctx context.Context, e *Engine, ask func(context.Context) (T, error)) (T, error) {
	if !e.cfg.clustered() {
		return ask(ctx)
	}
	for limit := time.Now().Add(patience); ; {
		asking, cancel := context.WithTimeout(ctx, answerTime)
		answer, err := ask(asking)
		cancel()
		switch {
		case err == nil:
			return answer, nil
		case ctx.Err() != nil:
			return answer, context.Cause(ctx)
		case !passes(err) || time.Now().After(limit) || pause(ctx, patiencePause) != nil:
			return answer, err
		}
	}
}

// info asks a stream's leader about the stream. A node that has not heard yet that another
// one has made the stream says that there is none.
func (e *Engine) info(ctx context.Context, s jetstream.Stream, options ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	return patiently(ctx, e, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		info, err := s.Info(ctx, options...)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil, fmt.Errorf("%w: %w", nats.ErrTimeout, err)
		}
		return info, err
	})
}

// stateWith asks a stream's leader what there is. When that ends before a message that was
// acknowledged, the leader of a cluster is asked again, for as long as patience goes: one who was elected just
// now has not applied yet all that he has.
func (e *Engine) stateWith(ctx context.Context, s jetstream.Stream, seq uint64) (jetstream.StreamState, error) {
	for limit := time.Now().Add(patience); ; {
		info, err := e.info(ctx, s)
		if err != nil {
			return jetstream.StreamState{}, fmt.Errorf("stream info: %w", err)
		}
		if info.State.LastSeq >= seq || !e.cfg.clustered() || time.Now().After(limit) {
			return info.State, nil
		}
		if err := pause(ctx, patiencePause); err != nil { // the state may be short: nobody is to judge by it
			return jetstream.StreamState{}, fmt.Errorf("stream info: %w", err)
		}
	}
}

// message gets a message.
func (e *Engine) message(ctx context.Context, s jetstream.Stream, seq uint64, options ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	return patiently(ctx, e, func(ctx context.Context) (*jetstream.RawStreamMsg, error) { return s.GetMsg(ctx, seq, options...) })
}

// newest gets the newest message of a subject.
func (e *Engine) newest(ctx context.Context, s jetstream.Stream, subject string) (*jetstream.RawStreamMsg, error) {
	return patiently(ctx, e, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return s.GetLastMsgForSubject(ctx, subject)
	})
}

// pause waits.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
