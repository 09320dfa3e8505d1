package jetstream

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/journal"
)

// A consistentSnapshot contains the ends of all streams, read while nothing was being published. Later messages are
// after them.
type consistentSnapshot struct {
	engine  *Engine
	release func()
	taken   time.Time
	shards  []end
	// either may have no stream
	history, feed end
}

// An end describes a stream at the time of the snapshot: its first and last number. Stream is nil if there was none.
type end struct {
	stream      jetstream.Stream
	name        string
	first, last uint64
}

// ConsistentSnapshot reads a region with this many shards, while region holds all publishing for milliseconds. Only one
// can be open; otherwise the error has journal.ErrSnapshotOpen in its chain.
func (e *Engine) ConsistentSnapshot(ctx context.Context, shards int, region Region) (journal.ConsistentSnapshot,
	error) {
	release, err := region.Keep(ctx)
	if err != nil {
		return nil, err
	}
	c := &consistentSnapshot{engine: e, release: sync.OnceFunc(release), shards: make([]end, shards)}
	if err := c.open(ctx, region); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *consistentSnapshot) open(ctx context.Context, region Region) error {
	c.history.name, c.feed.name = historyStream, feedStream
	common := []*end{&c.history, &c.feed}
	var own []*end
	for i := range c.shards {
		c.shards[i].name = streamName(i)
		own = append(own, &c.shards[i])
	}
	for _, d := range slices.Concat(common, own) {
		if err := d.find(ctx, c.engine); err != nil {
			return err
		}
	}
	begun := time.Now()
	acknowledged, release, err := region.Hold(ctx)
	if err != nil {
		return err
	}
	c.taken = time.Now()
	err = c.look(ctx, acknowledged, common, own)
	if err := errors.Join(err, release()); err != nil {
		return err
	}
	c.engine.cfg.Log.Info("paused writes for a consistent backup", "duration", time.Since(begun))
	return nil
}

// lookTimeout bounds the reading of the streams' ends, while publishing is held.
const lookTimeout = time.Second

