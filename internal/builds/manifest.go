package builds

import (
	"crypto/sha256"
	"encoding/hex"
)

const (
	// MaxChunk is the maximum size of a chunk in bytes. A file of at most this size is one chunk.
	MaxChunk = 8 << 20

	minChunk = 1 << 20 // of all chunks of a file but the last, in bytes
)

// A File is a file or a link of a build that is sent in chunks.
type File struct {
	Path   string  `json:"path"`
	Mode   uint32  `json:"mode,omitempty"`   // the permissions
	Size   int64   `json:"size,omitempty"`   // in bytes; 0 of a link
	SHA256 string  `json:"sha256,omitempty"` // of the content, in lower-case hex; "" of a link
	Link   string  `json:"link,omitempty"`   // the target of a symbolic link; "" of a file
	Chunks []Chunk `json:"chunks,omitempty"` // none: the file is one chunk
}

// A Chunk is a part of a file.
type Chunk struct {
	SHA256 string `json:"sha256"` // in lower-case hex
	Size   int64  `json:"size"`   // in bytes
}

// Pieces returns the chunks of a file in order: none of an empty file and of a link.
func (f *File) Pieces() []Chunk {
	if len(f.Chunks) > 0 || f.Size == 0 {
		return f.Chunks
	}
	return []Chunk{{f.SHA256, f.Size}}
}

// CheckFiles checks the files of a build as Check does those of an archive. The files may be in any order. The error is
// an *Invalid.
func CheckFiles(files []File, limits Limits) (Content, error) {
	switch {
	case len(files) == 0:
		return Content{}, invalid("the build has no files")
	case len(files) > MaxFiles:
		return Content{}, invalid("the build has %d entries; the maximum is %d", len(files), MaxFiles)
	}
	c := &check{windows: limits.Windows, most: limits.MaxUnpacked, quota: limits.MaxUnpacked,
		tree: newTree(limits.Windows)}
	for i := range files {
		if err := c.file(&files[i]); err != nil {
			return Content{}, err
		}
	}
	if err := c.tree.checkLinks(); err != nil {
		return Content{}, err
	}
	return c.content(), nil
}

// file checks a file that is sent in chunks.
func (c *check) file(f *File) error {
	if err := checkPath(f.Path, c.windows); err != nil {
		return err
	}
	size := f.Size
	if f.Link != "" {
		size = int64(len(f.Link))
	}
	switch {
	case f.Mode&^0o777 != 0:
		return invalid("entry %q has the mode %o; it must be permissions alone", shown(f.Path), f.Mode)
	case f.Size < 0:
		return invalid("entry %q has the size %d", shown(f.Path), f.Size)
	case size > c.most-c.unpacked:
		return c.tooLarge()
	}
	c.unpacked += size
	if f.Link != "" {
		return c.listedLink(f)
	}
	sum, ok := decodeHash(f.SHA256)
	if !ok {
		return invalid("entry %q has the sha256 %q; it must be 64 digits of lower-case hex", shown(f.Path),
			shown(f.SHA256))
	}
	if err := checkChunks(f); err != nil {
		return err
	}
	c.entries = append(c.entries, Entry{f.Path, f.Mode, sum})
	return c.tree.add(f.Path, file, "")
}

// listedLink checks a link.
func (c *check) listedLink(f *File) error {
	switch {
	case f.Size != 0 || f.SHA256 != "" || len(f.Chunks) > 0:
		return invalid("link %q has content", shown(f.Path))
	case c.windows:
		return errWindowsLink(f.Path)
	case len(f.Link) > maxTarget:
		return errTarget(f.Path, uint64(len(f.Link)))
	}
	c.entries = append(c.entries, Entry{f.Path, LinkMode | f.Mode, sha256.Sum256([]byte(f.Link))})
	return c.tree.add(f.Path, link, f.Link)
}

// checkChunks checks that the chunks of a file are its content.
func checkChunks(f *File) error {
	rest := f.Size
	for i, c := range f.Pieces() {
		least := int64(minChunk)
		if c.Size == rest {
			least = 1
		}
		if c.Size < least || c.Size > min(MaxChunk, rest) {
			return invalid("chunk %d of entry %q has %d bytes; it must have %d to %d", i, shown(f.Path), c.Size, least,
				min(MaxChunk, rest))
		}
		if _, ok := decodeHash(c.SHA256); !ok {
			return invalid("chunk %d of entry %q has the sha256 %q; it must be 64 digits of lower-case hex", i,
				shown(f.Path), shown(c.SHA256))
		}
		rest -= c.Size
	}
	if rest != 0 {
		return invalid("the chunks of entry %q have %d bytes less than the file", shown(f.Path), rest)
	}
	return nil
}

// decodeHash decodes a SHA-256 in lower-case hex.
func decodeHash(text string) (sum [sha256.Size]byte, ok bool) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(sum) || hex.EncodeToString(raw) != text {
		return sum, false
	}
	return [sha256.Size]byte(raw), true
}
