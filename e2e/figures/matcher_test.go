package figures

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matcher/naive"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// A matcherWork forms matches with package matcher, in one goroutine and without a
// service.
type matcherWork struct {
	name    string
	rules   string
	waiting int                                      // tickets
	crowd   func(waiting int) func() *matcher.Ticket // makes the tickets that come
	// the pool is filled up before each match: an operation is a match, else a ticket that comes
	refill  bool
	players int // of a match
	// how often the naive matcher is asked in a round: it takes its time
	asks int
}

var matcherWorks = []matcherWork{
	{name: "fives", rules: bench.Fives, waiting: 10_000, crowd: fives, players: perMatch, asks: 5},
	{name: "large", rules: conquest, waiting: 5000, crowd: soldiers, refill: true, players: 200, asks: 1},
}

// BenchmarkMatcher does each work, and has the naive matcher of the tests look for the
// same matches in the same pools. That tries one ticket after the other; it is asked
// only when there is a match, beside a ticket that belongs to it, and what it takes
// counts as if it had found it. Rates are in players that are matched in a second of
// processor time.
func BenchmarkMatcher(b *testing.B) {
	for _, w := range matcherWorks {
		var r *rush
		b.Run(w.name, func(leaf *testing.B) {
			if r == nil {
				r = w.open(b)
			}
			own := r.round(leaf.N)
			own.report(leaf, "")
			leaf.ReportMetric(quantile(own.took, 0.5), "p50-ms")
			leaf.ReportMetric(quantile(own.took, 0.99), "p99-ms")
			leaf.ReportMetric(float64(r.pool.Len()), "waiting")
			if leaf.N == 1 {
				return // the testing package has a try; there need not be a match
			}
			peer := r.ask(w.asks)
			peer.report(leaf, "naive-")
			leaf.ReportMetric(own.rate()/peer.rate(), "of-naive")
			tell("%s: %.0f players matched in a CPU second, %.3f ms a match; naively %.0f, %.0f ms", w.name, own.rate(),
				own.perMatch()/1e3, peer.rate(), peer.perMatch()/1e3)
		})
	}
}

// A matched is what matching came to.
type matched struct {
	matches, players int
	cpu              time.Duration
	allocs           uint64
	took             []time.Duration // for each operation
}

func (m *matched) rate() float64     { return float64(m.players) / m.cpu.Seconds() }
func (m *matched) perMatch() float64 { return float64(m.cpu.Microseconds()) / float64(m.matches) }

func (m *matched) report(b *testing.B, of string) {
	b.ReportMetric(0, "ns/op") // an operation's own time is among the quantiles
	b.ReportMetric(m.rate(), of+"rate/s")
	b.ReportMetric(m.perMatch(), of+"cpu-µs/match")
	b.ReportMetric(float64(m.allocs)/float64(m.matches), of+"allocations/match")
}

// measured notes what do takes.
func (m *matched) measured(do func()) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	cpu := bench.OwnCPU()
	do()
	m.cpu += bench.OwnCPU() - cpu
	runtime.ReadMemStats(&after)
	m.allocs += after.Mallocs - before.Mallocs
}

// A rush is tickets that come to a pool.
type rush struct {
	matcherWork
	tb     testing.TB
	set    *ruleset.Set
	pool   *matcher.Pool
	come   func() *matcher.Ticket
	coming []*matcher.Ticket // made, so that this is not measured
	all    []*matcher.Ticket // in the pool, for the naive matcher
	now    time.Time         // the matcher has no clock of its own
}

// betweenTickets is the time between two that come.
const betweenTickets = time.Second / 2000

// open fills a pool until it has come to rest.
func (w matcherWork) open(tb testing.TB) *rush {
	tb.Helper()
	set, err := ruleset.Parse(w.rules)
	if err != nil {
		tb.Fatal(err)
	}
	r := &rush{matcherWork: w, tb: tb, set: set, pool: matcher.NewPool(set, matcher.Options{}),
		come: w.crowd(w.waiting), now: time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)}
	if w.refill {
		r.round(1)
		return r
	}
	const enough = 6 // times as many tickets come
	r.round(enough * w.waiting)
	return r
}

// prepare makes the tickets that so many operations may need.
func (r *rush) prepare(operations int) {
	n := operations
	if r.refill {
		n = r.waiting - r.pool.Len() + operations*r.players
	}
	for len(r.coming) < n {
		r.coming = append(r.coming, r.come())
	}
}

