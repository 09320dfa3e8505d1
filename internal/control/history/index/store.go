package index

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// FirstUnfiltered is the first byte of the lowest key that has no filter.
const FirstUnfiltered = 0x40

// Config configures a store.
type Config struct {
	Dir       string        // created if missing; one store at a time. "": memory
	Version   int           // of the keys; a store with other keys is not opened
	Retention time.Duration // of the log; at least 16 ms
	Log       *slog.Logger

	fs vfs.FS // nil: that of Dir
}

// epochsKept is how many epochs the retention has.
const epochsKept = 16

// Sizes of Pebble's parts, in bytes. They bound the memory of a store.
const (
	cacheSize    = 32 << 20
	memTableSize = 32 << 20
)

// Compactions rewrite keys that are never changed, so there are as few as questions allow: a question merges at most so
// many sorted runs of the newest keys, and the level below them takes the keys of an epoch of 700,000 game sessions
// before there is another one. With Pebble's defaults (4, 12 and 64 MiB), the rebuild of an index takes twice as long.
const (
	mostRuns      = 24
	stopWriting   = 2 * mostRuns
	firstLevelMax = 512 << 20 // bytes
)

// A Store is an ordered set of keys with values. All methods but Close are safe for concurrent use.
type Store struct {
	cfg     Config
	db      *pebble.DB
	writing sync.Mutex // held by Apply and Expire

	mu      sync.RWMutex
	epochs  []*epoch // oldest first
	lastID  uint32   // of all epochs so far
	applied uint64
	records int64         // of all epochs
	at      time.Time     // of the message that was applied last
	moved   chan struct{} // closed when applied advances
	failure error
	closing chan struct{}
	loading sync.WaitGroup
}

// Keys of the store itself have epoch 0.
var (
	versionKey  = []byte{0, 0, 0, 0, 'v'}
	positionKey = []byte{0, 0, 0, 0, 'p'} // the message that was applied last: number, time
	epochKeys   = []byte{0, 0, 0, 0, 'e'} // + id: first message, time, records
)

// Remove deletes a store that is not open.
func Remove(dir string) error { return os.RemoveAll(dir) }

// Open opens a store, and creates it if there is none.
func Open(cfg Config) (s *Store, err error) {
	s = &Store{cfg: cfg, moved: make(chan struct{}), closing: make(chan struct{})}
	defer func() {
		if r := recover(); r != nil { // Pebble panics about some damages
			s, err = nil, fmt.Errorf("open the index of the history: %v", r)
		}
	}()
	cache := pebble.NewCache(cacheSize)
	defer cache.Unref() // an open store has its own reference
	if s.db, err = pebble.Open(cfg.Dir, s.options(cache)); err != nil {
		return nil, fmt.Errorf("open the index of the history: %w", err)
	}
	if err := s.load(); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	return s, nil
}

func (s *Store) options(cache *pebble.Cache) *pebble.Options {
	options := &pebble.Options{
		Cache: cache, MemTableSize: memTableSize, MemTableStopWritesThreshold: 4, DisableWAL: true,
		L0CompactionThreshold: mostRuns, L0StopWritesThreshold: stopWriting, LBaseMaxBytes: firstLevelMax,
		FormatMajorVersion: pebble.FormatNewest, MaxOpenFiles: 256, Logger: logger{s.cfg.Log},
		EventListener: &pebble.EventListener{
			BackgroundError: func(err error) { _ = s.Fail(err) },
			DataCorruption:  func(d pebble.DataCorruptionInfo) { _ = s.Fail(d.Details) },
		},
	}
	options.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionBalanced })
	for i := range options.Levels {
		options.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	fs := s.cfg.fs
	switch {
	case fs != nil:
	case s.cfg.Dir == "":
		fs = vfs.NewMem()
	default:
		fs = vfs.Default
	}
	options.FS = manifestFS{fs, s.Fail}
	return options
}

// logger receives what Pebble logs.
type logger struct{ log *slog.Logger }

func (l logger) Infof(format string, args ...any) {}
func (l logger) Errorf(format string, args ...any) {
	l.log.Warn("index of the history", "message", fmt.Sprintf(format, args...))
}

// Fatalf must not return.
func (l logger) Fatalf(format string, args ...any) {
	panic("index of the history: " + fmt.Sprintf(format, args...))
}

