package sim

import (
	"context"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/region"
)

// A bug is a mistake that is planted from outside: around the journal of an owner,
// or around its machine. The zero bug is none.
type bug struct {
	name string

	append           func(d *disk, ctx context.Context, last uint64, data []byte) (uint64, error)
	handle           func(m *region.Machine, now time.Time, c region.Command) ([]event.Fact, any, error)
	skips            func(event.Fact) bool // facts that a replay does not apply
	misses           func(event.Fact) bool // records that a snapshot does not have
	snapshotSeq      func(uint64) uint64   // the number that a snapshot gets
	twice            bool                  // what is due is done twice
	forgetsDeadlines bool                  // after a snapshot
	noLease          bool                  // reads are answered without a look at the lease
}

func bugNamed(name string) *bug {
	b := bug{}
	for _, known := range bugs {
		if known.name == name {
			b = known
		}
	}
	if b.append == nil {
		b.append = func(d *disk, ctx context.Context, last uint64, data []byte) (uint64, error) {
			return d.journal.Append(ctx, last, data)
		}
	}
	if b.handle == nil {
		b.handle = func(m *region.Machine, now time.Time, c region.Command) ([]event.Fact, any, error) {
			return m.Handle(now, c)
		}
	}
	return &b
}

var bugs []bug
