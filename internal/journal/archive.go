package journal

import (
	"context"
	"errors"
	"io"
	"time"
)

// ErrCut says that somebody else holds a cut of the engine: there is one at a time.
var ErrCut = errors.New("a cut of the journal is open already")

// Stored is a record of a journal or of a feed, or an entry of a history, as an
// engine keeps it.
type Stored struct {
	Seq     uint64
	Time    time.Time // when it was stored, by the engine's clock
	Subject string    // of an entry of a history; else ""
	Data    []byte
}

// Held is what an engine holds of a shard: states and records.
type Held struct {
	Snapshots []uint64 // the records that they are the states after, oldest first
	First     uint64   // the oldest record; Last+1 when there is none
	Last      uint64   // the newest one, also when it is gone; 0 when there never was one
}

// A Cut is all that an engine held at one moment, read while the engine goes on.
// No record stood in one journal at that moment whose cause, in another journal,
// was not yet there: nothing was being written. Until it is closed, the
// engine forgets no record and no snapshot of a shard. It is one goroutine's.
//
// What visit gets is its own until it returns. Its error ends the visits and is
// returned as it is.
type Cut interface {
	// Taken is the moment.
	Taken() time.Time

	// Held says what there was of a shard.
	Held(ctx context.Context, shard int) (Held, error)

	// Snapshot opens the newest whole snapshot of a shard that is the state after the
	// given record or an earlier one: seq 0 and a nil reader when there is none. The
	// caller closes the reader.
	Snapshot(ctx context.Context, shard int, newest uint64) (seq uint64, r io.ReadCloser, err error)

	// Records visits all records of a shard after the given one, oldest first. The
	// error is ErrMissing when one of them is gone.
	Records(ctx context.Context, shard int, after uint64, visit func(Stored) error) error

	// History visits the entries of the history, oldest first, but not those that were
	// replaced or grew too old since; last is the number of the newest.
	History(ctx context.Context, visit func(Stored) error) error
	LastEntry() (last uint64)

	// Feed visits the records of the feed in the same way. Positions says how far each
	// reader of the feed had come.
	Feed(ctx context.Context, visit func(Stored) error) error
	LastEvent() (last uint64)
	Positions(ctx context.Context) (map[string]uint64, error)

	// Close lets the engine forget again.
	Close()
}

// A Filling puts into an empty engine what a Cut of another held, with the same
// numbers. What it was given is durable when it says so: see the engine's. One
// goroutine uses it.
type Filling interface {
	// Shard begins a shard with a snapshot (nil: none) that is the state after the
	// record with this number (0: none), and returns what takes the records behind it.
	Shard(ctx context.Context, shard int, seq uint64, snapshot io.Reader) (Row, error)

	// History and Feed return what takes the entries, and the feed's records.
	History(ctx context.Context) (Row, error)
	Feed(ctx context.Context) (Row, error)

	// Keep notes how far a reader of the feed had come. It comes behind the feed.
	Keep(ctx context.Context, reader string, seq uint64) error
}

// A Row takes what has a number, in the order of the numbers. Time is the engine's own
// choice.
type Row interface {
	// Put stores one; there may be gaps before it.
	Put(ctx context.Context, s Stored) error
	// End waits until all are stored. The next number will be larger than last.
	End(ctx context.Context, last uint64) error
}