// load reads the position and the epochs, and begins to load the filters.
func (s *Store) load() error {
	value, err := s.read(positionKey)
	if err != nil {
		return err
	}
	version, err := s.read(versionKey)
	if err != nil {
		return err
	}
	own := binary.AppendUvarint(nil, uint64(s.cfg.Version))
	if value == nil {
		return s.db.Set(versionKey, own, pebble.NoSync)
	}
	if !bytes.Equal(version, own) {
		return errors.New("the index of the history has the keys of another release")
	}
	if s.applied, s.at, err = decodePosition(value); err != nil {
		return err
	}
	err = s.scanRange(epochKeys, after(epochKeys), func(key, value []byte) error {
		e := &epoch{id: binary.BigEndian.Uint32(key[len(epochKeys):])}
		if len(value) != 24 {
			return errPosition
		}
		e.records = int64(binary.BigEndian.Uint64(value[16:]))
		e.first, e.begun, err = decodePosition(value[:16])
		s.epochs, s.lastID = append(s.epochs, e), e.id
		s.records += e.records
		return err
	})
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(s.epochs) {
		s.loading.Go(func() { s.loadFilter(e) })
	}
	return nil
}

func appendPosition(dst []byte, seq uint64, at time.Time) []byte {
	dst = binary.BigEndian.AppendUint64(dst, seq)
	return binary.BigEndian.AppendUint64(dst, uint64(at.UnixNano()))
}

var errPosition = errors.New("a position in the index of the history is damaged")

func decodePosition(value []byte) (seq uint64, at time.Time, err error) {
	if len(value) != 16 {
		return 0, at, errPosition
	}
	return binary.BigEndian.Uint64(value), time.Unix(0, int64(binary.BigEndian.Uint64(value[8:]))), nil
}

// after returns the first key after all keys with this prefix, which does not end with 0xff.
func after(prefix []byte) []byte {
	end := slices.Clone(prefix)
	end[len(end)-1]++
	return end
}

// Fail marks the store as unusable, and returns the error: Err returns the first one.
func (s *Store) Fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		s.failure = err
		close(s.moved)
		s.moved = make(chan struct{})
	}
	return err
}

// Err returns the error after which the store must be deleted; nil if there is none.
func (s *Store) Err() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.failure
}

// Applied returns the message that was applied last, and when it was stored; 0 if there is none.
func (s *Store) Applied() (seq uint64, at time.Time) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.applied, s.at
}

// Has reports whether a message has been applied, and the store is usable.
func (s *Store) Has(seq uint64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.failure == nil && s.applied >= seq
}

