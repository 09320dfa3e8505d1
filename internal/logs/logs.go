// Package logs stores the logs of server processes that have ended, as zip archives, and deletes them after a while.
//
// A log is a file whose name follows from its process, in a directory of the hour in which it was stored:
//
//	2026-11-28T07/ab/abcd….zip     a log: complete and durable
//	temp/…                         a file that is being written; deleted when the store is opened
//
// So there is no record of a log besides its file: a log is found by looking for its name in the directory of each
// hour, at most 337 of them, and an old hour is deleted as a whole. Nothing is in memory but the number and size of the
// files of each hour.
package logs

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/atomicfile"
)

const (
	// Retention is how long a log is kept. Source: GameLift developer guide, "Logging server messages".
	Retention = 14 * 24 * time.Hour
	// MaxLog is the maximum size of a log in bytes. Agents make none of more than 200 MiB.
	MaxLog = 200 << 20
	// maxFiles is the maximum number of logs: each is an inode of the file system.
	maxFiles = 2_000_000
	// tidyEvery is how often old logs are deleted.
	tidyEvery = 10 * time.Minute

	hourFormat = "2006-01-02T15" // of the name of a directory, in UTC
	extension  = ".zip"
)

// ErrFull is the error for a log for which there is no room.
var ErrFull = errors.New("the store of logs is full")

// A Key is the name of the log of a process: 64 hexadecimal digits.
type Key string

// KeyOf returns the name of the log of a process.
func KeyOf(fleet, compute, process string) Key {
	h := sha256.New()
	for _, part := range []string{fleet, compute, process} {
		var length [4]byte
		binary.BigEndian.PutUint32(length[:], uint32(len(part))) //nolint:gosec // ids are short
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return Key(hex.EncodeToString(h.Sum(nil)))
}

// ParseKey reads a key; false for any other text, so that no key leads out of the directory.
func ParseKey(text string) (Key, bool) {
	raw, err := hex.DecodeString(text)
	return Key(text), err == nil && len(raw) == sha256.Size && hex.EncodeToString(raw) == text
}

// Config configures a Store. All fields but Fetch are required.
type Config struct {
	Dir     string // of all its files; created if necessary
	MaxSize int64  // of all logs in bytes; when they are larger, the oldest are deleted
	Clock   clockwork.Clock
	Log     *slog.Logger

	// Fetch gets a log that this store lacks, from another store. The error is fs.ErrNotExist if none has it. nil:
	// there is no other one.
	Fetch func(key Key) error
}

// A Store stores logs. It is safe for concurrent use. One process at a time may have it open.
type Store struct {
	Config

	mu      sync.Mutex
	hours   map[string]*hour // by name; those that have a directory
	writing hour             // logs that are being written
	late    []string         // hours that are not counted yet
}

// An hour is the logs that were stored in an hour.
type hour struct {
	files int
	bytes int64
}

// Open opens a store, and deletes files that were not completed. It counts those of the present hour, to which further
// ones may be added. Run counts the others.
func Open(c Config) (*Store, error) {
	s := &Store{Config: c, hours: map[string]*hour{}}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("store of logs: %w", err)
	}
	return s, nil
}

func (s *Store) open() error {
	if err := os.RemoveAll(s.temp()); err != nil {
		return err
	}
	if err := os.MkdirAll(s.temp(), 0o700); err != nil {
		return err
	}
	dirs, err := os.ReadDir(s.Dir)
	if err != nil {
		return err
	}
	for _, d := range dirs {
		if _, err := time.Parse(hourFormat, d.Name()); err != nil {
			continue
		}
		s.hours[d.Name()] = new(hour)
		if d.Name() != s.now() {
			s.late = append(s.late, d.Name())
			continue
		}
		if s.hours[d.Name()], err = count(filepath.Join(s.Dir, d.Name())); err != nil {
			return err
		}
	}
	return nil
}

// now returns the name of the present hour.
func (s *Store) now() string { return hourOf(s.Clock.Now()) }

func hourOf(t time.Time) string { return t.UTC().Format(hourFormat) }

func (s *Store) temp() string { return filepath.Join(s.Dir, "temp") }

// count counts the files of an hour.
func count(dir string) (*hour, error) {
	h := new(hour)
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			h.files++
			h.bytes += info.Size()
		}
		return err
	})
	return h, err
}

// path returns the file of a log in an hour.
func (s *Store) path(hour string, key Key) string {
	return filepath.Join(s.Dir, hour, string(key[:2]), string(key)+extension)
}

// countLate counts the logs of earlier hours.
func (s *Store) countLate(ctx context.Context) error {
	for _, name := range s.late {
		if err := s.countHour(name); err != nil || ctx.Err() != nil {
			return err
		}
	}
	s.late = nil
	return nil
}

// countHour counts the logs of an hour, to which copies may have been added meanwhile.
func (s *Store) countHour(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hours[name] == nil {
		return nil // it was deleted meanwhile
	}
	h, err := count(filepath.Join(s.Dir, name))
	if err == nil {
		s.hours[name] = h
	}
	return err
}

// Run deletes old logs until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	if err := s.countLate(ctx); err != nil {
		s.Log.Error("logs of processes not counted", "err", err)
	}
	ticker := s.Clock.NewTicker(tidyEvery)
	defer ticker.Stop()
	for {
		if err := s.tidy(); err != nil {
			s.Log.Error("deletion of old logs failed", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.Chan():
		}
	}
}

// tidy deletes the hours whose logs are all too old.
func (s *Store) tidy() error {
	oldest := s.Clock.Now().UTC().Add(-Retention - time.Hour).Format(hourFormat)
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs error
	for name := range s.hours {
		if name < oldest {
			errs = errors.Join(errs, s.deleteHour(name))
		}
	}
	return errs
}

