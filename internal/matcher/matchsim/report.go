package matchsim

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// A Report is the result of a simulation.
type Report struct {
	RuleSet          string        `json:"ruleSet,omitempty"` // its name
	Clock            string        `json:"clock"`
	SimulatedSeconds float64       `json:"simulatedSeconds"` // until the last event
	Tickets          Tickets       `json:"tickets"`
	Matches          int           `json:"matches"`
	Sizes            []Size        `json:"sizes"`                 // by players
	Waiting          Quantiles     `json:"waitingSeconds"`        // of matched tickets
	Rules            []Rule        `json:"rules"`                 // in the order of the set, without sort rules
	Attributes       []Attribute   `json:"attributes"`            // of type number
	Latency          *Latency      `json:"latency,omitempty"`     // nil: no player reported any
	Unmatchable      []Unmatchable `json:"unmatchable,omitempty"` // the first few

	ElapsedSeconds      float64 `json:"elapsedSeconds"`
	CPUSeconds          float64 `json:"cpuSeconds,omitempty"`
	TicketsPerCPUSecond float64 `json:"ticketsPerCPUSecond,omitempty"` // matched tickets
}

// Tickets counts tickets by outcome.
type Tickets struct {
	Total       int `json:"total"`
	Players     int `json:"players"` // in all of them
	Matched     int `json:"matched"`
	TimedOut    int `json:"timedOut"`
	Unmatchable int `json:"unmatchable"` // no match could ever include them
	Waiting     int `json:"waiting"`     // at the end
}

// A Size counts the matches with a number of players.
type Size struct {
	Players int `json:"players"`
	Matches int `json:"matches"`
}

// Quantiles are of a list of values; all are 0 for an empty one.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// A Rule counts the evaluations of one rule.
type Rule struct {
	Name      string     `json:"name"`
	Matched   Evaluation `json:"onTheWayToMatches"`
	Unmatched Evaluation `json:"ofUnmatchedTickets"` // of tickets that timed out or still wait
}

// An Evaluation counts the results of a rule.
type Evaluation struct {
	Passed int `json:"passed"`
	Failed int `json:"failed"`
}

// An Attribute shows how even matches are in a number.
type Attribute struct {
	Name   string    `json:"name"`
	Spread Quantiles `json:"spread"`  // highest minus lowest player of a match
	Gap    Quantiles `json:"teamGap"` // highest minus lowest average of its teams; empty teams do not count
}

// Latency is what players of matches have, in milliseconds, to the common location with the least average.
type Latency struct {
	Players   Quantiles  `json:"playerMilliseconds"`
	Worst     Quantiles  `json:"worstOfMatchMilliseconds"`
	Locations []Location `json:"locations"`                    // most matches first
	Nowhere   int        `json:"matchesWithoutCommonLocation"` // no queue could place these
}

// A Location counts the matches that have it as best location.
type Location struct {
	Name    string `json:"name"`
	Matches int    `json:"matches"`
}

// Unmatchable is a ticket that no match can include, and why.
type Unmatchable struct {
	Ticket string `json:"ticketId"`
	Why    string `json:"why"`
}

// maxUnmatchable limits the tickets that a report names.
const maxUnmatchable = 5

// A collector gathers a Report.
type collector struct {
	Report
	set       *ruleset.Set
	numbers   []ruleset.Attribute
	waits     []float64
	sizes     map[int]int
	rules     map[string]int // index in Report.Rules
	spreads   [][]float64    // by attribute
	gaps      [][]float64
	latencies []float64
	worst     []float64
	nowhere   int
	locations map[string]int
}

func newCollector(set *ruleset.Set) *collector {
	c := &collector{set: set, sizes: map[int]int{}, rules: map[string]int{}, locations: map[string]int{}}
	c.RuleSet = set.Name
	for _, a := range set.Attributes {
		if a.Type == ruleset.Number {
			c.numbers = append(c.numbers, a)
		}
	}
	c.spreads, c.gaps = make([][]float64, len(c.numbers)), make([][]float64, len(c.numbers))
	for _, r := range set.Rules {
		if r.Type != ruleset.AbsoluteSort && r.Type != ruleset.DistanceSort {
			c.rules[r.Name] = len(c.Rules)
			c.Rules = append(c.Rules, Rule{Name: r.Name})
		}
	}
	return c
}

func (c *collector) arrived(t *matcher.Ticket) {
	c.Tickets.Total++
	c.Tickets.Players += len(t.Players)
}

func (c *collector) unmatchable(t *matcher.Ticket, why string) {
	c.Tickets.Unmatchable++
	if len(c.Unmatchable) < maxUnmatchable {
		c.Unmatchable = append(c.Unmatchable, Unmatchable{t.ID, why})
	}
}

