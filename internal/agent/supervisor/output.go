package supervisor

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// maxOutput is the size of an output file, in bytes. There are two, so that at least as much is kept.
	maxOutput = 4 << 20
	// maxLine is how much of a line is kept, in bytes.
	maxLine = 64 << 10
	// cutFile exists if older lines were removed.
	cutFile = "output.cut"
	// timeFormat is that of the times of lines.
	timeFormat = "2006-01-02T15:04:05.000000Z"
)

// An output keeps the newest lines of a game server in two files, each line with its time and stream:
//
//	2026-01-02T03:04:05.000000Z out Listening on port 7777
//
// A line that is too long ends with "[truncated]". Lines that cannot be written are dropped and counted, so that the
// game server never waits for the disk to have room.
type output struct {
	dir string
	now func() time.Time

	mu   sync.Mutex
	file *os.File // nil: to be opened
	to   *bufio.Writer
	size int
	lost int  // lines
	cut  bool // the mark for removed lines is there
}

func newOutput(dir string, now func() time.Time) *output { return &output{dir: dir, now: now} }

func outputPaths(dir string) (newest, before string) {
	return filepath.Join(dir, "output.log"), filepath.Join(dir, "output.1.log")
}

// copyLines copies a stream to its end.
func (o *output) copyLines(stream string, from io.Reader) {
	lines := bufio.NewReaderSize(from, maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		truncated := errors.Is(err, bufio.ErrBufferFull)
		if len(line) > 0 {
			line = bytes.TrimRight(line, "\r\n")
			o.line(stream, line, truncated, truncated || lines.Buffered() == 0)
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of the line
			_, err = lines.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

func (o *output) line(stream string, text []byte, truncated, flush bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.open(); err != nil {
		o.lost++
		return
	}
	at := o.now().UTC().Format(timeFormat)
	if o.lost > 0 {
		n, _ := fmt.Fprintf(o.to, "%s err [%d lines lost]\n", at, o.lost)
		o.size += n
		o.lost = 0
	}
	mark := ""
	if truncated {
		mark = " [truncated]"
	}
	n, err := fmt.Fprintf(o.to, "%s %s %s%s\n", at, stream, text, mark)
	o.size += n
	if err == nil && flush {
		err = o.to.Flush()
	}
	if err != nil {
		o.lost++
		o.closeFile()
	}
}

// open opens the file for the next line. A full one becomes the one before.
func (o *output) open() error {
	newest, before := outputPaths(o.dir)
	if o.file != nil && o.size >= maxOutput {
		if err := o.to.Flush(); err != nil {
			o.lost++
		}
		o.closeFile()
		if err := o.rotate(newest, before); err != nil {
			return err
		}
	}
	if o.file != nil {
		return nil
	}
	file, err := os.OpenFile(newest, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	o.file, o.to, o.size = file, bufio.NewWriterSize(file, maxLine), 0
	return nil
}

// rotate makes the newest file the one before. If lines are removed by that, it leaves a mark.
func (o *output) rotate(newest, before string) error {
	if _, err := os.Stat(before); err == nil && !o.cut {
		if err := os.WriteFile(filepath.Join(o.dir, cutFile), nil, 0o600); err != nil {
			return err
		}
		o.cut = true
	}
	return os.Rename(newest, before)
}

func (o *output) closeFile() {
	_ = o.file.Close() // its writes were checked
	o.file = nil
}

func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file != nil {
		_ = o.to.Flush() // nothing can be done any more
		o.closeFile()
	}
}

// Tail returns the last lines of the output in a directory; none if it cannot be read.
func Tail(dir string, lines int) []string {
	newest, before := outputPaths(dir)
	var text []byte
	for _, path := range []string{before, newest} {
		text = append(text, readEnd(path)...)
	}
	all := bytes.Split(bytes.TrimRight(text, "\n"), []byte("\n"))
	all = all[max(0, len(all)-lines):]
	var tail []string
	for _, line := range all {
		if len(line) > 0 {
			tail = append(tail, string(line))
		}
	}
	return tail
}

// readEnd returns the last whole lines of a file, at most maxLine bytes.
func readEnd(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // it was only read
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil
	}
	skipped := max(0, size-maxLine)
	text, err := io.ReadAll(io.NewSectionReader(f, skipped, size-skipped))
	if err != nil {
		return nil
	}
	if skipped > 0 {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text
}
