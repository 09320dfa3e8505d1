package jetstream

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/muster-gg/muster/internal/journal"
)

// feedStream is the name of the stream of the event feed. It also contains the positions of readers, each as the only
// message of a subject: a position is useless without the records, and is kept as long.
const (
	feedStream    = "MUSTER_FEED"
	feedRecords   = "muster.feed.records"
	feedPositions = "muster.feed.position."
)

// auditStream is the name of the stream of the audit trail, which is a feed of its own.
const (
	auditStream    = "MUSTER_AUDIT"
	auditRecords   = "muster.audit.records"
	auditPositions = "muster.audit.position."
)

// metricsStream and metricsSubject begin the names of the streams of metrics, one for each resolution.
const (
	metricsStream  = "MUSTER_METRICS_"
	metricsSubject = "muster.metrics."
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
	engine    *Engine
	stream    jetstream.Stream
	name      string // of the stream
	records   string // the subject of records
	positions string // precedes the name of a reader
	relaxed   bool   // records are not synced to the disk one by one
}

// Feed opens the event feed, and creates it if there is none.
func (e *Engine) Feed(ctx context.Context) (journal.Feed, error) {
	f := &feed{engine: e, name: feedStream, records: feedRecords, positions: feedPositions}
	return f, f.open(ctx, e.cfg.HistoryAge, -1)
}

// AuditLimits bound the audit trail: its oldest records are deleted.
type AuditLimits struct {
	Age   time.Duration // default 90 days
	Bytes int64         // on each node that keeps the stream; default 1 GiB
}

// Audit opens the audit trail, and creates it if there is none. Other limits than those of an earlier start change it.
func (e *Engine) Audit(ctx context.Context, limits AuditLimits) (journal.Audit, error) {
	f := &feed{engine: e, name: auditStream, records: auditRecords, positions: auditPositions}
	return f, f.open(ctx, cmp.Or(limits.Age, 90*24*time.Hour), cmp.Or(limits.Bytes, 1<<30))
}

// A MetricsLimits bounds the metrics of one resolution: the oldest records are deleted.
type MetricsLimits struct {
	Age   time.Duration
	Bytes int64 // on each node that keeps the stream
}

// Metrics opens the feed of the metrics of one resolution, for example "10S", and creates it if there is none. Without
// a cluster its records are not synced to the disk one by one: a power failure may lose the newest ones.
func (e *Engine) Metrics(ctx context.Context, resolution string, limits MetricsLimits) (journal.Audit, error) {
	subject := metricsSubject + strings.ToLower(resolution)
	f := &feed{
		engine: e, name: metricsStream + resolution, records: subject + ".records", positions: subject + ".position.",
		relaxed: !e.cfg.clustered(),
	}
	return f, f.open(ctx, limits.Age, limits.Bytes)
}

// open opens the stream. bytes -1 is no limit.
func (f *feed) open(ctx context.Context, age time.Duration, bytes int64) (err error) {
	mode := jetstream.DefaultPersistMode
	if f.relaxed {
		mode = jetstream.AsyncPersistMode // cannot be changed later
	}
	f.stream, err = f.engine.stream(ctx, jetstream.StreamConfig{
		Name:        f.name,
		Subjects:    []string{f.records, f.positions + "*"},
		Storage:     jetstream.FileStorage,
		Retention:   jetstream.LimitsPolicy,
		MaxAge:      age,
		MaxBytes:    bytes,
		Discard:     jetstream.DiscardOld,
		AllowDirect: f.engine.directly(),
		AllowRollup: true, // a new position replaces the old one
		PersistMode: mode,
	})
	return err
}

// Append publishes a record. The server remembers ids for two minutes.
func (f *feed) Append(ctx context.Context, id string, data []byte) (uint64, error) {
	if len(data) > maxRecord {
		return 0, fmt.Errorf("%w: %d bytes of at most %d", journal.ErrTooLarge, len(data), maxRecord)
	}
	ack, err := f.engine.publish(ctx, &nats.Msg{Subject: f.records, Data: data}, jetstream.WithMsgID(id))
	if err != nil {
		return 0, fmt.Errorf("publish: %w", err)
	}
	return ack.Sequence, nil
}

// Read asks the stream's leader for several messages at a time.
func (f *feed) Read(ctx context.Context, after uint64, visit func(uint64, []byte) bool) error {
	last, err := f.Last(ctx)
	if err != nil {
		return err
	}
	err = f.engine.walkLeader(ctx, end{name: f.name, last: last}, f.records, after, func(s journal.Stored) error {
		if !visit(s.Seq, s.Data) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// errEnough ends a walk whose caller needs no more.
var errEnough = errors.New("no more messages are needed")

// After searches the first record at or after a time, by bisection.
func (f *feed) After(ctx context.Context, t time.Time) (uint64, error) {
	info, err := f.engine.info(ctx, f.stream)
	if err != nil {
		return 0, fmt.Errorf("stream info: %w", err)
	}
	low, high := max(info.State.FirstSeq, 1), info.State.LastSeq+1
	for low < high {
		middle := low + (high-low)/2
		s, err := f.engine.fromLeader(ctx, f.name, question{Seq: middle, Subject: f.records})
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound), err == nil && !s.Time.Before(t):
			high = middle
		case err == nil:
			low = s.Seq + 1
		default:
			return 0, fmt.Errorf("get message from %d: %w", middle, err)
		}
	}
	return low - 1, nil
}

// Follow reads through an ordered consumer, which restarts by itself after a lost message.
func (f *feed) Follow(ctx context.Context, after uint64, visit func(uint64, []byte) bool) error {
	consumer, err := f.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{f.records}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq: after + 1,
	})
	if err != nil {
		return fmt.Errorf("follow: %w", errors.Join(err, context.Cause(ctx)))
	}
	messages, err := consumer.Messages(jetstream.PullExpiry(followExpiry), jetstream.PullHeartbeat(followHeartbeat))
	if err != nil {
		return fmt.Errorf("follow: %w", errors.Join(err, context.Cause(ctx)))
	}
	// Next ignores ctx while it replaces a lost consumer, and retries without limit: without a majority of the nodes a
	// follower would never end.
	defer context.AfterFunc(ctx, messages.Stop)()
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
	msg, err := f.engine.newest(ctx, f.stream, f.records)
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

// SavePosition replaces the only message of the reader's subject.
func (f *feed) SavePosition(ctx context.Context, reader string, seq uint64) error {
	if err := journal.CheckSubject(reader); err != nil {
		return err
	}
	msg := nats.NewMsg(f.positions + reader)
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
	msg, err := f.engine.newest(ctx, f.stream, f.positions+reader)
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
