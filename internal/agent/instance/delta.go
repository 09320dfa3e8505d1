package instance

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	buildtree "github.com/muster-gg/muster/internal/builds"
)

const (
	// searchedBuilds is in how many builds files are searched, the last used ones.
	searchedBuilds = 3
	// firstPart and lastPart are how many bytes of an archive are read at once, at first and after many that follow
	// each other.
	firstPart, lastPart = 64 << 10, 8 << 20
)

// errOther is the result of a tree with another hash, and of an archive most of which would have to be read.
var errOther = errors.New("too few files are those of builds that the machine has")

// assemble makes the tree of a build of the files that other builds on the machine have, and of parts of the archive
// for the others. After an error the whole archive is needed.
func (b *builds) assemble(ctx context.Context, build protocol.Build, to string) error {
	earlier := b.newest()
	defer func() {
		for _, root := range earlier {
			_ = root.Close() // only read
		}
	}()
	if len(earlier) == 0 || build.Tree == "" || !strings.HasPrefix(build.Path, "/") {
		return errOther
	}
	archive, err := zip.NewReader(&parts{ctx: ctx, b: b, build: build}, build.Size)
	if err != nil {
		return err
	}
	missing := int64(0)
	for _, f := range archive.File {
		if !slices.ContainsFunc(earlier, func(root *os.Root) bool { return hasFile(root, f) }) {
			missing += int64(f.CompressedSize64) //nolint:gosec // compared only
		}
	}
	if missing > build.Size/2 {
		return errOther
	}
	entries, err := unpack(ctx, archive, build.Size, to, earlier)
	if err == nil && buildtree.TreeHash(entries) != build.Tree {
		err = errOther
	}
	return err
}

// newest returns the trees of the builds that were used last.
func (b *builds) newest() (roots []*os.Root) {
	for _, key := range b.byUse() {
		root, err := os.OpenRoot(filepath.Join(b.dir, key, treeDir))
		if err != nil {
			continue // it is being removed
		}
		if roots = append(roots, root); len(roots) == searchedBuilds {
			break
		}
	}
	return roots
}

// hasFile reports whether a tree has a file with the path and the size of an entry.
func hasFile(root *os.Root, f *zip.File) bool {
	if !f.Mode().IsRegular() || !fs.ValidPath(f.Name) {
		return false
	}
	info, err := root.Lstat(filepath.FromSlash(f.Name))
	return err == nil && info.Mode().IsRegular() && uint64(info.Size()) == f.UncompressedSize64 //nolint:gosec // >= 0
}

// reuse writes the file of a tree that has the path, size and checksum of an entry; false if it has none. What was
// written then is of no use.
func reuse(root *os.Root, f *zip.File, to io.Writer) (hash [sha256.Size]byte, ok bool) {
	if !hasFile(root, f) {
		return hash, false
	}
	from, err := root.Open(filepath.FromSlash(f.Name))
	if err != nil {
		return hash, false
	}
	defer func() { _ = from.Close() }() // only read
	sum, check := sha256.New(), crc32.NewIEEE()
	if _, err := io.CopyBuffer(io.MultiWriter(to, sum, check), from, make([]byte, 256<<10)); err != nil {
		return hash, false
	}
	return [sha256.Size]byte(sum.Sum(nil)), check.Sum32() == f.CRC32
}

// parts reads an archive by HTTP, ahead of what is wanted. It implements io.ReaderAt for one goroutine.
type parts struct {
	ctx   context.Context
	b     *builds
	build protocol.Build
	at    int64  // of data in the archive
	data  []byte // the last part
	size  int    // of the last part, as it was wanted
}

// ReadAt implements io.ReaderAt.
func (p *parts) ReadAt(to []byte, at int64) (n int, err error) {
	for n < len(to) {
		from := at + int64(n)
		if from >= p.build.Size {
			return n, io.EOF
		}
		if from < p.at || from >= p.at+int64(len(p.data)) {
			if err := p.read(from, len(to)-n); err != nil {
				return n, err
			}
		}
		n += copy(to[n:], p.data[from-p.at:])
	}
	return n, nil
}

// read reads the part at an offset that has at least so many bytes, if the archive has.
func (p *parts) read(at int64, least int) error {
	follows := at == p.at+int64(len(p.data))
	if p.size = max(2*p.size, firstPart); !follows {
		p.size = firstPart
	}
	p.size = max(min(p.size, lastPart), least)
	size := min(int64(p.size), p.build.Size-at)
	request, err := http.NewRequestWithContext(p.ctx, http.MethodGet, p.b.base+p.build.Path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", at, at+size-1))
	answer, err := p.b.client.Do(request)
	if err != nil {
		return withoutURL(err)
	}
	defer func() { _ = answer.Body.Close() }() // only read
	want := fmt.Sprintf("bytes %d-%d/%d", at, at+size-1, p.build.Size)
	if answer.StatusCode != http.StatusPartialContent || answer.Header.Get("Content-Range") != want {
		return fmt.Errorf("%s for a part of the archive", answer.Status)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(answer.Body, data); err != nil {
		return withoutURL(err)
	}
	p.at, p.data = at, data
	return nil
}
