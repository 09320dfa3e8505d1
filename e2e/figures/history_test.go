package figures

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/internal/control/history"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/region"
)

const (
	// pastPlayers is how many players an ended game session had, entriesEach what it is in the history with them.
	pastPlayers = 9
	entriesEach = pastPlayers + 1

	// pastAtOnce is how many ended game sessions the shard has when they are moved.
	pastAtOnce = 20_000

	kept = 30 * 24 * time.Hour
)

// A past is a history on a real journal, and a shard whose game sessions have ended.
type past struct {
	*history.History
	recorded *recordedBatches
	clock    *clockwork.FakeClock
	begun    time.Time
	random   *rand.Rand
	machine  *region.Machine
	mu       sync.Mutex
	made     uint64
	bytes    int      // of their records
	records  [][]byte // of the game sessions that wait, while recorded.keep
	buf      bytes.Buffer
	players  []fleet.PlayerSessionID // one of each game session
	stop     func()
}

// recordedBatches keeps what is appended.
type recordedBatches struct {
	journal.History
	keep    bool
	batches [][]byte
}

func (r *recordedBatches) Append(ctx context.Context, data []byte) (uint64, error) {
	if r.keep {
		r.batches = append(r.batches, slices.Clone(data))
	}
	return r.History.Append(ctx, data)
}

// streamBatch is the size of a message for the stream alone, in bytes: that of the entries of a batch.
const streamBatch = 2 << 20

func (p *past) Level() int { return region.MaxLevel }

func (p *past) Read(_ context.Context, read func(*region.Machine)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	read(p.machine)
	return nil
}

func (p *past) Do(_ context.Context, c region.Command) (any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, answer, err := p.machine.Handle(p.clock.Now(), c)
	return answer, err
}

func (p *past) reached() (seq, settled uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.machine.History().Seq, p.machine.History().Settled
}

var pastRoom = fleet.RoomID{Fleet: "fleet-2222bbbb-33cc-44dd-55ee-6666ffff77aa", Location: location}

// openPast opens a history in a directory.
func openPast(tb testing.TB, dir string) *past {
	tb.Helper()
	engine, err := jetstream.Open(tb.Context(), jetstream.Config{Dir: filepath.Join(dir, "journal")})
	must(tb, err)
	entries, err := engine.History(tb.Context())
	must(tb, err)
	p := &past{recorded: &recordedBatches{History: entries}, clock: clockwork.NewFakeClockAt(time.Now()),
		random:  rand.New(rand.NewPCG(1, 2)),
		machine: region.New(0, &region.Settings{Shards: 1, Level: region.MaxLevel}),
	}
	p.begun = p.clock.Now()
	for _, f := range []event.Fact{
		{Room: region.ShardRoom, Body: &region.LevelRaised{Level: region.MaxLevel}},
		{Room: 1, Body: &region.RoomOpened{Fleet: pastRoom.Fleet, Location: pastRoom.Location}},
	} {
		must(tb, p.machine.Restore(f))
	}
	p.History = history.New(history.Config{
		Entries: p.recorded, Dir: filepath.Join(dir, "history.index"), Shards: []history.Shard{p}, Reached: p.reached,
		Retention: time.Minute, Kept: kept, Clock: p.clock, Log: slog.New(slog.DiscardHandler),
	})
	must(tb, p.Begin(tb.Context()))
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		must(tb, <-done)
		must(tb, engine.Close())
	})
	tb.Cleanup(p.stop)
	return p
}

