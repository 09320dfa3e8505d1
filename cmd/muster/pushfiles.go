package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/builds"
)

// A pushTree is the files of a directory, and where their chunks are.
type pushTree struct {
	root   string
	files  []builds.File
	size   int64 // of all files, in bytes
	chunks map[string]chunkOf
}

// A chunkOf is a part of a file.
type chunkOf struct {
	path         string // below the root, with slashes
	offset, size int64  // in bytes
}

// scanTree reads a directory. Builds for Windows have no links.
func scanTree(ctx context.Context, root, operatingSystem string, status *pushStatus) (*pushTree, error) {
	t := &pushTree{root: root, chunks: map[string]chunkOf{}}
	follow := strings.HasPrefix(operatingSystem, "WINDOWS")
	given := root
	root, err := filepath.EvalSymlinks(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no directory %s", given)
	} else if err != nil {
		return nil, err
	}
	if about, err := os.Stat(root); err != nil || !about.IsDir() {
		return nil, cmp.Or(err, fmt.Errorf("%s is not a directory", root))
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		f, err := fileOf(root, path, d, follow)
		if err == nil && f != nil {
			t.files = append(t.files, *f)
			t.size += f.Size
		}
		return errors.Join(err, ctx.Err())
	})
	if err != nil {
		return nil, fmt.Errorf("read the directory: %w", err)
	}
	if len(t.files) == 0 {
		return nil, fmt.Errorf("read the directory: %s has no files", root)
	}
	status.begin("Reading", t.size)
	return t, t.hash(ctx, status)
}

// fileOf returns an entry of a directory, without hashes; nil for a directory.
func fileOf(root, path string, d fs.DirEntry, follow bool) (*builds.File, error) {
	name, err := filepath.Rel(root, path)
	if err != nil {
		return nil, err
	}
	f := &builds.File{Path: filepath.ToSlash(name)}
	info, err := d.Info()
	if err == nil && d.Type() == fs.ModeSymlink {
		if !follow {
			f.Link, err = os.Readlink(path)
			f.Link, f.Mode = filepath.ToSlash(f.Link), 0o777
			return f, err
		}
		info, err = os.Stat(path)
	}
	switch {
	case err != nil:
		return nil, err
	case d.IsDir():
		return nil, nil
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is neither a file nor a link to one", path)
	}
	f.Size, f.Mode = info.Size(), uint32(info.Mode().Perm())
	if runtime.GOOS == "windows" { // which does not know what is executable elsewhere
		f.Mode = 0o755
	}
	return f, nil
}

// hash computes the hashes of all files.
func (t *pushTree) hash(ctx context.Context, status *pushStatus) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	for i := range t.files {
		f := &t.files[i]
		if f.Link != "" || ctx.Err() != nil {
			continue
		}
		group.Go(func() error {
			chunks, err := t.hashFile(f, status)
			mu.Lock()
			defer mu.Unlock()
			for hash, c := range chunks {
				t.chunks[hash] = c
			}
			return errors.Join(err, ctx.Err())
		})
	}
	return group.Wait()
}

// hashFile computes the hashes of a file, and returns its chunks.
func (t *pushTree) hashFile(f *builds.File, status *pushStatus) (map[string]chunkOf, error) {
	from, err := os.Open(t.path(f.Path))
	if err != nil {
		return nil, err
	}
	defer from.Close() //nolint:errcheck // it was only read
	chunks := map[string]chunkOf{}
	whole := sha256.New()
	at := int64(0)
	err = builds.Split(from, func(chunk []byte) error {
		size := int64(len(chunk))
		sum := sha256.Sum256(chunk)
		c := builds.Chunk{SHA256: hex.EncodeToString(sum[:]), Size: size}
		if f.Chunks = append(f.Chunks, c); size < f.Size {
			whole.Write(chunk)
		}
		chunks[c.SHA256] = chunkOf{f.Path, at, size}
		at += size
		status.add(size)
		return nil
	})
	if err != nil || at != f.Size {
		return nil, cmp.Or(err, changed(f.Path))
	}
	if f.SHA256 = hex.EncodeToString(whole.Sum(nil)); len(f.Chunks) == 1 {
		f.SHA256, f.Chunks = f.Chunks[0].SHA256, nil
	}
	return chunks, nil
}

// changed is the error for a file that was written meanwhile.
func changed(path string) error { return fmt.Errorf("%s was changed while it was read", path) }

func (t *pushTree) path(name string) string { return filepath.Join(t.root, filepath.FromSlash(name)) }

// sizeOf returns the size of chunks in bytes.
func (t *pushTree) sizeOf(hashes []string) (size int64) {
	for _, hash := range hashes {
		size += t.chunks[hash].size
	}
	return size
}

// batch returns the first hashes, those of one call.
func (t *pushTree) batch(hashes []string) []string {
	size := int64(0)
	for i, hash := range hashes {
		if size += t.chunks[hash].size; i > 0 && size > pushBatch {
			return hashes[:i]
		}
	}
	return hashes
}

// read returns the body with chunks.
func (t *pushTree) read(hashes []string) (body []byte, err error) {
	for _, hash := range hashes {
		c, ok := t.chunks[hash]
		if !ok {
			return nil, fmt.Errorf("the service misses chunk %s, which is not in this build", hash)
		}
		data, err := t.chunk(c)
		if err != nil {
			return nil, err
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != hash {
			return nil, changed(c.path)
		}
		body = builds.AppendChunk(body, data)
	}
	return body, nil
}

// chunk reads a chunk.
func (t *pushTree) chunk(c chunkOf) ([]byte, error) {
	f, err := os.Open(t.path(c.path))
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	data := make([]byte, c.size)
	if _, err := f.ReadAt(data, c.offset); errors.Is(err, io.EOF) {
		return nil, changed(c.path)
	} else if err != nil {
		return nil, err
	}
	return data, nil
}

// A pushStatus shows progress on a terminal. It is safe for concurrent use.
type pushStatus struct {
	to io.Writer // nil: it shows nothing

	mu          sync.Mutex
	what        string
	done, total int64 // bytes
	shown       int64 // percent
}

func (o *operatorCall) newStatus() *pushStatus {
	if !isTerminal(o.stderr) {
		return &pushStatus{}
	}
	return &pushStatus{to: o.stderr}
}

// begin begins a step with so many bytes.
func (s *pushStatus) begin(what string, total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.what, s.done, s.total, s.shown = what, 0, total, -1
}

// add shows that bytes are done.
func (s *pushStatus) add(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done += bytes
	percent := s.done * 100 / max(s.total, 1)
	if s.to != nil && percent != s.shown {
		fmt.Fprintf(s.to, "\r\x1b[K%s %d %% of %s", s.what, percent, sizeText(s.total))
		s.shown = percent
	}
}

// clear removes the line.
func (s *pushStatus) clear() {
	if s.to != nil {
		fmt.Fprint(s.to, "\r\x1b[K")
	}
}

// sizeText returns a number of bytes for people.
func sizeText(bytes int64) string {
	switch {
	case bytes < 1000:
		return fmt.Sprintf("%d bytes", bytes)
	case bytes < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(bytes)/1e3)
	case bytes < 1_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
	}
	return fmt.Sprintf("%.2f GB", float64(bytes)/1e9)
}
