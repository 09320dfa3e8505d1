package matchmaking

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// benchOpen is how many tickets are waiting in the benchmarks.
const benchOpen = 10_000

// benchStart is the n-th ticket: one player with two attributes and three latencies.
func benchStart(n int) Start {
	return Start{
		ID: fmt.Sprintf("7d5a0b3c-0000-4000-8000-%012d", n*7919%1_000_000_007), Configuration: ladder, Timeout: 3600,
		Call: fmt.Sprint("call-", n),
		Players: []Player{{
			ID: fmt.Sprintf("player-%012d", n),
			Attributes: []Attribute{
				{"mode", ruleset.Value{Type: ruleset.String, S: "duel"}}, {"skill",
					ruleset.Value{Type: ruleset.Number, N: float64(n%4000) / 4}},
			},
			Latencies: []Latency{{"custom-a", 20}, {"custom-b", 70}, {"custom-c", 130}},
		}},
	}
}

// benchWorld has tickets that wait, and as many that are over.
func benchWorld() (s *State, next int) {
	s = New()
	for ; next < 2*benchOpen; next++ {
		c := benchStart(next)
		bench(s, c)
		if next%2 == 0 {
			bench(s, Stop{c.ID})
		}
	}
	bench(s, Trim{s.announced})
	return s, next
}

// bench handles a command and encodes its events, as a shard does.
func bench(s *State, c Command) any {
	events, answer, err := s.Handle(start, c)
	if err != nil {
		panic(err)
	}
	var buf bytes.Buffer
	for _, e := range events {
		if err := types.Append(&buf, event.Fact{Room: 7, Body: e}); err != nil {
			panic(err)
		}
	}
	return answer
}

// BenchmarkTicket is the life of ten tickets that become a match of two teams which
// is placed, and are forgotten; in "frozen" with a frozen copy after each command.
func BenchmarkTicket(b *testing.B) {
	b.Run("alone", func(b *testing.B) { benchTickets(b, func(*State) {}) })
	b.Run("frozen", func(b *testing.B) { benchTickets(b, func(s *State) { s.Freeze() }) })
}

func benchTickets(b *testing.B, after func(*State)) {
	s, n := benchWorld()
	at := MatchSettings{Configuration: ladder, RequestTimeout: 60, Capacity: 10}
	b.ReportAllocs()
	for b.Loop() {
		c := Propose{ID: fmt.Sprint("match-", n), Settings: at,
			Teams: []Team{{Name: "red", Max: 5}, {Name: "blue", Max: 5}}}
		forget := Forget{}
		where := connection()
		for i := range 10 {
			t := bench(s, benchStart(n)).(*Ticket)
			after(s)
			n++
			c.Tickets = append(c.Tickets, Proposed{ID: t.ID})
			c.Teams[i%2].Players = append(c.Teams[i%2].Players, t.Players[0].ID)
			where.Players = append(where.Players, MatchedPlayer{PlayerID: t.Players[0].ID})
			forget.IDs = append(forget.IDs, t.ID)
		}
		if bench(s, c).(*Match) == nil {
			b.Fatal("not taken")
		}
		after(s)
		bench(s, Placed{c.ID, where})
		after(s)
		bench(s, forget)
		bench(s, Trim{s.announced})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10, "ns/ticket")
}

// BenchmarkAccept is an answer of one of ten players; the match and its end are
// outside the clock.
func BenchmarkAccept(b *testing.B) {
	s, n := benchWorld()
	at := terms
	at.Capacity = 10
	var ids []string
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		if len(ids) == 0 {
			c := Propose{ID: fmt.Sprint("match-", n), Settings: at, Teams: []Team{{Name: "red", Max: 10}}}
			for range 10 {
				t := bench(s, benchStart(n)).(*Ticket)
				n++
				c.Tickets = append(c.Tickets, Proposed{ID: t.ID})
				ids = append(ids, t.ID)
			}
			bench(s, Trim{s.announced})
			bench(s, c)
		}
		t := s.ticketOrNil(ids[0])
		ids = ids[1:]
		b.StartTimer()
		bench(s, Accept{t.ID, []string{t.Players[0].ID}, true})
	}
}

// BenchmarkTimeOuts ends a thousand tickets at once.
func BenchmarkTimeOuts(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		s := New()
		for n := range 1000 {
			bench(s, benchStart(n))
		}
		b.StartTimer()
		for s.Deadline() != 0 {
			s.Expire(start.Add(time.Hour))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/ticket")
}

// BenchmarkCodec writes and reads the events of a ticket and of a match of ten.
func BenchmarkCodec(b *testing.B) {
	s := New()
	c := Propose{ID: "7d5a0b3c-0000-4000-8000-000000000000", Settings: terms,
		Teams:   []Team{{Name: "red", Max: 5}, {Name: "blue", Max: 5}},
		Metrics: []Metric{{"Skill", 10, 3}, {"Latency", 10, 0}}}
	var bodies []any
	where := connection()
	for n := range 10 {
		start := benchStart(n)
		events, _, _ := s.Handle(1_772_366_400_123, start)
		bodies = events
		c.Tickets = append(c.Tickets, Proposed{ID: start.ID})
		c.Teams[n%2].Players = append(c.Teams[n%2].Players, start.Players[0].ID)
		where.Players = append(where.Players, MatchedPlayer{PlayerID: start.Players[0].ID})
	}
	proposed, _, _ := s.Handle(1_772_366_400_456, c)
	bodies = append(bodies, proposed[0], &MatchCompleted{ID: c.ID, At: start, Connection: &where},
		s.ticketOrNil(c.Tickets[0].ID))
	for _, body := range bodies {
		f := event.Fact{Room: 1, Body: body}
		var buf bytes.Buffer
		b.Run(types.Name(body)+"/write", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				buf.Reset()
				if err := types.Append(&buf, f); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(buf.Len()), "bytes")
		})
		b.Run(types.Name(body)+"/read", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := types.Next(buf.Bytes()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
