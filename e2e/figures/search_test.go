package figures

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// searches are what BenchmarkSearch asks for.
var searches = []struct {
	name, filter, sort string
	naive              func(wanted int) func(*naiveGame) bool // the filter, written down
	order              func(a, b *naiveGame) int              // the sort; nil for none
}{
	{"available-by-creation", "hasAvailablePlayerSessions=true", "creationTimeMillis ASC", isAvailable, byCreation},
	{"selective-property", "gameSessionProperties.code='C%d'", "", hasCode, nil},
	{"full-scan", "maximumSessions>200", "playerSessionCount DESC", isLarge, byPlayers},
}

// BenchmarkSearch searches many ACTIVE game sessions of one fleet location
// through the control plane, one search after the other, while other callers
// join players as fast as they can; then without these, and then through all of
// them naively. The first seven tenths of the game sessions are full, as in a
// fleet that fills one after the other.
func BenchmarkSearch(b *testing.B) {
	for _, sessions := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprint(sessions), func(b *testing.B) { benchmarkSearch(b, sessions) })
	}
}

func benchmarkSearch(b *testing.B, sessions int) {
	s := openSearch(b, sessions)
	b.Run("join-alone", func(b *testing.B) {
		w := s.joinDuring(func() {
			for b.Loop() {
				time.Sleep(time.Millisecond)
			}
		})
		w.report(b)
		b.ReportMetric(float64(s.heap)/(1<<20), "heap-MB")
		b.ReportMetric(s.recovery.Seconds(), "recovery-s")
	})
	for _, q := range searches {
		b.Run(q.name, func(b *testing.B) {
			var took []time.Duration
			w := s.joinDuring(func() {
				for b.Loop() {
					took = append(took, s.search(b, q.filter, q.sort))
				}
			})
			quiet := times(min(len(took), 1000), func() { s.search(b, q.filter, q.sort) })
			peer := times(3, func() { s.naive.search(q.naive, q.order) })
			tell("%s: p99 %.2f ms, without writers %.2f ms; the naive scan %.0f ms", q.name, quantile(took, 0.99),
				quiet.p99, peer.p50)
			quiet.report(b, "quiet-")
			peer.report(b, "naive-")
			b.ReportMetric(quantile(took, 0.5), "p50-ms")
			b.ReportMetric(quantile(took, 0.99), "p99-ms")
			b.ReportMetric(peer.p50/quiet.p50, "of-naive")
			b.ReportMetric(peer.cpu/quiet.cpu, "of-naive-by-cpu")
			w.report(b)
		})
	}
}

