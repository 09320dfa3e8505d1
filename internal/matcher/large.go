package matcher

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/ruleset"
)

// large is the search for matches of more than 40 players, in which only latency and
// batchDistance rules apply. Those rules say which tickets may meet at all, so the
// pool is kept apart by them from the start: a cell holds the tickets that share
// their string attributes and have a location in common. A match is then a count: as
// soon as a cell has the players that the teams need, it is filled and balanced.
//
// What was tried in vain is not tried again: a cell is looked at only when it has
// fresh tickets, those that came, or grew into the next step of an expansion, since
// the last look. A new match must hold one of them.
//
// Source: FlexMatch guide, rules for large matches, how large matches are built.
type large struct {
	pingRules []int    // indexes in Set.Rules of the latency rules
	bandRules []int    // of the batchDistance rules on numbers
	textRules []int    // of the batchDistance rules on strings
	speed     int      // column of latencies that locations are ordered by; -1: none
	bounds    []bounds // by level
	cells     map[cellKey]*cell
	stirred   []*cell  // those with fresh tickets
	tally     []Metric // by rule, of the present call of Match
	silent    bool     // evaluations do not count
}

// Bounds are what the rules of large matches allow at a level.
type bounds struct {
	need  int     // players without whom no match is complete
	pings []limit // by latency rule, milliseconds
	bands []limit // by batchDistance rule on a number
}

// A limit is how large the values of a column may be, or how far apart. An expansion
// may change both: the column is that of a fold.
type limit struct {
	column int
	most   float64
}

// celled is what the search for large matches keeps of an entry.
type celled struct {
	total   float64   // of the balanced attribute over the players
	average float64   // of each player
	members []*member // in the cells
	tally   []Metric  // by rule
	gone    bool      // left the pool, while cells still hold it
}

func (p *Pool) newLarge() {
	p.cells = map[cellKey]*cell{}
	p.speed = -1
	for i, r := range p.set.Rules {
		switch {
		case r.Type == ruleset.Latency:
			p.pingRules = append(p.pingRules, i)
		case p.set.Attributes[r.Attribute].Type == ruleset.Number:
			p.bandRules = append(p.bandRules, i)
		default:
			p.textRules = append(p.textRules, i)
			p.columns.text(r.Attribute)
		}
	}
	for _, l := range p.levels {
		p.bounds = append(p.bounds, p.boundsOf(l))
	}
	if len(p.pingRules) > 0 {
		p.speed = p.bounds[0].pings[0].column
	} else if p.set.Algorithm.FastestRegion {
		p.speed = p.columns.ping(ruleset.FoldAvg)
	}
}

func (p *Pool) boundsOf(l *level) (b bounds) {
	for _, t := range l.teams {
		b.need += t.min
	}
	for _, i := range p.pingRules {
		r := &l.set.Rules[i]
		b.pings = append(b.pings, limit{p.columns.ping(r.Fold), orInfinite(r.MaxLatency)})
	}
	for _, i := range p.bandRules {
		r := &l.set.Rules[i]
		b.bands = append(b.bands, limit{p.columns.number(r.Attribute, r.Fold), orInfinite(r.MaxDistance)})
	}
	return b
}

func orInfinite(bound *float64) float64 {
	if bound == nil {
		return math.Inf(1)
	}
	return *bound
}

// addLarge puts an entry into the cells of its locations.
func (p *Pool) addLarge(e *entry) {
	numbers := e.numbers[p.balanced]
	for _, v := range numbers {
		e.total += v
	}
	e.average = e.total / float64(len(numbers))
	e.tally = p.noMetrics()
	key, err := p.textsOf(e)
	var places []place
	if err == nil {
		places, err = p.placesOf(e)
	}
	if err != nil {
		e.unmatchable = err.Error()
		p.waiting.Delete(e)
		return
	}
	for _, at := range places {
		p.join(cellKey{key, at.location}, at, e)
	}
}

// textsOf are the strings that all tickets of a match share, as a key.
func (p *Pool) textsOf(e *entry) (string, error) {
	var key strings.Builder
	for _, rule := range p.textRules {
		r := &p.set.Rules[rule]
		texts := e.texts[p.columns.text(r.Attribute)]
		if slices.ContainsFunc(texts, func(t int32) bool { return t != texts[0] }) {
			return "", fmt.Errorf("its own players have different values of %s, and rule %s wants one", p.set.Attributes[r.Attribute].Name, r.Name)
		}
		fmt.Fprintf(&key, "%d ", texts[0])
	}
	return key.String(), nil
}

// A place is a location where the players of a ticket could play.
type place struct {
	location int32
	reach    []float64 // folded latencies, by column
	rank     int       // 0: the fastest location of the ticket
}

