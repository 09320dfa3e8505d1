package matcher

import (
	"slices"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

func TestLargeExplain(t *testing.T) {
	tickets := fighters(20)
	tickets[1].Players[0].Attributes["mode"] = ruleset.Value{Type: ruleset.String, S: "siege"}
	for i := 2; i < 5; i++ {
		tickets[i].Players[0].Latency["us-east-1"] = 150
	}
	p := pooled(parsed(t, warfront), Options{},
		append(tickets, &Ticket{ID: "never", Start: largeStart, Players: []Player{fighter("never", 1, 500)}})...)
	now := largeStart.Add(10 * time.Second)
	if nextMatch(p, now) != nil {
		t.Fatal("matched")
	}
	before := p.Metrics("t-p0")
	x, ok := p.Explain("t-p0", now)
	if !ok || x.Pool != 21 || x.Candidates != 19 || x.Largest != 16 ||
		x.Missing != "team titan_1 has 8 of at least 10 players" {
		t.Errorf("got %+v", x)
	}
	want := []Rejection{{"PingCap", 3, "t-p2: no location within 120 ms of both"},
		{"OneMode", 1, "t-p1: siege, not front"}}
	if !slices.Equal(x.Rejections, want) {
		t.Errorf("got %v, want %v", x.Rejections, want)
	}
	if x.Next == nil || x.Next.In != 20*time.Second || x.Next.Admits != 3 || len(x.Next.Changes) != 1 ||
		x.Next.Changes[0] != (Change{"rules[PingCap].maxLatency", "120", "200"}) {
		t.Errorf("next %+v", x.Next)
	}
	if !slices.Equal(p.Metrics("t-p0"), before) || p.now != since(now) {
		t.Error("explaining changed the pool")
	}
	if x, _ := p.Explain("never", now); x.Unmatchable == "" {
		t.Error("a ticket out of reach is said to be matchable")
	}
	if x, _ := p.Explain("t-p0", now.Add(time.Minute)); x.Next != nil || x.Largest != 19 {
		t.Errorf("after the last step: %+v, next %+v", x, x.Next)
	}
}

func TestLargeExplainBands(t *testing.T) {
	set := parsed(t, conquest)
	soldierOf := func(id string, level float64) *Ticket {
		return &Ticket{ID: id, Start: largeStart,
			Players: []Player{{ID: id, Latency: map[string]int{"l": 1}, Attributes: map[string]ruleset.Value{
				"skill": numberValue(1), "level": numberValue(level), "mode": {Type: ruleset.String, S: "m"},
			}}}}
	}
	p := pooled(set, Options{}, soldierOf("a", 10), soldierOf("b", 50), soldierOf("c", 51))
	x, _ := p.Explain("a", largeStart)
	if want := []Rejection{{"Level", 1, "c: 51 and 10, at most 40 apart"}}; !slices.Equal(x.Rejections, want) ||
		x.Largest != 2 {
		t.Errorf("got %+v", x)
	}
	if x, _ := p.Explain("b", largeStart); x.Largest != 2 || x.Missing != "team side_1 has 1 of at least 100 players" {
		t.Errorf("got %+v", x) // a and c are too far from one another
	}
}
