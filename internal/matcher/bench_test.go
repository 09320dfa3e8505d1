package matcher_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matcher/naive"
)

// fives is two teams of five, near in skill and with a location in common.
const fives = `{` + twoTeams + `,
 "rules":[{"name":"Skill","type":"distance","maxDistance":50,
"measurements":["max(flatten(teams[*].players.attributes[skill]))"],
   "referenceValue":"min(flatten(teams[*].players.attributes[skill]))"},
  {"name":"Ping","type":"latency","maxLatency":80}],
 "expansions":[{"target":"rules[Skill].maxDistance","steps":[{"waitTimeSeconds":20,"value":100},{"waitTimeSeconds":40,
"value":200}]},
  {"target":"rules[Ping].maxLatency","steps":[{"waitTimeSeconds":30,"value":150}]}]}`

const twoTeams = `"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],
 "teams":[{"name":"red","minPlayers":5,"maxPlayers":5},{"name":"blue","minPlayers":5,"maxPlayers":5}]`

var regions = []string{"us-east-1", "us-west-2", "eu-west-1", "eu-central-1", "ap-northeast-1", "sa-east-1"}

// arrival is a player near to one or two of the regions, with a skill between the bounds.
func arrival(r *rand.Rand, id int, low, high float64, start time.Time) *matcher.Ticket {
	name := fmt.Sprint("t", id)
	near := r.IntN(len(regions))
	latency := map[string]int{}
	for i, region := range regions {
		latency[region] = 100 + r.IntN(150)
		if i == near || i == (near+1)%len(regions) {
			latency[region] = 20 + r.IntN(80)
		}
	}
	return &matcher.Ticket{ID: name, Start: start, Players: []matcher.Player{{
		ID: name, Latency: latency, Attributes: attributes{"skill": number(low + r.Float64()*(high-low))},
	}}}
}

// BenchmarkArrivals is 2,000 tickets a second that come to a pool in which 10,000 wait
// whom nobody can go with: their skills are far from one another, and from some of those
// who come. It reports the tickets that were matched in a second.
func BenchmarkArrivals(b *testing.B) {
	set := parse(b, fives)
	r := rand.New(rand.NewPCG(1, 2))
	pool := matcher.NewPool(set, matcher.Options{})
	now := noon
	for i := range 10_000 {
		t := arrival(r, i, 0, 1, noon)
		t.Players[0].Attributes["skill"] = number(float64(10_000 + 250*i))
		pool.Add(t)
	}
	search(pool, now)
	id, matched := 10_000, 0
	var coming []*matcher.Ticket
	before := bench.OwnCPU()
	for b.Loop() {
		now = now.Add(500 * time.Microsecond)
		if len(coming) == 0 { // made in advance, and not counted
			began := bench.OwnCPU()
			for i := range 10_000 {
				coming = append(coming, arrival(r, id+i, 0, 3000, now.Add(time.Duration(i)*500*time.Microsecond)))
			}
			before += bench.OwnCPU() - began
		}
		pool.Add(coming[0])
		coming = coming[1:]
		id++
		for more := true; more; {
			var m *matcher.Match
			m, _, more = pool.Match(now)
			if m != nil {
				matched += len(m.Tickets)
			}
		}
	}
	perSecond(b, matched, before)
	b.ReportMetric(float64(b.N)/(bench.OwnCPU()-before).Seconds(), "arrivals/cpu-s")
	b.ReportMetric(float64(pool.Len()), "waiting")
}

// dense is a pool of tickets most of which have somebody to go with.
func dense(n int) []*matcher.Ticket {
	r := rand.New(rand.NewPCG(3, 4))
	all := make([]*matcher.Ticket, n)
	for i := range all {
		all[i] = arrival(r, i, 0, 3000, noon)
	}
	return all
}

