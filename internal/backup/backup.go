// Package backup writes a region to one file, reads it back, and checks it.
//
// # Format
//
// The file begins with the line "MUSTER BACKUP 1". A Zstandard stream of frames follows. A frame is one byte for its
// kind, the length of its body as an unsigned varint, and the body, a CBOR map with numbered fields (of chunks: bytes).
// frame.go lists the kinds; fields and kinds are added, never changed.
//
// Frames form sections, always all of these in this order: the header; files of the data directory; each shard, with
// its newest snapshot in chunks and the records after it; the history; the event feed with the positions of its
// readers; if they were asked for, the bytes of builds and objects, each in chunks; the trailer. Each section ends with
// a frame that has the number of its frames and their CRC-32C. The trailer has the SHA-256 of everything before it,
// from the first line on. So truncation and damage are detected anywhere; the file is not authenticated.
//
// Sequence numbers are those of the region that was backed up.
//
// # Inspection
//
// A [Source] shows what a region's shards hold: their events, and their state after any record that can still be
// reached. [OfFile] reads a backup, [OfCut] a data directory that no service uses; neither is changed.
package backup

import (
	"errors"
	"io"
	"time"
)

// magic begins a file. The version is that of the frames' meaning.
const magic = "MUSTER BACKUP 1\n"

// ErrDamaged reports that a file differs from what was written.
var ErrDamaged = errors.New("the backup is damaged")

// ErrNoBackup reports that a file has another format.
var ErrNoBackup = errors.New("not a backup of Muster, or one of a newer release")

// A Header describes a backup.
type Header struct {
	Region  string    `cbor:"1,keyasint"`
	Account string    `cbor:"2,keyasint"`
	Shards  int       `cbor:"3,keyasint"`
	Layout  int       `cbor:"4,keyasint"` // version of the data directory's layout
	Taken   time.Time `cbor:"5,keyasint"` // the time of its contents
	Release string    `cbor:"6,keyasint"` // that wrote it; informative

	// Level is the feature level that was in force: an older release that does not read it cannot restore the backup.
	Level int `cbor:"7,keyasint,omitempty"`
}

// A File is a small file of the data directory.
type File struct {
	Name string `cbor:"1,keyasint"` // relative to the directory, with slashes
	Mode uint32 `cbor:"2,keyasint"` // permission bits
	Data []byte `cbor:"3,keyasint"`
}

// A Shard lists what is stored of a shard: the snapshot that includes records up to Snapshot (0: none), and the records
// after it, up to Last.
type Shard struct {
	Number   int    `cbor:"1,keyasint"`
	Snapshot uint64 `cbor:"2,keyasint"`
	Last     uint64 `cbor:"3,keyasint"`
}

// A Blob is bytes to which builds and objects refer.
type Blob struct {
	Hash string `cbor:"1,keyasint"` // SHA-256 in hex
	Size int64  `cbor:"2,keyasint"` // in bytes
}

// Blobs are the blobs of a backup. Their bytes are read one after the other, after all else.
type Blobs struct {
	List []Blob
	Open func(hash string) (io.ReadCloser, error)
}

// A Position is the position of a reader of the feed.
type Position struct {
	Reader string `cbor:"1,keyasint"`
	Seq    uint64 `cbor:"2,keyasint"`
}

// A Summary counts the contents of a backup.
type Summary struct {
	Header  Header
	Shards  []Shard
	Records int // of all shards
	Entries int // of the history
	Events  int // records of the feed
	Blobs   int
	Bytes   int64 // of all blobs
}
