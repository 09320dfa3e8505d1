package figures

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
)

// BenchmarkReplay is the part of a restart that is not the disk: a shard
// replays the records of 200,000 player sessions in 1,000 game sessions, all of
// whose players were accepted.
func BenchmarkReplay(b *testing.B) {
	const sessions = 1000
	j := recorded(b, sessions)
	b.ReportAllocs()
	for b.Loop() {
		must(b, replay(b.Context(), j, 1))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*sessions*seats), "ns/player")
}

// recordSize is about how large the records are: those of a busy service are.
const recordSize = 32 << 10

// recordHeader is what stands before the facts of a record: version and owner.
const recordHeader = 1 + 8

// recorded is a journal of game sessions that are full.
func recorded(tb testing.TB, sessions int) *memory.Journal {
	tb.Helper()
	j := memory.New(memory.Config{})
	record, last := make([]byte, recordHeader), uint64(0)
	record[0] = 1
	flush := func() {
		var err error
		last, err = j.Append(tb.Context(), last, record)
		must(tb, err)
		record = record[:recordHeader]
	}
	r := newRegister(tb, fleet.RoomID{Fleet: stepFleet, Location: location})
	r.record = func(facts []event.Fact) {
		var buf bytes.Buffer
		for _, f := range facts {
			must(tb, region.Events.Append(&buf, f))
		}
		if record = append(record, buf.Bytes()...); len(record) > recordSize {
			flush()
		}
	}
	for i := range sessions {
		id := fmt.Sprint("gsess-", i)
		r.host(fleet.CreateGameSession{ID: id, Name: "a game", Maximum: seats}, 0)
		for range seats / 25 {
			reserved := r.do(r.reservation(id, 25)).(fleet.Reservation)
			for _, p := range reserved.Players {
				r.do(fleet.AcceptPlayer{ProcessKey: reserved.GameSession.Host, GameSession: id, PlayerSession: p.ID})
			}
		}
	}
	flush()
	return j
}

// replay starts and stops a shard on a journal, which stays as it is.
func replay(ctx context.Context, j journal.Journal, number int) error {
	settings := patient()
	s := shard.New(shard.Config[region.Command, *region.Machine]{
		Journal: readOnly{j}, Events: region.Events,
		NewMachine:    func() *region.Machine { return region.New(number, &settings) },
		SnapshotEvery: never,
	})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	select {
	case <-s.Ready():
		cancel()
		return <-ended
	case err := <-ended:
		return errors.Join(err, errNotReady)
	}
}

// errNotReady says that a shard ended before it served.
var errNotReady = errors.New("the shard did not get ready")

// readOnly is a journal that takes appends for done and forgets them.
type readOnly struct{ journal.Journal }

func (readOnly) Append(_ context.Context, last uint64, _ []byte) (uint64, error) {
	return last + 1, nil
}
