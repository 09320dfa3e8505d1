package copies

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/muster-gg/muster/internal/logs"
	"github.com/muster-gg/muster/internal/objects"
)

// A store has the files of one kind of this node.
type store interface {
	Has(name string) bool

	// OpenHere opens a file. The error is fs.ErrNotExist if this node does not have it.
	OpenHere(name string) (*os.File, error)

	// Renew keeps a file for a while that nothing refers to yet.
	Renew(name string) error

	// Receive begins to write a file of a size that another node has since a time.
	Receive(name string, size int64, modified time.Time) (writer, error)
}

// A writer writes a file, which exists after Commit. Commit fails if it is not the file that was announced. Abort after
// Commit has no effect.
type writer interface {
	io.Writer
	Commit() error
	Abort()
}

// errOther is the error for bytes that do not have the hash that names them.
func errOther(name string) error { return fmt.Errorf("it sent other bytes than those of %s", name) }

// blobs are the blobs of a node.
type blobs struct{ *objects.Store }

func (b blobs) Receive(name string, _ int64, _ time.Time) (writer, error) {
	w, err := b.Create(0)
	if err != nil {
		return nil, err
	}
	return &blobWriter{w, name}, nil
}

type blobWriter struct {
	*objects.Writer
	name string
}

func (w *blobWriter) Commit() error {
	if w.SHA256() != w.name {
		return errOther(w.name)
	}
	return w.Writer.Commit()
}

// chunks are the chunks of unfinished builds that were sent to a node.
type chunks struct{ *objects.Store }

func (c chunks) Has(name string) bool                   { return c.HasChunk(name) }
func (c chunks) OpenHere(name string) (*os.File, error) { return c.OpenChunk(name) }
func (c chunks) Renew(string) error                     { return nil }

func (c chunks) Receive(name string, _ int64, _ time.Time) (writer, error) {
	return &buffered{commit: func(data []byte) error {
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != name {
			return errOther(name)
		}
		_, err := c.PutChunk(data)
		return err
	}}, nil
}

// indexes are the indexes of pushed builds that a node has. Their content is checked by their readers.
type indexes struct{ *objects.Store }

func (i indexes) Has(name string) bool                   { return i.HasIndex(name) }
func (i indexes) OpenHere(name string) (*os.File, error) { return i.OpenIndex(name) }
func (i indexes) Renew(string) error                     { return nil }

func (i indexes) Receive(name string, _ int64, _ time.Time) (writer, error) {
	return &buffered{commit: func(data []byte) error { return i.PutIndex(name, data) }}, nil
}

// buffered writes a small file at once.
type buffered struct {
	bytes.Buffer
	commit func(data []byte) error
}

func (b *buffered) Commit() error { return b.commit(b.Bytes()) }
func (b *buffered) Abort()        {}

// processLogs are the logs of a node. A copy is as old as the log.
type processLogs struct{ *logs.Store }

func (l processLogs) Has(name string) bool {
	_, err := l.Find(logs.Key(name))
	return err == nil
}

func (l processLogs) OpenHere(name string) (*os.File, error) { return l.Store.OpenHere(logs.Key(name)) }
func (l processLogs) Renew(string) error                     { return nil }

func (l processLogs) Receive(name string, size int64, modified time.Time) (writer, error) {
	if size < 0 || size > logs.MaxLog {
		return nil, errMalformed
	}
	w, err := l.CreateCopy(logs.Key(name), size, modified)
	if err != nil {
		return nil, err
	}
	return &logWriter{w, size}, nil
}

type logWriter struct {
	*logs.Writer
	left int64 // bytes to come
}

func (w *logWriter) Write(p []byte) (int, error) {
	w.left -= int64(len(p))
	return w.Writer.Write(p)
}

func (w *logWriter) Commit() error {
	if w.left != 0 {
		return errors.New("it sent another number of bytes than it has announced")
	}
	return w.Writer.Commit()
}