// deleteHour deletes an hour. The lock is held.
func (s *Store) deleteHour(name string) error {
	err := os.RemoveAll(filepath.Join(s.Dir, name))
	if err == nil {
		delete(s.hours, name)
	}
	return err
}

// A Writer writes a log. Either Commit or Abort must be called; Abort after Commit has no effect.
type Writer struct {
	store  *Store
	key    Key
	file   *os.File // nil after Commit or Abort
	size   int64
	room   int64     // reserved
	stored time.Time // zero: now
}

// Create begins to write a log of a size in bytes, which becomes part of all logs with Commit. The error is ErrFull if
// it has no room although all older hours were deleted.
func (s *Store) Create(key Key, size int64) (*Writer, error) { return s.create(key, size, time.Time{}) }

// CreateCopy is Create for a log that another store has, since a time. It deletes only hours that are older.
func (s *Store) CreateCopy(key Key, size int64, stored time.Time) (*Writer, error) {
	return s.create(key, size, stored)
}

// create is Create for a log that was stored at a time; zero: it is stored now.
func (s *Store) create(key Key, size int64, stored time.Time) (*Writer, error) {
	hour := s.now()
	if !stored.IsZero() {
		hour = hourOf(stored)
	}
	if err := s.makeRoom(size, hour); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(s.temp(), "*")
	if err != nil {
		s.release(size)
		return nil, fmt.Errorf("write a log: %w", err)
	}
	return &Writer{store: s, key: key, file: f, room: size, stored: stored}, nil
}

// release ends the reservation of a log.
func (s *Store) release(size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing.files--
	s.writing.bytes -= size
}

// makeRoom deletes the oldest hours, all before a given one, until a log of a size has room, and reserves it.
func (s *Store) makeRoom(size int64, hour string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.writing
	all.files++
	all.bytes += size
	var names []string
	for name, h := range s.hours {
		all.files += h.files
		all.bytes += h.bytes
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if all.bytes <= s.MaxSize && all.files <= maxFiles || name >= hour {
			break
		}
		h := *s.hours[name]
		if err := s.deleteHour(name); err != nil {
			return fmt.Errorf("delete old logs: %w", err)
		}
		s.Log.Warn("old logs of processes deleted: there are too many", "hour", name, "logs", h.files,
			"bytes", h.bytes, "limit_bytes", s.MaxSize)
		all.files -= h.files
		all.bytes -= h.bytes
	}
	if all.bytes > s.MaxSize || all.files > maxFiles {
		return ErrFull
	}
	s.writing.files++
	s.writing.bytes += size
	return nil
}

// Write appends bytes.
func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	w.size += int64(n)
	return n, err
}

// Commit makes the log durable, in place of an earlier one of the process.
func (w *Writer) Commit() error {
	f := w.file
	w.file = nil
	defer w.store.release(w.room)
	err := errors.Join(f.Sync(), f.Close())
	if err == nil {
		err = w.store.keep(f.Name(), w.key, w.size, w.stored)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // else it is deleted when the store is opened
		return fmt.Errorf("write a log: %w", err)
	}
	return nil
}

// Abort deletes what was written.
func (w *Writer) Abort() {
	if w.file != nil {
		_ = w.file.Close()
		_ = os.Remove(w.file.Name()) // else it is deleted when the store is opened
		w.file = nil
		w.store.release(w.room)
	}
}

// keep moves a complete file to its place, durably.
func (s *Store) keep(temp string, key Key, size int64, stored time.Time) error {
	if stored.IsZero() {
		stored = s.Clock.Now()
	}
	if err := os.Chtimes(temp, stored, stored); err != nil {
		return err
	}
	name := hourOf(stored)
	path := s.path(name, key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := makeDirs(s.Dir, filepath.Dir(path)); err != nil {
		return err
	}
	h := s.hours[name]
	if h == nil {
		h = new(hour)
		s.hours[name] = h
	}
	earlier, _ := os.Stat(path)
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	h.files++
	h.bytes += size
	if earlier != nil {
		h.files--
		h.bytes -= earlier.Size()
	}
	return atomicfile.SyncDir(filepath.Dir(path))
}

// makeDirs makes the directory of an hour and one in it, durably.
func makeDirs(top, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return errors.Join(atomicfile.SyncDir(filepath.Dir(dir)), atomicfile.SyncDir(top))
}

// Find returns when the log of a process was stored in this store. The error is fs.ErrNotExist if there is none, or it
// is too old.
func (s *Store) Find(key Key) (stored time.Time, err error) {
	_, stored, err = s.find(key)
	return stored, err
}

func (s *Store) find(key Key) (path string, stored time.Time, err error) {
	s.mu.Lock()
	names := make([]string, 0, len(s.hours))
	for name := range s.hours {
		names = append(names, name)
	}
	s.mu.Unlock()
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(b, a) }) // the newest first
	for _, name := range names {
		path := s.path(name, key)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", time.Time{}, err
		case s.Clock.Since(info.ModTime()) >= Retention:
			return "", time.Time{}, fs.ErrNotExist
		}
		return path, info.ModTime(), nil
	}
	return "", time.Time{}, fs.ErrNotExist
}

// Open opens the log of a process, and fetches it before if necessary. The error is fs.ErrNotExist if there is none, or
// it is too old.
func (s *Store) Open(key Key) (*os.File, error) {
	f, err := s.OpenHere(key)
	if s.Fetch == nil || !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := s.Fetch(key); err != nil {
		return nil, err
	}
	return s.OpenHere(key)
}

// OpenHere is Open for a log of this store alone.
func (s *Store) OpenHere(key Key) (*os.File, error) {
	path, _, err := s.find(key)
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}