// anywhere is the location of tickets that no latency rule binds to one.
const anywhere int32 = -1

// placesOf are the locations that pass the latency rules at some level, the fastest
// first. Without such a rule a ticket can play anywhere; fastestRegion puts it into
// the cells of its own locations too.
func (p *Pool) placesOf(e *entry) ([]place, error) {
	if p.speed < 0 {
		return []place{{location: anywhere}}, nil
	}
	fastest := slices.Clone(e.pings[p.speed])
	slices.SortStableFunc(fastest, func(a, b ping) int { return cmp.Compare(a.ms, b.ms) })
	var places []place
	for _, at := range fastest {
		place := place{location: at.location, rank: len(places)}
		for _, column := range e.pings { // all have the locations that all players have
			i := slices.IndexFunc(column, func(o ping) bool { return o.location == at.location })
			place.reach = append(place.reach, column[i].ms)
		}
		if slices.ContainsFunc(p.bounds, place.passes) {
			places = append(places, place)
		}
	}
	if len(p.pingRules) == 0 {
		return append(places, place{location: anywhere, rank: len(places)}), nil
	}
	if len(places) == 0 {
		return nil, fmt.Errorf("no location is ever near enough for its players by rule %s", p.set.Rules[p.pingRules[0]].Name)
	}
	return places, nil
}

// passes reports whether a location passes the latency rules.
func (at place) passes(b bounds) bool {
	return !slices.ContainsFunc(b.pings, func(l limit) bool { return at.reach[l.column] > l.most })
}

// join makes an entry a member of a cell.
func (p *Pool) join(key cellKey, at place, e *entry) {
	c := p.cells[key]
	if c == nil {
		c = &cell{key: key, players: make([]int, len(p.levels)), boxes: make([]map[box]int, len(p.levels))}
		for level := range c.boxes {
			c.boxes[level] = map[box]int{}
		}
		p.cells[key] = c
	}
	m := &member{entry: e, place: at, cell: c, value: e.average}
	if len(p.bandRules) > 0 {
		m.value = e.numbers[p.bounds[0].bands[0].column][0]
	}
	e.members = append(e.members, m)
	c.insert(m)
	c.count(m, p.bounds, 1)
	p.enterBoxes(m)
	p.stir(m)
}

// stir makes a member fresh.
func (p *Pool) stir(m *member) {
	c := m.cell
	if !m.fresh {
		m.fresh = true
		c.fresh = append(c.fresh, m)
	}
	c.refilled = false
	if !c.stirred && !p.within(c) {
		c.stirred = true
		p.stirred = append(p.stirred, c)
	}
}

func (p *Pool) removeLarge(e *entry) {
	e.gone = true
	for _, m := range e.members {
		m.cell.count(m, p.bounds, -1)
		p.leaveBoxes(m)
		m.cell.dead++
		if m.cell.live == 0 {
			delete(p.cells, m.cell.key)
		}
	}
	e.members = nil
}

// noMetrics are the counters of all rules, at zero.
func (p *Pool) noMetrics() []Metric {
	m := make([]Metric, len(p.set.Rules))
	for i, r := range p.set.Rules {
		m[i].Rule = r.Name
	}
	return m
}

// metricsLarge are the evaluations of an entry since it came.
func (p *Pool) metricsLarge(e *entry) []Metric {
	if e.tally == nil {
		return p.noMetrics()
	}
	return slices.Clone(e.tally)
}

// evaluated counts that a rule was asked about a ticket.
func (p *Pool) evaluated(e *entry, rule int, passed bool) {
	p.evaluations(e, rule, asInt(passed), asInt(!passed))
}

// evaluations counts how often a rule was asked about a ticket.
func (p *Pool) evaluations(e *entry, rule, passed, failed int) {
	if p.silent {
		return
	}
	p.tally[rule].Passed += passed
	p.tally[rule].Failed += failed
	e.tally[rule].Passed += passed
	e.tally[rule].Failed += failed
}

// matchLarge looks at one cell, so each call does a bounded amount of work.
func (p *Pool) matchLarge(now time.Time) (*Match, bool, bool) {
	if len(p.entries) == 0 {
		return nil, false, false
	}
	p.grow(since(now))
	c := p.mostUrgent()
	if c == nil {
		return nil, false, false
	}
	p.tally = p.noMetrics()
	refill := c.refills()
	if s := p.tryCell(c, refill); s != nil {
		s = p.faster(c, refill, s)
		s.balance()
		for _, m := range s.members {
			p.Remove(m.ticket.ID)
		}
		return s.match(p.tally), true, true
	}
	if refill {
		c.refilled = true
	} else {
		for _, m := range c.fresh {
			for _, other := range m.members {
				if other.cell != c && p.within(other.cell) {
					other.cell.settle()
					other.cell.sweep()
				}
			}
		}
		c.settle()
		p.calm()
	}
	return nil, false, len(p.stirred) > 0
}

