//go:build linux

// Package load is the other side of the comparison: all clients of a server, in one process that is the same for every
// server and takes as little of the machine as it can. It waits for its sockets with epoll, in few goroutines,
// allocates nothing once it is warm, and holds all that it receives to what it must be.
package load

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/e2e/netbench/control"
)

// Config says what a load does.
type Config struct {
	Address     string // of the server
	Work        Work
	Connections int // of Echo and Idle
	InFlight    int // echo packets of a connection that are sent together
}

// Work is what the clients do.
type Work string

// The works.
const (
	Echo      Work = "echo"       // send packets, and the next ones when all have come back
	Idle      Work = "idle"       // one echo packet each, then nothing
	Rooms     Work = "rooms"      // play, and say 30 times a second where one is
	RoomsFast Work = "rooms-fast" // play, and say it once
)

// Ready is what the load says when everything is connected, and the content of what came back has been checked.
type Ready struct {
	Connections int `json:"connections"`
}

// Count is what a load has received until a moment.
type Count struct {
	Messages uint64 `json:"messages"`
	Nanos    int64  `json:"nanos"`   // of a clock that only goes on
	Mallocs  uint64 `json:"mallocs"` // of the load: none, when it is warm
}

// loops is the number of goroutines that share the connections: enough for a server to keep the second of two
// processors busy with one.
const loops = 2

// warmUpLimit is how long connecting and the first check may take.
const warmUpLimit = time.Minute

// Run is the whole life of a load process; package control says what it reads and writes.
func Run(ctx context.Context, config Config, commands io.Reader, answers io.Writer) error {
	runtime.GOMAXPROCS(loops + 1) // loops seldom give their processor away: commands need one too
	all, err := connect(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	stop := context.AfterFunc(ctx, func() {
		for _, l := range all {
			l.stop.Store(true)
		}
	})
	defer stop()
	for _, l := range all {
		group.Go(l.run)
	}
	if err := warm(ctx, all); err != nil {
		cancel() // each loop closes its connections
		if failed := group.Wait(); failed != nil {
			return failed
		}
		return err
	}
	err = control.Answer(commands, answers, Ready{config.connections()}, func(command string) (any, error) {
		if ctx.Err() != nil { // a loop has failed
			return nil, group.Wait()
		}
		return count(all), nil
	})
	cancel()
	_ = group.Wait() // servers end first: what they do then counts no more
	return err
}

// warm waits until every connection has received what it must.
func warm(ctx context.Context, all []*loop) error {
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for limit := time.Now().Add(warmUpLimit); ; {
		cold := 0
		for _, l := range all {
			cold += int(l.cold.Load())
		}
		if cold == 0 {
			return nil
		}
		if time.Now().After(limit) {
			return fmt.Errorf("%d connections have not received what they must within %s", cold, warmUpLimit)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

var began = time.Now()

func count(all []*loop) Count {
	c := Count{Nanos: time.Since(began).Nanoseconds(), Mallocs: mallocs()}
	for _, l := range all {
		c.Messages += l.messages.Load()
	}
	return c
}

func mallocs() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/tiny/allocs:objects"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() + sample[1].Value.Uint64()
}

// counters are what other goroutines see of a loop.
type counters struct {
	messages atomic.Uint64 // received and found right
	cold     atomic.Int64  // connections that have more to show before it counts
	stop     atomic.Bool
}
