// Package backup writes a region to one file, reads it back, and checks it.
//
// # Format
//
// The file begins with the line "MUSTER BACKUP 1". A Zstandard stream follows, which
// holds frames. A frame is one byte for its kind, the length of its body as an
// unsigned varint, and the body, a CBOR map with numbered fields (of chunks: plain
// bytes). The kinds are those of frame.go; fields and kinds are added, never changed.
//
// Frames stand in sections, always all of these in this order: the header; files
// of the data directory; each shard, with its newest snapshot in chunks and the records
// behind it; the history; the event feed with the positions of its readers; the trailer. Each
// section ends with a frame that says how many frames it has, and their
// CRC-32C. The trailer holds the SHA-256 of all before it, from the first line on. So a file
// that was cut off or damaged anywhere is noticed; who wrote it, it does not say.
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
	"time"
)

// magic is how a file begins. The version is that of the frames' meaning.
const magic = "MUSTER BACKUP 1\n"

// ErrDamaged is in the chain of the error of a file that is not what was written.
var ErrDamaged = errors.New("the backup is damaged")

// ErrNoBackup says that a file is something else.
var ErrNoBackup = errors.New("this is no backup of Muster, or one of a newer release")

// A Header says what a backup is of.
type Header struct {
	Region  string    `cbor:"1,keyasint"`
	Account string    `cbor:"2,keyasint"`
	Shards  int       `cbor:"3,keyasint"`
	Layout  int       `cbor:"4,keyasint"` // version of the data directory's layout
	Taken   time.Time `cbor:"5,keyasint"` // the moment that it shows
	Release string    `cbor:"6,keyasint"` // that wrote it, for people

	// Level is the feature level that was in force: a release that reads less cannot restore the backup.
	Level int `cbor:"7,keyasint,omitempty"`
}

// A File is a small file of the data directory.
type File struct {
	Name string `cbor:"1,keyasint"` // relative to the directory, with slashes
	Mode uint32 `cbor:"2,keyasint"` // permission bits
	Data []byte `cbor:"3,keyasint"`
}

// A Shard says what there is of a shard: the snapshot that is its state after the record Snapshot (0: none),
// and all records behind that, to Last.
type Shard struct {
	Number   int    `cbor:"1,keyasint"`
	Snapshot uint64 `cbor:"2,keyasint"`
	Last     uint64 `cbor:"3,keyasint"`
}

// A Position is how far a reader of the feed had come.
type Position struct {
	Reader string `cbor:"1,keyasint"`
	Seq    uint64 `cbor:"2,keyasint"`
}

// A Summary says how much is in a backup.
type Summary struct {
	Header  Header
	Shards  []Shard
	Records int // of all shards
	Entries int // of the history
	Events  int // records of the feed
}
