package builds

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// A Place is where a chunk is in an archive.
type Place struct {
	SHA256 string
	Offset int64 // from the beginning of the archive, in bytes
	Size   int64 // in bytes
}

// packedTime is the time of all entries of an assembled archive, the first that a zip file can state.
var packedTime = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// Assemble writes the archive of files that CheckFiles has checked, and returns where the chunks are in it. The archive
// depends on nothing but the paths, modes and contents: its entries are sorted and not compressed. chunk returns the
// bytes of a chunk, which are valid until its next call, and whose hash it has checked. The error is an *Invalid if a
// file has another hash than stated, otherwise that of chunk, of the writer or of the context.
func Assemble(ctx context.Context, to io.Writer, files []File, chunk func(Chunk) ([]byte, error)) ([]Place, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	counted := &counter{to: to}
	a := &assembly{chunk: chunk, to: counted, zip: zip.NewWriter(counted)}
	for i := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := a.add(&files[i]); err != nil {
			return nil, err
		}
	}
	if err := a.zip.Close(); err != nil {
		return nil, fmt.Errorf("write archive: %w", err)
	}
	return a.places, nil
}

// An assembly is one call of Assemble.
type assembly struct {
	chunk  func(Chunk) ([]byte, error)
	to     *counter
	zip    *zip.Writer
	places []Place
}

func (a *assembly) add(f *File) error {
	h := &zip.FileHeader{Name: f.Path, Method: zip.Store, Modified: packedTime}
	mode := fs.FileMode(f.Mode)
	if f.Link != "" {
		mode |= fs.ModeSymlink
	}
	h.SetMode(mode)
	to, err := a.zip.CreateHeader(h)
	if err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	if f.Link != "" {
		_, err := io.WriteString(to, f.Link)
		return err
	}
	pieces := f.Pieces()
	sum := sha256.New()
	for _, c := range pieces {
		data, err := a.piece(to, c)
		if err != nil {
			return err
		}
		if len(pieces) > 1 {
			sum.Write(data)
		}
	}
	if of := hashOf(pieces, sum.Sum(nil)); of != f.SHA256 {
		return invalid("the chunks of entry %q have the SHA-256 %s; the manifest states %s", shown(f.Path), of,
			f.SHA256)
	}
	return nil
}

// hashOf returns the hash of a file: that of its one chunk, or the sum of several.
func hashOf(pieces []Chunk, sum []byte) string {
	if len(pieces) == 1 {
		return pieces[0].SHA256
	}
	return hex.EncodeToString(sum)
}

// piece writes a chunk and notes its place.
func (a *assembly) piece(to io.Writer, c Chunk) ([]byte, error) {
	data, err := a.chunk(c)
	if err != nil {
		return nil, err
	}
	if err := a.zip.Flush(); err != nil { // so that the offset is that of the chunk
		return nil, err
	}
	a.places = append(a.places, Place{c.SHA256, a.to.n, c.Size})
	_, err = to.Write(data)
	return data, err
}

// A counter counts the bytes that it passes on.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}

// placeSize is the size of an encoded place in bytes: hash, offset and size, the numbers big-endian.
const placeSize = sha256.Size + 8 + 4

// EncodePlaces encodes places of chunks that Assemble has returned.
func EncodePlaces(places []Place) []byte {
	data := make([]byte, 0, len(places)*placeSize)
	for _, p := range places {
		sum, _ := decodeHash(p.SHA256) // CheckFiles has checked it
		data = append(data, sum[:]...)
		data = binary.BigEndian.AppendUint64(data, uint64(p.Offset))
		data = binary.BigEndian.AppendUint32(data, uint32(p.Size))
	}
	return data
}

// DecodePlaces decodes places. What is at a place of damaged data is no chunk, or has another hash.
func DecodePlaces(data []byte) (places []Place) {
	for ; len(data) >= placeSize; data = data[placeSize:] {
		p := Place{SHA256: hex.EncodeToString(data[:sha256.Size]),
			Offset: int64(binary.BigEndian.Uint64(data[sha256.Size:]) &^ (1 << 63)),
			Size:   int64(binary.BigEndian.Uint32(data[sha256.Size+8:]))}
		if p.Size > 0 && p.Size <= MaxChunk {
			places = append(places, p)
		}
	}
	return places
}

// AppendChunk appends a chunk to a body that ReadChunks reads: the size in 4 bytes, big-endian, and the bytes.
func AppendChunk(body, chunk []byte) []byte {
	return append(binary.BigEndian.AppendUint32(body, uint32(len(chunk))), chunk...)
}

// ReadChunks calls yield with each chunk of a body, which is valid during the call. The error is an *Invalid if a chunk
// is empty, larger than MaxChunk, or not complete; otherwise that of the reader or of yield.
func ReadChunks(r io.Reader, yield func(chunk []byte) error) error {
	var head [4]byte
	var buffer []byte
	for {
		n, err := readFull(r, head[:])
		switch {
		case err != nil:
			return err
		case n == 0:
			return nil
		case n < len(head):
			return errIncomplete
		}
		size := binary.BigEndian.Uint32(head[:])
		if size == 0 || size > MaxChunk {
			return invalid("a chunk has %d bytes; it must have 1 to %d", size, MaxChunk)
		}
		if buffer == nil {
			buffer = make([]byte, MaxChunk)
		}
		n, err = readFull(r, buffer[:size])
		switch {
		case err != nil:
			return err
		case n < int(size):
			return errIncomplete
		}
		if err := yield(buffer[:size]); err != nil {
			return err
		}
	}
}

var errIncomplete = &Invalid{"the last chunk is not complete"}
