package backup

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"maps"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/muster-gg/muster/internal/journal"
)

// Write writes a backup of a consistent snapshot with some files of the data directory, and sets the header's Taken. It
// streams: a slow writer delays nothing else. blobs is nil if the backup is without the bytes of builds and objects.
// The snapshot is closed before they are read, which may take long.
func Write(ctx context.Context, to io.Writer, h Header, files []File, snap journal.ConsistentSnapshot,
	blobs *Blobs) (err error) {
	w, err := newWriter(to)
	if err != nil {
		return err
	}
	h.Taken = snap.Taken().UTC()
	if err = w.all(ctx, h, files, snap); err == nil && blobs != nil {
		snap.Close()
		err = w.blobs(ctx, blobs)
	}
	if err != nil {
		return errors.Join(err, w.compressed.Close())
	}
	return w.close()
}

// A writer writes frames. It keeps the first error.
type writer struct {
	compressed *zstd.Encoder
	sum        hash.Hash // of all
	section    uint32    // sum of the frames of the section
	frames     uint64    // of the section
	head       []byte
	err        error
}

func newWriter(to io.Writer) (*writer, error) {
	// One goroutine and a small window: the service has priority.
	compressed, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(to, magic); err != nil {
		return nil, err
	}
	compressed.Reset(to)
	w := &writer{compressed: compressed, sum: sha256.New()}
	_, _ = io.WriteString(w.sum, magic) // never fails
	return w, nil
}

func (w *writer) all(ctx context.Context, h Header, files []File, snap journal.ConsistentSnapshot) error {
	w.frame(kindHeader, h)
	w.frame(kindFiles, empty{})
	for _, f := range files {
		w.frame(kindFile, f)
	}
	_ = w.end() // w keeps the error
	for i := range h.Shards {
		if err := w.shard(ctx, i, snap); err != nil {
			return fmt.Errorf("shard %d: %w", i, err)
		}
	}
	if err := w.history(ctx, snap); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	if err := w.feed(ctx, snap); err != nil {
		return fmt.Errorf("event feed: %w", err)
	}
	return w.err
}

func (w *writer) shard(ctx context.Context, number int, snap journal.ConsistentSnapshot) (err error) {
	contents, err := snap.Contents(ctx, number)
	if err != nil {
		return err
	}
	seq, snapshot, err := snap.Snapshot(ctx, number, contents.Last)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	w.frame(kindShard, Shard{Number: number, Snapshot: seq, Last: contents.Last})
	if snapshot != nil {
		err := w.chunks(snapshot)
		if err = errors.Join(err, snapshot.Close()); err != nil {
			return fmt.Errorf("snapshot of record %d: %w", seq, err)
		}
	}
	if err := snap.Records(ctx, number, seq, w.putter(kindRecord)); err != nil {
		return err
	}
	return w.end()
}

func (w *writer) chunks(snapshot io.Reader) error {
	chunk := make([]byte, chunkSize)
	for {
		n, err := io.ReadFull(snapshot, chunk)
		if n > 0 {
			w.raw(kindChunk, chunk[:n])
		}
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return w.err
		case err != nil:
			return err
		case w.err != nil:
			return w.err
		}
	}
}

func (w *writer) history(ctx context.Context, snap journal.ConsistentSnapshot) error {
	w.frame(kindHistory, ends{snap.LastEntry()})
	if err := snap.History(ctx, w.putter(kindEntry)); err != nil {
		return err
	}
	return w.end()
}

func (w *writer) feed(ctx context.Context, snap journal.ConsistentSnapshot) error {
	w.frame(kindFeed, ends{snap.LastEvent()})
	if err := snap.Feed(ctx, w.putter(kindEvent)); err != nil {
		return err
	}
	positions, err := snap.Positions(ctx)
	if err != nil {
		return err
	}
	for _, reader := range slices.Sorted(maps.Keys(positions)) {
		w.frame(kindPosition, Position{reader, positions[reader]})
	}
	return w.end()
}

func (w *writer) blobs(ctx context.Context, blobs *Blobs) error {
	w.frame(kindBlobs, empty{})
	for _, b := range blobs.List {
		if err := ctx.Err(); err != nil {
			return err
		}
		from, err := blobs.Open(b.Hash)
		if err != nil {
			return fmt.Errorf("blob %s: %w", b.Hash, err)
		}
		w.frame(kindBlob, b)
		counted := &counter{from: io.LimitReader(from, b.Size)}
		if err = errors.Join(w.chunks(counted), from.Close()); err == nil && counted.n != b.Size {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return fmt.Errorf("blob %s: %w", b.Hash, err)
		}
	}
	return w.end()
}

// A counter counts the bytes that are read.
type counter struct {
	from io.Reader
	n    int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

func (w *writer) putter(k kind) func(journal.Stored) error {
	return func(s journal.Stored) error {
		w.frame(k, toStored(s))
		return w.err
	}
}

func (w *writer) frame(k kind, body any) {
	data, err := encoding.Marshal(body)
	if err != nil {
		w.err = errors.Join(w.err, fmt.Errorf("encode %T: %w", body, err))
	}
	w.raw(k, data)
}

func (w *writer) raw(k kind, body []byte) {
	if len(body) > maxFrame {
		w.err = errors.Join(w.err, fmt.Errorf("frame of %d bytes is larger than %d", len(body), maxFrame))
	}
	w.head = binary.AppendUvarint(append(w.head[:0], byte(k)), uint64(len(body)))
	for _, part := range [][]byte{w.head, body} {
		_, _ = w.sum.Write(part) // never fails
		w.section = crc32.Update(w.section, castagnoli, part)
		if w.err == nil {
			_, w.err = w.compressed.Write(part)
		}
	}
	w.frames++
}

// end ends a section. Frames before the first section belong to it.
func (w *writer) end() error {
	w.frame(kindEnd, end{Frames: w.frames, Sum: w.section})
	w.frames, w.section = 0, 0
	return w.err
}

func (w *writer) close() error {
	w.frame(kindTrailer, trailer{w.sum.Sum(nil)})
	return errors.Join(w.err, w.compressed.Close())
}
