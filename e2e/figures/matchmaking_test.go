package figures

import (
	"testing"

	"github.com/muster-gg/muster/internal/bench"
)

// perMatch is how many tickets make a match of bench.Fives.
const perMatch = 10

// matchmakingWork offers tickets beside others that wait. Each match gets a game
// session in an idle process.
var matchmakingWork = socketWork{
	name: "matchmaking", profile: "matchmaking", connections: 64, inFlight: 1, warm: 2 * warm, rate: 2000,
	waiting: 10_000,
	pool:    func(operations, _ int) int { return operations/perMatch + 1 },
}

// BenchmarkMatchmaking starts tickets at the whole service and at the bare peer, in
// turns. Its times are those of the matches: from the moment when the call that
// completed a match was sent, to the match in the event feed.
func BenchmarkMatchmaking(b *testing.B) {
	w, s := matchmakingWork, (*sides)(nil)
	b.Run("fives", func(leaf *testing.B) {
		if s == nil {
			s = w.open(b, operations(b))
		}
		service, peer := s.turns(leaf.N)
		own, bare := matchesOf(service), matchesOf(peer)
		if leaf.N > 1 {
			m := service.Matchmaking
			tell("%s: %.0f/s, p99 %.2f ms, %d tickets waited before and %d after; the bare peer p99 %.2f ms", w.name,
				own.rate, own.p99, m.WaitingBefore, m.WaitingAfter, bare.p99)
		}
		own.report(leaf, "")
		bare.report(leaf, "bare-")
		leaf.ReportMetric(peerRatio(bare.p99, own.p99), "of-bare-by-p99")
		leaf.ReportMetric(bare.cpu/own.cpu, "of-bare-by-cpu")
		leaf.ReportMetric(service.Latency.P99*1e3, "call-p99-ms")
		leaf.ReportMetric(float64(service.Matchmaking.WaitingBefore), "waiting-before")
		leaf.ReportMetric(float64(service.Matchmaking.WaitingAfter)/float64(max(service.Matchmaking.WaitingBefore, 1)),
			"backlog-ratio")
	})
	if s != nil {
		s.end()
	}
}

// peerRatio is how much of the peer's speed is reached; 0 when there is nothing to compare.
func peerRatio(peer, own float64) float64 {
	if own == 0 {
		return 0
	}
	return peer / own
}

// matchesOf is a sample with the times of the matches instead of the calls'.
func matchesOf(r *bench.Result) sample {
	s := sampleOf(r)
	s.p50, s.p99 = r.Matchmaking.Latency.P50*1e3, r.Matchmaking.Latency.P99*1e3
	return s
}