func (c *collector) timedOut(_ *matcher.Ticket, metrics []matcher.Metric) {
	c.Tickets.TimedOut++
	c.tried(metrics)
}

func (c *collector) waiting(_ *matcher.Ticket, metrics []matcher.Metric) {
	c.Tickets.Waiting++
	c.tried(metrics)
}

// tried counts the evaluations of a ticket without a match.
func (c *collector) tried(metrics []matcher.Metric) {
	for _, m := range metrics {
		if i, counted := c.rules[m.Rule]; counted {
			c.Rules[i].Unmatched.add(m)
		}
	}
}

func (e *Evaluation) add(m matcher.Metric) {
	e.Passed += m.Passed
	e.Failed += m.Failed
}

func (c *collector) matched(m *matcher.Match, now time.Time) {
	c.Matches++
	c.Tickets.Matched += len(m.Tickets)
	for _, t := range m.Tickets {
		c.waits = append(c.waits, now.Sub(t.Start).Seconds())
	}
	for _, rule := range m.Metrics {
		if i, counted := c.rules[rule.Rule]; counted {
			c.Rules[i].Matched.add(rule)
		}
	}
	players := 0
	for _, team := range m.Teams {
		players += len(team.Players)
	}
	c.sizes[players]++
	for i, a := range c.numbers {
		c.compare(i, a, m.Teams)
	}
	c.place(m.Teams)
}

// compare records how even a match is in a number.
func (c *collector) compare(i int, a ruleset.Attribute, teams []matcher.Team) {
	all, averages := newRange(), newRange()
	for _, team := range teams {
		if len(team.Players) == 0 {
			continue
		}
		sum := 0.0
		for _, p := range team.Players {
			v := a.Default
			if given, ok := p.Attributes[a.Name]; ok {
				v = given
			}
			all.add(v.N)
			sum += v.N
		}
		averages.add(sum / float64(len(team.Players)))
	}
	c.spreads[i] = append(c.spreads[i], all.width())
	c.gaps[i] = append(c.gaps[i], averages.width())
}

// A numberRange is the minimum and maximum of some numbers.
type numberRange struct{ low, high float64 }

func newRange() numberRange { return numberRange{math.Inf(1), math.Inf(-1)} }

func (r *numberRange) add(v float64) { r.low, r.high = min(r.low, v), max(r.high, v) }

func (r *numberRange) width() float64 { return max(0, r.high-r.low) }

// place records the latencies of a match.
func (c *collector) place(teams []matcher.Team) {
	var players []matcher.Player
	for _, team := range teams {
		for _, p := range team.Players {
			if p.Latency != nil {
				players = append(players, p)
			}
		}
	}
	if len(players) == 0 {
		return
	}
	location, ok := bestLocation(players)
	if !ok {
		c.nowhere++
		return
	}
	c.locations[location]++
	worst := 0.0
	for _, p := range players {
		ms := float64(p.Latency[location])
		c.latencies = append(c.latencies, ms)
		worst = max(worst, ms)
	}
	c.worst = append(c.worst, worst)
}

// bestLocation returns the common location with the least total latency.
func bestLocation(players []matcher.Player) (best string, ok bool) {
	least := 0
next:
	for _, location := range slices.Sorted(maps.Keys(players[0].Latency)) {
		sum := 0
		for _, p := range players {
			ms, has := p.Latency[location]
			if !has {
				continue next
			}
			sum += ms
		}
		if !ok || sum < least {
			best, least, ok = location, sum, true
		}
	}
	return best, ok
}

// finished completes the report.
func (c *collector) finished() *Report {
	r := &c.Report
	r.Waiting = quantiles(c.waits)
	for _, n := range slices.Sorted(maps.Keys(c.sizes)) {
		r.Sizes = append(r.Sizes, Size{n, c.sizes[n]})
	}
	for i, a := range c.numbers {
		r.Attributes = append(r.Attributes, Attribute{a.Name, quantiles(c.spreads[i]), quantiles(c.gaps[i])})
	}
	if len(c.latencies) > 0 || c.nowhere > 0 {
		r.Latency = &Latency{Players: quantiles(c.latencies), Worst: quantiles(c.worst), Nowhere: c.nowhere}
		for name, n := range c.locations {
			r.Latency.Locations = append(r.Latency.Locations, Location{name, n})
		}
		slices.SortFunc(r.Latency.Locations, func(a, b Location) int {
			return cmp.Or(b.Matches-a.Matches, cmp.Compare(a.Name, b.Name))
		})
	}
	return r
}

// quantiles sorts the values.
func quantiles(values []float64) Quantiles {
	if len(values) == 0 {
		return Quantiles{}
	}
	slices.Sort(values)
	at := func(q float64) float64 { return values[int(math.Ceil(q*float64(len(values))))-1] }
	return Quantiles{at(0.5), at(0.9), at(0.99), values[len(values)-1]}
}
