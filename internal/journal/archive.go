package journal

import (
	"context"
	"errors"
	"io"
	"time"
)

// ErrSnapshotOpen reports that another ConsistentSnapshot of the engine is open: there is at most one at a time.
var ErrSnapshotOpen = errors.New("another backup is reading the journals")

// Stored is a record of a journal or of a feed, or an entry of a history, as stored by an engine.
type Stored struct {
	Seq     uint64
	Time    time.Time // when it was stored, by the engine's clock
	Subject string    // of an entry of a history; else ""
	Data    []byte
}

// ShardContents lists the snapshots and records of a shard.
type ShardContents struct {
	Snapshots []uint64 // the last record that each includes, oldest first
	First     uint64   // the oldest record; Last+1 when there is none
	Last      uint64   // the newest record, even if it was deleted; 0: there never was one
}

// A ConsistentSnapshot is all that an engine stored at one moment: nothing was being written then, so no journal
// contains a record whose cause is missing in another journal. The engine continues to work, but deletes no record and
// no snapshot of a shard until Close. One goroutine uses it.
//
// It does not include the audit trail, which has a retention of its own and is exported separately, and the values of a
// Bucket, which clients ask for again.
type ConsistentSnapshot interface {
	// Taken returns the moment.
	Taken() time.Time

	// Contents returns what was stored of a shard.
	Contents(ctx context.Context, shard int) (ShardContents, error)

	// Snapshot opens the newest intact snapshot of a shard that includes no record after newest: seq 0 and a nil reader
	// if there is none. The caller closes the reader.
	Snapshot(ctx context.Context, shard int, newest uint64) (seq uint64, r io.ReadCloser, err error)

	// Records visits all records of a shard after the given one, oldest first. The error is ErrMissing if one of them
	// was deleted.
	Records(ctx context.Context, shard int, after uint64, visit func(Stored) error) error

	// History visits the entries of the history, oldest first, except those that were replaced or expired since.
	// LastEntry returns the number of the newest.
	History(ctx context.Context, visit func(Stored) error) error
	LastEntry() (last uint64)

	// Feed visits the records of the feed in the same way. Positions returns the position of each reader of the feed.
	Feed(ctx context.Context, visit func(Stored) error) error
	LastEvent() (last uint64)
	Positions(ctx context.Context) (map[string]uint64, error)

	// Close lets the engine delete records and snapshots again. Further calls have no effect.
	Close()
}

// A Restorer stores a ConsistentSnapshot of another engine in an empty engine, with the same numbers. One goroutine
// uses it. The engine's documentation says when the data is durable.
type Restorer interface {
	// Shard starts a shard with a snapshot (nil: none) that includes the records up to this number (0: none), and
	// returns the writer of the records after it.
	Shard(ctx context.Context, shard int, seq uint64, snapshot io.Reader) (RecordWriter, error)

	// History and Feed return the writers of the entries and of the feed's records.
	History(ctx context.Context) (RecordWriter, error)
	Feed(ctx context.Context) (RecordWriter, error)

	// SavePosition stores the position of a reader of the feed. It is called after the feed is stored.
	SavePosition(ctx context.Context, reader string, seq uint64) error
}

// A RecordWriter stores numbered records in order. The engine sets their time.
type RecordWriter interface {
	// Put stores a record; numbers before it may be missing.
	Put(ctx context.Context, s Stored) error
	// End waits until all records are stored. The next number will be larger than last.
	End(ctx context.Context, last uint64) error
}
