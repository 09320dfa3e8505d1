package jetstream

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// A mark is a file with the number of the newest acknowledged message of a stream; for a shard's snapshots, with the
// record that the newest one includes. At its start the server truncates unreadable ends of files, and cannot know how
// many messages they had; the mark shows that.
//
// It is written after each message, in place and without a sync: correct after the kill of a process, possibly too low
// after a power failure, never too high.
//
// In a cluster it contains what was acknowledged to this node, and is compared with what the stream's leader has: a
// node that is behind the others has lost nothing.
type mark struct {
	log  *slog.Logger
	path string

	mu     sync.Mutex
	file   *os.File
	seq    uint64
	text   [markSize]byte // the file's content, reused
	failed bool           // a write failed, and that was logged
}

// markSize is the size of the file: the number with as many digits as the largest has, and a newline. It is constant,
// so that no write needs space.
const markSize = 21

// mark opens the mark of a stream, and creates it if there is none. All journals of a stream share one.
func (e *Engine) mark(stream string) (*mark, error) {
	e.marksMu.Lock()
	defer e.marksMu.Unlock()
	if m := e.marks[stream]; m != nil {
		return m, nil
	}
	m := &mark{log: e.cfg.Log, path: e.markFile(stream)}
	if err := m.open(); err != nil {
		return nil, fmt.Errorf("open the mark of stream %s: %w", stream, err)
	}
	e.marks[stream] = m
	return m, nil
}

func (e *Engine) markFile(stream string) string { return filepath.Join(e.cfg.Dir, stream+".last") }

func (m *mark) open() (err error) {
	if m.file, err = os.OpenFile(m.path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	text := make([]byte, markSize)
	n, err := m.file.ReadAt(text, 0)
	if n == 0 {
		return m.store(0)
	}
	seq, unread := strconv.ParseUint(strings.TrimSpace(string(text[:n])), 10, 64)
	if n < markSize || unread != nil {
		m.log.Warn("the journal's mark cannot be read and starts again: if the end of the journal is missing, "+
			"that goes unnoticed this time",
			"file", m.path, "error", errors.Join(err, unread))
		return m.store(0)
	}
	m.seq = seq
	return nil
}

func (m *mark) last() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seq
}

// advance stores the number of an acknowledged message. The journal can be used without it.
func (m *mark) advance(seq uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if seq <= m.seq {
		return
	}
	if err := m.store(seq); err != nil && !m.failed {
		m.failed = true
		m.log.Warn("the journal's mark cannot be written: if the end of the journal goes missing, that will go "+
			"unnoticed", "file", m.path, "error", err)
	}
}

// settle stores the real end of the stream.
func (m *mark) settle(seq uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.store(seq)
}

func (m *mark) store(seq uint64) error {
	m.seq = seq
	m.text[markSize-1] = '\n'
	for i := markSize - 2; i >= 0; i-- {
		m.text[i] = '0' + byte(seq%10)
		seq /= 10
	}
	_, err := m.file.WriteAt(m.text[:], 0)
	return err
}

func (e *Engine) closeMarks() error {
	e.marksMu.Lock()
	defer e.marksMu.Unlock()
	var errs []error
	for _, m := range e.marks {
		errs = append(errs, m.file.Close())
	}
	clear(e.marks)
	return errors.Join(errs...)
}
