package cluster

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// foreign gives two nodes that have found their place, and a shard that the
// second one owns.
func foreign(b *testing.B) (from *member, shard int) {
	s := engine(b)
	var book ledger
	echo := func(c *Config) {
		c.Lease = 0 // the default: nothing shall move
		c.Serve = func(_ int, cmd []byte, done func([]byte, error)) { done(cmd[:8], nil) }
		c.Barrier = func(_ int, done func(uint64, error)) { done(1, nil) }
	}
	members := []*member{start(b, connect(b, s), &book, "n1", echo, nil),
		start(b, connect(b, s), &book, "n2", echo, nil)}
	for _, m := range members {
		m.Ready()
	}
	spread(b, members...)
	for i := range shards {
		if owner, _ := members[0].Owner(i); owner == "n2" {
			return members[0], i
		}
	}
	b.Fatal("the second node owns nothing")
	return nil, 0
}

// BenchmarkForward sends commands of 200 bytes to a shard that another node
// owns, so many at a time. Compare with BenchmarkRequest, which is NATS alone.
func BenchmarkForward(b *testing.B) {
	for _, flight := range []int{1, 64, 1024} {
		b.Run(fmt.Sprint("inflight=", flight), func(b *testing.B) {
			m, shard := foreign(b)
			room := make(chan struct{}, flight)
			cmd := make([]byte, 200)
			b.ReportAllocs()
			for b.Loop() {
				room <- struct{}{}
				m.Send(shard, cmd, func(_ []byte, err error) {
					if err != nil {
						b.Error(err)
					}
					<-room
				})
			}
			for range flight {
				room <- struct{}{}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commands/s")
		})
	}
}

func BenchmarkBarrier(b *testing.B) {
	for _, readers := range []int{1, 1024} {
		b.Run(fmt.Sprint("readers=", readers), func(b *testing.B) {
			m, shard := foreign(b)
			room := make(chan struct{}, readers)
			b.ReportAllocs()
			for b.Loop() {
				room <- struct{}{}
				m.Ask(shard, func(_ uint64, err error) {
					if err != nil {
						b.Error(err)
					}
					<-room
				})
			}
			for range readers {
				room <- struct{}{}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "barriers/s")
		})
	}
}

// BenchmarkRequest is a request and its answer over NATS alone, from one
// connection to another.
func BenchmarkRequest(b *testing.B) {
	for _, flight := range []int{1, 64} {
		b.Run(fmt.Sprint("inflight=", flight), func(b *testing.B) {
			s := engine(b)
			from, to := connect(b, s), connect(b, s)
			sub, err := to.Subscribe("echo", func(m *nats.Msg) { _ = m.Respond(m.Data[:8]) })
			if err == nil {
				err = to.Flush()
			}
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = sub.Unsubscribe() }()
			cmd := make([]byte, 200)
			b.ReportAllocs()
			work := make(chan struct{})
			var all sync.WaitGroup
			for range flight {
				all.Go(func() {
					for range work {
						if _, err := from.Request("echo", cmd, 10*time.Second); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for b.Loop() {
				work <- struct{}{}
			}
			close(work)
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}
