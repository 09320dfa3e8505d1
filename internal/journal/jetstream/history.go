package jetstream

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/muster-gg/muster/internal/journal"
)

const (
	// historyStream is the name of the stream, historyPrefix precedes all its subjects.
	historyStream = "MUSTER_HISTORY"
	historyPrefix = "muster.history."

	// batchSubjects precedes a unique subject for each batch. Releases before the batches keep one message for each
	// subject, and an update of the stream by one of them must not delete batches.
	batchSubjects = "batch."

	// historyCommitted is the subject on which the stream's leader announces committed messages, without data.
	historyCommitted = "muster.told.history.>"
)

// oldEntries are the first tokens of the subjects of entries, with which releases before the batches stored game
// sessions, departed player sessions, players, placements and tickets.
var oldEntries = []string{"s", "d", "p", "q", "t"}

// history is the stream of batches.
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
		MaxBytes:          cmp.Or(e.cfg.HistoryBytes, -1),
		Discard:           jetstream.DiscardOld,
		MaxMsgsPerSubject: 1,
		AllowDirect:       true, // for Follow, like RePublish
		RePublish: &jetstream.RePublish{
			Source: historyPrefix + batchSubjects + ">", Destination: historyCommitted, HeadersOnly: true,
		},
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

// checkEnd logs whether acknowledged batches are missing.
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

// Append publishes a batch.
func (h *history) Append(ctx context.Context, data []byte) (uint64, error) {
	if len(data) > journal.MaxEntry {
		return 0, fmt.Errorf("%w: %d bytes of at most %d", journal.ErrTooLarge, len(data), journal.MaxEntry)
	}
	ack, err := h.engine.publish(ctx, &nats.Msg{Subject: historyPrefix + batchSubjects + rand.Text(), Data: data})
	if err != nil {
		return 0, fmt.Errorf("publish: %w", err)
	}
	h.mark.advance(ack.Sequence)
	return ack.Sequence, nil
}

// Bounds asks the stream's leader.
func (h *history) Bounds(ctx context.Context, known uint64) (journal.Bounds, error) {
	state, err := h.engine.stateWith(ctx, h.stream, max(known, h.mark.last()))
	if err != nil {
		return journal.Bounds{}, err
	}
	b := journal.Bounds{First: max(state.FirstSeq, 1), Last: state.LastSeq, Bytes: state.Bytes, Oldest: state.FirstTime}
	if state.Msgs == 0 {
		b.First, b.Oldest = b.Last+1, time.Time{}
	}
	return b, nil
}

// NewestEntry asks for the newest message of each kind.
func (h *history) NewestEntry(ctx context.Context) (newest uint64, err error) {
	for _, kind := range oldEntries {
		s, err := h.engine.fromLeader(ctx, historyStream, question{LastOf: historyPrefix + kind + ".>"})
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("get message: %w", err)
		}
		newest = max(newest, s.Seq)
	}
	return newest, nil
}

// DropThrough purges the stream's beginning.
func (h *history) DropThrough(ctx context.Context, seq uint64) error {
	if err := h.engine.tidy.enter(ctx); err != nil {
		return err
	}
	defer h.engine.tidy.leave()
	if err := h.stream.Purge(ctx, jetstream.WithPurgeSequence(seq+1)); err != nil {
		return fmt.Errorf("purge: %w", err)
	}
	return nil
}

// historyPause is the time without an announcement after which a follower asks the leader for the next message:
// announcements can be lost, and the nearest replica can be behind or have a hole.
const historyPause = time.Second

// A historyReader reads the history without a consumer in the server, as a reader does for journals. A history has
// gaps; whether one is a hole of the nearest replica, the leader knows.
type historyReader struct {
	*getter
	visit func(journal.Stored) error
	after uint64
}

// Follow visits existing and new messages. It waits while no leader can answer.
func (h *history) Follow(ctx context.Context, after uint64, visit func(journal.Stored) error) error {
	committed, err := h.engine.subscribe(historyCommitted)
	if err != nil {
		return fmt.Errorf("follow: %w", err)
	}
	defer func() { _ = committed.Unsubscribe() }() // fails if the connection is closed, which has the same effect
	g, err := h.engine.newGetter(historyStream)
	if err != nil {
		return fmt.Errorf("follow: %w", err)
	}
	defer g.close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.engine.broken, func() { cancel(context.Cause(h.engine.broken)) })()
	r := &historyReader{g, visit, after}
	for wait := historyPause; ; {
		if err := r.catchUp(ctx); err != nil {
			return err
		}
		announced, err := next(ctx, committed, wait)
		wait = historyPause
		if err == nil && announced == nil {
			before := r.after
			if err = r.askLeader(ctx); r.after > before {
				wait = 0 // the nearest replica may not answer at all
			}
		}
		if err != nil {
			return err
		}
	}
}

// catchUp visits messages until the nearest replica has no more.
func (r *historyReader) catchUp(ctx context.Context) error {
	for {
		before := r.after
		q := question{Seq: r.after + 1, Batch: readRecords, MaxBytes: readBytes}
		err := r.ask(ctx, q, func(seq uint64, msg *nats.Msg) error {
			if seq > r.after+1 && r.engine.cfg.clustered() {
				return errHole // or a gap
			}
			return r.pass(storedOf(seq, msg))
		})
		if errors.Is(err, errHole) {
			err = r.askLeader(ctx)
		}
		if err != nil || r.after == before {
			return err
		}
	}
}

// pass visits a message.
func (r *historyReader) pass(s journal.Stored) error {
	r.after = s.Seq
	s.Subject = strings.TrimPrefix(s.Subject, historyPrefix)
	switch {
	case s.Subject == filler:
		return nil
	case strings.HasPrefix(s.Subject, batchSubjects):
		s.Subject = ""
	}
	return r.visit(s)
}

// askLeader visits the next message as the leader has it, if there is one. It retries after temporary errors.
func (r *historyReader) askLeader(ctx context.Context) error {
	s, err := r.engine.fromLeader(ctx, r.stream, question{Seq: r.after + 1, Subject: ">"})
	switch {
	case err == nil:
		return r.pass(s)
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case passes(err):
		return pause(ctx, followPause)
	}
	return fmt.Errorf("get message after %d: %w", r.after, err)
}

// storedOf returns the message of a direct get. Source: NATS ADR-31.
func storedOf(seq uint64, msg *nats.Msg) journal.Stored {
	at, _ := time.Parse(time.RFC3339Nano, msg.Header.Get(jetstream.TimeStampHeaer))
	return journal.Stored{Seq: seq, Time: at, Subject: msg.Header.Get(jetstream.SubjectHeader), Data: msg.Data}
}
