package jetstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/muster-gg/muster/internal/journal"
)

// Limits of unacknowledged messages of a recordWriter, which bound its memory.
const (
	underwayMessages = 256
	underwayBytes    = 2 * maxPayload
)

// filler is the subject, after a stream's prefix, of messages that take up the number of a missing message. Each
// replaces the one before.
const filler = "-"

// A restorer fills the engine.
type restorer struct {
	engine *Engine
	js     jetstream.JetStream // with a larger limit of unacknowledged messages
}

// NewRestorer returns a Restorer of the engine, which must be empty. With Config.Bulk the caller syncs the directory
// after Close.
func (e *Engine) NewRestorer() (journal.Restorer, error) {
	js, err := jetstream.New(e.conn, jetstream.WithPublishAsyncMaxPending(underwayMessages))
	if err != nil {
		return nil, err
	}
	return &restorer{engine: e, js: js}, nil
}

// regionStreams returns the names of all streams of a region that backups contain. The audit trail and the bucket of
// grants are not among them: see journal.ConsistentSnapshot.
func regionStreams(shards int) []string {
	names := []string{historyStream, feedStream}
	for i := range shards {
		names = append(names, streamName(i), "OBJ_"+bucketName(i))
	}
	return names
}

// CheckEmpty checks that no stream of a region with this many shards has had messages.
func (e *Engine) CheckEmpty(ctx context.Context, shards int) error {
	for _, name := range regionStreams(shards) {
		d := end{name: name}
		if err := d.find(ctx, e); err != nil {
			return err
		}
		if err := d.look(ctx, e, 0); err != nil {
			return err
		}
		if d.last > 0 {
			return fmt.Errorf("the journals contain a region already: stream %s has had %d messages", name, d.last)
		}
	}
	return nil
}

