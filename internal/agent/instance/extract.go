package instance

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	buildtree "github.com/muster-gg/muster/internal/builds"
)

const (
	// maxRatio is the largest ratio of the unpacked size to that of the archive, unless it unpacks to less than
	// smallSize bytes.
	maxRatio  = 100
	smallSize = 1 << 20
	// maxTarget is the largest length of the target of a link, in bytes.
	maxTarget = 4096
)

// An extraction unpacks an archive. The service has checked the archive; what could harm the machine is checked again.
type extraction struct {
	root    *os.Root
	earlier []*os.Root // trees that may have files of the archive
	room    int64      // bytes
	links   []string
	entries []buildtree.Entry // with earlier alone
}

// extract unpacks an archive into a new directory.
func extract(ctx context.Context, archive, to string) error {
	r, err := zip.OpenReader(archive)
	if err != nil {
		return failed(codeDownload, "the archive of the build is damaged: %v", err)
	}
	defer func() { _ = r.Close() }() // only read
	info, err := os.Stat(archive)
	if err != nil {
		return err
	}
	_, err = unpack(ctx, &r.Reader, info.Size(), to, nil)
	return err
}

// unpack unpacks an archive of a size into a new directory. It takes files from earlier trees, if there are any, and
// then returns what it has unpacked.
func unpack(ctx context.Context, archive *zip.Reader, size int64, to string, earlier []*os.Root) (
	entries []buildtree.Entry, err error) {
	if err := os.Mkdir(to, 0o755); err != nil { //nolint:gosec // in a directory of this user alone
		return nil, err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	e := &extraction{root: root, earlier: earlier, room: max(maxRatio*size, smallSize)}
	for _, f := range archive.File {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := e.entry(f); err != nil {
			return nil, failed(codeDownload, "entry %.200q of the build cannot be unpacked: %v", f.Name, err)
		}
	}
	for _, link := range e.links {
		if _, err := root.Stat(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, failed(codeDownload, "link %.200q of the build: %v", link, err)
		}
	}
	return e.entries, nil
}

func (e *extraction) entry(f *zip.File) error {
	name := filepath.FromSlash(strings.TrimSuffix(f.Name, "/"))
	mode := f.Mode()
	switch {
	case !filepath.IsLocal(name):
		return errors.New("it leads out of the build")
	case mode.IsDir():
		return e.root.MkdirAll(name, 0o755)
	case !mode.IsRegular() && mode.Type() != fs.ModeSymlink:
		return fmt.Errorf("its mode is %s", mode)
	}
	if err := e.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if mode.IsRegular() {
		return e.file(name, f)
	}
	return e.link(name, f)
}

func (e *extraction) file(name string, f *zip.File) error {
	file, err := e.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(e.fill(file, f), file.Chmod(f.Mode().Perm()), file.Close())
}

// fill writes the content of an entry.
func (e *extraction) fill(file *os.File, f *zip.File) error {
	for _, root := range e.earlier {
		if sum, ok := reuse(root, f, file); ok {
			e.add(f, 0, sum)
			return e.use(int64(f.UncompressedSize64)) //nolint:gosec // that of a file
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if err := file.Truncate(0); err != nil {
			return err
		}
	}
	content, err := f.Open()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // only read
	to, sum := io.Writer(file), sha256.New()
	if len(e.earlier) > 0 {
		to = io.MultiWriter(file, sum)
	}
	n, err := io.Copy(to, io.LimitReader(content, e.room+1))
	e.add(f, 0, [sha256.Size]byte(sum.Sum(nil)))
	return errors.Join(err, e.use(n))
}

// use counts unpacked bytes.
func (e *extraction) use(n int64) error {
	if e.room -= n; e.room < 0 {
		return fmt.Errorf("the archive unpacks to more than %d times its size", maxRatio)
	}
	return nil
}

// add notes an entry for the hash of the tree.
func (e *extraction) add(f *zip.File, kind uint32, sum [sha256.Size]byte) {
	if len(e.earlier) > 0 {
		e.entries = append(e.entries, buildtree.Entry{Path: f.Name, Mode: kind | uint32(f.Mode().Perm()), Hash: sum})
	}
}

func (e *extraction) link(name string, f *zip.File) error {
	content, err := f.Open()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(content, maxTarget+1))
	if err != nil {
		return err
	}
	target := string(text)
	e.add(f, buildtree.LinkMode, sha256.Sum256(text))
	if len(target) > maxTarget || path.IsAbs(target) ||
		!filepath.IsLocal(filepath.Join(filepath.Dir(name), filepath.FromSlash(target))) {
		return errors.New("the link leads out of the build")
	}
	e.links = append(e.links, name)
	return e.root.Symlink(filepath.FromSlash(target), name)
}

// cloneTree makes a directory with the files of a build that no game server can change for others.
func cloneTree(ctx context.Context, tree, to string) error {
	temporary := to + "~"
	if err := os.RemoveAll(temporary); err != nil {
		return err
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // only read
	err = filepath.WalkDir(tree, func(from string, d fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		name, err := filepath.Rel(tree, from)
		if err != nil {
			return err
		}
		return cloneEntry(root, name, filepath.Join(temporary, name), d)
	})
	if err != nil {
		return errors.Join(err, os.RemoveAll(temporary))
	}
	return os.Rename(temporary, to)
}

func cloneEntry(root *os.Root, name, to string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	switch {
	case d.IsDir():
		return os.MkdirAll(to, info.Mode().Perm()|0o700)
	case info.Mode().Type() == fs.ModeSymlink:
		target, err := root.Readlink(name)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case !info.Mode().IsRegular():
		return nil // a socket or a pipe that the installer has left
	}
	if sharable(info.Mode()) && os.Link(filepath.Join(root.Name(), name), to) == nil {
		return nil
	}
	return copyFile(root, name, to, info.Mode().Perm())
}

// copyFile copies a file. The copy shares extents where the file system can. What an installer has left running may
// replace the file meanwhile, also by a link or a pipe.
func copyFile(root *os.Root, name, to string, mode fs.FileMode) error {
	source, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // only read
	if info, err := source.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, fmt.Errorf("%s is no file any more", name))
	}
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Chmod(mode), target.Close())
}
