package backup

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/muster-gg/muster/internal/journal"
)

// A Visitor is called with the contents of a backup, in order. Each field may be nil. Arguments are valid until the
// function returns. An error ends the reading and is returned unchanged.
type Visitor struct {
	Header   func(Header) error
	File     func(File) error
	Shard    func(s Shard, snapshot io.Reader) error // nil: there is none
	Record   func(journal.Stored) error              // of the last Shard
	EndShard func() error
	History  func(last uint64) error
	Entry    func(journal.Stored) error
	EndEntry func() error // after the last entry
	Feed     func(last uint64) error
	Event    func(journal.Stored) error
	EndEvent func() error // after the last event
	Position func(Position) error
	Blob     func(b Blob, content io.Reader) error
}

// Read reads and checks a backup. The visitor is called before the checksum of the section is verified: a caller that
// must not use damaged data reads twice. Memory is bounded, whatever the file contains. The error has ErrNoBackup or
// ErrDamaged in its chain, unless from or the visitor failed.
func Read(from io.Reader, v Visitor) (Summary, error) {
	r, err := newReader(from)
	if err != nil {
		return Summary{}, err
	}
	defer r.compressed.Close()
	r.visit = v
	if err := r.sections(); err != nil {
		return Summary{}, err
	}
	return r.summary, nil
}

// Limits of the memory for decompression.
const (
	maxWindow = 8 << 20
	maxMemory = 64 << 20
)

const bufferSize = 64 << 10 // of what is read from the file

type reader struct {
	source     *source
	compressed *zstd.Decoder
	in         *bufferedByte
	visit      Visitor
	summary    Summary

	sum     hash.Hash // of all frames
	section end       // of the frames of the section
	before  end       // the same without the current frame, if that ends the section
	all     []byte    // the sum without the current frame, if that is the trailer
	where   string    // for errors
	kind    kind      // of the current frame
	head    []byte
	body    bytes.Buffer
}

// A source remembers errors of the underlying reader, which are not damage.
type source struct {
	from io.Reader
	err  error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

type bufferedByte struct {
	io.Reader
	one [1]byte
}

func (b *bufferedByte) ReadByte() (byte, error) {
	_, err := io.ReadFull(b.Reader, b.one[:])
	return b.one[0], err
}

func newReader(from io.Reader) (*reader, error) {
	// The decoder reads a few bytes at a time.
	r := &reader{source: &source{from: bufio.NewReaderSize(from, bufferSize)}, sum: sha256.New(), where: "the header"}
	begin := make([]byte, len(magic))
	if _, err := io.ReadFull(r.source, begin); err != nil || string(begin) != magic {
		return nil, cmp.Or(r.source.err, ErrNoBackup)
	}
	_, _ = r.sum.Write(begin) // never fails
	compressed, err := zstd.NewReader(r.source, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(maxMemory))
	if err != nil {
		return nil, r.damaged(err)
	}
	r.compressed, r.in = compressed, &bufferedByte{Reader: compressed}
	return r, nil
}

// damaged returns ErrDamaged with the place, or the error of the underlying reader.
func (r *reader) damaged(why any) error {
	if r.source.err != nil {
		return r.source.err
	}
	if err, ok := why.(error); ok && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return fmt.Errorf("%w: file ends in %s", ErrDamaged, r.where)
	}
	return fmt.Errorf("%w: in %s: %v", ErrDamaged, r.where, why)
}

func (r *reader) sections() error {
	if err := r.header(); err != nil {
		return err
	}
	if err := r.files(); err != nil {
		return err
	}
	for i := range r.summary.Header.Shards {
		if err := r.shard(i); err != nil {
			return err
		}
	}
	if err := r.history(); err != nil {
		return err
	}
	if err := r.feed(); err != nil {
		return err
	}
	return r.trailer()
}

// MaxShards is the maximum number of shards of a backup.
const MaxShards = 1 << 10

func (r *reader) header() error {
	h := &r.summary.Header
	if err := r.want(kindHeader, h); err != nil {
		return err
	}
	if h.Shards < 1 || h.Shards > MaxShards {
		return r.damaged(fmt.Sprintf("%d shards, want 1 to %d", h.Shards, MaxShards))
	}
	return call(r.visit.Header, *h)
}

func (r *reader) files() error {
	r.where = "the files"
	if err := r.want(kindFiles, &empty{}); err != nil {
		return err
	}
	return r.items(func() error {
		var f File
		if err := r.is(kindFile, &f); err != nil {
			return err
		}
		return call(r.visit.File, f)
	})
}