// Clear deletes the streams of a region with this many shards that backups contain. None of its journals may be open.
func (e *Engine) Clear(ctx context.Context, shards int) error {
	for _, name := range regionStreams(shards) {
		_, err := patiently(ctx, e, func(ctx context.Context) (none struct{}, err error) {
			return none,
				e.js.DeleteStream(ctx, name)
		})
		if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("remove stream %s: %w", name, err)
		}
		if err := os.Remove(e.markFile(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (f *restorer) Shard(ctx context.Context, shard int, seq uint64, snapshot io.Reader) (journal.RecordWriter, error) {
	opened, err := f.engine.Journal(ctx, shard)
	if err != nil {
		return nil, err
	}
	j := opened.(*shardJournal)
	r, err := f.newWriter(ctx, j.stream, func(journal.Stored) string { return j.subject }, "")
	if err != nil {
		return nil, err
	}
	r.mark = j.mark
	if snapshot == nil {
		return r, nil
	}
	copied := func(w io.Writer) error {
		_, err := io.Copy(w, snapshot)
		return err
	}
	if err := j.SaveSnapshot(ctx, seq, copied); err != nil {
		return nil, err
	}
	return r, r.skip(ctx, seq)
}

func (f *restorer) History(ctx context.Context) (journal.RecordWriter, error) {
	opened, err := f.engine.History(ctx)
	if err != nil {
		return nil, err
	}
	h := opened.(*history)
	r, err := f.newWriter(ctx, h.stream, func(s journal.Stored) string { return historyPrefix + s.Subject },
		historyPrefix+filler)
	if err != nil {
		return nil, err
	}
	r.mark = h.mark
	return r, nil
}

func (f *restorer) Feed(ctx context.Context) (journal.RecordWriter, error) {
	opened, err := f.engine.Feed(ctx)
	if err != nil {
		return nil, err
	}
	return f.newWriter(ctx, opened.(*feed).stream, func(journal.Stored) string { return feedRecords },
		feedPositions+filler)
}

func (f *restorer) SavePosition(ctx context.Context, reader string, seq uint64) error {
	opened, err := f.engine.Feed(ctx)
	if err != nil {
		return err
	}
	return opened.SavePosition(ctx, reader, seq)
}

// newWriter starts writing a stream that has had no messages.
func (f *restorer) newWriter(ctx context.Context, stream jetstream.Stream, subject func(journal.Stored) string,
	filler string) (*recordWriter, error) {
	info, err := f.engine.info(ctx, stream)
	if err != nil {
		return nil, fmt.Errorf("stream info: %w", err)
	}
	if info.State.LastSeq > 0 {
		return nil, fmt.Errorf("stream %s is not empty: it has had %d messages", info.Config.Name, info.State.LastSeq)
	}
	return &recordWriter{restorer: f, stream: stream, subject: subject, filler: filler}, nil
}

// A recordWriter writes a stream. Messages are published without waiting for each; the server keeps their order.
type recordWriter struct {
	*restorer
	stream  jetstream.Stream
	mark    *mark // nil: none
	subject func(journal.Stored) string
	filler  string // "": the stream has no gaps

	last     uint64 // the number of the last message that was published
	begun    bool   // one was
	filled   bool   // with at least one filler
	underway []jetstream.PubAckFuture
	bytes    int // of underway
}

// Put publishes a message, after fillers for missing numbers before it.
func (r *recordWriter) Put(ctx context.Context, s journal.Stored) error {
	if len(s.Data) > maxRecord {
		return fmt.Errorf("%w: %d bytes of at most %d", journal.ErrTooLarge, len(s.Data), maxRecord)
	}
	if s.Subject != "" {
		if err := journal.CheckSubject(s.Subject); err != nil {
			return err
		}
	}
	if s.Seq <= r.last {
		return fmt.Errorf("number %d comes after number %d", s.Seq, r.last)
	}
	if err := r.skip(ctx, s.Seq-1); err != nil {
		return err
	}
	return r.publish(ctx, &nats.Msg{Subject: r.subject(s), Data: s.Data})
}

// skip makes the given number the last one in use.
func (r *recordWriter) skip(ctx context.Context, last uint64) error {
	switch {
	case r.last >= last:
		return nil
	case !r.begun:
		if err := r.purge(ctx, jetstream.WithPurgeSequence(last+1)); err != nil {
			return fmt.Errorf("start after number %d: %w", last, err)
		}
		r.last = last
		return nil
	case r.filler == "":
		return fmt.Errorf("%w: number %d is to follow number %d", journal.ErrMissing, last+1, r.last)
	}
	r.filled = true
	for r.last < last {
		msg := nats.NewMsg(r.filler)
		msg.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
		if r.filler == historyPrefix+filler {
			msg.Header.Del(jetstream.MsgRollup) // the stream keeps one message of a subject by itself
		}
		if err := r.publish(ctx, msg); err != nil {
			return err
		}
	}
	return nil
}

func (r *recordWriter) publish(ctx context.Context, msg *nats.Msg) error {
	if r.bytes+len(msg.Data) > underwayBytes || len(r.underway) >= underwayMessages {
		if err := r.settle(ctx); err != nil {
			return err
		}
	}
	if msg.Header == nil {
		msg.Header = nats.Header{}
	}
	options := []jetstream.PublishOpt{jetstream.WithExpectLastSequence(r.last), jetstream.WithRetryAttempts(0)}
	first := !r.begun
	if first { // a new stream may have no leader yet, or this node may not know it
		options = append(options, jetstream.WithRetryAttempts(int(patience/patiencePause)),
			jetstream.WithRetryWait(patiencePause))
	}
	ack, err := r.js.PublishMsgAsync(msg, options...)
	if err != nil {
		return fmt.Errorf("publish number %d: %w", r.last+1, err)
	}
	r.begun = true
	r.last++
	r.underway, r.bytes = append(r.underway, ack), r.bytes+len(msg.Data)
	if first { // a message that followed would be refused while this one is sent again
		return r.settle(ctx)
	}
	return nil
}

func (r *recordWriter) purge(ctx context.Context, options ...jetstream.StreamPurgeOpt) error {
	_, err := patiently(ctx, r.engine, func(ctx context.Context) (none struct{}, err error) {
		return none, r.stream.Purge(ctx, options...)
	})
	return err
}

// settle waits for all unacknowledged messages.
func (r *recordWriter) settle(ctx context.Context) error {
	for _, ack := range r.underway {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return fmt.Errorf("publish: %w", errors.Join(err, r.engine.log.full()))
		case <-r.engine.broken.Done():
			return context.Cause(r.engine.broken)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	r.underway, r.bytes = r.underway[:0], 0
	return nil
}

// End removes the last filler, and sets the end of the stream.
func (r *recordWriter) End(ctx context.Context, last uint64) error {
	if err := errors.Join(r.skip(ctx, last), r.settle(ctx)); err != nil {
		return err
	}
	if r.filled {
		if err := r.purge(ctx, jetstream.WithPurgeSubject(r.filler)); err != nil {
			return fmt.Errorf("purge: %w", err)
		}
	}
	if r.mark != nil {
		return r.mark.settle(r.last)
	}
	return nil
}
