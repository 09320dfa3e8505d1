package backup

import (
	"context"
	"io"

	"github.com/muster-gg/muster/internal/journal"
)

// Fill reads a backup into an empty engine, and hands the files of the data directory to
// file. The backup must have been checked: what was filled before an error is of no use.
func Fill(ctx context.Context, from io.Reader, to journal.Filling, file func(File) error) (Summary, error) {
	f := &filler{ctx: ctx, to: to}
	return Read(from, Visitor{
		File: file,
		Shard: func(s Shard, snapshot io.Reader) error {
			return f.begin(s.Last)(to.Shard(ctx, s.Number, s.Snapshot, snapshot))
		},
		Record: f.put, EndShard: f.end,
		History: func(last uint64) error { return f.begin(last)(to.History(ctx)) },
		Entry:   f.put, EndEntry: f.end,
		Feed:  func(last uint64) error { return f.begin(last)(to.Feed(ctx)) },
		Event: f.put, EndEvent: f.end,
		Position: func(p Position) error { return to.Keep(ctx, p.Reader, p.Seq) },
	})
}

// A filler fills one row after the other.
type filler struct {
	ctx  context.Context // it lives as long as one call
	to   journal.Filling
	row  journal.Row
	last uint64 // of the row
}

func (f *filler) begin(last uint64) func(journal.Row, error) error {
	return func(row journal.Row, err error) error {
		f.row, f.last = row, last
		return err
	}
}

func (f *filler) put(s journal.Stored) error { return f.row.Put(f.ctx, s) }
func (f *filler) end() error                 { return f.row.End(f.ctx, f.last) }
