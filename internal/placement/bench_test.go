package placement

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
)

// BenchmarkPlacement is the life of a usual placement in a shard that remembers 100,000 of
// them: Start with its attempt, Fulfil, and in groups of 100 Trim, Forget, and a frozen
// copy. The events are encoded, as for a journal.
func BenchmarkPlacement(b *testing.B) {
	s := New()
	now := start
	var buf bytes.Buffer
	id := 0
	handle := func(c Command) {
		buf.Reset()
		events, _, err := s.Handle(now, c)
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range events {
			if err := types.Append(&buf, event.Fact{Room: 7, Body: e}); err != nil {
				b.Fatal(err)
			}
		}
	}
	place := func() {
		id++
		now = start + event.Time(id/5)
		c := usualStart(fmt.Sprintf("2f0e-%09d-4d3b-place", id*7919%1_000_000_007))
		handle(c)
		now += 100
		handle(Fulfil{ID: c.Request.ID, Number: 1, Session: session(c.Request.ID)})
		if id%100 == 0 {
			handle(Trim{s.header.Announced})
			s.Freeze()
		}
	}
	for range 100_000 {
		place()
	}
	b.ReportAllocs()
	for b.Loop() {
		place()
		if id%100 == 0 {
			var ids []string
			for _, p := range s.EndedBefore(now, 100) {
				ids = append(ids, p.ID)
			}
			handle(Forget{ids})
		}
	}
}

// usualStart is a placement of two players with what a look at a queue of three locations
// gives for the trail.
func usualStart(id string) Start {
	r := request(id)
	r.Players = []Player{{PlayerID: "player-1"}, {PlayerID: "player-2"}}
	r.Properties = []fleet.Property{{Key: "mode", Value: "duel"}}
	choice := Candidates(usualQueue(3), &r, 0)
	return Start{Request: r, Timeout: 60, Room: &choice.Rooms[0], Trail: Trail{Candidates: choice.Considered}}
}

func usualQueue(locations int) Queue {
	d := Destination{Fleet: "fleet-2222bbbb-33cc-44dd-55ee-6666ffff77aa", Cost: 0.25}
	for i := range locations {
		d.Locations = append(d.Locations, fmt.Sprint("custom-location-", i))
	}
	return Queue{Destinations: []Destination{d}}
}

// BenchmarkCandidates is a look at a usual queue, and at a large one for many players.
func BenchmarkCandidates(b *testing.B) {
	for _, n := range []int{1, 3, 5} {
		b.Run(fmt.Sprintf("locations=%d", n), func(b *testing.B) {
			q, r := usualQueue(n), &Request{}
			b.ReportAllocs()
			for b.Loop() {
				Candidates(q, r, 0)
			}
		})
	}
	for _, players := range []int{2, 200} {
		b.Run(fmt.Sprintf("locations=5/players=%d", players), func(b *testing.B) {
			q, r := usualQueue(5), &Request{}
			q.LatencyPolicies = []LatencyPolicy{{Cap: 100, Duration: time.Minute}, {Cap: 200}}
			for p := range players {
				for i, l := range q.Destinations[0].Locations {
					r.Latencies = append(r.Latencies, Latency{fmt.Sprint("player-", p), l, float64(20 + i + p%50)})
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				Candidates(q, r, 0)
			}
		})
	}
}

// BenchmarkCodec writes and reads what stands in journals and snapshots most.
func BenchmarkCodec(b *testing.B) {
	s := New()
	events, _, err := s.Handle(start, usualStart("2f0e4d3b-place"))
	if err != nil {
		b.Fatal(err)
	}
	fulfilled, answer, err := s.Handle(start, Fulfil{"2f0e4d3b-place", 1, session("2f0e4d3b-place")})
	if err != nil {
		b.Fatal(err)
	}
	for _, body := range []any{events[0], fulfilled[0],
		&AttemptEnded{ID: "2f0e4d3b-place", At: start, Kind: StepRefused, Text: "no process is free"}, answer} {
		f := event.Fact{Room: 7, Body: body}
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
