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

	"github.com/muster-gg/muster/internal/arn"
	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire"
)

// searches are what BenchmarkSearch asks for.
var searches = []struct{ name, filter, sort string }{
	{"available-by-creation", "hasAvailablePlayerSessions=true", "creationTimeMillis ASC"},
	{"selective-property", "gameSessionProperties.code='C%d'", ""},
	{"full-scan", "maximumSessions>200", "playerSessionCount DESC"},
}

// BenchmarkSearch searches many ACTIVE game sessions of one fleet location
// through the control plane, one search after the other, while other callers
// join players as fast as they can. The first seven tenths of the game sessions
// are full, as in a fleet that fills one after the other.
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
			quiet := make([]time.Duration, min(len(took), 1000))
			for i := range quiet {
				quiet[i] = s.search(b, q.filter, q.sort)
			}
			reportTimes(b, took, "")
			reportTimes(b, quiet, "quiet-")
			w.report(b)
		})
	}
}

func reportTimes(b *testing.B, took []time.Duration, when string) {
	slices.Sort(took)
	b.ReportMetric(milliseconds(took[len(took)/2]), when+"p50-ms")
	b.ReportMetric(milliseconds(took[len(took)*99/100]), when+"p99-ms")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// A searchable is a control plane with many ACTIVE game sessions.
type searchable struct {
	*plane
	tb       testing.TB
	fleet    string
	sessions []string
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
	begin := time.Now()
	s.plane = openPlane(tb, dir, never)
	s.recovery = time.Since(begin)
	s.heap = liveHeap() - before
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
	h := &hall{plane: openPlane(tb, dir, never), tb: tb}
	h.openFleet()
	h.stop()
	room := fleet.RoomID{Fleet: fleet.ID(h.fleet), Location: location}
	r := newRegister(tb, room)
	for i := range n {
		maximum := int32(seats)
		if i < n*7/10 {
			maximum = 2
		}
		r.host(fleet.CreateGameSession{
			ID: fmt.Sprintf("gsess-%032x", i*7919), Name: "a game", Maximum: maximum,
			Properties: []fleet.Property{{Key: "mode", Value: fmt.Sprint("mode-", i%5)}, {Key: "map", Value: fmt.Sprint("map-", i%20)}, {Key: "code", Value: fmt.Sprint("C", i)}},
		}, min(2, seats-int(maximum)))
		sessions = append(sessions, arn.GameSession(testRegion, h.fleet, location, fmt.Sprintf("gsess-%032x", i*7919)))
	}
	r.save(dir)
	return h.fleet, sessions
}

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
	out, err := s.SearchGameSessions(tb.Context(), &wire.SearchGameSessionsInput{FleetId: s.fleet, FilterExpression: filter, SortExpression: sort})
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
	_, err := p.CreatePlayerSession(ctx, &wire.CreatePlayerSessionInput{GameSessionId: session, PlayerId: playerID(player)})
	return err
}
