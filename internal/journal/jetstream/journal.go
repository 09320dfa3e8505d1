package jetstream

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/muster-gg/muster/internal/journal"
)

// wrongLastSequence is the server's error code for an append after a record that is not the newest one. Source: NATS
// JetStream API error codes.
const wrongLastSequence jetstream.ErrorCode = 10071

type shardJournal struct {
	engine    *Engine
	stream    jetstream.Stream
	mark      *mark
	name      string // of the stream
	subject   string // of what is appended
	committed string // of committed records, which the leader republishes
	snapshots snapshots
}

func streamName(shard int) string { return fmt.Sprintf("MUSTER_SHARD_%d", shard) }

// bucketName returns the name of the object store of a shard's snapshots.
func bucketName(shard int) string { return fmt.Sprintf("muster-shard-%d", shard) }

// Journal opens the journal of a shard, and creates it if there is none.
func (e *Engine) Journal(ctx context.Context, shard int) (journal.Journal, error) {
	subject := fmt.Sprintf("muster.shard.%d", shard)
	name := streamName(shard)
	committed := fmt.Sprintf("muster.told.shard.%d", shard)
	stream, err := e.stream(ctx, jetstream.StreamConfig{
		Name:      name,
		Subjects:  []string{subject},
		Storage:   jetstream.FileStorage,
		Retention: jetstream.LimitsPolicy,
		// for Follow, like RePublish
		AllowDirect: true,
		// a node alone has no subscriber
		RePublish: &jetstream.RePublish{Source: subject, Destination: committed, HeadersOnly: !e.cfg.clustered()},
	})
	if err != nil {
		return nil, err
	}
	appended, err := e.mark(name)
	if err != nil {
		return nil, err
	}
	bucket := bucketName(shard)
	saved, err := e.mark("OBJ_" + bucket)
	if err != nil {
		return nil, err
	}
	return &shardJournal{
		engine: e, stream: stream, name: name, subject: subject, committed: committed, mark: appended,
		snapshots: snapshots{engine: e, bucket: bucket, mark: saved},
	}, nil
}

// MaxRecord returns the maximum size of a record in bytes.
func (j *shardJournal) MaxRecord() int { return maxRecord }

// Append publishes a record. The fence is the expected last sequence.
func (j *shardJournal) Append(ctx context.Context, last uint64, data []byte) (uint64, error) {
	if len(data) > maxRecord {
		return 0, fmt.Errorf("%w: %d bytes of at most %d", journal.ErrTooLarge, len(data), maxRecord)
	}
	publish := j.publish
	if j.engine.cfg.clustered() {
		publish = j.publishSurely
	}
	seq, err := publish(ctx, last, data)
	if err == nil {
		j.mark.advance(seq)
		return seq, nil
	}
	if isFence(err) {
		return 0, fmt.Errorf("%w: %w", journal.ErrFenced, err)
	}
	return 0, fmt.Errorf("publish: %w", err)
}

// publish sends a record with the number last+1.
func (j *shardJournal) publish(ctx context.Context, last uint64, data []byte) (uint64, error) {
	ack, err := j.engine.publish(ctx, &nats.Msg{Subject: j.subject, Header: nats.Header{}, Data: data},
		jetstream.WithExpectLastSequence(last))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

func isFence(err error) bool { return isCode(err, wrongLastSequence) }

// Replay reads up to the end as the stream's leader knows it, and at least to the newest record that was acknowledged
// to this node.
func (j *shardJournal) Replay(ctx context.Context, after uint64, apply func(uint64, []byte) error) error {
	state, err := j.stateWith(ctx, max(after, j.mark.last()))
	if err != nil {
		return err
	}
	if err := checkRange(state, after); err != nil {
		return err
	}
	r, err := j.newReader()
	if err != nil {
		return err
	}
	defer r.close()
	for newest := state.LastSeq; after < newest; {
		if after, err = r.readMore(ctx, after, newest, apply); err != nil {
			return err
		}
	}
	return nil
}

// state asks the stream's leader for the stream's state.
func (j *shardJournal) state(ctx context.Context) (jetstream.StreamState, error) {
	return j.stateWith(ctx, 0)
}

// stateWith is state for a stream that must contain record seq.
func (j *shardJournal) stateWith(ctx context.Context, seq uint64) (jetstream.StreamState, error) {
	return j.engine.stateWith(ctx, j.stream, seq)
}

// checkRange reports whether a replay after this record can be complete.
func checkRange(s jetstream.StreamState, after uint64) error {
	if after+1 < s.FirstSeq || after > s.LastSeq {
		return fmt.Errorf("%w: asked for those after %d, there are %d to %d",
			journal.ErrMissing, after, s.FirstSeq, s.LastSeq)
	}
	return nil
}
