package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/muster-gg/muster/internal/journal"
)

// historyStream is the name of the stream.
const historyStream = "MUSTER_HISTORY"

// historyPrefix precedes every subject of a history.
const historyPrefix = "muster.history."

// history is one stream with the newest message of each subject.
type history struct {
	engine *Engine
	stream jetstream.Stream
	mark   *mark
}

// History opens the history, and creates it if there is none.
func (e *Engine) History(ctx context.Context) (journal.History, error) {
	stream, err := e.stream(ctx, jetstream.StreamConfig{
		Name:              historyStream,
		Subjects:          []string{historyPrefix + ">"},
		Storage:           jetstream.FileStorage,
		Retention:         jetstream.LimitsPolicy,
		MaxAge:            e.cfg.HistoryAge,
		MaxMsgsPerSubject: 1,
		AllowDirect:       e.directly(),
	})
	if err != nil {
		return nil, err
	}
	mark, err := e.mark(historyStream)
	if err != nil {
		return nil, err
	}
	h := &history{engine: e, stream: stream, mark: mark}
	if err := h.checkEnd(ctx); err != nil {
		return nil, err
	}
	return h, nil
}

// checkEnd logs whether acknowledged entries are missing.
func (h *history) checkEnd(ctx context.Context) error {
	last := h.mark.last()
	state, err := h.engine.stateWith(ctx, h.stream, last)
	if err != nil {
		return err
	}
	end := state.LastSeq
	if end < last {
		h.engine.cfg.Log.Error("acknowledged entries of the history are missing: some ended game sessions are no "+
			"longer found. "+
			"To get them back, stop the service and restore the data directory from a backup", "first_missing", end+1,
			"last_missing", last)
	}
	return h.mark.settle(end)
}

// Put publishes an entry; the stream deletes the one that it replaces.
func (h *history) Put(ctx context.Context, subject string, data []byte) error {
	if err := journal.CheckSubject(subject); err != nil {
		return err
	}
	if len(data) > journal.MaxEntry {
		return fmt.Errorf("%w: %d bytes of at most %d", journal.ErrTooLarge, len(data), journal.MaxEntry)
	}
	ack, err := h.engine.publish(ctx, &nats.Msg{Subject: historyPrefix + subject, Data: data})
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	h.mark.advance(ack.Sequence)
	return nil
}

// Get reads the only message of a subject.
func (h *history) Get(ctx context.Context, subject string) ([]byte, bool, error) {
	if err := journal.CheckSubject(subject); err != nil {
		return nil, false, err
	}
	msg, err := h.engine.newest(ctx, h.stream, historyPrefix+subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("get message: %w", err)
	}
	return slices.Clone(msg.Data), true, nil
}

// List reads the messages one by one: entries are replaced and expire while it runs, and each step finds the next one
// that still exists.
func (h *history) List(
	ctx context.Context, filter string, after uint64, visit func(uint64, string, []byte) bool,
) error {
	if err := journal.CheckFilter(filter); err != nil {
		return err
	}
	info, err := h.engine.info(ctx, h.stream)
	if err != nil {
		return fmt.Errorf("stream info: %w", err)
	}
	for after < info.State.LastSeq {
		msg, err := h.engine.message(ctx, h.stream, after+1, jetstream.WithGetMsgSubject(historyPrefix+filter))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("get message after %d: %w", after, err)
		}
		if msg.Sequence > info.State.LastSeq {
			return nil
		}
		if !visit(msg.Sequence, strings.TrimPrefix(msg.Subject, historyPrefix), msg.Data) {
			return nil
		}
		after = msg.Sequence
	}
	return nil
}

// Last returns the stream's last sequence.
func (h *history) Last(ctx context.Context) (uint64, error) {
	state, err := h.engine.stateWith(ctx, h.stream, 0)
	return state.LastSeq, err
}