// Wait waits until a message has been applied. The error is Err's or the cause of ctx.
func (s *Store) Wait(ctx context.Context, seq uint64) error {
	for {
		s.mu.RLock()
		applied, moved, err := s.applied, s.moved, s.failure
		s.mu.RUnlock()
		if err != nil || applied >= seq {
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// A Batch is what one message of the log changes.
type Batch struct {
	Records int64 // that it adds to those that Stats counts, or removes
	changes []change
	order   []rank // of sorted
}

type change struct {
	key, value []byte
	del        bool
}

// A rank is the place of a change in the batch, with the first bytes of its key as a number, which decide most
// comparisons.
type rank struct {
	head uint64
	at   uint32
}

// Set stores a key with a value. The batch retains both.
func (b *Batch) Set(key, value []byte) { b.changes = append(b.changes, change{key: key, value: value}) }

// Delete deletes a key, in all epochs.
func (b *Batch) Delete(key []byte) { b.changes = append(b.changes, change{key: key, del: true}) }

// sorted returns the changes in the order of their keys, and those of one key as they were made: in that order they are
// applied in half the time.
func (b *Batch) sorted() iter.Seq[*change] {
	b.order = b.order[:0]
	for i := range b.changes {
		var head [8]byte
		copy(head[:], b.changes[i].key)
		b.order = append(b.order, rank{binary.BigEndian.Uint64(head[:]), uint32(i)})
	}
	slices.SortFunc(b.order, func(x, y rank) int {
		if x.head != y.head {
			return cmp.Compare(x.head, y.head)
		}
		order := bytes.Compare(b.changes[x.at].key, b.changes[y.at].key)
		return cmp.Or(order, cmp.Compare(x.at, y.at))
	})
	return func(yield func(*change) bool) {
		for _, r := range b.order {
			if !yield(&b.changes[r.at]) {
				return
			}
		}
	}
}

// Reset empties the batch.
func (b *Batch) Reset() { b.Records, b.changes = 0, b.changes[:0] }

// Apply applies the changes of a message, which was stored at this time, after all messages before it.
func (s *Store) Apply(seq uint64, at time.Time, b *Batch) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	w := s.db.NewBatch()
	defer func() { _ = w.Close() }() // fails only if it is open elsewhere
	e := s.epochOf(seq, at)
	e.records += b.Records
	if err := w.Set(e.key(), e.value(), nil); err != nil {
		return s.Fail(err)
	}
	e.addAll(b)
	var key []byte
	for c := range b.sorted() {
		var err error
		if c.del {
			err = s.delete(w, c.key)
		} else {
			key = append(binary.BigEndian.AppendUint32(key[:0], e.id), c.key...)
			err = w.Set(key, c.value, nil)
		}
		if err != nil {
			return s.Fail(err)
		}
	}
	if err := errors.Join(w.Set(positionKey, appendPosition(nil, seq, at), nil), w.Commit(pebble.NoSync)); err != nil {
		return s.Fail(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.applied, s.at = seq, at
	s.records += b.Records
	close(s.moved)
	s.moved = make(chan struct{})
	return nil
}

// delete deletes a key in the epochs that may have it.
func (s *Store) delete(w *pebble.Batch, key []byte) error {
	for _, e := range s.all() {
		full := append(binary.BigEndian.AppendUint32(nil, e.id), key...)
		if key[0] < FirstUnfiltered && !e.mayHave(hash(key)) {
			continue
		}
		if err := w.Delete(full, nil); err != nil {
			return err
		}
	}
	return nil
}

// all returns the epochs, oldest first.
func (s *Store) all() []*epoch {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.epochs
}

// read returns the value of a key of any epoch; nil if there is none.
func (s *Store) read(full []byte) ([]byte, error) {
	value, closer, err := s.db.Get(full)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, s.Fail(fmt.Errorf("read the index of the history: %w", err))
	}
	value = append(make([]byte, 0, len(value)), value...)
	return value, closer.Close()
}

// Get returns the value of a key, not nil, from the newest epoch that has it; nil if there is none.
func (s *Store) Get(key []byte) ([]byte, error) {
	h, filtered := uint64(0), key[0] < FirstUnfiltered
	if filtered {
		h = hash(key)
	}
	var full []byte
	for _, e := range slices.Backward(s.all()) {
		if filtered && !e.mayHave(h) {
			continue
		}
		full = append(binary.BigEndian.AppendUint32(full[:0], e.id), key...)
		if value, err := s.read(full); err != nil || value != nil {
			return value, err
		}
	}
	return nil, nil
}

// Stats describes a store.
type Stats struct {
	Epochs      int
	Records     uint64 // about: what was replaced counts until its epoch is deleted
	DiskBytes   uint64
	FilterBytes int
}

// Stats returns the size of the store.
func (s *Store) Stats() Stats {
	stats := Stats{DiskBytes: s.db.Metrics().DiskSpaceUsage(), Records: s.recordCount()}
	for _, e := range s.all() {
		stats.Epochs++
		e.mu.RLock()
		stats.FilterBytes += e.filter.bytes()
		e.mu.RUnlock()
	}
	return stats
}

func (s *Store) recordCount() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return uint64(max(s.records, 0))
}

// Close stores what is in memory and closes the store. No other call may be running.
func (s *Store) Close() error {
	close(s.closing)
	s.loading.Wait()
	return errors.Join(s.flush(), s.db.Close())
}

// flush stores what is in memory. Pebble repeats what fails, for ever if the disk is full.
func (s *Store) flush() error {
	flushed, err := s.db.AsyncFlush()
	if err != nil {
		return err
	}
	for {
		s.mu.RLock()
		moved, err := s.moved, s.failure
		s.mu.RUnlock()
		if err != nil {
			return err
		}
		select {
		case <-flushed:
			return nil
		case <-moved:
		}
	}
}
