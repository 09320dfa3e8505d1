package objects

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	// ChunkRetention is how long a chunk is kept after it was written.
	ChunkRetention = 24 * time.Hour

	// DefaultMaxChunks is the default of Config.MaxChunks: 64 GiB.
	DefaultMaxChunks = 64 << 30
)

func (s *Store) chunks() string  { return filepath.Join(s.Dir, "chunks") }
func (s *Store) indexes() string { return filepath.Join(s.Dir, "indexes") }

// PutChunk stores a chunk: bytes of which a blob will be made. It returns their SHA-256 in hex. A chunk is not durable,
// and is deleted after ChunkRetention. The error is an *Error with the code SlowDown if the chunks are too large
// together.
func (s *Store) PutChunk(data []byte) (hash string, err error) {
	sum := sha256.Sum256(data)
	hash = hex.EncodeToString(sum[:])
	size := int64(len(data))
	if s.chunkBytes.Add(size) > s.MaxChunks {
		s.chunkBytes.Add(-size)
		return hash, Errorf(SlowDown, "The chunks of unfinished builds have %d bytes, the maximum. Try again later.",
			s.MaxChunks)
	}
	before, err := s.place(s.chunks(), hash, data)
	if err != nil {
		s.chunkBytes.Add(-size)
		return hash, fmt.Errorf("write chunk: %w", err)
	}
	s.chunkBytes.Add(-before)
	return hash, nil
}

// place writes a file that is not durable, named by a hash, and returns the size of the one that it replaces.
func (s *Store) place(dir, hash string, data []byte) (before int64, err error) {
	path, err := named(dir, hash)
	if err != nil {
		return 0, err
	}
	f, err := os.CreateTemp(s.temp(), "*")
	if err != nil {
		return 0, err
	}
	_, err = f.Write(data)
	now := s.Clock.Now()
	if err = errors.Join(err, f.Close(), os.Chtimes(f.Name(), now, now)); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		before = sizeOf(path)
		err = rename(f.Name(), path)
	}
	if err != nil {
		return 0, errors.Join(err, absentIsFine(os.Remove(f.Name())))
	}
	return before, nil
}

// sizeOf returns the size of a file; 0 if there is none.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// HasChunk reports whether there is a chunk.
func (s *Store) HasChunk(hash string) bool { return hasNamed(s.chunks(), hash) }

func hasNamed(dir, hash string) bool {
	path, err := named(dir, hash)
	if err == nil {
		_, err = os.Stat(path)
	}
	return err == nil
}

// OpenChunk opens a chunk, which may be damaged. The error is fs.ErrNotExist if there is none.
func (s *Store) OpenChunk(hash string) (*os.File, error) { return openNamed(s.chunks(), hash) }

func openNamed(dir, hash string) (*os.File, error) {
	path, err := named(dir, hash)
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// Chunk returns a chunk. The error is fs.ErrNotExist if there is none, or if it is damaged, which deletes it.
func (s *Store) Chunk(hash string) ([]byte, error) {
	path, err := named(s.chunks(), hash)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != hash {
		return nil, errors.Join(fs.ErrNotExist, s.DeleteChunk(hash))
	}
	return data, nil
}

// DeleteChunk deletes a chunk. It is no error if there is none.
func (s *Store) DeleteChunk(hash string) error {
	path, err := named(s.chunks(), hash)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	size := sizeOf(path)
	if err := os.Remove(path); err != nil {
		return absentIsFine(err)
	}
	s.chunkBytes.Add(-size)
	return nil
}

// PutIndex stores what the caller knows of the content of a blob. An index is not durable, and is deleted with its
// blob.
func (s *Store) PutIndex(hash string, index []byte) error {
	if _, err := s.place(s.indexes(), hash, index); err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	return nil
}

// Index returns the index of a blob, which may be damaged. The error is fs.ErrNotExist if there is none.
func (s *Store) Index(hash string) ([]byte, error) {
	path, err := named(s.indexes(), hash)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// HasIndex reports whether there is an index of a blob.
func (s *Store) HasIndex(hash string) bool { return hasNamed(s.indexes(), hash) }

// OpenIndex opens the index of a blob. The error is fs.ErrNotExist if there is none.
func (s *Store) OpenIndex(hash string) (*os.File, error) { return openNamed(s.indexes(), hash) }

// deleteIndex deletes the index of a blob that was deleted.
func (s *Store) deleteIndex(hash string) error {
	path, err := named(s.indexes(), hash)
	if err != nil {
		return err
	}
	return absentIsFine(os.Remove(path))
}

// tidyChunks deletes old chunks.
func (s *Store) tidyChunks() error {
	before := s.Clock.Now().Add(-ChunkRetention)
	return listFiles(s.chunks(), func(b Blob) error {
		if b.Modified.Before(before) {
			return s.DeleteChunk(b.Hash)
		}
		return nil
	})
}

// tidyIndexes deletes old indexes of blobs that this store does not have: those were of another store.
func (s *Store) tidyIndexes() error {
	before := s.Clock.Now().Add(-ChunkRetention)
	return listFiles(s.indexes(), func(b Blob) error {
		if b.Modified.Before(before) && !s.Has(b.Hash) {
			return s.deleteIndex(b.Hash)
		}
		return nil
	})
}

// listFiles calls visit for each file in the directories of a directory, by name.
func listFiles(dir string, visit func(Blob) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return absentIsFine(err)
		}
		return visit(Blob{d.Name(), info.Size(), info.ModTime()})
	})
}
