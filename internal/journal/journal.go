// Package journal says what a shard asks of the place where its records live.
//
// A journal is a row of records, numbered from 1 without gaps, with one writer
// at a time. Who writes next names the record that he believes to be the last;
// when another writer was faster the append is refused. That is the fence: an
// owner that lost its shard cannot change it any more, whatever it believes.
//
// Beside the records stand snapshots: the state after a certain record. The
// newest whole one and the records behind it give the state back.
//
// Package jetstream keeps journals on disk, package memory keeps them in memory
// and fails on demand, package journaltest holds both to what is promised here.
package journal

import (
	"context"
	"errors"
	"io"
)

// ErrFenced says that another writer has appended since: the caller is no
// longer the owner of the journal, and its record was not stored.
var ErrFenced = errors.New("another writer owns the journal")

// ErrTooLarge says that a record is larger than MaxRecord, or an entry of a history than
// MaxEntry. It was not stored.
var ErrTooLarge = errors.New("record is too large")

// ErrMissing says that records which should be there are not: they were
// forgotten behind a snapshot newer than the one asked for, or lost.
var ErrMissing = errors.New("records are missing")

// ErrBroken says that the journal can no longer write, above all because the disk
// is full: it must be opened anew, when the cause is gone.
var ErrBroken = errors.New("the journal cannot write any more")

// A Journal keeps the records of one shard in order, numbered from 1 without
// gaps.
//
// Append is called by one goroutine at a time. Follow may run beside everything,
// SaveSnapshot beside all but another SaveSnapshot.
type Journal interface {
	// Append makes data durable as the record after last, and returns that
	// record's number, last+1. The journal does not keep data after the return.
	//
	// The error is ErrFenced when the newest record is not last, ErrTooLarge for
	// more than MaxRecord bytes. After any other error, the end of ctx included,
	// the record's fate is unknown: it may be stored, or be stored later. The
	// owner must replay before it goes on, and never repeat the call.
	Append(ctx context.Context, last uint64, data []byte) (seq uint64, err error)

	// Replay calls apply with every record after the given one (0: from the
	// first), oldest first, up to the newest at the time of the call. It returns
	// apply's error as it is, and stops there. The data is apply's only until it
	// returns. The error is ErrMissing when the record behind after is gone, or
	// when the journal ends before after.
	Replay(ctx context.Context, after uint64, apply func(seq uint64, data []byte) error) error

	// Follow is Replay that goes on: it calls apply with every record after the given
	// one (0: from the first), oldest first, and with those that come, until apply
	// returns an error (returned as it is) or ctx is done (its cause). The error is
	// ErrMissing as for Replay, also when records that it has not come to yet are
	// forgotten behind a snapshot. It is shown no record that could still be taken
	// back.
	Follow(ctx context.Context, after uint64, apply func(seq uint64, data []byte) error) error

	// SaveSnapshot stores what write writes as the state after record seq. It is
	// whole or not there: one that failed or was interrupted while it was written
	// never comes back from LoadSnapshot. The newest two are kept, and the records
	// up to the older of them are forgotten, so that falling back to it loses
	// nothing. An error can also mean that only this tidying failed: the next
	// SaveSnapshot makes up for it.
	SaveSnapshot(ctx context.Context, seq uint64, write func(io.Writer) error) error

	// LoadSnapshot opens the newest whole snapshot: seq 0 and a nil reader when
	// there is none. The caller closes the reader, and reads from it no longer
	// than ctx lives. The error is ErrMissing when what is left of a damaged
	// journal gives no state.
	LoadSnapshot(ctx context.Context) (seq uint64, r io.ReadCloser, err error)

	// MaxRecord is the number of bytes that one record may hold, at least 1.
	MaxRecord() int
}
