package figures

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/region"
)

// A recovery brings the shards of a data directory back, again and again, without
// changing it.
type recovery struct {
	ctx      context.Context
	engine   *jetstream.Engine
	journals []journal.Journal
	after    []uint64 // the records that the snapshots hold, of each shard
}

func openRecovery(tb testing.TB, dir string) *recovery {
	tb.Helper()
	engine, err := jetstream.Open(tb.Context(), jetstream.Config{Dir: filepath.Join(dir, "journal")})
	must(tb, err)
	r := &recovery{ctx: tb.Context(), engine: engine, journals: make([]journal.Journal, shards),
		after: make([]uint64, shards)}
	for i := range r.journals {
		r.journals[i], err = engine.Journal(tb.Context(), i)
		must(tb, err)
		seq, snapshot, err := r.journals[i].LoadSnapshot(tb.Context())
		must(tb, err)
		if snapshot != nil {
			must(tb, snapshot.Close())
		}
		r.after[i] = seq
	}
	return r
}

// recovered is what one round came to.
type recovered struct {
	replayed, decoded, read time.Duration
	cpu                     time.Duration // of the replay
	events, bytes           int
}

// round replays the journals of all shards at the same time, as a start does. Then
// it reads their records and decodes the events, without machines, and then it
// only reads the records.
func (r *recovery) round() (out recovered, err error) {
	spent := bench.OwnCPU()
	out.replayed, err = r.each(func(i int) error { return replay(r.ctx, r.journals[i], i) })
	out.cpu = bench.OwnCPU() - spent
	if err != nil {
		return out, err
	}
	events, bytes := make([]int, shards), make([]int, shards)
	out.decoded, err = r.each(func(i int) error {
		return r.journals[i].Replay(r.ctx, r.after[i], func(_ uint64, record []byte) error {
			n, err := countEvents(record[recordHeader:])
			events[i] += n
			return err
		})
	})
	if err != nil {
		return out, err
	}
	out.read, err = r.each(func(i int) error {
		return r.journals[i].Replay(r.ctx, r.after[i], func(_ uint64, record []byte) error {
			bytes[i] += len(record)
			return nil
		})
	})
	for i := range shards {
		out.events += events[i]
		out.bytes += bytes[i]
	}
	return out, err
}

// countEvents decodes events that stand one behind the other.
func countEvents(data []byte) (n int, err error) {
	for len(data) > 0 {
		if _, data, err = region.Events.Next(data); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// each does the same for all shards at the same time, and says how long it took.
func (r *recovery) each(do func(shard int) error) (time.Duration, error) {
	runtime.GC() // without what was done before
	begin := time.Now()
	var group errgroup.Group
	for i := range shards {
		group.Go(func() error { return do(i) })
	}
	err := group.Wait()
	return time.Since(begin), err
}

func (o *recovered) report(b *testing.B) {
	n := float64(o.events)
	replayed, decoded, read := n/o.replayed.Seconds(), n/o.decoded.Seconds(), n/o.read.Seconds()
	tell("replay: %d events, %.0f/s; decoded alone %.0f/s, read alone %.0f/s", o.events, replayed, decoded, read)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(replayed, "rate/s")
	b.ReportMetric(decoded, "decoded-rate/s")
	b.ReportMetric(read, "read-rate/s")
	b.ReportMetric(replayed/decoded, "of-decoded")
	b.ReportMetric(replayed/read, "of-read")
	b.ReportMetric(float64(o.cpu.Nanoseconds())/1e3/n, "cpu-µs/op")
	b.ReportMetric(float64(o.bytes)/n, "bytes/event")
	b.ReportMetric(n, "events")
}
