package backup

import (
	"context"
	"io"

	"github.com/muster-gg/muster/internal/journal"
)

// Restore stores a backup in an empty engine, and passes the files of the data directory to file. The backup must have
// been checked: after an error the engine is incomplete.
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

type restorer struct {
	ctx    context.Context // of the one call
	to     journal.Restorer
	writer journal.RecordWriter
	last   uint64 // of the writer
}

func (f *restorer) begin(last uint64) func(journal.RecordWriter, error) error {
	return func(w journal.RecordWriter, err error) error {
		f.writer, f.last = w, last
		return err
	}
}

func (f *restorer) put(s journal.Stored) error { return f.writer.Put(f.ctx, s) }
func (f *restorer) end() error                 { return f.writer.End(f.ctx, f.last) }
