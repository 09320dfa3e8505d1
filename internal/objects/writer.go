package objects

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
)

// A Writer writes a blob. Either Commit or Abort must be called; Abort after Commit has no effect.
type Writer struct {
	store    *Store
	file     *os.File // nil after Commit or Abort
	sha, md5 hash.Hash
	size     int64
	limit    int64
}

// Create begins to write a blob of at most limit bytes, and at most as many as the store allows; 0: as many as that.
func (s *Store) Create(limit int64) (*Writer, error) {
	if limit <= 0 || limit > s.MaxSize {
		limit = s.MaxSize
	}
	f, err := os.CreateTemp(s.temp(), "*")
	if err != nil {
		return nil, fmt.Errorf("write blob: %w", err)
	}
	return &Writer{store: s, file: f, sha: sha256.New(), md5: md5.New(), limit: limit}, nil
}

// Write appends bytes. The error is an *Error with the code EntityTooLarge beyond the limit.
func (w *Writer) Write(p []byte) (int, error) {
	if int64(len(p)) > w.limit-w.size {
		return 0, Errorf(EntityTooLarge, "The object is larger than %d bytes, the maximum.", w.limit)
	}
	n, err := w.file.Write(p)
	w.sha.Write(p[:n])
	w.md5.Write(p[:n])
	w.size += int64(n)
	return n, err
}

// Size returns the number of bytes written.
func (w *Writer) Size() int64 { return w.size }

// SHA256 returns the SHA-256 of the bytes written, in hex.
func (w *Writer) SHA256() string { return hex.EncodeToString(w.sha.Sum(nil)) }

// MD5 returns the MD5 of the bytes written, in hex.
func (w *Writer) MD5() string { return hex.EncodeToString(w.md5.Sum(nil)) }

// Commit makes the blob durable, under the name SHA256. After an error it does not exist.
func (w *Writer) Commit() error {
	path, err := w.close()
	if err == nil {
		err = w.store.keep(path, w.SHA256())
	}
	if err != nil {
		return fmt.Errorf("write blob: %w", errors.Join(err, absentIsFine(os.Remove(path))))
	}
	return nil
}

// close makes the file durable and returns its path.
func (w *Writer) close() (string, error) {
	f := w.file
	w.file = nil
	return f.Name(), errors.Join(f.Sync(), f.Close())
}

// Abort deletes what was written. A file that cannot be deleted is deleted when the store is opened.
func (w *Writer) Abort() {
	if w.file != nil {
		_ = w.file.Close()
		_ = os.Remove(w.file.Name())
		w.file = nil
	}
}
