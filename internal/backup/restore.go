package backup

import (
	"context"
	"io"

	"github.com/muster-gg/muster/internal/journal"
)

// Fill reads a backup into an empty engine, and hands the files of the data directory to
// file. The backup must have been checked: what was filled before an error is of no use.
func Restore(ctx context.Context, from io.Reader, to journal.Restorer, file func(File) error) (Summary, error) {
	f := &restorer{ctx: ctx, to: to}
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
		Position: func(p Position) error { return to.SavePosition(ctx, p.Reader, p.Seq) },
	})
}

// A filler fills one row after the other.
type restorer struct {
	ctx  context.Context // it lives as long as one call
	to   journal.Restorer
	row  journal.RecordWriter
	last uint64 // of the row
}

func (f *restorer) begin(last uint64) func(journal.RecordWriter, error) error {
	return func(row journal.RecordWriter, err error) error {
		f.row, f.last = row, last
		return err
	}
}

func (f *restorer) put(s journal.Stored) error { return f.row.Put(f.ctx, s) }
func (f *restorer) end() error                 { return f.row.End(f.ctx, f.last) }
