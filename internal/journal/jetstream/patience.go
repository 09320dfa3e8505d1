package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// patience is how long a call waits for a leader, or for its answer. In a cluster an election takes less: a
	// follower starts one 4 to 9 s after the last message of its leader (raft.go of nats-server), and no option changes
	// that.
	patience = 10 * time.Second

	// patiencePause is the time between two attempts.
	patiencePause = 20 * time.Millisecond

	// answerTime is the timeout of one request, or of the next message of a response: the leader may have been
	// replaced.
	answerTime = time.Second
)

// patience is how long a call waits. Tests lengthen it.
func (e *Engine) patience() time.Duration { return cmp.Or(e.cfg.patience, patience) }

// patiently sends a request to a stream's leader. In a cluster it retries for the time of an election: there may be no
// leader, and a lost leader does not answer.
func patiently[T any](ctx context.Context, e *Engine, ask func(context.Context) (T, error)) (T, error) {
	if !e.cfg.clustered() {
		return ask(ctx)
	}
	for limit := time.Now().Add(e.patience()); ; {
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

// info asks a stream's leader about the stream, and retries if there is no such stream: this node may not know yet that
// another one has created it.
func (e *Engine) info(ctx context.Context, s jetstream.Stream,
	options ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	return patiently(ctx, e, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		info, err := s.Info(ctx, options...)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil, notYet(err)
		}
		return info, err
	})
}

// notYet makes an error temporary.
func notYet(err error) error { return fmt.Errorf("%w: %s", nats.ErrTimeout, err.Error()) }

// stateWith asks a stream's leader for the stream's state. If that ends before an acknowledged message, a cluster's
// leader is asked again, for at most patience: a new leader may not have applied all of its log.
func (e *Engine) stateWith(ctx context.Context, s jetstream.Stream, seq uint64) (jetstream.StreamState, error) {
	for limit := time.Now().Add(cmp.Or(e.cfg.stateWait, e.patience())); ; {
		info, err := e.info(ctx, s)
		if err != nil {
			return jetstream.StreamState{}, fmt.Errorf("stream info: %w", err)
		}
		if info.State.LastSeq >= seq || !e.cfg.clustered() || time.Now().After(limit) {
			return info.State, nil
		}
		if err := pause(ctx, patiencePause); err != nil { // the state may be incomplete
			return jetstream.StreamState{}, fmt.Errorf("stream info: %w", err)
		}
	}
}

// message gets a message.
func (e *Engine) message(ctx context.Context, s jetstream.Stream, seq uint64,
	options ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	return patiently(ctx, e,
		func(ctx context.Context) (*jetstream.RawStreamMsg, error) { return s.GetMsg(ctx, seq, options...) })
}

// newest gets the newest message of a subject.
func (e *Engine) newest(ctx context.Context, s jetstream.Stream, subject string) (*jetstream.RawStreamMsg, error) {
	return patiently(ctx, e, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return s.GetLastMsgForSubject(ctx, subject)
	})
}

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
