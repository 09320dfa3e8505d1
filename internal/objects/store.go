package objects

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/atomicfile"
)

const (
	// UploadRetention is how long an unfinished multipart upload is kept after its creation.
	UploadRetention = 24 * time.Hour

	// sweepAge is the age of the youngest blob that Sweep deletes: older than any upload that has written its bytes and
	// not stored its metadata.
	sweepAge = time.Hour

	// tidyInterval is how often Run deletes old uploads.
	tidyInterval = time.Hour

	// DefaultMaxSize is the default of Config.MaxSize: 64 GiB.
	DefaultMaxSize = 64 << 30
)

// Config configures a Store.
type Config struct {
	Dir     string // of all its files; created if necessary
	MaxSize int64  // of an object, in bytes; 0: DefaultMaxSize
	// MaxChunks is the maximum size of all chunks together, in bytes; 0: DefaultMaxChunks.
	MaxChunks int64
	Clock     clockwork.Clock
	Log       *slog.Logger

	// Fetch gets a blob that this store lacks, from another store. The error is fs.ErrNotExist if none has it. nil:
	// there is no other one.
	Fetch func(hash string) error
}

// A Store stores bytes as files. It is safe for concurrent use. One process at a time may have it open.
//
//	sha256/ab/abcd…     a blob: the bytes with this SHA-256, complete and durable
//	temp/…              a file that is being written; deleted when the store is opened
//	uploads/ID/         an unfinished multipart upload: upload.json, and a file for each part
//	chunks/ab/abcd…     bytes of which a blob will be made, see PutChunk
//	indexes/ab/abcd…    what is where in a blob, see PutIndex
type Store struct {
	Config

	// mu makes renewing a blob's time, and deleting it because of its time, exclude each other. It also makes replacing
	// a file and reading the size of the earlier one exclude others.
	mu sync.Mutex

	chunkBytes atomic.Int64 // of all chunks
}

// Open opens a store, and deletes temporary files and old uploads.
func Open(c Config) (*Store, error) {
	s := &Store{Config: c}
	if s.MaxSize == 0 {
		s.MaxSize = DefaultMaxSize
	}
	if s.MaxChunks == 0 {
		s.MaxChunks = DefaultMaxChunks
	}
	if err := os.RemoveAll(s.temp()); err != nil {
		return nil, fmt.Errorf("object store: %w", err)
	}
	if err := s.makeDirs(); err != nil {
		return nil, fmt.Errorf("object store: %w", err)
	}
	err := listFiles(s.chunks(), func(b Blob) error {
		s.chunkBytes.Add(b.Size)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("object store: %w", err)
	}
	s.tidy()
	return s, nil
}

// makeDirs makes the directories, but for those that rename makes.
func (s *Store) makeDirs() error {
	for _, dir := range []string{s.temp(), s.uploads(), s.blobs(), s.chunks(), s.indexes()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return atomicfile.SyncDir(s.Dir)
}

func (s *Store) blobs() string   { return filepath.Join(s.Dir, "sha256") }
func (s *Store) temp() string    { return filepath.Join(s.Dir, "temp") }
func (s *Store) uploads() string { return filepath.Join(s.Dir, "uploads") }

// Run deletes old uploads and chunks until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	ticker := s.Clock.NewTicker(tidyInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.Chan():
			s.tidy()
		}
	}
}

// path returns the file of a blob.
func (s *Store) path(hash string) (string, error) { return named(s.blobs(), hash) }

// named returns the file that a hash names in a directory; an error for a text that is no SHA-256 in lower-case hex, so
// that no hash leads out of the directory.
func named(dir, hash string) (string, error) {
	if raw, err := hex.DecodeString(hash); err != nil || len(raw) != 32 || hex.EncodeToString(raw) != hash {
		return "", fmt.Errorf("blob %.80q: not a SHA-256 in hex", hash)
	}
	return filepath.Join(dir, hash[:2], hash), nil
}