func (r *reader) shard(number int) error {
	r.where = fmt.Sprintf("shard %d", number)
	var s Shard
	if err := r.want(kindShard, &s); err != nil {
		return err
	}
	if s.Number != number || s.Snapshot > s.Last {
		return r.damaged(fmt.Sprintf("found shard %d with a snapshot of record %d of %d", s.Number, s.Snapshot, s.Last))
	}
	if err := r.snapshot(s); err != nil {
		return err
	}
	last := s.Snapshot
	err := r.rest(func() error {
		var one stored
		if err := r.is(kindRecord, &one); err != nil {
			return err
		}
		if one.Seq != last+1 {
			return r.damaged(fmt.Sprintf("record %d follows record %d", one.Seq, last))
		}
		last++
		r.summary.Records++
		return call(r.visit.Record, one.journal())
	})
	if err == nil && last != s.Last {
		err = r.damaged(fmt.Sprintf("last record is %d, want %d", last, s.Last))
	}
	if err != nil {
		return err
	}
	r.summary.Shards = append(r.summary.Shards, s)
	return callEnd(r.visit.EndShard)
}

// snapshot passes the snapshot to the visitor, and leaves the reader at the first frame after it.
func (r *reader) snapshot(s Shard) error {
	chunks := &chunkReader{r: r}
	if err := r.next(); err != nil {
		return err
	}
	if has := r.kind == kindChunk; has != (s.Snapshot > 0) {
		return r.damaged(fmt.Sprintf("found a snapshot: %t, want that of record %d (0: none)", has, s.Snapshot))
	}
	if r.visit.Shard != nil {
		var from io.Reader
		if s.Snapshot > 0 {
			from = chunks
		}
		if err := r.visit.Shard(s, from); err != nil {
			return err
		}
	}
	_, err := io.Copy(io.Discard, chunks)
	return err
}

// A chunkReader reads the chunks from the current frame on.
type chunkReader struct {
	r    *reader
	last error
}

func (c *chunkReader) Read(p []byte) (int, error) {
	for c.last == nil && c.r.kind == kindChunk && c.r.body.Len() == 0 {
		c.last = c.r.next()
	}
	switch {
	case c.last != nil:
		return 0, c.last
	case c.r.kind != kindChunk:
		return 0, io.EOF
	}
	return c.r.body.Read(p)
}

func (r *reader) history() error {
	r.where = "the history"
	err := r.numbered(kindHistory, r.visit.History, func(last uint64, before *uint64) error {
		r.summary.Entries++
		return r.ascending(kindEntry, last, before, r.visit.Entry)
	})
	if err != nil {
		return err
	}
	return callEnd(r.visit.EndEntry)
}

func (r *reader) feed() error {
	r.where = "the event feed"
	events := true
	err := r.numbered(kindFeed, r.visit.Feed, func(last uint64, before *uint64) error {
		if events && r.kind == kindEvent {
			r.summary.Events++
			return r.ascending(kindEvent, last, before, r.visit.Event)
		}
		if events {
			events = false
			if err := callEnd(r.visit.EndEvent); err != nil {
				return err
			}
		}
		var p Position
		if err := r.is(kindPosition, &p); err != nil {
			return err
		}
		if p.Seq > last {
			return r.damaged(fmt.Sprintf("reader %.100q is at %d of %d", p.Reader, p.Seq, last))
		}
		return call(r.visit.Position, p)
	})
	if err == nil && events {
		err = callEnd(r.visit.EndEvent)
	}
	return err
}

// numbered reads a section whose items have numbers up to a last one.
func (r *reader) numbered(k kind, begin func(uint64) error, item func(last uint64, before *uint64) error) error {
	var e ends
	if err := r.want(k, &e); err != nil {
		return err
	}
	if err := call(begin, e.Last); err != nil {
		return err
	}
	before := uint64(0)
	return r.items(func() error { return item(e.Last, &before) })
}

// ascending decodes the current frame, whose number must be larger than the one before.
func (r *reader) ascending(k kind, last uint64, before *uint64, visit func(journal.Stored) error) error {
	var one stored
	if err := r.is(k, &one); err != nil {
		return err
	}
	if one.Seq <= *before || one.Seq > last {
		return r.damaged(fmt.Sprintf("number %d follows number %d of %d", one.Seq, *before, last))
	}
	*before = one.Seq
	return call(visit, one.journal())
}

// items calls item with each frame of the section, from the next one on.
func (r *reader) items(item func() error) error {
	if err := r.next(); err != nil {
		return err
	}
	return r.rest(item)
}

// rest is items from the current frame on.
func (r *reader) rest(item func() error) error {
	for {
		if r.kind == kindEnd {
			return r.endSection()
		}
		if err := item(); err != nil {
			return err
		}
		if err := r.next(); err != nil {
			return err
		}
	}
}

// endSection verifies the checksum of the section.
func (r *reader) endSection() error {
	var e end
	if err := r.is(kindEnd, &e); err != nil {
		return err
	}
	if e != r.before {
		return r.damaged("wrong checksum")
	}
	r.section = end{}
	return nil
}

