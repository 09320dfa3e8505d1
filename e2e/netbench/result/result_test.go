package result

import (
	"fmt"
	"math"
	"testing"
)

// rates are samples of a second each.
func rates(s Series, server string, messages ...float64) {
	for round, n := range messages {
		s.Add(server, round, Sample{Messages: n, Seconds: 1, CPU: 2, Mallocs: n / 1000})
	}
}

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1}, 5},
		{[]float64{9, 1, 2}, 2},
		{[]float64{4, 100, 1, 2}, 3},
	} {
		if got := median(test.values); got != test.want {
			t.Errorf("the median of %v is %v, want %v", test.values, got, test.want)
		}
	}
	if !math.IsNaN(median(nil)) {
		t.Error("nothing has a median")
	}
}

func TestRatioIsOfRounds(t *testing.T) {
	s := Series{}
	rates(s, "a", 100, 20, 100) // the machine was busy in the second round
	rates(s, "b", 50, 10, 50)
	if got := s.Ratio("a", "b", Rate); got != 2 {
		t.Errorf("the ratio is %v", got)
	}
	if got := s.Ratio("a", "b", CPUPerMillion); got != 2 {
		t.Errorf("the ratio of what should be little is %v", got)
	}
	delete(s["b"], 0)
	delete(s["b"], 2)
	if got := s.Ratio("a", "b", Rate); got != 2 {
		t.Errorf("the ratio of one round is %v", got)
	}
	if !math.IsNaN(s.Ratio("a", "c", Rate)) {
		t.Error("there is no c")
	}
}

func TestBest(t *testing.T) {
	s := Series{}
	rates(s, "a", 100)
	rates(s, "b", 80)
	rates(s, "c", 90)
	rates(s, "d", 1000)
	if peer, ratio := s.Best("a", []string{"x", "b", "c"}, Rate); peer != "c" || ratio != 100./90 {
		t.Errorf("the best peer is %q: %v", peer, ratio)
	}
}

func TestVerdict(t *testing.T) {
	s := Series{}
	rates(s, "a", 100)
	rates(s, "b", 50)
	rates(s, "c", 80)
	rates(s, "d", 100.1)
	peers := []string{"b", "c"}
	whole := func(x float64) string { return fmt.Sprintf("%.2f", x) }
	for _, test := range []struct {
		goal Goal
		want string
	}{
		{Goal{Figure: Rate, Least: 1}, "≥ 1.0 × the best peer, c: 1.25 ✓"},
		{Goal{Figure: PerCPU, Least: 1.5, What: "by CPU"}, "≥ 1.5 × the best peer, c by CPU: 1.25 ✗"},
		{Goal{Figure: Rate, Peer: "b", Least: 2}, "≥ 2.0 × b: 2.00 ✓"},
		{Goal{Figure: Rate, Peer: "b", Least: 3}, "≥ 3.0 × b: 2.00 ✗"},
		{Goal{Figure: Rate, Peer: "b", Least: 2.0001}, "≥ 2.0 × b: 2.00 ✗"},
		{Goal{Figure: Rate, Peer: "d", Least: 1}, "≥ 1.0 × d: 0.99 ✗"},
		{Goal{Figure: Rate, Peer: "x", Least: 3}, "≥ 3.0 × x -"},
		{Goal{Figure: Allocations, Most: 0, What: "allocations", Unit: whole}, "≤ 0.00 allocations ✓"},
		{Goal{Figure: CPUPerMillion, Most: 8, What: "s", Unit: whole}, "≤ 8.00 s ✗"},
	} {
		if got := test.goal.Verdict(s, "a", peers); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	if got := (Goal{Figure: Rate, Least: 1}).Verdict(s, "x", peers); got != "≥ 1.0 × the best peer -" {
		t.Errorf("got %q for a server that was not measured", got)
	}
	if got := (Goal{Figure: Rate, Most: 1, Unit: whole}).Verdict(s, "x", peers); got != "≤ 1.00 -" {
		t.Errorf("got %q for a server that was not measured", got)
	}
}