// times calls do n times, one after the other.
func times(n int, do func()) sample {
	took := make([]time.Duration, n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, begin := bench.OwnCPU(), time.Now()
	for i := range took {
		start := time.Now()
		do()
		took[i] = time.Since(start)
	}
	elapsed, spent := time.Since(begin), bench.OwnCPU()-cpu
	runtime.ReadMemStats(&after)
	return sample{
		rate: float64(n) / elapsed.Seconds(), allocs: float64(after.Mallocs-before.Mallocs) / float64(n),
		cpu: float64(spent.Nanoseconds()) / 1000 / float64(n), p50: quantile(took, 0.5), p99: quantile(took, 0.99),
	}
}

// quantile is the time in milliseconds that a share q of all did not exceed.
func quantile(took []time.Duration, q float64) float64 {
	slices.Sort(took)
	return milliseconds(took[int(q*float64(len(took)))])
}

// A searchable is a control plane with many ACTIVE game sessions.
type searchable struct {
	*plane
	tb       testing.TB
	fleet    string
	sessions []string
	naive    *naiveGames
	joined   atomic.Uint64 // players, so far
	asked    int           // searches, so far
	heap     uint64        // bytes that the state takes
	recovery time.Duration
}

// openSearch fills a control plane and opens it again on what it has written, so
// that what the game servers needed is not in memory any more.
func openSearch(tb testing.TB, n int) *searchable {
	tb.Helper()
	dir := tb.TempDir()
	before := liveHeap()
	s := &searchable{tb: tb}
	s.fleet, s.sessions = fillSearch(tb, dir, n)
	tell("search: opening %d game sessions", n)
	begin := time.Now()
	s.plane = openPlane(tb, dir, never)
	s.recovery = time.Since(begin)
	s.heap = liveHeap() - before
	s.naive = newNaiveGames(s.sessions)
	return s
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// fillSearch makes a data directory with a fleet of n game sessions.
func fillSearch(tb testing.TB, dir string, n int) (id string, sessions []string) {
	tb.Helper()
	tell("search: making %d game sessions", n)
	h := &hall{plane: openPlane(tb, dir, never), tb: tb}
	h.openFleet()
	h.stop()
	room := fleet.RoomID{Fleet: fleet.ID(h.fleet), Location: location}
	r := newRegister(tb, room)
	for i := range n {
		maximum, players := filling(i, n)
		r.host(fleet.CreateGameSession{
			ID: fmt.Sprintf("gsess-%032x", i*7919), Name: "a game", Maximum: int32(maximum), Properties: properties(i),
		}, players)
		sessions = append(sessions, arn.GameSession(testRegion, h.fleet, location, fmt.Sprintf("gsess-%032x", i*7919)))
	}
	r.save(dir)
	return h.fleet, sessions
}

// filling is how many players game session i of n takes, and how many are there.
func filling(i, n int) (maximum, players int) {
	if i < n*7/10 {
		return 2, 2
	}
	return seats, 0
}

// properties are those of game session i.
func properties(i int) []fleet.Property {
	return []fleet.Property{{Key: "mode", Value: fmt.Sprint("mode-", i%5)},
		{Key: "map", Value: fmt.Sprint("map-", i%20)}, {Key: "code", Value: code(i)}}
}

func code(i int) string { return fmt.Sprint("C", i) }

// search makes one search and returns how long it took.
func (s *searchable) search(tb testing.TB, filter, sort string) time.Duration {
	begin := time.Now()
	s.found(tb, filter, sort)
	return time.Since(begin)
}

// found makes one search and returns how many game sessions it found.
func (s *searchable) found(tb testing.TB, filter, sort string) int {
	tb.Helper()
	if strings.Contains(filter, "%d") { // each time another one
		s.asked++
		filter = fmt.Sprintf(filter, s.asked*7919%len(s.sessions))
	}
	out, err := s.SearchGameSessions(tb.Context(),
		&wire.SearchGameSessionsInput{FleetId: s.fleet, FilterExpression: filter, SortExpression: sort})
	if err != nil {
		tb.Fatal(err)
	}
	return len(out.GameSessions)
}

// A writing is what joins came to.
type writing struct {
	joins   int
	took    time.Duration
	longest time.Duration // that one call took
}

func (w writing) report(b *testing.B) {
	b.ReportMetric(float64(w.joins)/w.took.Seconds(), "joins/s")
	b.ReportMetric(milliseconds(w.longest), "longest-join-ms")
}

// joinDuring lets 64 callers join one player after the other for as long as
// during runs.
func (s *searchable) joinDuring(during func()) writing {
	ctx, cancel := context.WithCancel(s.tb.Context())
	var writers sync.WaitGroup
	var joins, longest atomic.Int64
	free := s.sessions[len(s.sessions)*7/10:]
	begin := time.Now()
	for range connections {
		writers.Go(func() {
			for ctx.Err() == nil {
				n := s.joined.Add(1)
				start := time.Now()
				if err := join(ctx, s.Plane, free[n*7919%uint64(len(free))], n); err != nil {
					if ctx.Err() == nil {
						s.tb.Error(err)
					}
					return
				}
				joins.Add(1)
				took := int64(time.Since(start))
				for old := longest.Load(); took > old && !longest.CompareAndSwap(old, took); old = longest.Load() {
				}
			}
		})
	}
	during()
	w := writing{took: time.Since(begin)}
	w.joins = int(joins.Load())
	cancel()
	writers.Wait()
	w.longest = time.Duration(longest.Load())
	return w
}

func join(ctx context.Context, p *control.Plane, session string, player uint64) error {
	_, err := p.CreatePlayerSession(ctx, &wire.CreatePlayerSessionInput{GameSessionId: session,
		PlayerId: playerID(player)})
	return err
}
