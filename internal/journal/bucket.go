package journal

import (
	"context"
	"errors"
	"time"
)

// Errors of a Bucket.
var (
	ErrExists  = errors.New("the key has a value")
	ErrNoValue = errors.New("the key has no value")
	ErrChanged = errors.New("the value was changed or deleted meanwhile")
	ErrFull    = errors.New("the bucket is full")
)

// Limits of a Bucket.
const (
	// BucketAge is how long a value is kept after it was written, where values have an age.
	BucketAge = 15 * time.Minute

	// MaxValue is the maximum size of a value, in bytes.
	MaxValue = 64 << 10

	// BucketBytes is the size from which Create fails, keys and what the engine adds included: about 10,000 values of
	// 1 kB. Update and Delete need no free space.
	BucketBytes = 12 << 20
)

// A Bucket keeps small values by key, outside the journals: for a limited time pending device grants and authorization
// codes, without limit of time the last uses of access keys. Any node reads what another
// wrote. It may lose values, but not because one node of three was lost: clients then start again. All methods are safe
// for concurrent use.
//
// A key is a subject, see CheckSubject. Revisions of a key grow, also over a deletion. The error is ErrTooLarge for
// more than MaxValue bytes. After an error that is none of this package the outcome is unknown: the write may have
// succeeded, or may still succeed.
type Bucket interface {
	// Create stores a value under a key that has none, and returns its revision. The error is ErrExists if the key has
	// one, ErrFull if the bucket is full. A deleted key can be created again.
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)

	// Get returns a value and its revision. The error is ErrNoValue if there is none: it was never stored, was deleted,
	// is older than BucketAge, or was lost.
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)

	// Update replaces the value if its revision is still the given one, and returns the new revision. Otherwise the
	// error is ErrChanged. The age of the value starts again.
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)

	// Delete deletes the value if its revision is still the given one. Otherwise the error is ErrChanged, so of several
	// callers with the same revision, on any nodes, at most one succeeds.
	Delete(ctx context.Context, key string, revision uint64) error
}
