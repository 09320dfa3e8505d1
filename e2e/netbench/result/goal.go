package result

import (
	"fmt"
	"math"
)

// A Goal is what a figure of a server must reach.
type Goal struct {
	Figure Figure
	What   string  // the figure, where the table does not say it
	Peer   string  // whom the figure is compared with; "" for the best peer
	Least  float64 // of the ratio; 0 for a goal that compares with nobody
	Most   float64 // of the figure itself, when Least is 0
	Unit   Unit    // of Most
}

// A Unit shows a figure.
type Unit func(float64) string

// Verdict says in words whether a server reaches the goal, beside peers.
func (g Goal) Verdict(s Series, server string, peers []string) string {
	if g.Least == 0 {
		got := s.Median(server, g.Figure)
		return fmt.Sprintf("≤ %s%s %s", g.Unit(g.Most), after(g.What),
			mark(got, g.Unit(got) == g.Unit(g.Most) || got <= g.Most))
	}
	peer, ratio, name := g.Peer, 0.0, g.Peer
	if peer == "" {
		peer, ratio = s.Best(server, peers, g.Figure)
		if name = "the best peer"; peer != "" {
			name += ", " + peer
		}
	} else {
		ratio = s.Ratio(server, peer, g.Figure)
	}
	if math.IsNaN(ratio) {
		return fmt.Sprintf("≥ %.1f × %s -", g.Least, name)
	}
	shown := math.Floor(100*ratio) / 100 // what is just not reached must not look as if it were
	return fmt.Sprintf("≥ %.1f × %s%s: %.2f %s", g.Least, name, after(g.What), shown, mark(ratio, ratio >= g.Least))
}

func after(what string) string {
	if what == "" {
		return ""
	}
	return " " + what
}

func mark(got float64, reached bool) string {
	switch {
	case math.IsNaN(got):
		return "-"
	case reached:
		return "✓"
	}
	return "✗"
}

// Best is the peer that a server is least ahead of, and by how much.
func (s Series) Best(server string, peers []string, f Figure) (best string, ratio float64) {
	ratio = math.NaN()
	for _, peer := range peers {
		if r := s.Ratio(server, peer, f); !math.IsNaN(r) && !(r >= ratio) {
			best, ratio = peer, r
		}
	}
	return best, ratio
}
