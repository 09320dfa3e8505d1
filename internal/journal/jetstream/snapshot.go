package jetstream

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// chunkSize is the size of a snapshot's pieces, in bytes.
const chunkSize = 128 << 10

// kept is how many snapshots are kept.
const kept = 2

// seqKey is where an object's metadata names the record that it is the state
// after.
const seqKey = "seq"

// snapshots is the object store of one shard. It is made with the first
// snapshot. Objects have the layout of every NATS object store, so that its tools
// can read them; they are written and read chunk by chunk here, which bounds what
// is under way and tells a chunk that is not there from one that is late. In a
// cluster all is read from the leader: a consumer may read from a replica that is
// behind, and would miss the newest snapshot.
type snapshots struct {
	engine *Engine
	bucket string
	mark   *mark // names the record of the newest snapshot that was saved
}

// A snapshot is an object, and the record that it is the state after.
type snapshot struct {
	*jetstream.ObjectInfo
	seq uint64
}

// SaveSnapshot writes an object under a new name. Then it removes the objects
// that are too many or not whole, and the records that no object needs.
func (j *shardJournal) SaveSnapshot(ctx context.Context, seq uint64, write func(io.Writer) error) error {
	if err := j.snapshots.make(ctx); err != nil {
		return fmt.Errorf("open object store: %w", err)
	}
	if err := j.snapshots.put(ctx, seq, write); err != nil {
		return fmt.Errorf("put object: %w", err)
	}
	if !j.engine.tidy.tryEnter() {
		return nil // a cut is open: the next snapshot makes up for it
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

// make makes the object store when there is none, as the client's own would, but
// for the replicas and where single messages come from.
func (s snapshots) make(ctx context.Context) error {
	_, err := s.stream(ctx)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	_, err = s.engine.stream(ctx, jetstream.StreamConfig{
		Name:        "OBJ_" + s.bucket,
		Subjects:    []string{"$O." + s.bucket + ".C.>", "$O." + s.bucket + ".M.>"},
		Storage:     jetstream.FileStorage,
		Discard:     jetstream.DiscardNew,
		MaxBytes:    -1,
		AllowRollup: true,
		AllowDirect: s.engine.directly(),
	})
	return err
}

// put stores what write writes as an object. Its chunks are published one by
// one, each when the one before is on disk: a large snapshot must not stand in
// the way of the records that are appended meanwhile, nor fill the memory.
func (s snapshots) put(ctx context.Context, seq uint64, write func(io.Writer) error) error {
	n := snapshot{seq: seq, ObjectInfo: &jetstream.ObjectInfo{
		Bucket: s.bucket, NUID: nuid.Next(),
		ObjectMeta: jetstream.ObjectMeta{
			Name:     fmt.Sprintf("%020d.%s", seq, nuid.Next()),
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

// A chunkWriter publishes what is written as the chunks of an object.
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

// clean removes all but the newest whole snapshots, with what earlier attempts
// left behind. It returns the record of the oldest one kept, or 0 while there
// are fewer than are to be kept.
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
	return patiently(ctx, s.engine, func(ctx context.Context) (jetstream.Stream, error) { return s.engine.js.Stream(ctx, "OBJ_"+s.bucket) })
}

// chunks is the subject of an object's chunks, meta that of its metadata.
func (s snapshots) chunks(n snapshot) string { return "$O." + s.bucket + ".C." + n.NUID }

func (s snapshots) metas() string { return "$O." + s.bucket + ".M." }

func (s snapshots) meta(n snapshot) string {
	return s.metas() + base64.URLEncoding.EncodeToString([]byte(n.Name))
}

// list gives the snapshots whose chunks are all there, oldest first, and how
// many messages each subject of the object store has.
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

// object gets an object's metadata; ok is false when it is none of ours, or gone.
func (s snapshots) object(ctx context.Context, stream jetstream.Stream, subject string) (n snapshot, ok bool, err error) {
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
	seq, err := strconv.ParseUint(info.Metadata[seqKey], 10, 64)
	return snapshot{info, seq}, err == nil, nil
}

// damaged says in the log what is wrong with a snapshot that is left out.
func (s snapshots) damaged(n snapshot, err error) {
	s.engine.cfg.Log.Warn("a snapshot cannot be read", "bucket", s.bucket, "seq", n.seq, "error", err)
}

// checkNewest says in the log when the newest whole snapshot is not the one that
// was saved last: it is damaged, or not even its metadata is left of it.
func (s snapshots) checkNewest(seq uint64) error {
	saved := s.mark.last()
	if seq < saved {
		s.engine.cfg.Log.Error("a snapshot is damaged: an older one, if there is one, and the journal take its place", "bucket", s.bucket, "seq", saved, "older_seq", seq)
	}
	if seq == saved {
		return nil
	}
	if err := s.mark.settle(seq); err != nil {
		return fmt.Errorf("write the mark of the snapshots: %w", err)
	}
	return nil
}

// LoadSnapshot opens the newest object that is whole: with the right number of
// chunks and the right digest. It reads each candidate once to know. Then it
// checks the end of the journal, because only both together give the state.
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
	stream, err := j.snapshots.stream(ctx)
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
	return &objectReader{info: n.ObjectInfo, digest: sha256.New(), get: func(from uint64) (*jetstream.RawStreamMsg, error) {
		return s.engine.message(ctx, stream, from, jetstream.WithGetMsgSubject(s.chunks(n)))
	}}
}

// errDamaged is in the chain of the error of an object that is not what was put.
var errDamaged = errors.New("the snapshot is damaged")

// An objectReader reads an object, and fails at its end when it was not whole.
type objectReader struct {
	get    func(from uint64) (*jetstream.RawStreamMsg, error) // the first chunk at this number or behind it
	info   *jetstream.ObjectInfo
	digest hash.Hash

	chunks uint32
	next   uint64 // where in the stream to look for the next chunk
	chunk  []byte // what is left of the present one
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

// end compares what was read with what was put.
func (r *objectReader) end() error {
	if jetstream.GetObjectDigestValue(r.digest) != r.info.Digest {
		return fmt.Errorf("%w: its digest differs", errDamaged)
	}
	return io.EOF
}

// Close ends the reading. It never fails.
func (r *objectReader) Close() error { return nil }
