package jetstream

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// chunkSize is the size of a snapshot's chunks in bytes.
const chunkSize = 128 << 10

// kept is the number of snapshots that are kept.
const kept = 2

// seqKey is the metadata key of the last record that a snapshot includes.
const seqKey = "seq"

// snapshots is the object store of one shard, created with the first snapshot. Objects have the layout of every NATS
// object store, for its tools. They are written and read chunk by chunk here, which bounds the data in flight and
// distinguishes a missing chunk from a late one. In a cluster everything is read from the leader: a consumer may read
// from a replica that is behind, and miss the newest snapshot.
type snapshots struct {
	engine *Engine
	bucket string
	mark   *mark // the last record that the newest saved snapshot includes
}

// A snapshot is an object, and the last record that it includes.
type snapshot struct {
	*jetstream.ObjectInfo
	seq uint64
}

// SaveSnapshot writes an object under a new name. Then it deletes surplus and incomplete objects, and the records that
// no object needs.
func (j *shardJournal) SaveSnapshot(ctx context.Context, seq uint64, write func(io.Writer) error) error {
	if _, err := j.snapshots.make(ctx); err != nil {
		return fmt.Errorf("open object store: %w", err)
	}
	if err := j.snapshots.put(ctx, seq, write); err != nil {
		return fmt.Errorf("put object: %w", err)
	}
	if !j.engine.tidy.tryEnter() {
		return nil // a cut is open: the next snapshot cleans up
	}
	defer j.engine.tidy.leave()
	older, err := j.snapshots.clean(ctx)
	if err != nil {
		return fmt.Errorf("remove old objects: %w", err)
	}
	if older == 0 {
		return nil
	}
	if err := j.stream.Purge(ctx, jetstream.WithPurgeSequence(older+1)); err != nil {
		return fmt.Errorf("purge up to record %d: %w", older, err)
	}
	return nil
}

// make creates the object store if there is none, as the client library does, but with the engine's replicas and direct
// gets.
func (s snapshots) make(ctx context.Context) (jetstream.Stream, error) {
	stream, err := s.stream(ctx)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return stream, err
	}
	return s.engine.stream(ctx, jetstream.StreamConfig{
		Name:        "OBJ_" + s.bucket,
		Subjects:    []string{"$O." + s.bucket + ".C.>", "$O." + s.bucket + ".M.>"},
		Storage:     jetstream.FileStorage,
		Discard:     jetstream.DiscardNew,
		MaxBytes:    -1,
		AllowRollup: true,
		AllowDirect: s.engine.directly(),
	})
}

// find returns the object store. The server does not load a stream whose description has no valid checksum, which is
// what a kill leaves while it makes the stream or changes its configuration, and it never writes that checksum again.
// Making the stream loads what it has.
func (s snapshots) find(ctx context.Context) (jetstream.Stream, error) {
	stream, err := s.stream(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) && s.wasMade() {
		return s.make(ctx)
	}
	return stream, err
}

// wasMade reports whether the object store has been made before.
func (s snapshots) wasMade() bool {
	if s.mark.last() > 0 {
		return true
	}
	found, err := filepath.Glob(filepath.Join(s.engine.cfg.Dir, "jetstream", "*", "streams", "OBJ_"+s.bucket))
	return err == nil && len(found) > 0
}

// put stores the output of write as an object. It publishes the chunks one by one, each after the acknowledgement of
// the one before: a large snapshot must not delay the records that are appended meanwhile, nor fill the memory.
func (s snapshots) put(ctx context.Context, seq uint64, write func(io.Writer) error) error {
	n := snapshot{seq: seq, ObjectInfo: &jetstream.ObjectInfo{
		Bucket: s.bucket, NUID: rand.Text(),
		ObjectMeta: jetstream.ObjectMeta{
			Name:     fmt.Sprintf("%020d.%s", seq, rand.Text()),
			Metadata: map[string]string{seqKey: strconv.FormatUint(seq, 10)},
			Opts:     &jetstream.ObjectMetaOptions{ChunkSize: chunkSize},
		},
	}}
	chunks := &chunkWriter{info: n.ObjectInfo, digest: sha256.New(), publish: func(chunk []byte) error {
		_, err := s.engine.publish(ctx, &nats.Msg{Subject: s.chunks(n), Data: chunk})
		return err
	}}
	buffered := bufio.NewWriterSize(chunks, chunkSize)
	if err := write(buffered); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	n.Digest = jetstream.GetObjectDigestValue(chunks.digest)
	meta, err := json.Marshal(n.ObjectInfo)
	if err != nil {
		return fmt.Errorf("encode metadata: %w", err)
	}
	_, err = s.engine.publish(ctx, &nats.Msg{
		Subject: s.meta(n), Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}, Data: meta,
	})
	if err != nil {
		return fmt.Errorf("publish metadata: %w", err)
	}
	s.mark.advance(seq)
	return nil
}

