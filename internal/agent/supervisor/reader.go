package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Cut reports whether the oldest lines of the output in a directory were removed.
func Cut(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, cutFile))
	return err == nil
}

// Output opens what is left of the output in a directory, oldest line first. A game server that runs may write
// meanwhile.
func Output(dir string) (io.ReadCloser, error) {
	newest, before := outputPaths(dir)
	var all outputFiles
	for _, path := range []string{before, newest} {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all.files = append(all.files, f)
	}
	return &all, nil
}

// outputFiles are files that are read one after the other.
type outputFiles struct {
	files []*os.File
	read  int // that were read to their ends
}

// Read implements io.Reader.
func (o *outputFiles) Read(p []byte) (int, error) {
	for o.read < len(o.files) {
		n, err := o.files[o.read].Read(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		o.read++
	}
	return 0, io.EOF
}

// Close implements io.Closer.
func (o *outputFiles) Close() (err error) {
	for _, f := range o.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// maxBehind is how far a Follower may be behind in bytes, before it skips lines.
const maxBehind = 1 << 20

// A Follower reads the output of a game server while it is written. It keeps no file open, so that the files can be
// rotated on any system.
type Follower struct {
	dir  string
	file os.FileInfo // that is being read; nil: none
	at   int64       // in it
	skip bool        // the next line is not read from its beginning
}

// Follow returns a follower that begins with the last whole lines of what there is, at most tail bytes of them.
func Follow(dir string, tail int64) *Follower {
	f := &Follower{dir: dir}
	newest, _ := outputPaths(dir)
	info, err := os.Stat(newest)
	if err != nil {
		return f // it begins with the first line
	}
	f.file, f.at = info, max(0, info.Size()-tail-1) // the byte before may be a line end
	f.skip = f.at > 0
	return f
}

// Next reads whole lines into buf, which must be longer than any line, and returns them; none if no more were written.
// skipped reports that lines before them were not read, because they were written faster than they were read.
func (f *Follower) Next(buf []byte) (lines []byte, skipped bool, err error) {
	newest, before := outputPaths(f.dir)
	for _, path := range []string{before, newest} {
		lines, skipped, err = f.readFrom(path, path == newest, buf)
		if err != nil || len(lines) > 0 || skipped {
			return lines, skipped, err
		}
	}
	return nil, false, nil
}

// readFrom reads lines of one of the two files, if it is the one to be read now.
func (f *Follower) readFrom(path string, newest bool, buf []byte) (lines []byte, skipped bool, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, false, err
	}
	switch {
	case f.file != nil && os.SameFile(f.file, info) && f.at <= info.Size():
	case !newest:
		return nil, false, nil
	default: // a file that was begun later
		skipped = f.lost(info)
		f.file, f.at, f.skip = info, 0, false
	}
	if info.Size()-f.at > maxBehind {
		f.at, f.skip, skipped = info.Size()-maxBehind/2, true, true
	}
	lines, err = f.read(file, buf)
	return lines, skipped, err
}

// lost reports whether there are lines between those that were read and the beginning of a new file.
func (f *Follower) lost(newest os.FileInfo) bool {
	_, before := outputPaths(f.dir)
	info, err := os.Stat(before)
	return f.file != nil && (err != nil || !os.SameFile(f.file, info) || os.SameFile(f.file, newest))
}

// read reads whole lines.
func (f *Follower) read(file *os.File, buf []byte) ([]byte, error) {
	n, err := file.ReadAt(buf, f.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the output: %w", err)
	}
	lines := buf[:bytes.LastIndexByte(buf[:n], '\n')+1]
	f.at += int64(len(lines))
	if f.skip && len(lines) > 0 {
		_, lines, _ = bytes.Cut(lines, []byte("\n"))
		f.skip = false
	}
	return lines, nil
}
