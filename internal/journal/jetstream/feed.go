package jetstream

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/muster-gg/muster/internal/journal"
)

// feedStream is the name of the stream. It also contains the positions of readers, each as the only message of a
// subject: a position is useless without the records, and is kept as long.
const (
	feedStream    = "MUSTER_FEED"
	feedRecords   = "muster.feed.records"
	feedPositions = "muster.feed.position."
)

// forgetTime bounds the deletion of a consumer.
const forgetTime = 2 * time.Second

// followExpiry is the lifetime of a pull request in the server, followHeartbeat the interval of the server's
// heartbeats: without them the client creates another consumer, on another server.
const (
	followExpiry    = 30 * time.Second
	followHeartbeat = time.Second
)

type feed struct {
	engine *Engine
	stream jetstream.Stream
}

// Feed opens the feed, and creates it if there is none.
func (e *Engine) Feed(ctx context.Context) (journal.Feed, error) {
	stream, err := e.stream(ctx, jetstream.StreamConfig{
		Name:        feedStream,
		Subjects:    []string{feedRecords, feedPositions + "*"},
		Storage:     jetstream.FileStorage,
		Retention:   jetstream.LimitsPolicy,
		MaxAge:      e.cfg.HistoryAge,
		AllowDirect: e.directly(),
		AllowRollup: true, // a new position replaces the old one
	})
	if err != nil {
		return nil, err
	}
	return &feed{engine: e, stream: stream}, nil
}

// Append publishes a record. The server remembers ids for two minutes.
func (f *feed) Append(ctx context.Context, id string, data []byte) (uint64, error) {
	if len(data) > maxRecord {
		return 0, fmt.Errorf("%w: %d bytes of at most %d", journal.ErrTooLarge, len(data), maxRecord)
	}
	ack, err := f.engine.publish(ctx, &nats.Msg{Subject: feedRecords, Data: data}, jetstream.WithMsgID(id))
	if err != nil {
		return 0, fmt.Errorf("publish: %w", err)
	}
	return ack.Sequence, nil
}

// Read gets the messages one by one, like List of the history.
func (f *feed) Read(ctx context.Context, after uint64, visit func(uint64, []byte) bool) error {
	last, err := f.Last(ctx)
	if err != nil {
		return err
	}
	for after < last {
		msg, err := f.engine.message(ctx, f.stream, after+1, jetstream.WithGetMsgSubject(feedRecords))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("get message after %d: %w", after, err)
		}
		if msg.Sequence > last || !visit(msg.Sequence, msg.Data) {
			return nil
		}
		after = msg.Sequence
	}
	return nil
}

// Follow reads through an ordered consumer, which restarts by itself after a lost message.
func (f *feed) Follow(ctx context.Context, after uint64, visit func(uint64, []byte) bool) error {
	consumer, err := f.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{feedRecords}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq: after + 1,
	})
	if err != nil {
		return fmt.Errorf("follow: %w", errors.Join(err, context.Cause(ctx)))
	}
	messages, err := consumer.Messages(jetstream.PullExpiry(followExpiry), jetstream.PullHeartbeat(followHeartbeat))
	if err != nil {
		return fmt.Errorf("follow: %w", errors.Join(err, context.Cause(ctx)))
	}
	defer func() {
		messages.Stop()
		forgetConsumer(ctx, f.stream, consumer)
	}()
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("follow: %w", err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			return fmt.Errorf("follow: %w", err)
		}
		if !visit(meta.Sequence.Stream, msg.Data()) {
			return nil
		}
	}
}

// Last gets the newest record; the stream's own last message may be a position.
func (f *feed) Last(ctx context.Context) (uint64, error) {
	msg, err := f.engine.newest(ctx, f.stream, feedRecords)
	if errors.Is(err, jetstream.ErrMsgNotFound) { // none, or none any more
		info, err := f.engine.info(ctx, f.stream)
		if err != nil {
			return 0, fmt.Errorf("stream info: %w", err)
		}
		return info.State.LastSeq, nil
	}
	if err != nil {
		return 0, fmt.Errorf("get message: %w", err)
	}
	return msg.Sequence, nil
}

// Keep replaces the only message of the reader's subject.
func (f *feed) SavePosition(ctx context.Context, reader string, seq uint64) error {
	if err := journal.CheckSubject(reader); err != nil {
		return err
	}
	msg := nats.NewMsg(feedPositions + reader)
	msg.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	msg.Data = binary.BigEndian.AppendUint64(nil, seq)
	if _, err := f.engine.publish(ctx, msg); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

// Position reads it. A position after the newest record belongs to lost records: the reader continues with the next
// one.
func (f *feed) Position(ctx context.Context, reader string) (seq uint64, ok bool, err error) {
	if err := journal.CheckSubject(reader); err != nil {
		return 0, false, err
	}
	msg, err := f.engine.newest(ctx, f.stream, feedPositions+reader)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("get message: %w", err)
	}
	if len(msg.Data) != 8 {
		return 0, false, fmt.Errorf("position of reader %s is damaged", reader)
	}
	last, err := f.Last(ctx)
	return min(binary.BigEndian.Uint64(msg.Data), last), true, err
}