// end makes game sessions that ended a while ago.
func (p *past) end(tb testing.TB, n int) {
	tb.Helper()
	now := event.At(p.clock.Now())
	for range n {
		p.made++
		g := &fleet.GameSession{
			Ordinal: p.made, ID: fmt.Sprintf("gsess-%016x%016x", p.random.Uint64(), p.random.Uint64()), Maximum: 10,
			Policy: fleet.AcceptAll, Status: fleet.Terminated, Created: now.Add(-20 * time.Minute), Ended: now,
			Host:      fleet.ProcessKey{Compute: "compute-1", ID: fmt.Sprint("process-", p.made)},
			IPAddress: "192.0.2.1", Port: 7777,
		}
		for i := range uint32(pastPlayers) {
			s := &fleet.PlayerSession{Index: i, PlayerID: fmt.Sprintf("player-%08x", p.random.Uint32()),
				Status: fleet.Completed, Created: g.Created, Ended: now}
			place := 1<<36 | p.made // as fleet.PlayerSessionID has it, in room 1 of shard 0
			binary.BigEndian.PutUint64(s.ID[:], place>>12<<16|8<<12|place&0xfff)
			binary.BigEndian.PutUint64(s.ID[8:], p.random.Uint64())
			g.PastPlayers = append(g.PastPlayers, s)
		}
		p.players = append(p.players, g.PastPlayers[0].ID)
		record := event.Fact{Room: 1, Body: g}
		p.buf.Reset()
		must(tb, region.Events.Append(&p.buf, record))
		p.bytes += p.buf.Len()
		if p.recorded.keep {
			p.records = append(p.records, slices.Clone(p.buf.Bytes()))
		}
		must(tb, p.machine.Restore(record))
	}
	p.clock.Advance(10 * time.Minute)
}

// move moves all of them.
func (p *past) move(tb testing.TB) {
	tb.Helper()
	p.Move(tb.Context())
	room, _ := p.machine.Room(pastRoom)
	if left := len(room.EndedBefore(event.At(p.clock.Now()), 1)); left > 0 {
		tb.Fatal("ended game sessions were not moved")
	}
}

// moved is what it took to move game sessions, to append the same batches and the same records to a stream alone, and
// to write the same records with as many keys to the library of the index alone.
type moved struct{ took, stream, uncompressed, library time.Duration }

func (p *past) round(tb testing.TB, n int) (m moved) {
	tb.Helper()
	p.recorded.keep, p.recorded.batches, p.records = true, nil, nil
	for ; n > 0; n -= pastAtOnce {
		p.end(tb, min(n, pastAtOnce))
		begin := time.Now()
		p.move(tb)
		m.took += time.Since(begin)
	}
	m.stream = appendAll(tb, slices.Values(p.recorded.batches))
	m.uncompressed = appendAll(tb, joined(p.records))
	library, err := pebble.Open(tb.TempDir(), &pebble.Options{DisableWAL: true, Logger: silent{}})
	must(tb, err)
	defer func() { must(tb, library.Close()) }()
	begin := time.Now()
	must(tb, storeAll(library, p.records, p.made))
	m.library = time.Since(begin)
	return m
}

// appendAll appends messages to a stream alone.
func appendAll(tb testing.TB, messages iter.Seq[[]byte]) time.Duration {
	tb.Helper()
	stream, err := jetstream.Open(tb.Context(), jetstream.Config{Dir: tb.TempDir()})
	must(tb, err)
	defer func() { must(tb, stream.Close()) }()
	bare, err := stream.History(tb.Context())
	must(tb, err)
	begin := time.Now()
	for data := range messages {
		_, err := bare.Append(tb.Context(), data)
		must(tb, err)
	}
	return time.Since(begin)
}

// joined joins records to messages of streamBatch.
func joined(records [][]byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var message []byte
		for i, record := range records {
			message = append(message, record...)
			if len(message) < streamBatch && i < len(records)-1 {
				continue
			}
			if !yield(message) {
				return
			}
			message = message[:0]
		}
	}
}

// The index has so many keys for an ended game session of nine players, and so many of them are larger than those of
// all before it.
const (
	keysEach       = 14
	increasingKeys = 4
)

// silent is a logger of Pebble.
type silent struct{ pebble.Logger }

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}