// round makes n operations.
func (r *rush) round(n int) *matched {
	r.prepare(n)
	m := new(matched)
	var found []*matcher.Match
	m.measured(func() {
		for range n {
			begin := time.Now()
			found = append(found, r.operate()...)
			m.took = append(m.took, time.Since(begin))
		}
	})
	m.matches, m.players = len(found), r.leave(found)
	return m
}

// ask lets tickets come until so many matches are formed, and has the naive matcher
// look for each of them, beside the ticket that completed it.
func (r *rush) ask(times int) *matched {
	m := new(matched)
	for m.matches < times {
		r.prepare(1)
		for _, match := range r.operate() {
			newest := match.Tickets[len(match.Tickets)-1]
			m.measured(func() { naive.Beside(r.set, 0, r.now, newest, r.all) })
			m.players += r.leave([]*matcher.Match{match})
			m.matches++
		}
	}
	return m
}

// operate makes one operation.
func (r *rush) operate() []*matcher.Match {
	if !r.refill {
		r.enter()
		return r.matches()
	}
	for r.pool.Len() < r.waiting {
		r.enter()
	}
	for {
		m, ok, more := r.pool.Match(r.now)
		switch {
		case ok:
			return []*matcher.Match{m}
		case !more:
			r.tb.Fatal("no match can be formed")
		}
	}
}

// enter puts the next ticket into the pool.
func (r *rush) enter() {
	t := r.coming[0]
	r.coming = r.coming[1:]
	r.now = r.now.Add(betweenTickets)
	t.Start = r.now
	r.all = append(r.all, t)
	r.pool.Add(t)
}

// matches are all that can be formed.
func (r *rush) matches() (found []*matcher.Match) {
	for more := true; more; {
		var m *matcher.Match
		var ok bool
		if m, ok, more = r.pool.Match(r.now); ok {
			found = append(found, m)
			more = true
		}
	}
	return found
}

// leave takes the tickets of matches out of the list of all, and counts their players.
func (r *rush) leave(found []*matcher.Match) (players int) {
	gone := map[*matcher.Ticket]bool{}
	for _, m := range found {
		for _, t := range m.Tickets {
			gone[t] = true
			players += len(t.Players)
		}
	}
	r.all = slices.DeleteFunc(r.all, func(t *matcher.Ticket) bool { return gone[t] })
	return players
}

// fives is the crowd of BenchmarkMatchmaking.
func fives(waiting int) func() *matcher.Ticket {
	locations := make([]string, bench.CrowdLocations)
	for i := range locations {
		locations[i] = fmt.Sprint("location-", i)
	}
	c := bench.NewCrowd(1, "ticket-", waiting, locations)
	return func() *matcher.Ticket { return c.Ticket(time.Time{}) }
}

// conquest is a match of 200 players: two sides, a location that is near to all, levels
// that are close to one another, one mode, and skills balanced between the sides.
const conquest = `{"ruleLanguageVersion":"1.0",
 "playerAttributes":[{"name":"skill","type":"number"},{"name":"level","type":"number"},{"name":"mode","type":"string"}],
 "algorithm":{"strategy":"balanced","balancedAttribute":"skill"},
 "teams":[{"name":"side","minPlayers":100,"maxPlayers":100,"quantity":2}],
 "rules":[{"name":"Ping","type":"latency","maxLatency":150},
  {"name":"Level","type":"batchDistance","batchAttribute":"level","maxDistance":40},
  {"name":"Mode","type":"batchDistance","batchAttribute":"mode"}]}`

// soldiers come in parties of one to three, from all over the world.
func soldiers(int) func() *matcher.Ticket {
	const locations = 5
	random := rand.New(rand.NewPCG(1, 1))
	id := 0
	return func() *matcher.Ticket {
		id++
		t := &matcher.Ticket{ID: fmt.Sprint("ticket-", id)}
		home, mode := random.IntN(locations), fmt.Sprint("mode-", id%2)
		for i := range max(1, random.IntN(8)-4) {
			p := matcher.Player{ID: fmt.Sprintf("player-%d-%d", id, i), Latency: map[string]int{},
				Attributes: map[string]ruleset.Value{
					"skill": {Type: ruleset.Number, N: 1000 + 300*random.NormFloat64()},
					"level": {Type: ruleset.Number, N: float64(random.IntN(100))},
					"mode":  {Type: ruleset.String, S: mode},
				}}
			for l := range locations {
				p.Latency[fmt.Sprint("location-", l)] = 20 + 60*((l-home+locations)%locations) + random.IntN(40)
			}
			t.Players = append(t.Players, p)
		}
		return t
	}
}
