package backup

import (
	"bytes"
	"cmp"
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

// A Visitor is called with what stands in a backup, in its order. Each field may be nil.
// What is handed over is the visitor's until it returns. An error ends
// the reading and is returned as it is.
type Visitor struct {
	Header   func(Header) error
	File     func(File) error
	Shard    func(s Shard, snapshot io.Reader) error // nil: there is none
	Record   func(journal.Stored) error              // of the shard before it
	EndShard func() error
	History  func(last uint64) error
	Entry    func(journal.Stored) error
	EndEntry func() error // behind the last entry
	Feed     func(last uint64) error
	Event    func(journal.Stored) error
	EndEvent func() error // behind the last event
	Position func(Position) error
}

// Read reads a backup and checks it. The visitor sees what it says before the checksums of its
// section are known to be right, so whoever must not act on what is damaged reads twice.
// Memory is bounded, whatever the file says. The error has ErrNoBackup or
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

// Memory that the decompression may take.
const (
	maxWindow = 8 << 20
	maxMemory = 64 << 20
)

// A reader reads frames.
type reader struct {
	source     *source
	compressed *zstd.Decoder
	in         *bufferedByte
	visit      Visitor
	summary    Summary

	sum     hash.Hash // of all frames
	section end       // of the frames of the section
	before  end       // the same without the present frame, if that ends it
	all     []byte    // the sum without the present frame, if that is the trailer
	where   string    // for errors
	kind    kind      // of the present frame
	head    []byte
	body    bytes.Buffer
}

// A source remembers that reading failed, which is no damage.
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

// A bufferedByte reads single bytes too.
type bufferedByte struct {
	io.Reader
	one [1]byte
}

func (b *bufferedByte) ReadByte() (byte, error) {
	_, err := io.ReadFull(b.Reader, b.one[:])
	return b.one[0], err
}

func newReader(from io.Reader) (*reader, error) {
	r := &reader{source: &source{from: from}, sum: sha256.New(), where: "the header"}
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

// damaged says where the file is not what was written.
func (r *reader) damaged(why any) error {
	if r.source.err != nil {
		return r.source.err
	}
	if err, ok := why.(error); ok && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return fmt.Errorf("%w: it ends in %s", ErrDamaged, r.where)
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

// MaxShards is how many shards a backup may have.
const MaxShards = 1 << 10

func (r *reader) header() error {
	h := &r.summary.Header
	if err := r.want(kindHeader, h); err != nil {
		return err
	}
	if h.Shards < 1 || h.Shards > MaxShards {
		return r.damaged(fmt.Sprintf("it has %d shards", h.Shards))
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
		return r.damaged(fmt.Sprintf("it is called shard %d, with a snapshot of record %d of %d", s.Number, s.Snapshot, s.Last))
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
		err = r.damaged(fmt.Sprintf("it ends with record %d instead of %d", last, s.Last))
	}
	if err != nil {
		return err
	}
	r.summary.Shards = append(r.summary.Shards, s)
	return callEnd(r.visit.EndShard)
}

// snapshot hands the snapshot over, and leaves the first frame behind it.
func (r *reader) snapshot(s Shard) error {
	chunks := &chunkReader{r: r}
	if err := r.next(); err != nil {
		return err
	}
	if has := r.kind == kindChunk; has != (s.Snapshot > 0) {
		return r.damaged(fmt.Sprintf("there is a snapshot: %t; of record %d", has, s.Snapshot))
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

// A chunkReader reads the chunks from the present frame on.
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

// numbered reads a section of what has numbers up to a last one.
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

// ascending takes the present frame, whose number is larger than the one before.
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

// items calls item with each frame of the section that comes.
func (r *reader) items(item func() error) error {
	if err := r.next(); err != nil {
		return err
	}
	return r.rest(item)
}

// rest is items that begins with the present frame.
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

// endSection compares what the present frame says with what was read before it.
func (r *reader) endSection() error {
	var e end
	if err := r.is(kindEnd, &e); err != nil {
		return err
	}
	if e != r.before {
		return r.damaged("its checksum differs")
	}
	r.section = end{}
	return nil
}

func (r *reader) trailer() error {
	r.where = "the trailer"
	if err := r.next(); err != nil {
		return err
	}
	var t trailer
	if err := r.is(kindTrailer, &t); err != nil {
		return err
	}
	if !bytes.Equal(t.SHA256, r.all) {
		return r.damaged("the checksum of all differs")
	}
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		return r.damaged("something stands behind its end")
	}
	return nil
}

// want reads a frame that must be of this kind.
func (r *reader) want(k kind, body any) error {
	if err := r.next(); err != nil {
		return err
	}
	return r.is(k, body)
}

// is decodes the present frame, which must be of this kind.
func (r *reader) is(k kind, body any) error {
	if r.kind != k {
		return r.damaged(fmt.Sprintf("a frame of kind %d stands where kind %d belongs", r.kind, k))
	}
	if err := decoding.Unmarshal(r.body.Bytes(), body); err != nil {
		return r.damaged(fmt.Sprintf("a frame of kind %d cannot be read: %v", k, err))
	}
	return nil
}

// next reads a frame.
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
		return r.damaged(fmt.Sprintf("a frame of %d bytes", size))
	}
	r.kind = kind(first)
	r.head = binary.AppendUvarint(append(r.head[:0], first), size)
	r.body.Reset()
	if _, err := io.CopyN(&r.body, r.in.Reader, int64(size)); err != nil { // grows with what is there, whatever the length says
		return r.damaged(err)
	}
	r.sumUp()
	return nil
}

// sumUp takes the present frame into the sums.
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

// call calls a visitor's function, if there is one.
func call[T any](visit func(T) error, with T) error {
	if visit == nil {
		return nil
	}
	return visit(with)
}

// callEnd is call for those without an argument.
func callEnd(visit func() error) error {
	if visit == nil {
		return nil
	}
	return visit()
}
