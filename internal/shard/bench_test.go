package shard_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/shard"
)

// BenchmarkShard is what a shard costs per command: over memory the loop alone,
// over JetStream with the disk. Beside it stands the ceiling: the same bytes,
// appended to the same kind of journal in batches of the size that the shard
// came to.
func BenchmarkShard(b *testing.B) {
	b.Run("memory", func(b *testing.B) { benchmarkShard(b, memory.New(memory.Config{})) })
	b.Run("jetstream", func(b *testing.B) {
		e, err := jetstream.Open(b.Context(), jetstream.Config{Dir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		defer func() {
			if err := e.Close(); err != nil {
				b.Error(err)
			}
		}()
		open := func(n int) journal.Journal {
			j, err := e.Journal(b.Context(), n)
			if err != nil {
				b.Fatal(err)
			}
			return j
		}
		var size batchSize
		shards := 0
		next := func() journal.Journal { shards++; return open(shards) }
		b.Run("shard", func(b *testing.B) { size = benchmarkShard(b, next()) })
		b.Run("append", func(b *testing.B) { benchmarkAppend(b, next(), size) })
	})
}

// batchSize is what the batches of a run held together.
type batchSize struct{ batches, bytes, events int }

// benchmarkShard submits commands from many goroutines and returns what the
// batches held.
func benchmarkShard(b *testing.B, j journal.Journal) (size batchSize) {
	cfg := toyConfig{
		Journal: j, Events: events, NewMachine: newToy, SnapshotEvery: shard.SnapshotEvery{Records: -1, Bytes: -1},
		Metrics: shard.Metrics{Batch: func(s shard.BatchStats) {
			size.batches++
			size.bytes += s.Bytes
			size.events += s.Facts
		}},
	}
	s := shard.New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-s.Ready()
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprint("counter-", i)
	}
	const window = 2000 // commands under way, per goroutine
	var failed atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		free := make(chan struct{}, window)
		var under sync.WaitGroup
		done := func(_ any, err error) {
			if err != nil {
				failed.Add(1)
			}
			<-free
			under.Done()
		}
		for i := 0; pb.Next(); i++ {
			free <- struct{}{}
			under.Add(1)
			s.Submit(command{Name: names[i%len(names)], N: 1}, done)
		}
		under.Wait()
	})
	b.StopTimer()
	cancel()
	if err := <-ended; err != nil || failed.Load() > 0 {
		b.Fatalf("%v; %d commands failed", err, failed.Load())
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(size.events)/float64(size.batches), "events/batch")
	return size
}

// benchmarkAppend appends records of the average size of the batches above, as
// many as hold b.N events.
func benchmarkAppend(b *testing.B, j journal.Journal, size batchSize) {
	data := make([]byte, size.bytes/size.batches)
	perRecord := float64(size.events) / float64(size.batches)
	last := uint64(0)
	b.ResetTimer()
	for n := 0.0; n < float64(b.N); n += perRecord {
		binary.BigEndian.PutUint64(data, last)
		var err error
		if last, err = j.Append(b.Context(), last, data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkRecover is a start on 100,000 facts, without the disk.
func BenchmarkRecover(b *testing.B) {
	j := memory.New(memory.Config{})
	s := shard.New(toyConfig{Journal: j, Events: events, NewMachine: newToy,
		SnapshotEvery: shard.SnapshotEvery{Records: -1, Bytes: -1}})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	const facts = 100_000
	for i := range facts / 100 {
		if _, err := s.Do(b.Context(), command{Name: fmt.Sprint(i), N: 1, Times: 100}); err != nil {
			b.Fatal(err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var got event.Fact
		s := shard.New(toyConfig{Journal: j.Reopen(), Events: events, NewMachine: newToy,
			Observe: func(c shard.Commit[*toy]) { got = c.Facts[0] }})
		ctx, cancel := context.WithCancel(context.Background())
		go func() { ended <- s.Run(ctx) }()
		<-s.Ready()
		cancel()
		if err := <-ended; err != nil || got.Body == nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(facts*b.N)/b.Elapsed().Seconds(), "facts/s")
}
