// Package builds checks the archives of builds: zip files with the files of a game server.
//
// Machines unpack an archive that a client has made. So Check reads all of it, and rejects names that lead out of the
// directory, links that do, names that are one file on a case-insensitive system, entries that are neither files nor
// links, wrong checksums, and archives that unpack to far more than their size.
//
// The tree hash identifies what a machine has after unpacking, however it was packed: the SHA-256 of all files and
// links in the order of their paths, each as
//
//	length of the path (4 bytes, big-endian), path, mode (4 bytes: 1<<31 for a link, and the permissions),
//	SHA-256 of the content or of the link's target (32 bytes)
//
// Directories have no entries of their own: the AWS CLI packs none.
//
// A build can also be sent in chunks: CheckFiles checks its list of files, and Assemble makes the archive. Split finds
// the chunks of a file.
package builds

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

const (
	// MaxRatio is the largest ratio of the unpacked size to that of the archive, unless it unpacks to less than
	// smallSize.
	MaxRatio  = 100
	smallSize = 1 << 20 // bytes

	// MaxFiles is the largest number of entries of an archive.
	MaxFiles = 200_000

	// maxDirectory is the largest size of the directory of an archive, which is kept in memory, in bytes.
	maxDirectory = 64 << 20

	maxTarget = 4096 // of a link, in bytes
)

// Limits are what an archive is checked against.
type Limits struct {
	Windows     bool  // the build is for Windows: its names must be possible and distinct there
	MaxUnpacked int64 // in bytes
}

// Content is what an archive contains.
type Content struct {
	Tree     string // the tree hash, in hex
	Files    int    // and links
	Unpacked int64  // in bytes
}

// An Invalid error is the reason why an archive is no build. Other errors are of reading it.
type Invalid struct{ Reason string }

func (e *Invalid) Error() string { return e.Reason }

func invalid(format string, args ...any) error { return &Invalid{fmt.Sprintf(format, args...)} }

// Check reads an archive of the given size in bytes. The error is an *Invalid if it is no build, otherwise that of the
// reader or the context.
func Check(ctx context.Context, r io.ReaderAt, size int64, limits Limits) (Content, error) {
	source := &source{ctx: ctx, from: r}
	archive, err := source.open(size)
	if err != nil {
		return Content{}, err
	}
	c := &check{source: source, windows: limits.Windows, most: min(limits.MaxUnpacked, max(MaxRatio*size, smallSize)),
		quota: limits.MaxUnpacked, tree: newTree(limits.Windows)}
	for _, f := range archive.File {
		if err := c.entry(f); err != nil {
			return Content{}, err
		}
	}
	if len(c.entries) == 0 {
		return Content{}, invalid("the archive has no files")
	}
	if err := c.tree.checkLinks(); err != nil {
		return Content{}, err
	}
	return c.content(), nil
}

// A check is one call of Check.
type check struct {
	*source
	windows  bool
	most     int64 // bytes to which the archive may unpack
	quota    int64
	tree     *tree
	entries  []Entry
	unpacked int64
}

// An Entry is a file or a link of a tree.
type Entry struct {
	Path string
	Mode uint32            // the permissions; of a link also LinkMode
	Hash [sha256.Size]byte // of the content, or of the link's target
}

// LinkMode is the bit of Entry.Mode for a symbolic link.
const LinkMode = 1 << 31

// entry checks an entry of the archive and reads its content.
func (c *check) entry(f *zip.File) error {
	if err := checkName(f.Name, c.windows); err != nil {
		return err
	}
	mode := f.Mode()
	switch {
	case strings.HasSuffix(f.Name, "/") != mode.IsDir():
		return invalid("entry %q has the mode %s", shown(f.Name), mode)
	case mode.IsDir():
		return c.tree.add(strings.TrimSuffix(f.Name, "/"), directory, "")
	case !mode.IsRegular() && mode.Type() != fs.ModeSymlink:
		return invalid("entry %q is neither a file nor a link: its mode is %s", shown(f.Name), mode)
	case f.Flags&1 != 0:
		return invalid("entry %q is encrypted", shown(f.Name))
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return invalid("entry %q is compressed by method %d; use deflate", shown(f.Name), f.Method)
	case f.UncompressedSize64 > uint64(c.most-c.unpacked):
		return c.tooLarge()
	}
	if mode.Type() == fs.ModeSymlink {
		return c.link(f)
	}
	if err := c.tree.add(f.Name, file, ""); err != nil {
		return err
	}
	sum := sha256.New()
	if err := c.read(f, sum); err != nil {
		return err
	}
	c.entries = append(c.entries, Entry{f.Name, uint32(mode.Perm()), [sha256.Size]byte(sum.Sum(nil))})
	return nil
}

func (c *check) tooLarge() error {
	if c.most == c.quota {
		return invalid("the archive unpacks to more than %d bytes, the maximum of a build", c.quota)
	}
	return invalid("the archive unpacks to more than %d times its size", MaxRatio)
}

