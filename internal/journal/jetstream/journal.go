package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/muster-gg/muster/internal/journal"
)

// wrongLastSequence is the server's error code for an append after a record that
// is not the newest one. Source: NATS JetStream API error codes.
const wrongLastSequence jetstream.ErrorCode = 10071

// replayBytes is how much a replay reads ahead. It is larger than any record.
const replayBytes = 4 * maxRecord

// replayPause is how long a replay waits for the next record before it looks
// whether that is still there.
const replayPause = 2 * time.Second

// shardJournal is the journal of one shard.
type shardJournal struct {
	engine    *Engine
	stream    jetstream.Stream
	mark      *mark
	subject   string
	told      string // the subject of what is committed
	questions string // the subject of questions for single messages
	snapshots snapshots
}

// Journal opens the journal of a shard, and makes it when there is none.
func (e *Engine) Journal(ctx context.Context, shard int) (journal.Journal, error) {
	subject := fmt.Sprintf("muster.shard.%d", shard)
	name := fmt.Sprintf("MUSTER_SHARD_%d", shard)
	told := fmt.Sprintf("muster.told.shard.%d", shard)
	stream, err := e.stream(ctx, jetstream.StreamConfig{
		Name:        name,
		Subjects:    []string{subject},
		Storage:     jetstream.FileStorage,
		Retention:   jetstream.LimitsPolicy,
		AllowDirect: true, // for followers, with what follows
		RePublish:   &jetstream.RePublish{Source: subject, Destination: told, HeadersOnly: true},
		Replicas:    1,
	})
	if err != nil {
		return nil, err
	}
	appended, err := e.mark(name)
	if err != nil {
		return nil, err
	}
	bucket := fmt.Sprintf("muster-shard-%d", shard)
	saved, err := e.mark("OBJ_" + bucket)
	if err != nil {
		return nil, err
	}
	return &shardJournal{
		engine: e, stream: stream, subject: subject, mark: appended, told: told, questions: "$JS.API.DIRECT.GET." + name,
		snapshots: snapshots{engine: e, bucket: bucket, mark: saved},
	}, nil
}

// MaxRecord is the number of bytes that one record may hold.
func (j *shardJournal) MaxRecord() int { return maxRecord }

// Append publishes a record, once: the client's own retries are off, for they
// could store a record whose caller has been told that it failed.
func (j *shardJournal) Append(ctx context.Context, last uint64, data []byte) (uint64, error) {
	if len(data) > maxRecord {
		return 0, fmt.Errorf("%w: %d bytes of at most %d", journal.ErrTooLarge, len(data), maxRecord)
	}
	ack, err := j.engine.publish(ctx, &nats.Msg{Subject: j.subject, Header: nats.Header{}, Data: data},
		jetstream.WithExpectLastSequence(last), jetstream.WithRetryAttempts(0))
	if err == nil {
		j.mark.advance(ack.Sequence)
		return ack.Sequence, nil
	}
	if api, ok := errors.AsType[*jetstream.APIError](err); ok && api.ErrorCode == wrongLastSequence {
		return 0, fmt.Errorf("%w: %s", journal.ErrFenced, api.Description)
	}
	return 0, fmt.Errorf("publish: %w", err)
}

// Replay reads the stream with an ordered consumer, which reads ahead.
func (j *shardJournal) Replay(ctx context.Context, after uint64, apply func(uint64, []byte) error) error {
	info, err := j.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("stream info: %w", err)
	}
	newest := info.State.LastSeq
	if err := checkRange(info.State, after); err != nil {
		return err
	}
	if after == newest {
		return nil
	}
	consumer, err := j.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
	})
	if err != nil {
		return fmt.Errorf("open consumer: %w", err)
	}
	records, err := consumer.Messages(jetstream.PullMaxBytes(replayBytes))
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	defer j.forget(consumer)
	defer records.Stop()
	return j.each(ctx, records, after, newest, apply)
}

// each applies the records after the given one, up to the newest.
func (j *shardJournal) each(
	ctx context.Context, records jetstream.MessagesContext, after, newest uint64, apply func(uint64, []byte) error,
) error {
	for after < newest {
		msg, err := j.next(ctx, records, after)
		if err != nil {
			return err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return fmt.Errorf("record after %d: %w", after, err)
		}
		if meta.Sequence.Stream != after+1 {
			return fmt.Errorf("%w: record %d follows record %d", journal.ErrMissing, meta.Sequence.Stream, after)
		}
		after++
		if err := apply(after, msg.Data()); err != nil {
			return err
		}
	}
	return nil
}

// next waits for a record, for as long as there is one to come.
func (j *shardJournal) next(ctx context.Context, records jetstream.MessagesContext, after uint64) (jetstream.Msg, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		wait, cancel := context.WithTimeout(ctx, replayPause)
		msg, err := records.Next(jetstream.NextContext(wait))
		cancel()
		switch {
		case err == nil:
			return msg, nil
		case ctx.Err() != nil:
			continue
		case !errors.Is(err, context.DeadlineExceeded):
			return nil, fmt.Errorf("record after %d: %w", after, err)
		}
		info, err := j.stream.Info(ctx)
		if err != nil {
			return nil, fmt.Errorf("stream info: %w", err)
		}
		if err := checkRange(info.State, after); err != nil {
			return nil, err
		}
		if _, err := j.stream.GetMsg(ctx, after+1); errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil, fmt.Errorf("%w: record %d is damaged", journal.ErrMissing, after+1)
		}
	}
}

// checkRange says whether a replay after this record can be complete.
func checkRange(s jetstream.StreamState, after uint64) error {
	if after+1 < s.FirstSeq || after > s.LastSeq {
		return fmt.Errorf("%w: asked for those after %d, there are %d to %d", journal.ErrMissing, after, s.FirstSeq, s.LastSeq)
	}
	return nil
}

// forget removes the replay's consumer. When that fails the server does it by
// itself after some minutes.
func (j *shardJournal) forget(consumer jetstream.Consumer) {
	ctx, cancel := context.WithTimeout(context.Background(), replayPause)
	defer cancel()
	_ = j.stream.DeleteConsumer(ctx, consumer.CachedInfo().Name)
}
