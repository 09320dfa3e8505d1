package matcher

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// conquest is a match of 200 in two teams.
const conquest = `{"ruleLanguageVersion":"1.0",
	"playerAttributes":[{"name":"skill","type":"number"},{"name":"level","type":"number"},{"name":"mode",
	"type":"string"}],
	"algorithm":{"strategy":"balanced","balancedAttribute":"skill"},
	"teams":[{"name":"side","minPlayers":100,"maxPlayers":100,"quantity":2}],
	"rules":[{"name":"Ping","type":"latency","maxLatency":150},{"name":"Level","type":"batchDistance",
	"batchAttribute":"level","maxDistance":40},
		{"name":"Mode","type":"batchDistance","batchAttribute":"mode"}],
	"expansions":[{"target":"rules[Ping].maxLatency","steps":[{"waitTimeSeconds":30,"value":250}]}]}`

func soldier(r *rand.Rand, id int, start time.Time) *Ticket {
	t := &Ticket{ID: fmt.Sprint("t", id), Start: start}
	fastestHere := r.IntN(5)
	for i := range max(1, r.IntN(8)-4) {
		p := Player{ID: fmt.Sprintf("p%d-%d", id, i), Latency: map[string]int{}, Attributes: map[string]ruleset.Value{
			"skill": numberValue(1000 + 300*r.NormFloat64()), "level": numberValue(float64(r.IntN(100))),
			"mode": {Type: ruleset.String, S: fmt.Sprint("m", id%2)},
		}}
		for l := range 5 {
			p.Latency[fmt.Sprint("l", l)] = 20 + 60*((l-fastestHere+5)%5) + r.IntN(40)
		}
		t.Players = append(t.Players, p)
	}
	return t
}

// BenchmarkLarge forms matches of 200 players out of a pool that is kept at 5,000
// tickets; an operation is a match, the coming of its tickets included.
func BenchmarkLarge(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	p := NewPool(parsed(b, conquest), Options{})
	id, now := 0, largeStart
	for b.Loop() {
		for ; p.Len() < 5000; id++ {
			p.Add(soldier(r, id, now))
		}
		now = now.Add(100 * time.Millisecond)
		if nextMatch(p, now) == nil {
			b.Fatal("no match")
		}
	}
}

// BenchmarkLargeMatch is BenchmarkLarge without the coming of tickets.
func BenchmarkLargeMatch(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	p := NewPool(parsed(b, conquest), Options{})
	id, now := 0, largeStart
	for b.Loop() {
		b.StopTimer()
		for ; p.Len() < 5000; id++ {
			p.Add(soldier(r, id, now))
		}
		now = now.Add(100 * time.Millisecond)
		b.StartTimer()
		if nextMatch(p, now) == nil {
			b.Fatal("no match")
		}
	}
}

// BenchmarkLargeHopeless adds a ticket to 5,000 that cannot be matched, and looks.
func BenchmarkLargeHopeless(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	p := NewPool(parsed(b, conquest), Options{})
	final := func(id int) *Ticket {
		t := soldier(r, id, largeStart)
		for i := range t.Players {
			t.Players[i].Attributes["level"] = numberValue(float64(id%100) * 50)
		}
		return t
	}
	for id := range 5000 {
		p.Add(final(id))
	}
	id := 5000
	for b.Loop() {
		p.Add(final(id))
		if nextMatch(p, largeStart) != nil {
			b.Fatal("a match")
		}
		p.Remove(fmt.Sprint("t", id))
		id++
	}
}

// BenchmarkLargeIdle looks at a pool in which nothing has changed.
func BenchmarkLargeIdle(b *testing.B) {
	p := pooled(parsed(b, warfront), Options{}, fighters(22)...)
	for b.Loop() {
		nextMatch(p, largeStart)
	}
}
