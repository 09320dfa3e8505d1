package figures

import (
	"testing"

	"github.com/muster-gg/muster"
)

// A gatewayWork is how create_session is called.
type gatewayWork struct {
	name string
	warm int     // calls of each gateway before the measure
	rate float64 // calls a second that are offered; 0: one after the other
	pool int     // game servers that wait
}

var gatewayWorks = []gatewayWork{
	{name: "offered", warm: 2 * warm, rate: 200, pool: 200},
	{name: "alone", warm: warm / 2, pool: 50},
}

// BenchmarkGateway calls create_session of the session gateway, from the request
// of the game client over the game server's activation to the player session in
// its hand; then of a gateway as the original is, which calls the API and looks
// again and again, in front of the same service and the same game servers.
// Service, peer and the load generator with the game servers are processes of
// their own.
//
// A game server lives for one game session. It ends when the answer has come, and
// another one takes its place: that is in the processor time of both gateways, and
// not in the time of a call.
func BenchmarkGateway(b *testing.B) {
	for _, w := range gatewayWorks {
		var g *gateways
		b.Run(w.name, func(leaf *testing.B) {
			if g == nil {
				g = w.open(b)
			}
			service, peer := g.round(leaf.N)
			if leaf.N > 1 {
				tell("create_session, %s: %.0f/s, p50 %.2f ms, p99 %.2f ms; the polling gateway %.0f/s, %.2f ms, "+
					"%.2f ms",
					w.name, service.rate, service.p50, service.p99, peer.rate, peer.p50, peer.p99)
			}
			service.report(leaf, "")
			peer.report(leaf, "polling-")
			leaf.ReportMetric(peer.p50/service.p50, "of-polling-by-p50")
			leaf.ReportMetric(peer.p99/service.p99, "of-polling-by-p99")
			leaf.ReportMetric(peer.cpu/service.cpu, "of-polling-by-cpu")
		})
		if g != nil {
			g.end()
		}
	}
}

// gateways are both gateways, and who calls them.
type gateways struct {
	tb                     testing.TB
	rate                   float64
	service, peer, callers *player
	endpoints              muster.Endpoints
	peerURL                string
}

// open starts everything, with game servers that wait.
func (w gatewayWork) open(tb testing.TB) *gateways {
	tb.Helper()
	tell("create_session, %s: connecting %d game servers", w.name, w.pool)
	g := &gateways{tb: tb, rate: w.rate, service: play(tb, "gateway"), peer: play(tb, "polling"),
		callers: play(tb, "callers")}
	g.service.order(tb.TempDir(), &g.endpoints)
	g.peer.order(g.endpoints, &g.peerURL)
	g.call(callersOrder{Endpoints: g.endpoints, Pool: w.pool})
	g.round(w.warm)
	return g
}

// call gives the callers an order, which must succeed.
func (g *gateways) call(order any) (c called) {
	g.tb.Helper()
	if g.callers.order(order, &c); c.Error != "" {
		g.tb.Fatal(c.Error)
	}
	return c
}

// round makes n calls of each gateway.
func (g *gateways) round(n int) (service, peer sample) {
	g.tb.Helper()
	return g.turn(n, g.endpoints.Gateway, g.endpoints.HTTP), g.turn(n, g.peerURL, g.endpoints.HTTP, g.peerURL)
}

// turn makes n calls of one gateway. Its cost is that of the processes whose
// metrics are at the URLs, and of the callers.
func (g *gateways) turn(n int, gateway string, answering ...string) sample {
	g.tb.Helper()
	cpu, allocations := g.spent(answering)
	c := g.call(turnOrder{Gateway: gateway, Calls: n, Rate: g.rate})
	cpuAfter, allocationsAfter := g.spent(answering)
	return sample{
		rate: c.Rate, p50: c.P50, p99: c.P99,
		cpu: (cpuAfter-cpu)*1e6/float64(n) + c.CPU, allocs: (allocationsAfter - allocations) / float64(n),
	}
}

// spent is what processes have used up: processor time in seconds, and
// allocations.
func (g *gateways) spent(urls []string) (cpu, allocations float64) {
	g.tb.Helper()
	for _, url := range urls {
		values := counters(g.tb, muster.Endpoints{HTTP: url})
		cpu += values["process_cpu_seconds_total"]
		allocations += values["go_memstats_mallocs_total"]
	}
	return cpu, allocations
}

// end ends all processes: those first that others answer.
func (g *gateways) end() {
	for _, p := range []*player{g.callers, g.peer, g.service} {
		p.end()
	}
}
