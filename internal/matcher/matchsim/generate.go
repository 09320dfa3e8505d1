package matchsim

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// A Population configures generated tickets.
type Population struct {
	Tickets   int
	Seed      uint64
	Rate      float64  // tickets per second, on average
	Parties   float64  // share of the tickets with several players
	Misfits   float64  // share of the tickets that the rules match with hardly any other
	Locations []string // to which players report latencies; neighbours are near to each other
}

// DefaultPopulation is a thousand tickets, ten per second.
func DefaultPopulation() Population {
	return Population{
		Tickets: 1000, Seed: 1, Rate: 10, Parties: 0.2,
		Locations: []string{"us-east-1", "us-west-2", "eu-west-1", "ap-northeast-1"},
	}
}

// Check reports invalid values.
func (p Population) Check() error {
	switch {
	case p.Tickets < 1:
		return fmt.Errorf("%d tickets: must be at least 1", p.Tickets)
	case !(p.Rate > 0) || math.IsInf(p.Rate, 0):
		return fmt.Errorf("rate %v: must be above 0", p.Rate)
	case float64(p.Tickets)/p.Rate > maxAt:
		return fmt.Errorf("%d tickets at %v per second take more than a year: raise the rate", p.Tickets, p.Rate)
	case !(p.Parties >= 0 && p.Parties <= 1):
		return fmt.Errorf("share of parties %v: must be from 0 to 1", p.Parties)
	case !(p.Misfits >= 0 && p.Misfits <= 1):
		return fmt.Errorf("share of misfits %v: must be from 0 to 1", p.Misfits)
	default:
		return nil
	}
}

// Generate writes tickets in the format of ReadTickets, most of which a rule set can match. Numbers are around their
// default, on the scale of the rules' distances, or those that rules compare with, in proportion to the slots of the
// teams. Strings are those in the rules; a value that a rule counts is as frequent as the middle of its bounds. Players
// of a party are similar, each player has a home location with the least latency, and tickets arrive at random times.
// Equal populations and sets give equal tickets.
//
// Misfits have numbers far from all others, unique strings, and the values of which the rules allow few.
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

// largestParty returns the maximum players of a ticket, by the teams and by the API.
func largestParty(set *ruleset.Set) int {
	largest := 1
	for _, t := range set.Teams {
		largest = max(largest, t.Max)
	}
	return min(largest, 5)
}

type generator struct {
	*rand.Rand
	Population
	set    *ruleset.Set
	party  int
	makers []maker // by slot
	misfit bool    // of the present ticket
	size   int     // players of the present ticket
	made   int     // number of the present ticket, from 0
}

// A maker returns the value of an attribute for a player; near is that of the ticket's first player, nil for that
// player.
type maker func(near *written) written

// written is a value in the form of the API.
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
	g.size, g.made, g.misfit = size, n, g.Misfits > 0 && g.Float64() < g.Misfits
	home := 0
	if len(g.Locations) > 0 {
		home = g.IntN(len(g.Locations))
	}
	for i := range size {
		p := writtenPlayer{
			PlayerID:         fmt.Sprintf("p-%d-%d", n+1, i+1),
			PlayerAttributes: map[string]written{}, LatencyInMs: g.latencies(home),
		}
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

// latencies returns latencies that grow with the distance of locations on a ring.
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
		if len(hints.choices) > 0 {
			return g.chosen(hints)
		}
		return g.numbers(a.Default, hints)
	case ruleset.String:
		return g.strings(hints, hints.words(a.Default.S))
	case ruleset.StringList:
		return g.lists(hints, hints.words(a.Default.SL...))
	default:
		return g.maps(a.Default)
	}
}

// strings are equal within a party, whose players want to play the same.
func (g *generator) strings(h hints, words []string) maker {
	return func(near *written) written {
		switch {
		case near != nil:
			return *near
		case g.misfit && h.read:
			return written{S: g.own()}
		}
		for _, c := range h.counted {
			if g.Float64() < c.share {
				return written{S: c.word}
			}
		}
		return written{S: words[g.IntN(len(words))]}
	}
}

// lists contain the counted words as often as the rules require, and some of the others.
func (g *generator) lists(h hints, words []string) maker {
	return func(*written) written {
		if g.misfit && h.read && len(h.counted) == 0 {
			return written{SL: []string{g.own()}}
		}
		list := g.some(words)
		for _, c := range h.counted {
			if g.misfit && c.most || !g.misfit && g.Float64() < c.share {
				list = append(list, c.word)
			}
		}
		return written{SL: list}
	}
}

// own returns a word that no other ticket has.
func (g *generator) own() string { return fmt.Sprintf("only-%d", g.made+1) }

func (g *generator) maps(fallback ruleset.Value) maker {
	keys := []string{"map-1", "map-2", "map-3"}
	for key := range fallback.SDM {
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

// chosen returns numbers that rules compare for equality, in proportion to the slots of their teams. A party has one
// number, of a team that it fits.
func (g *generator) chosen(h hints) maker {
	rarest := slices.MinFunc(h.choices, func(a, b choice) int { return cmp.Compare(a.slots, b.slots) })
	return func(near *written) written {
		switch {
		case near != nil:
			return *near
		case g.misfit:
			return written{N: &rarest.number}
		}
		slots := 0.0
		for _, c := range h.choices {
			slots += g.weight(c)
		}
		at, v := g.Float64()*slots, rarest.number
		for _, c := range h.choices {
			if at -= g.weight(c); at < 0 {
				v = c.number
				break
			}
		}
		return written{N: &v}
	}
}

// weight returns the relative frequency of a choice for a ticket of the present size. If parties are too large for a
// choice, single players have it more often, so that players and slots are in proportion.
func (g *generator) weight(c choice) float64 {
	if g.size > c.largest {
		return 0
	}
	players := func(largest int) float64 {
		n := 1 - g.Parties
		for size := 2; size <= min(largest, g.party); size++ {
			n += g.Parties * float64(size) / float64(g.party-1)
		}
		return n
	}
	return c.slots * players(g.party) / players(c.largest)
}

// numbers are normally distributed, with half the deviation within a party.
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
		switch {
		case near != nil:
			v = *near.N + deviation/2*g.NormFloat64()
		case g.misfit && h.read:
			v = middle + deviation*float64(g.Tickets)*g.Float64()
		}
		if middle > 0 {
			v = max(0, v)
		}
		v = math.Round(v)
		return written{N: &v}
	}
}

// some returns one to three different words.
func (g *generator) some(words []string) []string {
	n := min(len(words), 1+g.IntN(3))
	chosen := make([]string, n)
	for i, j := range g.Perm(len(words))[:n] {
		chosen[i] = words[j]
	}
	return chosen
}