// look reads the ends: first those of the streams that all shards write to, because a node outside the region's control
// may still publish there an effect of what is in a shard's journal already.
func (c *consistentSnapshot) look(ctx context.Context, acknowledged map[string]uint64, steps ...[]*end) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	for _, ends := range steps {
		group, ctx := errgroup.WithContext(ctx)
		for _, d := range ends {
			group.Go(func() error { return d.look(ctx, c.engine, acknowledged[d.name]) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// find opens the stream, if there is one.
func (d *end) find(ctx context.Context, e *Engine) (err error) {
	d.stream, err = patiently(ctx, e, func(ctx context.Context) (jetstream.Stream,
		error) {
		return e.js.Stream(ctx, d.name)
	})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		d.stream = nil
		return nil
	}
	if err != nil {
		return fmt.Errorf("stream %s: %w", d.name, err)
	}
	return nil
}

// look reads the stream's first and last number. A former leader that does not know its successor answers, too, with
// fewer messages than were acknowledged.
func (d *end) look(ctx context.Context, e *Engine, acknowledged uint64) error {
	if d.stream == nil {
		return nil
	}
	var behind error
	for {
		info, err := e.info(ctx, d.stream)
		if err != nil {
			return fmt.Errorf("stream %s: %w", d.name, errors.Join(behind, err))
		}
		d.first, d.last = info.State.FirstSeq, info.State.LastSeq
		if d.last >= acknowledged {
			return nil
		}
		behind = fmt.Errorf("it ends with message %d, and message %d was acknowledged", d.last, acknowledged)
		_ = pause(ctx, patiencePause) // the next request fails when ctx is done
	}
}

// Close lets the engine delete snapshots and records again.
func (c *consistentSnapshot) Close() { c.release() }

func (c *consistentSnapshot) Taken() time.Time  { return c.taken }
func (c *consistentSnapshot) LastEntry() uint64 { return c.history.last }
func (c *consistentSnapshot) LastEvent() uint64 { return c.feed.last }

// Held lists the snapshots up to the end whose metadata is intact.
func (c *consistentSnapshot) Contents(ctx context.Context, shard int) (h journal.ShardContents, err error) {
	s := c.shards[shard]
	h.First, h.Last = max(s.first, 1), s.last
	_, all, err := c.snapshots(ctx, shard, s.last)
	for _, n := range all {
		h.Snapshots = append(h.Snapshots, n.seq)
	}
	return h, err
}

// snapshots lists the snapshots that include no record after newest.
func (c *consistentSnapshot) snapshots(ctx context.Context, shard int, newest uint64) (stream jetstream.Stream,
	all []snapshot, err error) {
	s := c.store(shard)
	if stream, err = s.stream(ctx); errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open object store: %w", err)
	}
	if all, _, err = s.list(ctx, stream); err != nil {
		return nil, nil, err
	}
	return stream, slices.DeleteFunc(all, func(n snapshot) bool { return n.seq > newest }), nil
}

func (c *consistentSnapshot) store(shard int) snapshots {
	return snapshots{engine: c.engine, bucket: bucketName(shard)}
}

// Snapshot reads each candidate once, as LoadSnapshot does.
func (c *consistentSnapshot) Snapshot(ctx context.Context, shard int, newest uint64) (uint64, io.ReadCloser, error) {
	stream, all, err := c.snapshots(ctx, shard, min(newest, c.shards[shard].last))
	if err != nil {
		return 0, nil, err
	}
	s := c.store(shard)
	for _, n := range slices.Backward(all) {
		_, err := io.Copy(io.Discard, s.open(ctx, stream, n))
		if err == nil {
			return n.seq, s.open(ctx, stream, n), nil
		}
		if !errors.Is(err, errDamaged) {
			return 0, nil, fmt.Errorf("read object %s: %w", n.Name, err)
		}
		s.damaged(n, err)
	}
	return 0, nil, nil
}

// Records reads the journal, which has no gaps.
func (c *consistentSnapshot) Records(ctx context.Context, shard int, after uint64,
	visit func(journal.Stored) error) error {
	s := c.shards[shard]
	if after > s.last || after+1 < s.first {
		return fmt.Errorf("%w: asked for those of shard %d after %d, there are %d to %d",
			journal.ErrMissing, shard, after,
			s.first, s.last)
	}
	err := c.walk(ctx, s, ">", after, func(r journal.Stored) error {
		if r.Seq != after+1 {
			return fmt.Errorf("%w: record %d of shard %d follows record %d", journal.ErrMissing, r.Seq, shard, after)
		}
		after++
		r.Subject = ""
		return visit(r)
	})
	if err == nil && after < s.last {
		return fmt.Errorf("%w: those of shard %d end with %d instead of %d", journal.ErrMissing, shard, after, s.last)
	}
	return err
}

func (c *consistentSnapshot) History(ctx context.Context, visit func(journal.Stored) error) error {
	return c.walk(ctx, c.history, historyPrefix+">", 0, func(r journal.Stored) error {
		r.Subject = strings.TrimPrefix(r.Subject, historyPrefix)
		return visit(r)
	})
}

func (c *consistentSnapshot) Feed(ctx context.Context, visit func(journal.Stored) error) error {
	return c.walk(ctx, c.feed, feedRecords, 0, func(r journal.Stored) error {
		r.Subject = ""
		return visit(r)
	})
}

// Positions returns the present positions: for a reader beyond the end of the feed, that end.
func (c *consistentSnapshot) Positions(ctx context.Context) (map[string]uint64, error) {
	positions := map[string]uint64{}
	if c.feed.stream == nil {
		return positions, nil
	}
	info, err := c.engine.info(ctx, c.feed.stream, jetstream.WithSubjectFilter(feedPositions+"*"))
	if err != nil {
		return nil, fmt.Errorf("stream info: %w", err)
	}
	for subject := range info.State.Subjects {
		reader := strings.TrimPrefix(subject, feedPositions)
		msg, err := c.engine.newest(ctx, c.feed.stream, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("get message: %w", err)
		}
		if len(msg.Data) != 8 {
			return nil, fmt.Errorf("position of reader %s is damaged", reader)
		}
		positions[reader] = min(binary.BigEndian.Uint64(msg.Data), c.feed.last)
	}
	return positions, nil
}

// walk visits the messages of a stream after the given one, up to its end. A consumer reads ahead, and does not report
// that there are no more messages, so at its apparent end the stream is asked for the next message.
func (c *consistentSnapshot) walk(ctx context.Context, s end, subject string, after uint64,
	visit func(journal.Stored) error) error {
	if c.engine.cfg.clustered() {
		return c.engine.walkLeader(ctx, s, subject, after, visit)
	}
	for after < s.last {
		msg, err := c.engine.fromLeader(ctx, s.name, question{Seq: after + 1, Subject: subject})
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("get message after %d: %w", after, err)
		}
		if msg.Seq > s.last {
			return nil
		}
		if err := visit(msg); err != nil {
			return err
		}
		if after, err = c.readAhead(ctx, s, subject, msg.Seq, visit); err != nil {
			return err
		}
	}
	return nil
}

const (
	// aheadBytes is how much of a stream is read ahead: more than the size of any message.
	aheadBytes = 4 * maxRecord

	// aheadPause is the timeout for the next message. After it, that is requested by its number.
	aheadPause = 2 * time.Second
)

// readAhead visits messages until none is pending, or none arrives. It returns the number of the last one.
func (c *consistentSnapshot) readAhead(ctx context.Context, s end, subject string, after uint64,
	visit func(journal.Stored) error) (uint64, error) {
	if after >= s.last {
		return after, nil
	}
	consumer, err := s.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{subject}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq: after + 1,
	})
	if err != nil {
		return after, fmt.Errorf("open consumer: %w", err)
	}
	defer forgetConsumer(ctx, s.stream, consumer)
	if info := consumer.CachedInfo(); info != nil && info.NumPending == 0 {
		return after, nil
	}
	messages, err := consumer.Messages(jetstream.PullMaxBytes(aheadBytes))
	if err != nil {
		return after, fmt.Errorf("consume: %w", err)
	}
	defer messages.Stop()
	for {
		msg, ok, err := nextMessage(ctx, messages)
		if err != nil || !ok {
			return after, err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return after, fmt.Errorf("message after %d: %w", after, err)
		}
		if meta.Sequence.Stream > s.last {
			return s.last, nil
		}
		after = meta.Sequence.Stream
		if err := visit(journal.Stored{Seq: after, Time: meta.Timestamp, Subject: msg.Subject(),
			Data: msg.Data()}); err != nil {
			return after, err
		}
		if after == s.last || meta.NumPending == 0 {
			return after, nil
		}
	}
}

// nextMessage waits for a message; ok is false after aheadPause without one.
func nextMessage(ctx context.Context, messages jetstream.MessagesContext) (msg jetstream.Msg, ok bool, err error) {
	wait, cancel := context.WithTimeout(ctx, aheadPause)
	defer cancel()
	msg, err = messages.Next(jetstream.NextContext(wait))
	switch {
	case err == nil:
		return msg, true, nil
	case ctx.Err() != nil:
		return nil, false, context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, false, nil
	}
	return nil, false, fmt.Errorf("next message: %w", err)
}

// forgetConsumer deletes a consumer, which otherwise exists for minutes after its stop.
func forgetConsumer(ctx context.Context, stream jetstream.Stream, consumer jetstream.Consumer) {
	info := consumer.CachedInfo()
	if info == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetTime)
	defer cancel()
	_ = stream.DeleteConsumer(ctx, info.Name)
}