// Open opens a blob for reading, and fetches it before if necessary. The error is fs.ErrNotExist for one that does not
// exist.
func (s *Store) Open(hash string) (*os.File, error) {
	f, err := s.OpenHere(hash)
	if s.Fetch == nil || !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := s.Fetch(hash); err != nil {
		return nil, err
	}
	return s.OpenHere(hash)
}

// OpenHere is Open for a blob of this store alone.
func (s *Store) OpenHere(hash string) (*os.File, error) {
	return openNamed(s.blobs(), hash)
}

// Has reports whether there is a blob; true if that is not certain.
func (s *Store) Has(hash string) bool {
	path, err := s.path(hash)
	if err == nil {
		_, err = os.Stat(path)
	}
	return !errors.Is(err, fs.ErrNotExist)
}

// Renew keeps a blob from being deleted by Sweep for a while, for a caller that is about to store a reference to it.
// The error is fs.ErrNotExist for one that does not exist.
func (s *Store) Renew(hash string) error {
	err := s.renewHere(hash)
	if s.Fetch == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.Fetch(hash); err != nil {
		return err
	}
	return s.renewHere(hash)
}

func (s *Store) renewHere(hash string) error {
	path, err := s.path(hash)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	return os.Chtimes(path, now, now)
}

// Delete deletes a blob. It is no error if there is none. Readers that have opened it can continue, except on Windows,
// where Delete fails meanwhile.
func (s *Store) Delete(hash string) error {
	path, err := s.path(hash)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(absentIsFine(os.Remove(path)), s.deleteIndex(hash))
}

// A Blob is a file of the store.
type Blob struct {
	Hash     string
	Size     int64     // in bytes
	Modified time.Time // when it was written, written again or renewed
}

// List calls yield for each blob, by hash, until it returns false.
func (s *Store) List(yield func(Blob) bool) error {
	err := listFiles(s.blobs(), func(b Blob) error {
		if !yield(b) {
			return filepath.SkipAll
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list blobs: %w", err)
	}
	return nil
}

// Sweep deletes the blobs to which nothing refers, except those written or renewed in the last hour: their metadata may
// not be stored yet. It returns the number of bytes deleted.
func (s *Store) Sweep(ctx context.Context, referenced func(hash string) bool) (bytes int64, err error) {
	before := s.Clock.Now().Add(-sweepAge)
	listed := s.List(func(b Blob) bool {
		if !b.Modified.Before(before) || referenced(b.Hash) {
			return ctx.Err() == nil
		}
		var deleted bool
		if deleted, err = s.deleteOld(b.Hash, before); deleted {
			bytes += b.Size
		}
		return err == nil && ctx.Err() == nil
	})
	return bytes, errors.Join(listed, err, ctx.Err())
}

// deleteOld deletes a blob that was not renewed meanwhile.
func (s *Store) deleteOld(hash string, before time.Time) (deleted bool, err error) {
	path, err := s.path(hash)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := os.Stat(path)
	if err != nil || !info.ModTime().Before(before) {
		return false, absentIsFine(err)
	}
	err = os.Remove(path)
	return err == nil, errors.Join(absentIsFine(err), s.deleteIndex(hash))
}

// keep moves a complete file to its place as a blob, durably. It deletes the file if the blob exists.
func (s *Store) keep(temp, hash string) error {
	path, err := s.path(hash)
	if err != nil {
		return err
	}
	if s.renewHere(hash) == nil {
		err = os.Remove(temp)
	} else if err = rename(temp, path); err == nil {
		err = s.renewHere(hash)
	}
	// Also of an existing one, and with its directory: both may be as new.
	return errors.Join(err, atomicfile.SyncDir(filepath.Dir(path)), atomicfile.SyncDir(s.blobs()))
}

// rename moves a file to a place that its hash names, and makes the directory there for the first one.
func rename(file, path string) error {
	err := os.Rename(file, path)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(file, path)
}

func absentIsFine(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