// storeAll writes records in batches, each with as many keys as the index has for it, and then waits for the disk.
func storeAll(db *pebble.DB, records [][]byte, last uint64) error {
	const batch = 2000
	next := last - uint64(len(records))
	for some := range slices.Chunk(records, batch) {
		w := db.NewBatch()
		for _, record := range some {
			next++
			if err := w.Set(binary.BigEndian.AppendUint64([]byte{0}, next), record, nil); err != nil {
				return err
			}
			for kind := range byte(keysEach) {
				key := []byte{kind + 1}
				if kind >= increasingKeys {
					key = binary.BigEndian.AppendUint64(key, rand.Uint64())
				}
				key = binary.BigEndian.AppendUint64(append(key, "a fleet, an id"...), next)
				if err := w.Set(key, nil, nil); err != nil {
					return err
				}
			}
		}
		if err := w.Commit(pebble.NoSync); err != nil {
			return err
		}
	}
	return db.Flush()
}

// BenchmarkHistoryMoved is an ended game session of nine players that moves to the history: in a batch, durable, in the
// index, and forgotten by its shard.
func BenchmarkHistoryMoved(b *testing.B) {
	p := openPast(b, b.TempDir())
	before := bench.OwnCPU()
	m := p.round(b, b.N)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(b.N*entriesEach)/m.took.Seconds(), "rate/s")
	b.ReportMetric(float64(b.N*entriesEach)/m.stream.Seconds(), "stream-rate/s")
	b.ReportMetric(m.stream.Seconds()/m.took.Seconds(), "of-stream")
	b.ReportMetric(float64(b.N*entriesEach)/m.uncompressed.Seconds(), "uncompressed-rate/s")
	b.ReportMetric(m.uncompressed.Seconds()/m.took.Seconds(), "of-uncompressed")
	b.ReportMetric(float64(b.N*entriesEach)/m.library.Seconds(), "library-rate/s")
	b.ReportMetric(m.library.Seconds()/m.took.Seconds(), "of-library")
	b.ReportMetric(float64((bench.OwnCPU()-before).Microseconds())/float64(b.N), "cpu-µs/op")
	state, err := p.State(b.Context())
	must(b, err)
	b.ReportMetric(float64(state.Bytes)/float64(p.made), "stream-B/op")
	b.ReportMetric(float64(state.IndexBytes)/float64(p.made), "index-B/op")
	b.ReportMetric(float64(state.Bytes+state.IndexBytes)/float64(p.bytes), "of-records")
}

// pastSessions is how many ended game sessions a history has when it is asked.
const pastSessions = 1_000_000

// filled is how many it has before its memory is measured: by then the buffers of the journal and the index have the
// size that they keep.
const filled = 200_000

// fill moves so many game sessions to the history.
func (p *past) fill(tb testing.TB, n int) {
	tb.Helper()
	for ; n > 0; n -= pastAtOnce {
		tell("history: %d game sessions to go", n)
		p.end(tb, min(n, pastAtOnce))
		p.move(tb)
	}
}

// liveBytes is the smallest heap after a collection within some seconds: the engine releases the buffers of the blocks
// that it wrote last, 8 MiB each, when it has not used them for ten.
func liveBytes() int64 {
	least := int64(math.MaxInt64)
	for range 15 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		least = min(least, int64(m.HeapAlloc))
		time.Sleep(time.Second)
	}
	return least
}

// asked is how long questions took.
type asked struct{ session, player, absent, page []time.Duration }

// ask asks about any of the game sessions, n times.
func (p *past) ask(tb testing.TB, n int) (a asked) {
	tb.Helper()
	ctx := tb.Context()
	timed := func(ask func() bool) time.Duration {
		begin := time.Now()
		if !ask() {
			tb.Fatal("wrong answer")
		}
		return time.Since(begin)
	}
	for range n {
		id := p.players[p.random.IntN(len(p.players))]
		var g *fleet.GameSession
		a.session = append(a.session, timed(func() bool {
			at, ordinal := id.Locate()
			_, found, err := p.GameSessionAt(ctx, at, ordinal)
			g = found
			return err == nil && found != nil
		}))
		a.player = append(a.player, timed(func() bool {
			n := 0
			err := p.OfPlayer(ctx, g.PastPlayers[0].PlayerID, "", 0, func(history.Entry) bool { n++; return true })
			return err == nil && n > 0
		}))
		a.absent = append(a.absent, timed(func() bool {
			found, err := p.Placement(ctx, g.ID)
			return err == nil && found == nil
		}))
	}
	for range n/10 + 1 {
		to := event.At(p.begun.Add(time.Duration(p.random.Int64N(int64(p.clock.Since(p.begun))))))
		a.page = append(a.page, timed(func() bool {
			n := 0
			err := p.EndedBefore(ctx, pastRoom.Fleet, history.Position{Ended: to}, to.Add(-time.Hour),
				func(e *history.Ended) (bool, error) {
					g, err := e.Session()
					n++
					return g != nil && n < 100, err
				})
			return err == nil
		}))
	}
	return a
}