// BenchmarkPool puts 10,000 tickets into a pool and matches all that can be; one by one
// the pool is emptied.
func BenchmarkPool(b *testing.B) {
	sets := []struct{ name, body string }{
		{"fives", fives},
		{"plain", `{` + twoTeams + `}`},
		{"averages", `{` + twoTeams + `,"rules":[{"name":"Fair","type":"distance","maxDistance":10,
			"measurements":["avg(teams[*].players.attributes[skill])"],
			"referenceValue":"avg(flatten(teams[*].players.attributes[skill]))"}]}`},
	}
	for _, s := range sets {
		set, tickets := parse(b, s.body), dense(10_000)
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			matched, left, before := 0, 0, bench.OwnCPU()
			for b.Loop() {
				pool := matcher.NewPool(set, matcher.Options{})
				for _, t := range tickets {
					pool.Add(t)
				}
				for m := search(pool, noon); m != nil; m = search(pool, noon) {
					matched += len(m.Tickets)
				}
				left = pool.Len()
			}
			perSecond(b, matched, before)
			b.ReportMetric(float64(left), "left")
		})
	}
}

// BenchmarkHopeless is arrivals at a pool of 10,000 that lacks what the rules want of some
// players, which only the depth of a search could show.
func BenchmarkHopeless(b *testing.B) {
	sets := []struct{ name, rule string }{
		{"quota", `{"name":"Healer","type":"collection","operation":"contains","referenceValue":"healer",
			"measurements":["flatten(teams[*].players.attributes[tags])"]}`},
		{"sum", `{"name":"Strong","type":"comparison","operation":"=","referenceValue":7.5,
			"measurements":["sum(flatten(teams[*].players.attributes[skill]))"]}`},
	}
	for _, s := range sets {
		set := parse(b, `{"ruleLanguageVersion":"1.0",
			"playerAttributes":[{"name":"skill","type":"number"},{"name":"tags","type":"string_list",
			"default":["damage"]}],
			"teams":[{"name":"red","minPlayers":3,"maxPlayers":5},{"name":"blue","minPlayers":3,"maxPlayers":5}],
			"rules":[`+s.rule+`]}`)
		b.Run(s.name, func(b *testing.B) {
			pool, now := matcher.NewPool(set, matcher.Options{}), noon
			come := func(i int) {
				ticket := solo(fmt.Sprint(i), attributes{"skill": number(float64(i % 97))})
				ticket.Start = now
				pool.Add(ticket)
				if m := search(pool, now); m != nil {
					b.Fatal("a match")
				}
			}
			for i := range 10_000 {
				come(i)
			}
			i, before := 10_000, bench.OwnCPU()
			for b.Loop() {
				now = now.Add(500 * time.Microsecond)
				come(i)
				pool.Remove(fmt.Sprint(i - 10_000))
				i++
			}
			b.ReportMetric(float64(b.N)/(bench.OwnCPU()-before).Seconds(), "arrivals/cpu-s")
		})
	}
}

// BenchmarkNaive is the same pool by the reference.
func BenchmarkNaive(b *testing.B) {
	set, tickets := parse(b, fives), dense(10_000)
	matched, before := 0, bench.OwnCPU()
	for b.Loop() {
		found := naive.Pass(set, 0, noon, tickets)
		for _, s := range found {
			for i, t := range tickets {
				if t == s.Ticket {
					tickets = append(tickets[:i], tickets[i+1:]...)
					break
				}
			}
		}
		matched += len(found)
	}
	perSecond(b, matched, before)
}

// perSecond reports the tickets that were matched in a second of processor time.
func perSecond(b *testing.B, matched int, before time.Duration) {
	b.ReportMetric(float64(matched)/(bench.OwnCPU()-before).Seconds(), "matched/cpu-s")
}

// BenchmarkExplain asks why a ticket waits in a pool of 10,000.
func BenchmarkExplain(b *testing.B) {
	pool := matcher.NewPool(parse(b, fives), matcher.Options{})
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 10_000 {
		t := arrival(r, i, 0, 1, noon)
		t.Players[0].Attributes["skill"] = number(float64(250 * i))
		pool.Add(t)
	}
	search(pool, noon)
	for b.Loop() {
		if x, ok := pool.Explain("t5000", noon); !ok || x.Candidates != 9_999 {
			b.Fatalf("%+v", x)
		}
	}
}