// grow makes those tickets fresh that have reached a level since the last look.
func (p *Pool) grow(now time.Duration) {
	before := p.now
	p.now = now
	for _, l := range p.levels[1:] {
		p.waiting.Ascend(startedBy(before-l.from), func(e *entry) bool {
			if e.age(now) < l.from {
				return false
			}
			for _, m := range e.members {
				p.enterBoxes(m)
				p.stir(m)
			}
			return true
		})
	}
}

// startedBy stands in the order of age behind all that began at that moment or before.
func startedBy(start time.Duration) *entry { return &entry{start: start, seq: math.MaxUint64} }

// dueLarge is the first moment after the last look at which a ticket reaches a level.
func (p *Pool) dueLarge() (due time.Time) {
	for _, l := range p.levels[1:] {
		p.waiting.Ascend(startedBy(p.now-l.from), func(e *entry) bool {
			if at := epoch.Add(e.start + l.from); due.IsZero() || at.Before(due) {
				due = at
			}
			return false
		})
	}
	return due
}

// mostUrgent is the cell to look at next; nil: there is nothing new anywhere.
func (p *Pool) mostUrgent() *cell {
	for _, c := range p.stirred {
		c.sweep()
	}
	p.calm()
	if len(p.stirred) == 0 {
		return nil
	}
	return slices.MinFunc(p.stirred, p.moreUrgent)
}

// calm drops the cells without fresh tickets from those to look at.
func (p *Pool) calm() {
	p.stirred = slices.DeleteFunc(p.stirred, func(c *cell) bool {
		c.stirred = len(c.fresh) > 0
		return !c.stirred
	})
}

// moreUrgent orders cells: those with backfill tickets to try come first, as these have
// priority in large matches: a ticket that could join one may be in several cells, and no
// new match takes it. Then come those where most players are. With fastestRegion
// only players count whose fastest location this is, and the cell of those who play
// anywhere is the last resort.
func (p *Pool) moreUrgent(a, b *cell) int {
	return cmp.Or(
		asInt(b.refills())-asInt(a.refills()),
		asInt(a.key.location == anywhere)-asInt(b.key.location == anywhere),
		p.population(b)-p.population(a),
		cmp.Compare(a.key.location, b.key.location),
		strings.Compare(a.key.texts, b.key.texts),
	)
}

// asInt is 1 for true.
func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// within reports whether a cell is only a preference: without a latency rule, fastestRegion looks for a match in the cell
// of those who play anywhere, which holds the tickets of all locations, and when there is one then for a faster one.
func (p *Pool) within(c *cell) bool {
	return c.key.location != anywhere && p.set.Algorithm.FastestRegion && len(p.pingRules) == 0
}

// faster is a match at one location instead of one anywhere, if there is such a match.
func (p *Pool) faster(c *cell, refill bool, found *seating) *seating {
	var cells []*cell
	for key, other := range p.cells {
		if key.texts == c.key.texts && p.within(other) {
			cells = append(cells, other)
		}
	}
	slices.SortFunc(cells, p.moreUrgent)
	for _, other := range cells {
		other.sweep()
		if s := p.tryCell(other, refill); s != nil {
			return s
		}
	}
	return found
}

func (p *Pool) population(c *cell) int {
	if p.set.Algorithm.FastestRegion {
		return c.home
	}
	return c.live
}

// tryCell looks for a match in a cell: with a backfill ticket, or of new tickets alone.
// Levels go from strict to relaxed when the newest ticket decides, so that a match among
// all comes before one among the old. When the oldest decides it is the other way round:
// with it everybody is judged by its level.
func (p *Pool) tryCell(c *cell, refill bool) *seating {
	attempts := make([]*attempt, len(p.levels))
	for k := range attempts {
		attempts[k] = &attempt{Pool: p, cell: c, level: k}
	}
	if p.set.Algorithm.OldestAge {
		slices.Reverse(attempts)
	}
	if refill {
		for _, b := range c.backfills {
			for _, a := range attempts {
				if s := a.refill(b); s != nil {
					return s
				}
			}
		}
		return nil
	}
	for _, a := range attempts {
		if c.players[a.level] < p.bounds[a.level].need {
			continue
		}
		if s := a.form(); s != nil {
			return s
		}
	}
	return nil
}
