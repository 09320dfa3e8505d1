package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/muster-gg/muster/internal/journal"
)

// brokenWords are the texts of log lines that report that the server stopped using a stream because a write failed; it
// reports that nowhere else. Until a restart it neither stores messages of that stream nor answers, even if there is
// free space again.
var brokenWords = []string{"critical write error", "disabling jetstream", "will be disabled"}

// saysBroken reports whether a log line of the server reports that it stopped using a stream.
func saysBroken(text string) bool {
	text = strings.ToLower(text)
	for _, words := range brokenWords {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// Broken waits until the engine can no longer write, and returns an error with journal.ErrBroken in its chain; nil if
// ctx is done first.
func (e *Engine) Broken(ctx context.Context) error {
	select {
	case <-e.broken.Done():
		return context.Cause(e.broken)
	case <-ctx.Done():
		return nil
	}
}

// breakDown stores why the engine can no longer write. It does not block: the server calls it while it holds its locks.
func (e *Engine) breakDown(why string) {
	e.breakWith(fmt.Errorf("%w: %s", journal.ErrBroken, why))
}

// publish publishes a message, until ctx is done or the engine breaks: the server does not answer a message that it
// failed to write. In a cluster it retries while the stream has no leader, for at most patience. The retries of the
// client library are off.
func (e *Engine) publish(ctx context.Context, msg *nats.Msg,
	options ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if err := context.Cause(e.broken); err != nil {
		return nil, err
	}
	if e.cfg.clustered() {
		patient, cancel := context.WithTimeout(ctx, e.patience())
		defer cancel()
		ctx = patient
	}
	ctx, breaking := context.WithCancelCause(ctx)
	defer breaking(nil)
	defer context.AfterFunc(e.broken, func() { breaking(context.Cause(e.broken)) })()
	options = append(options, jetstream.WithRetryAttempts(0))
	if err := e.gate.enter(ctx); err != nil {
		return nil, err
	}
	defer e.gate.leave()
	ack, err := e.js.PublishMsg(ctx, msg, options...)
	for e.cfg.clustered() && errors.Is(err, jetstream.ErrNoStreamResponse) && pause(ctx, patiencePause) == nil {
		ack, err = e.js.PublishMsg(ctx, msg, options...)
	}
	if err != nil && e.broken.Err() != nil {
		return nil, fmt.Errorf("%w (%w)", context.Cause(e.broken), err)
	}
	if err == nil {
		e.acknowledged.note(ack.Stream, ack.Sequence)
	}
	return ack, err
}
