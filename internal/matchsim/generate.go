package matchsim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/muster-gg/muster/internal/ruleset"
)

// A Population says what tickets to make up.
type Population struct {
	Tickets   int
	Seed      uint64
	Rate      float64  // tickets a second, on average
	Parties   float64  // share of the tickets with several players
	Locations []string // to which players report latencies; the nearest to the first are those beside it
}

// DefaultPopulation is a thousand tickets, ten a second.
func DefaultPopulation() Population {
	return Population{Tickets: 1000, Seed: 1, Rate: 10, Parties: 0.2, Locations: []string{"us-east-1", "us-west-2", "eu-west-1", "ap-northeast-1"}}
}

// Check refuses what makes no sense; the error names the value.
func (p Population) Check() error {
	switch {
	case p.Tickets < 1:
		return fmt.Errorf("%d tickets are asked for; it takes at least 1", p.Tickets)
	case !(p.Rate > 0) || math.IsInf(p.Rate, 0):
		return fmt.Errorf("the rate is %v tickets a second; it is a number above 0", p.Rate)
	case float64(p.Tickets)/p.Rate > maxAt:
		return fmt.Errorf("at %v tickets a second %d take more than a year; raise the rate", p.Rate, p.Tickets)
	case !(p.Parties >= 0 && p.Parties <= 1):
		return fmt.Errorf("the share of parties is %v; it is a number from 0 to 1", p.Parties)
	default:
		return nil
	}
}

// Generate writes the tickets of a plausible population for a rule set, as ReadTickets
// reads them: numbers around their default on the scale of the rules' distances,
// strings that the rules speak of, parties of friends who resemble each other, a home
// location with the least latency, arrivals at random moments. The same population and
// set give the same tickets.
func Generate(to io.Writer, set *ruleset.Set, p Population) error {
	if err := p.Check(); err != nil {
		return err
	}
	g := &generator{Rand: rand.New(rand.NewPCG(p.Seed, 0)), Population: p, set: set, party: largestParty(set)}
	for slot, a := range set.Attributes {
		g.makers = append(g.makers, g.makerOf(slot, a))
	}
	out := bufio.NewWriter(to)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	at := 0.0
	for n := range p.Tickets {
		if err := lines.Encode(g.ticket(n, at)); err != nil {
			return err
		}
		at += g.ExpFloat64() / p.Rate
	}
	return out.Flush()
}

// largestParty is how many players a ticket has at most: no more than a team takes,
// and than the API does.
func largestParty(set *ruleset.Set) int {
	largest := 1
	for _, t := range set.Teams {
		largest = max(largest, t.Max)
	}
	return min(largest, 5)
}

// A generator makes up tickets.
type generator struct {
	*rand.Rand
	Population
	set    *ruleset.Set
	party  int
	makers []maker // by slot
}

// A maker makes the value of an attribute for a player; near is that of a friend.
type maker func(near *written) written

// written is a value in the API's form.
type written struct {
	N   *float64           `json:",omitempty"`
	S   string             `json:",omitempty"`
	SL  []string           `json:",omitempty"`
	SDM map[string]float64 `json:",omitempty"`
}

type writtenTicket struct {
	At       float64
	TicketID string `json:"TicketId"`
	Players  []writtenPlayer
}

type writtenPlayer struct {
	PlayerID         string             `json:"PlayerId"`
	PlayerAttributes map[string]written `json:",omitempty"`
	LatencyInMs      map[string]int     `json:",omitempty"`
}

func (g *generator) ticket(n int, at float64) writtenTicket {
	t := writtenTicket{At: math.Round(at*1000) / 1000, TicketID: fmt.Sprintf("t-%d", n+1)}
	size := 1
	if g.party > 1 && g.Float64() < g.Parties {
		size = 2 + g.IntN(g.party-1)
	}
	home := 0
	if len(g.Locations) > 0 {
		home = g.IntN(len(g.Locations))
	}
	for i := range size {
		p := writtenPlayer{PlayerID: fmt.Sprintf("p-%d-%d", n+1, i+1), PlayerAttributes: map[string]written{}, LatencyInMs: g.latencies(home)}
		for slot, a := range g.set.Attributes {
			var near *written
			if i > 0 {
				friend := t.Players[0].PlayerAttributes[a.Name]
				near = &friend
			}
			p.PlayerAttributes[a.Name] = g.makers[slot](near)
		}
		t.Players = append(t.Players, p)
	}
	return t
}

