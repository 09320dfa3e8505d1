package jetstream_test

import (
	"fmt"
	"testing"

	"github.com/muster-gg/muster/internal/journal/jetstream"
)

// BenchmarkAppend is one durable record after the other, beside the same bytes
// as a bare publish to a JetStream stream of the same server.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1 << 10, 4 << 10, 64 << 10} {
		data := make([]byte, size)
		b.Run(fmt.Sprintf("journal/%dkB", size>>10), func(b *testing.B) {
			e := open(b, b.TempDir())
			defer mustClose(b, e)
			j, last := shardJournal(b, e, 0), uint64(0)
			b.SetBytes(int64(size))
			for b.Loop() {
				var err error
				if last, err = j.Append(b.Context(), last, data); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("publish/%dkB", size>>10), func(b *testing.B) {
			e := open(b, b.TempDir())
			defer mustClose(b, e)
			publish := jetstream.BarePublish(b, e)
			b.SetBytes(int64(size))
			for b.Loop() {
				publish(data)
			}
		})
	}
}

// BenchmarkReplay is a whole replay of a journal, per record.
func BenchmarkReplay(b *testing.B) {
	for _, size := range []int{100, 64 << 10} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			e := open(b, b.TempDir())
			defer mustClose(b, e)
			j, data := shardJournal(b, e, 0), make([]byte, size)
			const records = 1000
			for last := range uint64(records) {
				if _, err := j.Append(b.Context(), last, data); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(records * int64(size))
			for b.Loop() {
				if err := j.Replay(b.Context(), 0, func(uint64, []byte) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(records*b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// BenchmarkOpen is a start on an empty directory: the engine, four shards, the
// history.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		e := open(b, b.TempDir())
		for i := range 4 {
			j := shardJournal(b, e, i)
			if _, _, err := j.LoadSnapshot(b.Context()); err != nil {
				b.Fatal(err)
			}
			if err := j.Replay(b.Context(), 0, func(uint64, []byte) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := e.History(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		mustClose(b, e)
		b.StartTimer()
	}
}
