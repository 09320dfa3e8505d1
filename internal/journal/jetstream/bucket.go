package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/muster-gg/muster/internal/journal"
)

// Names of buckets. Their streams have the layout of NATS's key-value buckets, so that every NATS tool can read them.
// Source: NATS ADR-8.
const (
	grantsBucket   = "MUSTER_GRANTS"
	codesBucket    = "MUSTER_CODES"
	keyUsesBucket  = "MUSTER_KEY_USES"
	deletionHeader = "KV-Operation" // of a message that deletes its key
)

// bucketMax is the size from which the server rejects messages. Between journal.BucketBytes and this, updates and
// deletions still succeed.
const bucketMax = journal.BucketBytes * 3 / 2

// Error codes of a write. Source: NATS JetStream API error codes.
const (
	storeFailed     jetstream.ErrorCode = 10077 // here: the stream is full
	sameInProcess   jetstream.ErrorCode = 10158 // an earlier attempt at this write is in process
	otherInProcess  jetstream.ErrorCode = 10164 // a write to this key is in process, or was when the leader changed
	messageNotFound jetstream.ErrorCode = 10043 // of a deletion by number
)

// bucket is a bucket. A message deletes a key, so that the server orders it with the other writes; then that message is
// deleted, too.
type bucket struct {
	engine *Engine
	stream jetstream.Stream
	prefix string // of the subjects of keys
}

// Grants opens the bucket of pending grants, and creates it if there is none. It is in memory: writes that nobody
// authenticated do not reach the disk, and restarting one node of three loses nothing.
func (e *Engine) Grants(ctx context.Context) (journal.Bucket, error) {
	return e.bucket(ctx, grantsBucket, jetstream.MemoryStorage, journal.BucketAge)
}

// Codes opens the bucket of authorization codes, which is like that of pending grants.
func (e *Engine) Codes(ctx context.Context) (journal.Bucket, error) {
	return e.bucket(ctx, codesBucket, jetstream.MemoryStorage, journal.BucketAge)
}

// KeyUses opens the bucket of the last uses of access keys, and creates it if there is none. Its values have no age.
func (e *Engine) KeyUses(ctx context.Context) (journal.Bucket, error) {
	return e.bucket(ctx, keyUsesBucket, jetstream.FileStorage, 0)
}

func (e *Engine) bucket(ctx context.Context, name string, storage jetstream.StorageType, age time.Duration) (
	journal.Bucket, error,
) {
	prefix := "$KV." + name + "."
	stream, err := e.stream(ctx, jetstream.StreamConfig{
		Name:              "KV_" + name,
		Subjects:          []string{prefix + ">"},
		Storage:           storage,
		Retention:         jetstream.LimitsPolicy,
		MaxAge:            age,
		MaxBytes:          bucketMax,
		MaxMsgsPerSubject: 1,
		Discard:           jetstream.DiscardNew,
		AllowDirect:       e.directly(),
	})
	if err != nil {
		return nil, err
	}
	return &bucket{engine: e, stream: stream, prefix: prefix}, nil
}

// Create asks for the size of the stream first. Concurrent calls may exceed it by their values.
func (b *bucket) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	info, err := b.engine.info(ctx, b.stream)
	if err != nil {
		return 0, fmt.Errorf("stream info: %w", err)
	}
	if info.State.Bytes+uint64(len(value)) > journal.BucketBytes {
		return 0, journal.ErrFull
	}
	last := uint64(0)
	for {
		revision, err := b.write(ctx, key, value, last, false)
		if !errors.Is(err, journal.ErrChanged) {
			return revision, err
		}
		msg, err := b.newest(ctx, key)
		switch {
		case err != nil:
			return 0, err
		case msg == nil: // its message was deleted meanwhile, or another one is in process
			last = 0
			if err := pause(ctx, patiencePause); err != nil {
				return 0, err
			}
		case msg.Header.Get(deletionHeader) == "":
			return 0, journal.ErrExists
		default:
			last = msg.Sequence
		}
	}
}

// newest returns the newest message of a key, nil if there is none.
func (b *bucket) newest(ctx context.Context, key string) (*jetstream.RawStreamMsg, error) {
	msg, err := b.engine.newest(ctx, b.stream, b.prefix+key)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get message: %w", err)
	}
	return msg, nil
}

// Get asks the stream's leader: a replica may be behind.
func (b *bucket) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	if err := journal.CheckSubject(key); err != nil {
		return nil, 0, err
	}
	msg, err := b.newest(ctx, key)
	if err != nil {
		return nil, 0, err
	}
	if msg == nil || msg.Header.Get(deletionHeader) != "" {
		return nil, 0, journal.ErrNoValue
	}
	return msg.Data, msg.Sequence, nil
}

// Update expects the message of the revision to be the newest one of the key.
func (b *bucket) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if revision == 0 {
		return 0, journal.ErrChanged
	}
	return b.write(ctx, key, value, revision, false)
}

// Delete is an update to nothing. A message that remains, because its deletion fails, is deleted by its age.
func (b *bucket) Delete(ctx context.Context, key string, revision uint64) error {
	if revision == 0 {
		return journal.ErrChanged
	}
	seq, err := b.write(ctx, key, nil, revision, true)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := b.stream.DeleteMsg(ctx, seq); err != nil && !isCode(err, messageNotFound) {
		b.engine.cfg.Log.Debug("deletion in a bucket not tidied", "err", err)
	}
	return nil
}

// write publishes a message of a key if the given one is its newest, 0: if it has none. Attempts have the same id, so
// that the server stores one of them.
func (b *bucket) write(ctx context.Context, key string, value []byte, last uint64, deletes bool) (uint64, error) {
	if err := journal.CheckSubject(key); err != nil {
		return 0, err
	}
	if len(value) > journal.MaxValue {
		return 0, fmt.Errorf("%w: %d bytes of at most %d", journal.ErrTooLarge, len(value), journal.MaxValue)
	}
	msg, id := nats.NewMsg(b.prefix+key), rand.Text()
	msg.Data = value
	if deletes {
		msg.Header.Set(deletionHeader, "DEL")
	}
	ack, err := patiently(ctx, b.engine, func(ctx context.Context) (*jetstream.PubAck, error) {
		ack, err := b.engine.publish(ctx, msg, jetstream.WithMsgID(id),
			jetstream.WithExpectLastSequencePerSubject(last))
		if b.engine.cfg.clustered() && (isCode(err, sameInProcess) || isCode(err, otherInProcess)) {
			err = notYet(err) // it may fail
		}
		return ack, err
	})
	switch {
	case err == nil:
		return ack.Sequence, nil
	case isCode(err, wrongLastSequence):
		return b.conflict(ctx, key, id)
	case isCode(err, otherInProcess):
		return 0, journal.ErrChanged
	case isCode(err, storeFailed):
		return 0, fmt.Errorf("%w: %w", journal.ErrFull, err)
	}
	return 0, fmt.Errorf("publish: %w", err)
}

// conflict returns the revision of a write that the server has rejected because of a newer message, if that is an
// earlier attempt of it whose acknowledgement was lost. Otherwise the error is ErrChanged.
func (b *bucket) conflict(ctx context.Context, key, id string) (uint64, error) {
	msg, err := b.newest(ctx, key)
	switch {
	case err != nil:
		return 0, err
	case msg != nil && msg.Header.Get(jetstream.MsgIDHeader) == id:
		return msg.Sequence, nil
	}
	return 0, journal.ErrChanged
}

// isCode reports whether an error is the server's with this code.
func isCode(err error, code jetstream.ErrorCode) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.ErrorCode == code
}
