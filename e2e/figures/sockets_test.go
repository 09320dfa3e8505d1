package figures

import (
	"testing"

	"github.com/muster-gg/muster/internal/bench"
)

// A socketWork is work over the WebSockets of server processes, as a profile of
// package bench does it.
type socketWork struct {
	name        string
	profile     string
	connections int
	inFlight    int     // requests under way at the same time on each
	warm        int     // operations before the measure
	rate        float64 // operations a second that are offered; 0: as many as are answered
	waiting     int     // tickets of profile matchmaking that wait when the work begins
	pool        func(operations, connections int) int
}

var socketWorks = []socketWork{
	{name: "sessions", profile: "sessions", connections: 128, inFlight: 1, warm: 2 * warm, pool: oneEach},
	{name: "sessions-at-1000", profile: "sessions", connections: 64, inFlight: 1, warm: warm, rate: 1000,
		pool: oneEach},
	{name: "placements", profile: "placements", connections: 256, inFlight: 1, warm: 2 * warm, pool: oneEach},
	{name: "placements-at-1000", profile: "placements", connections: 64, inFlight: 1, warm: warm, rate: 1000,
		pool: oneEach},
	{name: "lives", profile: "lives", connections: 64, inFlight: 1, warm: 2 * warm, pool: none},
	{name: "accept", profile: "accept", connections: 64, inFlight: 8, warm: 10 * warm, pool: seatEach},
}

// The pools that works need for so many operations.
func none(int, int) int             { return 0 }
func oneEach(operations, _ int) int { return operations }

// seatEach has a game session left for every connection when it takes a new one.
func seatEach(operations, connections int) int { return operations/seats + connections + 1 }

// BenchmarkSockets does each work at the whole service and at the bare peer, in
// turns. Service, peer and the load generator of each are processes of their own.
// What has to be connected for all rounds together is connected before the first.
func BenchmarkSockets(b *testing.B) {
	for _, w := range socketWorks {
		var s *sides
		b.Run(w.name, func(leaf *testing.B) {
			if s == nil {
				s = w.open(b, operations(b))
			}
			service, peer := s.round(leaf.N)
			if leaf.N > 1 {
				tell("%s: %.0f/s, p99 %.2f ms; the bare peer %.0f/s, %.2f ms", w.name, service.rate, service.p99,
					peer.rate, peer.p99)
			}
			service.report(leaf, "")
			peer.report(leaf, "bare-")
			leaf.ReportMetric(service.rate/peer.rate, "of-bare")
			leaf.ReportMetric(peer.cpu/service.cpu, "of-bare-by-cpu")
			leaf.ReportMetric(peer.p99/service.p99, "of-bare-by-p99")
		})
		if s != nil {
			s.end()
		}
	}
}

// sides are the service and its peer, each with its load generator.
type sides struct{ service, peer side }

type side struct{ server, generator *player }

// open starts both sides and has them prepare for so many operations.
func (w socketWork) open(tb testing.TB, operations int) *sides {
	tb.Helper()
	pool := w.pool(operations+w.warm, w.connections)
	s := &sides{peer: w.side(tb, "bare", nil, pool)}
	s.service = w.side(tb, "service", tb.TempDir(), pool) // last, for a service closes connections that rest too long
	s.round(w.warm)
	return s
}

func (w socketWork) side(tb testing.TB, role string, order any, pool int) side {
	tb.Helper()
	s := side{server: play(tb, role), generator: play(tb, "generator")}
	a := assignment{Of: w.name + ", " + role, Profile: w.profile, Connections: w.connections, InFlight: w.inFlight,
		Pool: pool, Waiting: w.waiting, Rate: w.rate, Progress: *progress}
	s.server.order(order, &a.Endpoints)
	s.generator.turn(a)
	return s
}

// turn gives a load generator an order.
func (p *player) turn(order any) *bench.Result {
	p.tb.Helper()
	var t turn
	if p.order(order, &t); t.Error != "" {
		p.tb.Fatal(t.Error)
	}
	return t.Result
}

// round makes n operations at each side.
func (s *sides) round(n int) (service, peer sample) {
	own, others := s.turns(n)
	return sampleOf(own), sampleOf(others)
}

func (s *sides) turns(n int) (service, peer *bench.Result) {
	return s.service.generator.turn(n), s.peer.generator.turn(n)
}

func sampleOf(r *bench.Result) sample {
	s := sample{rate: r.UnitsRate, p50: r.Latency.P50 * 1e3, p99: r.Latency.P99 * 1e3, errors: r.Failures() + r.Unsent,
		cpu: r.Client.CPUSecondsPerOp * 1e6}
	if r.Server != nil {
		s.cpu += r.Server.CPUSecondsPerOp * 1e6
		s.allocs = r.Server.AllocationsPerOp
	}
	return s
}

// end has the load generators tidy up, and ends everything.
func (s *sides) end() {
	for _, p := range []*player{s.service.generator, s.peer.generator, s.service.server, s.peer.server} {
		p.end()
	}
}