// latencies grow with the distance between locations, as if they lay on a ring.
func (g *generator) latencies(home int) map[string]int {
	latencies := map[string]int{}
	for i, name := range g.Locations {
		away := max(i-home, home-i)
		away = min(away, len(g.Locations)-away)
		latencies[name] = 15 + 65*away + g.IntN(40)
	}
	return latencies
}

func (g *generator) makerOf(slot int, a ruleset.Attribute) maker {
	hints := hintsOf(g.set, slot)
	switch a.Type {
	case ruleset.Number:
		return g.numbers(a.Default, hints)
	case ruleset.String:
		words := hints.words(a.Default.S)
		return func(near *written) written {
			if near != nil {
				return *near // friends want to play the same
			}
			return written{S: words[g.IntN(len(words))]}
		}
	case ruleset.StringList:
		words := hints.words(a.Default.SL...)
		return func(*written) written { return written{SL: g.some(words)} }
	default:
		keys := []string{"map-1", "map-2", "map-3"}
		for key := range a.Default.SDM {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		return func(*written) written {
			votes := map[string]float64{}
			for _, key := range g.some(keys) {
				votes[key] = float64(1 + g.IntN(10))
			}
			return written{SDM: votes}
		}
	}
}

// numbers are normally distributed. Friends are half as far from one another as others.
func (g *generator) numbers(fallback ruleset.Value, h hints) maker {
	middle := 1000.0
	switch {
	case fallback.N != 0:
		middle = fallback.N
	case h.number != 0:
		middle = 2 * h.number
	}
	deviation := math.Abs(middle) / 5
	if h.distance > 0 {
		deviation = 2 * h.distance
	}
	return func(near *written) written {
		v := middle + deviation*g.NormFloat64()
		if near != nil {
			v = *near.N + deviation/2*g.NormFloat64()
		}
		if middle > 0 {
			v = max(0, v)
		}
		v = math.Round(v)
		return written{N: &v}
	}
}

// some are one to three different ones of the words.
func (g *generator) some(words []string) []string {
	n := min(len(words), 1+g.IntN(3))
	chosen := make([]string, n)
	for i, j := range g.Perm(len(words))[:n] {
		chosen[i] = words[j]
	}
	return chosen
}

// hints are what the rules say of an attribute.
type hints struct {
	distance float64  // the largest that a rule allows
	number   float64  // that values are compared with
	texts    []string // that values are compared with
}

func hintsOf(set *ruleset.Set, slot int) (h hints) {
	for i := range set.Rules {
		r := &set.Rules[i]
		if !reads(r, slot) {
			continue
		}
		if r.MaxDistance != nil {
			h.distance = max(h.distance, *r.MaxDistance)
		}
		if r.Reference == nil {
			continue
		}
		if r.Reference.Number != nil {
			h.number = *r.Reference.Number
		}
		if r.Reference.Text != nil {
			h.texts = append(h.texts, *r.Reference.Text)
		}
		h.texts = append(h.texts, r.Reference.List...)
	}
	return h
}

// reads reports whether a rule looks at an attribute.
func reads(r *ruleset.Rule, slot int) bool {
	if r.Type == ruleset.BatchDistance {
		return r.Attribute == slot
	}
	return slices.ContainsFunc(r.Measurements, func(e *ruleset.Expr) bool { return readsSlot(e, slot) })
}

func readsSlot(e *ruleset.Expr, slot int) bool {
	for e.Func != "" {
		e = e.Arg
	}
	return e.Path != nil && e.Path.Of == ruleset.OfAttribute && e.Path.Slot == slot
}

// words are what values are made of: those of the default and of the rules, or if these
// speak of none then three.
func (h hints) words(defaults ...string) []string {
	words := append(slices.Clone(defaults), h.texts...)
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	if len(h.texts) == 0 || len(words) == 0 {
		words = append(words, "alpha", "beta", "gamma")
	}
	slices.Sort(words)
	return slices.Compact(words)
}
