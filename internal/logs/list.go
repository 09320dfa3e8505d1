package logs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// An Entry is a log of a store.
type Entry struct {
	Key    Key
	Size   int64 // in bytes
	Stored time.Time
}

// List returns the logs of the hour of a time, in the order of their keys: at most limit ones after a key; "": from the
// first.
func (s *Store) List(hour time.Time, after Key, limit int) (entries []Entry, err error) {
	top := filepath.Join(s.Dir, hourOf(hour))
	dirs, err := readDir(top)
	for _, d := range dirs {
		if after != "" && d.Name() < string(after[:2]) {
			continue
		}
		files, err := readDir(filepath.Join(top, d.Name()))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			key, ok := ParseKey(strings.TrimSuffix(f.Name(), extension))
			info, err := f.Info()
			if !ok || err != nil || key <= after { // deleted meanwhile
				continue
			}
			entries = append(entries, Entry{key, info.Size(), info.ModTime()})
			if len(entries) == limit {
				return entries, nil
			}
		}
	}
	return entries, err
}

// readDir lists a directory; nothing if there is none.
func readDir(dir string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// Lacks reports whether this store can have a copy of a log of another store, and has none. It can not if the log is
// too old, or if it has no room without the deletion of newer ones.
func (s *Store) Lacks(e Entry) bool {
	name := hourOf(e.Stored)
	if _, err := os.Stat(s.path(name, e.Key)); !errors.Is(err, fs.ErrNotExist) || s.Clock.Since(e.Stored) >= Retention {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.writing
	kept.files++
	kept.bytes += e.Size
	for other, h := range s.hours {
		if other >= name {
			kept.files += h.files
			kept.bytes += h.bytes
		}
	}
	return kept.bytes <= s.MaxSize && kept.files <= maxFiles
}
