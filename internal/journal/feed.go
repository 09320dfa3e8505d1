package journal

import (
	"context"
	"time"
)

// A Feed is a sequence of records with many writers and many readers: the event feed of a region. Records are numbered
// in the order of their appends, with gaps, and kept for a time (30 days by default). All methods are safe for
// concurrent use.
type Feed interface {
	// Append stores a record durably after all others and returns its number. If the id was appended in the last two
	// minutes, it stores nothing and returns the number of that record, so an Append with unknown outcome can be
	// repeated.
	Append(ctx context.Context, id string, data []byte) (seq uint64, err error)

	// Read calls visit with the records after the given number (0: from the first), oldest first, up to the newest at
	// the time of the call, or until visit returns false. The data is valid until visit returns.
	Read(ctx context.Context, after uint64, visit func(seq uint64, data []byte) bool) error

	// Follow is a Read that waits for new records. It returns nil when visit returns false, or the cause of ctx.
	Follow(ctx context.Context, after uint64, visit func(seq uint64, data []byte) bool) error

	// Last returns the number of the newest record, even if it was deleted; 0 if there never was one.
	Last(ctx context.Context) (seq uint64, err error)

	// SavePosition stores the position of a reader durably, Position returns it: ok is false if none was stored, or
	// none for as long as records are kept. A reader is a token of a subject; see CheckSubject.
	SavePosition(ctx context.Context, reader string, seq uint64) error
	Position(ctx context.Context, reader string) (seq uint64, ok bool, err error)
}

// An Audit is a feed of which readers want a period: the audit trail, and metrics.
type Audit interface {
	Feed

	// After returns the number after which the records begin that were stored at or after a time, by the engine's
	// clock. In a cluster, the clocks are those of several nodes: a record may have an earlier time than one before it,
	// by as much as they differ.
	After(ctx context.Context, t time.Time) (seq uint64, err error)
}
