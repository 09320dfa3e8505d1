package backup

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/region"
)

// OfCut looks at what an engine holds.
func OfCut(r Region, c journal.ConsistentSnapshot) Source { return &cutSource{r, c} }

type cutSource struct {
	region Region
	journal.ConsistentSnapshot
}

func (c *cutSource) Region() Region { return c.region }

func (c *cutSource) Snapshot(ctx context.Context, shard int, newest uint64, read func(uint64, io.Reader) error) error {
	seq, r, err := c.ConsistentSnapshot.Snapshot(ctx, shard, newest)
	if err != nil {
		return err
	}
	if r == nil {
		return read(0, nil)
	}
	return errors.Join(read(seq, r), r.Close())
}

// OfFile looks at a backup, once all of it is checked. The file is read from its beginning for each question.
func OfFile(file *io.SectionReader) (Source, error) {
	f := &fileSource{file: file}
	check := func(h Header) error { return region.CheckLevel(h.Level) }
	if err := f.read(Visitor{Header: check}, &f.summary); err != nil {
		return nil, err
	}
	return f, nil
}

type fileSource struct {
	file    *io.SectionReader
	summary Summary
}

func (f *fileSource) read(v Visitor, sum *Summary) error {
	var err error
	*sum, err = Read(io.NewSectionReader(f.file, 0, f.file.Size()), v)
	return err
}

func (f *fileSource) Region() Region {
	h := f.summary.Header
	return Region{h.Region, h.Account, h.Shards}
}

func (f *fileSource) Contents(_ context.Context, shard int) (journal.ShardContents, error) {
	s := f.summary.Shards[shard]
	h := journal.ShardContents{First: s.Snapshot + 1, Last: s.Last}
	if s.Snapshot > 0 {
		h.Snapshots = []uint64{s.Snapshot}
	}
	return h, nil
}

func (f *fileSource) Snapshot(_ context.Context, shard int, newest uint64, read func(uint64, io.Reader) error) error {
	s := f.summary.Shards[shard]
	if s.Snapshot == 0 || s.Snapshot > newest {
		return read(0, nil)
	}
	var sum Summary
	err := f.read(Visitor{Shard: func(s Shard, snapshot io.Reader) error {
		if s.Number != shard {
			return nil
		}
		if err := read(s.Snapshot, snapshot); err != nil {
			return err
		}
		return errFound
	}}, &sum)
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}

// errFound ends the reading of a file that had what was looked for.
var errFound = errors.New("found")

func (f *fileSource) Records(ctx context.Context, shard int, after uint64, visit func(journal.Stored) error) error {
	if s := f.summary.Shards[shard]; after < s.Snapshot {
		return fmt.Errorf("%w: those of shard %d begin with %d", journal.ErrMissing, shard, s.Snapshot+1)
	}
	number := -1
	var sum Summary
	err := f.read(Visitor{
		Shard: func(s Shard, _ io.Reader) error {
			number = s.Number
			return ctx.Err()
		},
		Record: func(s journal.Stored) error {
			if number != shard || s.Seq <= after {
				return nil
			}
			return visit(s)
		},
		EndShard: func() error {
			if number == shard {
				return errFound
			}
			return nil
		},
	}, &sum)
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}

func (f *fileSource) History(ctx context.Context, visit func(journal.Stored) error) error {
	var sum Summary
	return f.read(Visitor{Entry: func(s journal.Stored) error { return errors.Join(ctx.Err(), visit(s)) }}, &sum)
}