// A chunkWriter publishes its input as the chunks of an object.
type chunkWriter struct {
	publish func(chunk []byte) error
	info    *jetstream.ObjectInfo // counts the chunks and bytes
	digest  hash.Hash
}

// Write publishes p in chunks.
func (w *chunkWriter) Write(p []byte) (n int, err error) {
	for chunk := range slices.Chunk(p, chunkSize) {
		if err := w.publish(chunk); err != nil {
			return n, fmt.Errorf("publish chunk %d: %w", w.info.Chunks, err)
		}
		_, _ = w.digest.Write(chunk) // never fails
		w.info.Chunks++
		w.info.Size += uint64(len(chunk))
		n += len(chunk)
	}
	return n, nil
}

// clean deletes all but the newest intact snapshots, and the remains of failed attempts. It returns the record of the
// oldest one kept, or 0 if there are fewer than kept.
func (s snapshots) clean(ctx context.Context) (older uint64, err error) {
	stream, err := s.stream(ctx)
	if err != nil {
		return 0, err
	}
	all, subjects, err := s.list(ctx, stream)
	if err != nil {
		return 0, err
	}
	for _, n := range all[max(0, len(all)-kept):] {
		delete(subjects, s.chunks(n))
		delete(subjects, s.meta(n))
	}
	for subject := range subjects {
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return 0, fmt.Errorf("purge %s: %w", subject, err)
		}
	}
	if len(all) < kept {
		return 0, nil
	}
	return all[len(all)-kept].seq, nil
}

func (s snapshots) stream(ctx context.Context) (jetstream.Stream, error) {
	return patiently(ctx, s.engine,
		func(ctx context.Context) (jetstream.Stream, error) { return s.engine.js.Stream(ctx, "OBJ_"+s.bucket) })
}

// chunks returns the subject of an object's chunks, meta that of its metadata.
func (s snapshots) chunks(n snapshot) string { return "$O." + s.bucket + ".C." + n.NUID }

func (s snapshots) metas() string { return "$O." + s.bucket + ".M." }

func (s snapshots) meta(n snapshot) string {
	return s.metas() + base64.URLEncoding.EncodeToString([]byte(n.Name))
}

// list returns the snapshots with all chunks, oldest first, and the number of messages of each subject of the object
// store.
func (s snapshots) list(ctx context.Context, stream jetstream.Stream) ([]snapshot, map[string]uint64, error) {
	info, err := s.engine.info(ctx, stream, jetstream.WithSubjectFilter("$O."+s.bucket+".>"))
	if err != nil {
		return nil, nil, fmt.Errorf("stream info: %w", err)
	}
	var all []snapshot
	for subject := range info.State.Subjects {
		if !strings.HasPrefix(subject, s.metas()) {
			continue
		}
		n, ok, err := s.object(ctx, stream, subject)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			continue
		}
		if chunks := info.State.Subjects[s.chunks(n)]; chunks != uint64(n.Chunks) {
			s.damaged(n, fmt.Errorf("%w: it has %d of %d chunks", errDamaged, chunks, n.Chunks))
			continue
		}
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b snapshot) int { return strings.Compare(a.Name, b.Name) })
	return all, info.State.Subjects, nil
}

// object gets an object's metadata; ok is false if it is no snapshot, or deleted.
func (s snapshots) object(ctx context.Context, stream jetstream.Stream,
	subject string) (n snapshot, ok bool, err error) {
	msg, err := s.engine.newest(ctx, stream, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return n, false, nil
	}
	if err != nil {
		return n, false, fmt.Errorf("get metadata: %w", err)
	}
	info := &jetstream.ObjectInfo{}
	if json.Unmarshal(msg.Data, info) != nil || info.Deleted {
		return n, false, nil
	}
	info.ModTime = msg.Time // as the client library sets it
	seq, err := strconv.ParseUint(info.Metadata[seqKey], 10, 64)
	return snapshot{info, seq}, err == nil, nil
}