// BenchmarkHistoryAsked asks a history of a million game sessions.
func BenchmarkHistoryAsked(b *testing.B) {
	p := openPast(b, b.TempDir())
	p.players = make([]fleet.PlayerSessionID, 0, pastSessions)
	p.fill(b, filled)
	before := liveBytes()
	p.fill(b, pastSessions-filled)
	memory := float64(liveBytes()-before) / (pastSessions - filled)
	b.Run("once", func(b *testing.B) {
		b.ReportMetric(memory, "memory-B/session")
		a := p.ask(b, b.N)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(quantile(a.session, 0.99), "session-p99-ms")
		b.ReportMetric(quantile(a.player, 0.99), "player-p99-ms")
		slices.Sort(a.absent)
		b.ReportMetric(float64(a.absent[len(a.absent)/2].Nanoseconds()), "absent-ns")
		b.ReportMetric(quantile(a.page, 0.99), "page-p99-ms")
		b.ReportMetric(testing.AllocsPerRun(1000, func() { _, _ = p.Placement(b.Context(), "gsess-absent") }),
			"absent-allocations/op")
	})
	b.Run("rebuild", func(b *testing.B) {
		took := p.rebuild(b) // once, whatever b.N is
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(p.made*entriesEach)/took.Seconds(), "rate/s")
	})
}

// besideRate is how many entries of the history a second are written beside calls.
const besideRate = 20_000

// BenchmarkHistoryBeside makes calls that reserve places, without a history that is written on the same machine and
// disk, and with one.
func BenchmarkHistoryBeside(b *testing.B) {
	r := reservations[0]
	c := r.open(b, 2*operations(b))
	defer c.stop()
	p := openPast(b, b.TempDir())
	b.Run("once", func(leaf *testing.B) {
		quiet := c.round(leaf, leaf.N)
		stop := p.archive(leaf)
		beside := c.round(leaf, leaf.N)
		written := stop()
		leaf.ReportMetric(0, "ns/op")
		leaf.ReportMetric(beside.service.rate(), "rate/s")
		leaf.ReportMetric(quiet.service.rate(), "quiet-rate/s")
		leaf.ReportMetric(beside.service.rate()/quiet.service.rate(), "of-quiet")
		leaf.ReportMetric(written, "entries/s")
	})
}

// archive ends and moves game sessions at besideRate until stop, which returns the entries a second.
func (p *past) archive(tb testing.TB) (stop func() float64) {
	const interval = 100 * time.Millisecond
	quit, written := make(chan struct{}), make(chan float64)
	go func() {
		begin, before := time.Now(), p.made
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.end(tb, besideRate/entriesEach*int(interval)/int(time.Second))
				p.Move(tb.Context())
			case <-quit:
				written <- float64((p.made-before)*entriesEach) / time.Since(begin).Seconds()
				return
			}
		}
	}()
	return func() float64 { close(quit); return <-written }
}

// rebuild builds another index of the same history.
func (p *past) rebuild(tb testing.TB) time.Duration {
	tb.Helper()
	again := history.New(history.Config{
		Entries: p.recorded, Dir: filepath.Join(tb.TempDir(), "history.index"), Shards: []history.Shard{p},
		Reached: p.reached, Retention: time.Minute, Kept: kept, Clock: p.clock, Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(tb.Context())
	done := make(chan error, 1)
	begin := time.Now()
	go func() { done <- again.Run(ctx) }()
	for {
		state, err := again.State(tb.Context())
		must(tb, err)
		if state.Behind == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	took := time.Since(begin)
	cancel()
	must(tb, <-done)
	return took
}
