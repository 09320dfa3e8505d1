package journal

import "context"

// A Feed is a row of records that many write and many read: the event feed of a
// region. Records are numbered in the order in which they were appended, with
// gaps, and kept for a time (30 days by default). All methods may be called by many
// goroutines at the same time.
type Feed interface {
	// Append makes a record durable behind all others and returns its number. An id
	// that was appended in the last two minutes is not stored again: the number is
	// that record's. So repeating an Append whose fate is unknown does no harm.
	Append(ctx context.Context, id string, data []byte) (seq uint64, err error)

	// Read calls visit with the records after the given number (0: from the first
	// that is kept), oldest first, up to the newest at the time of the call, or until
	// visit returns false. The data is visit's only until it returns.
	Read(ctx context.Context, after uint64, visit func(seq uint64, data []byte) bool) error

	// Follow is Read that waits for new records: it ends when visit returns false
	// (with nil) or ctx is done (with its cause).
	Follow(ctx context.Context, after uint64, visit func(seq uint64, data []byte) bool) error

	// Last is the number of the newest record, also of one that is gone; 0 when
	// there never was one.
	Last(ctx context.Context) (seq uint64, err error)

	// Keep makes durable how far a reader has come, Position says it: ok is false when
	// nothing was kept, or nothing for as long as records are. A reader is a token of
	// a subject; see CheckSubject.
	Keep(ctx context.Context, reader string, seq uint64) error
	Position(ctx context.Context, reader string) (seq uint64, ok bool, err error)
}