// damaged logs why a snapshot is not used.
func (s snapshots) damaged(n snapshot, err error) {
	s.engine.cfg.Log.Warn("snapshot unreadable", "bucket", s.bucket, "seq", n.seq, "error", err)
}

// checkNewest logs whether the newest intact snapshot is not the one that was saved last: that is damaged, or even its
// metadata is missing.
func (s snapshots) checkNewest(seq uint64) error {
	saved := s.mark.last()
	if seq < saved {
		s.engine.cfg.Log.Error("a snapshot is damaged: an older one, if there is one, and the journal take its place",
			"bucket", s.bucket, "seq", saved, "older_seq", seq)
	}
	if seq == saved {
		return nil
	}
	if err := s.mark.settle(seq); err != nil {
		return fmt.Errorf("write the mark of the snapshots: %w", err)
	}
	return nil
}

// LoadSnapshot opens the newest object with the right number of chunks and the right digest. To check that, it reads
// each candidate once. Then it checks the end of the journal, because only both together give the state.
func (j *shardJournal) LoadSnapshot(ctx context.Context) (uint64, io.ReadCloser, error) {
	seq, r, err := j.newestSnapshot(ctx)
	if err != nil {
		return 0, nil, err
	}
	if err := errors.Join(j.snapshots.checkNewest(seq), j.checkEnd(ctx, seq)); err != nil {
		return 0, nil, err
	}
	return seq, r, nil
}

func (j *shardJournal) newestSnapshot(ctx context.Context) (uint64, io.ReadCloser, error) {
	stream, err := j.snapshots.find(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, fmt.Errorf("open object store: %w", err)
	}
	all, _, err := j.snapshots.list(ctx, stream)
	if err != nil {
		return 0, nil, err
	}
	for _, n := range slices.Backward(all) {
		_, err := io.Copy(io.Discard, j.snapshots.open(ctx, stream, n))
		if err == nil {
			return n.seq, j.snapshots.open(ctx, stream, n), nil
		}
		if !errors.Is(err, errDamaged) {
			return 0, nil, fmt.Errorf("read object %s: %w", n.Name, err)
		}
		j.snapshots.damaged(n, err)
	}
	return 0, nil, nil
}

func (s snapshots) open(ctx context.Context, stream jetstream.Stream, n snapshot) *objectReader {
	get := func(from uint64) (*jetstream.RawStreamMsg, error) {
		return s.engine.message(ctx, stream, from, jetstream.WithGetMsgSubject(s.chunks(n)))
	}
	return &objectReader{info: n.ObjectInfo, digest: sha256.New(), get: get}
}

// errDamaged is in the chain of the error of an object that differs from what was put.
var errDamaged = errors.New("the snapshot is damaged")

// An objectReader reads an object, and fails at its end if the object was incomplete.
type objectReader struct {
	get    func(from uint64) (*jetstream.RawStreamMsg, error) // the first chunk from this number on
	info   *jetstream.ObjectInfo
	digest hash.Hash

	chunks uint32
	next   uint64 // where in the stream to look for the next chunk
	chunk  []byte // the rest of the current one
}

func (r *objectReader) Read(p []byte) (int, error) {
	for len(r.chunk) == 0 {
		if r.chunks == r.info.Chunks {
			return 0, r.end()
		}
		if err := r.fetch(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.chunk)
	r.chunk = r.chunk[n:]
	return n, nil
}

// fetch gets the next chunk.
func (r *objectReader) fetch() error {
	msg, err := r.get(r.next)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return fmt.Errorf("%w: it has %d of %d chunks", errDamaged, r.chunks, r.info.Chunks)
	}
	if err != nil {
		return fmt.Errorf("chunk %d: %w", r.chunks, err)
	}
	r.chunks++
	r.next = msg.Sequence + 1
	r.chunk = msg.Data
	_, _ = r.digest.Write(msg.Data) // never fails
	return nil
}

// end compares the digest with that of the object.
func (r *objectReader) end() error {
	if jetstream.GetObjectDigestValue(r.digest) != r.info.Digest {
		return fmt.Errorf("%w: its digest differs", errDamaged)
	}
	return io.EOF
}

func (r *objectReader) Close() error { return nil }
