// Package journal defines what a shard needs from the storage of its records.
//
// A journal is a sequence of records, numbered from 1 without gaps, with one writer at a time. Each append names the
// record that the writer believes to be the last, and fails if another writer has appended since. This is the fence: an
// owner that lost its shard cannot change it any more, whatever it believes.
//
// A journal also has snapshots: the state after a certain record. The newest intact one and the records after it
// restore the state.
//
// Package jetstream keeps journals on disk, package memory keeps them in memory and fails on demand, package
// journaltest tests both against the contract here.
package journal

import (
	"context"
	"errors"
	"io"
)

// ErrFenced reports that another writer has appended since: the caller no longer owns the journal, and its record was
// not stored.
var ErrFenced = errors.New("another writer owns the journal")

// ErrTooLarge reports that a record is larger than MaxRecord, or an entry of a history than MaxEntry. It was not
// stored.
var ErrTooLarge = errors.New("record is too large")

// ErrMissing reports that records are missing: they were deleted because a snapshot newer than the requested record
// includes them, or they were lost.
var ErrMissing = errors.New("records are missing")

// ErrBroken reports that the journal can no longer write, mostly because the disk is full. It must be opened again once
// the cause is removed.
var ErrBroken = errors.New("the journal cannot write any more")

// A Journal keeps the records of one shard in order, numbered from 1 without gaps.
//
// Append is for one goroutine at a time. Follow may run concurrently with everything, SaveSnapshot with everything but
// another SaveSnapshot.
type Journal interface {
	// Append stores data durably as the record after last, and returns its number, last+1. The journal does not retain
	// data.
	//
	// The error is ErrFenced if the newest record is not last, ErrTooLarge for more than MaxRecord bytes. After any
	// other error, the end of ctx included, the outcome is unknown: the record may be stored, or be stored later. The
	// owner must replay before it goes on, and never repeat the call.
	Append(ctx context.Context, last uint64, data []byte) (seq uint64, err error)

	// Replay calls apply with every record after the given one (0: from the first), oldest first, up to the newest at
	// the time of the call. It stops at an error of apply and returns it unchanged. The data is valid until apply
	// returns. The error is ErrMissing if the record after the given one was deleted, or if the journal ends before the
	// given one.
	Replay(ctx context.Context, after uint64, apply func(seq uint64, data []byte) error) error

	// Follow is a Replay that goes on with new records until apply returns an error (returned unchanged) or ctx is done
	// (its cause). The error is ErrMissing as for Replay, and also if records that it has not reached yet are deleted
	// because of a snapshot. It never applies a record that could still be lost.
	Follow(ctx context.Context, after uint64, apply func(seq uint64, data []byte) error) error

	// SaveSnapshot stores the output of write as the state after record seq. LoadSnapshot never returns one that failed
	// or was interrupted. The newest two are kept, and the records up to the older one are deleted, so falling back to
	// that one loses nothing. An error can also mean that only this cleanup failed: the next SaveSnapshot repeats it.
	SaveSnapshot(ctx context.Context, seq uint64, write func(io.Writer) error) error

	// LoadSnapshot opens the newest intact snapshot: seq 0 and a nil reader if there is none. The caller closes the
	// reader, and reads from it only while ctx is not done. The error is ErrMissing if the rest of a damaged journal
	// gives no state.
	LoadSnapshot(ctx context.Context) (seq uint64, r io.ReadCloser, err error)

	// MaxRecord returns the maximum size of a record in bytes, at least 1.
	MaxRecord() int
}