func (r *reader) trailer() error {
	r.where = "the trailer"
	if err := r.next(); err != nil {
		return err
	}
	if r.kind == kindBlobs {
		if err := r.blobs(); err != nil {
			return err
		}
		r.where = "the trailer"
		if err := r.next(); err != nil {
			return err
		}
	}
	var t trailer
	if err := r.is(kindTrailer, &t); err != nil {
		return err
	}
	if !bytes.Equal(t.SHA256, r.all) {
		return r.damaged("wrong checksum of the file")
	}
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		return r.damaged("unexpected data after the end")
	}
	return nil
}

// blobs reads the section of blobs, whose first frame is the current one.
func (r *reader) blobs() error {
	r.where = "the builds"
	if err := r.next(); err != nil {
		return err
	}
	for r.kind != kindEnd {
		if err := r.blob(); err != nil {
			return err
		}
	}
	return r.endSection()
}

// blob reads a blob, and leaves the reader at the first frame after it.
func (r *reader) blob() error {
	var b Blob
	if err := r.is(kindBlob, &b); err != nil {
		return err
	}
	if err := r.next(); err != nil {
		return err
	}
	content := &counter{from: &chunkReader{r: r}}
	if r.visit.Blob != nil {
		if err := r.visit.Blob(b, content); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return err
	}
	if content.n != b.Size {
		return r.damaged(fmt.Sprintf("blob %.64q has %d bytes, want %d", b.Hash, content.n, b.Size))
	}
	r.summary.Blobs++
	r.summary.Bytes += b.Size
	return nil
}

// want reads a frame of this kind.
func (r *reader) want(k kind, body any) error {
	if err := r.next(); err != nil {
		return err
	}
	return r.is(k, body)
}

// is decodes the current frame, which must have this kind.
func (r *reader) is(k kind, body any) error {
	if r.kind != k {
		return r.damaged(fmt.Sprintf("frame of kind %d, want %d", r.kind, k))
	}
	if err := decoding.Unmarshal(r.body.Bytes(), body); err != nil {
		return r.damaged(fmt.Sprintf("decode frame of kind %d: %v", k, err))
	}
	return nil
}

func (r *reader) next() error {
	first, err := r.in.ReadByte()
	if err != nil {
		return r.damaged(err)
	}
	size, err := binary.ReadUvarint(r.in)
	if err != nil {
		return r.damaged(err)
	}
	if size > maxFrame {
		return r.damaged(fmt.Sprintf("frame of %d bytes", size))
	}
	r.kind = kind(first)
	r.head = binary.AppendUvarint(append(r.head[:0], first), size)
	r.body.Reset()
	// allocates only what is read, whatever the length says
	if _, err := io.CopyN(&r.body, r.in.Reader, int64(size)); err != nil {
		return r.damaged(err)
	}
	r.sumUp()
	return nil
}

// sumUp adds the current frame to the checksums.
func (r *reader) sumUp() {
	switch r.kind {
	case kindEnd:
		r.before = r.section
	case kindTrailer:
		r.all = r.sum.Sum(nil)
	}
	for _, part := range [][]byte{r.head, r.body.Bytes()} {
		_, _ = r.sum.Write(part) // never fails
		r.section.Sum = crc32.Update(r.section.Sum, castagnoli, part)
	}
	r.section.Frames++
}

func call[T any](visit func(T) error, with T) error {
	if visit == nil {
		return nil
	}
	return visit(with)
}

func callEnd(visit func() error) error {
	if visit == nil {
		return nil
	}
	return visit()
}

// Restore stores a backup in an empty engine, and passes the files of the data directory to file, and the blobs to
// blob. Either may be nil. The backup must have been checked: after an error the engine is incomplete.
func Restore(ctx context.Context, from io.Reader, to journal.Restorer, file func(File) error,
	blob func(Blob, io.Reader) error) (Summary, error) {
	f := &restorer{ctx: ctx, to: to}
	return Read(from, Visitor{
		File: file, Blob: blob,
		Shard: func(s Shard, snapshot io.Reader) error {
			return f.begin(s.Last)(to.Shard(ctx, s.Number, s.Snapshot, snapshot))
		},
		Record: f.put, EndShard: f.end,
		History: func(last uint64) error { return f.begin(last)(to.History(ctx)) },
		Entry:   f.put, EndEntry: f.end,
		Feed:  func(last uint64) error { return f.begin(last)(to.Feed(ctx)) },
		Event: f.put, EndEvent: f.end,
		Position: func(p Position) error { return to.SavePosition(ctx, p.Reader, p.Seq) },
	})
}

type restorer struct {
	ctx    context.Context // of the one call
	to     journal.Restorer
	writer journal.RecordWriter
	last   uint64 // of the writer
}

func (f *restorer) begin(last uint64) func(journal.RecordWriter, error) error {
	return func(w journal.RecordWriter, err error) error {
		f.writer, f.last = w, last
		return err
	}
}

func (f *restorer) put(s journal.Stored) error { return f.writer.Put(f.ctx, s) }
func (f *restorer) end() error                 { return f.writer.End(f.ctx, f.last) }