// link adds a symbolic link.
func (c *check) link(f *zip.File) error {
	switch {
	case c.windows:
		return errWindowsLink(f.Name)
	case f.UncompressedSize64 > maxTarget:
		return errTarget(f.Name, f.UncompressedSize64)
	}
	var target strings.Builder
	if err := c.read(f, &target); err != nil {
		return err
	}
	c.entries = append(c.entries, Entry{f.Name, LinkMode | uint32(f.Mode().Perm()),
		sha256.Sum256([]byte(target.String()))})
	return c.tree.add(f.Name, link, target.String())
}

func errWindowsLink(path string) error {
	return invalid("entry %q is a symbolic link, and the build is for Windows", shown(path))
}

func errTarget(path string, size uint64) error {
	return invalid("link %q has a target of %d bytes; the maximum is %d", shown(path), size, maxTarget)
}

// read unpacks the content of an entry. It is of the size that the archive states, and its checksum is right.
func (c *check) read(f *zip.File, to io.Writer) error {
	content, err := f.Open()
	if err != nil {
		return c.failed(f.Name, err)
	}
	n, err := io.Copy(to, io.LimitReader(content, c.most-c.unpacked+1))
	c.unpacked += n
	switch err = errors.Join(err, content.Close()); {
	case c.unpacked > c.most:
		return c.tooLarge()
	case err != nil:
		return c.failed(f.Name, err)
	}
	return nil
}

// failed returns the error of an entry that cannot be read: the archive is damaged, unless its reader failed.
func (c *check) failed(name string, err error) error {
	if c.err != nil {
		return c.err
	}
	return invalid("entry %q cannot be unpacked: %v", shown(name), err)
}

// content returns what was checked.
func (c *check) content() Content {
	return Content{Tree: TreeHash(c.entries), Files: len(c.entries), Unpacked: c.unpacked}
}

// TreeHash returns the tree hash, in hex. It sorts the entries.
func TreeHash(entries []Entry) string {
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	sum := sha256.New()
	var head []byte
	for _, e := range entries {
		head = binary.BigEndian.AppendUint32(head[:0], uint32(len(e.Path)))
		head = append(head, e.Path...)
		head = binary.BigEndian.AppendUint32(head, e.Mode)
		sum.Write(head)
		sum.Write(e.Hash[:])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// A source reads the bytes of an archive. It keeps the first error of the reader behind it, which package zip returns
// among those of the format.
type source struct {
	ctx  context.Context
	from io.ReaderAt
	room int64 // bytes that may still be read; negative: any number
	err  error
}

var errDirectory = &Invalid{"the directory of the archive is too large"}

// ReadAt implements io.ReaderAt.
func (s *source) ReadAt(p []byte, at int64) (int, error) {
	if s.err == nil {
		s.err = s.ctx.Err()
	}
	if s.room >= 0 {
		if s.room -= int64(len(p)); s.room < 0 {
			s.err, s.room = errDirectory, 0
		}
	}
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.from.ReadAt(p, at)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// open reads the directory of an archive, which is kept in memory.
func (s *source) open(size int64) (*zip.Reader, error) {
	s.room = maxDirectory
	files, err := countFiles(s, size)
	if err == nil && files > MaxFiles {
		return nil, invalid("the archive has %d entries; the maximum is %d", files, MaxFiles)
	}
	var archive *zip.Reader
	if err == nil {
		archive, err = zip.NewReader(s, size)
	}
	switch {
	case s.err != nil:
		return nil, s.err
	case err != nil && !errors.Is(err, zip.ErrInsecurePath):
		return nil, invalid("the archive is not a zip file, or it is damaged: %v", err)
	case len(archive.File) > MaxFiles: // the count was wrong
		return nil, invalid("the archive has %d entries; the maximum is %d", len(archive.File), MaxFiles)
	}
	s.room = -1
	return archive, nil
}

// The records at the end of a zip file. Source: PKWARE APPNOTE.TXT, sections 4.3.14 to 4.3.16.
const (
	endSize        = 22 // with a comment of up to 64 KiB behind it
	locatorSize    = 20
	end64Size      = 56
	maxEnd         = endSize + 1<<16
	endSignature   = "PK\x05\x06"
	locSignature   = "PK\x06\x07"
	end64Signature = "PK\x06\x06"
)

// countFiles returns the number of entries that the end of an archive states. Package zip allocates memory for as many.
func countFiles(r io.ReaderAt, size int64) (uint64, error) {
	tail := make([]byte, min(size, maxEnd))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	at := strings.LastIndex(string(tail), endSignature)
	if at < 0 || len(tail)-at < endSize {
		return 0, zip.ErrFormat
	}
	files := uint64(binary.LittleEndian.Uint16(tail[at+10:]))
	locatorAt := size - int64(len(tail)) + int64(at) - locatorSize
	locator := make([]byte, locatorSize)
	if locatorAt < 0 {
		return files, nil
	}
	if _, err := r.ReadAt(locator, locatorAt); err != nil || string(locator[:4]) != locSignature {
		return files, err
	}
	end64 := make([]byte, end64Size)
	end64At := binary.LittleEndian.Uint64(locator[8:])
	if end64At > uint64(size) {
		return 0, zip.ErrFormat
	}
	if _, err := r.ReadAt(end64, int64(end64At)); err != nil || string(end64[:4]) != end64Signature {
		return files, nil //nolint:nilerr // package zip reports a wrong locator
	}
	return max(files, binary.LittleEndian.Uint64(end64[32:])), nil
}
