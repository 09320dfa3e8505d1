package matcher

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// large is the state for matches of more than 40 players. Only latency and batchDistance rules apply to them, and these
// decide by pairs, so the pool is partitioned: a cell holds the tickets that share their string attributes and a
// location. As soon as a cell has the players that the teams need, a match is filled and balanced.
//
// A cell is searched only when it has fresh tickets: those that arrived or reached the next expansion step since the
// last search. A new match must include one of them.
//
// Source: FlexMatch guide, rules for large matches, how large matches are built.
type large struct {
	pingRules   []int    // indexes in Set.Rules of the latency rules
	bandRules   []int    // of the batchDistance rules on numbers
	textRules   []int    // of the batchDistance rules on strings
	speedColumn int      // column of latencies by which locations are ordered; -1: none
	bounds      []bounds // by level
	cells       map[cellKey]*cell
	changed     []*cell  // cells with fresh tickets
	counters    []Metric // by rule, of the present call of Match
	silent      bool     // evaluations are not counted
}

// bounds are the limits of a level.
type bounds struct {
	need  int     // minimum number of players of a match
	pings []limit // by latency rule, milliseconds
	bands []limit // by batchDistance rule on numbers
}

// A limit is the maximum of the values of a column, or of their differences. An expansion may change both: the fold
// decides the column.
type limit struct {
	column int
	most   float64
}

// largeEntry is the state of an entry for the search of large matches.
type largeEntry struct {
	total    float64   // of the balanced attribute over the players
	average  float64   // per player
	members  []*member // in the cells
	counters []Metric  // by rule
	removed  bool      // from the pool, while cells still hold it
}

func (p *Pool) newLarge() {
	p.cells = map[cellKey]*cell{}
	p.speedColumn = -1
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
		p.speedColumn = p.bounds[0].pings[0].column
	} else if p.set.Algorithm.FastestRegion {
		p.speedColumn = p.columns.ping(ruleset.FoldAvg)
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

// addLarge adds an entry to the cells of its locations.
func (p *Pool) addLarge(e *entry) {
	numbers := e.numbers[p.balanced]
	for _, v := range numbers {
		e.total += v
	}
	e.average = e.total / float64(len(numbers))
	e.counters = p.noMetrics()
	key, err := p.textsOf(e)
	var options []option
	if err == nil {
		options, err = p.locationsOf(e)
	}
	if err != nil {
		e.unmatchable = err.Error()
		p.waiting.Delete(e)
		return
	}
	for _, at := range options {
		p.join(cellKey{key, at.location}, at, e)
	}
}

// textsOf returns the strings that all tickets of a match share, as a key.
func (p *Pool) textsOf(e *entry) (string, error) {
	var key strings.Builder
	for _, rule := range p.textRules {
		r := &p.set.Rules[rule]
		texts := e.texts[p.columns.text(r.Attribute)]
		if slices.ContainsFunc(texts, func(t int32) bool { return t != texts[0] }) {
			name := p.set.Attributes[r.Attribute].Name
			return "", fmt.Errorf("its players have different values of %s, and rule %s requires one value",
				name, r.Name)
		}
		fmt.Fprintf(&key, "%d ", texts[0])
	}
	return key.String(), nil
}

// An option is a location where the players of a ticket could play.
type option struct {
	location  int32
	latencies []float64 // folded, by column
	rank      int       // 0: the ticket's fastest location
}

// anywhere is the location of tickets without a latency rule.
const anywhere int32 = -1

// locationsOf returns the locations that satisfy the latency rules at some level, the fastest first. Without such a
// rule a ticket can play anywhere; fastestRegion also adds the ticket to the cells of its locations.
func (p *Pool) locationsOf(e *entry) ([]option, error) {
	if p.speedColumn < 0 {
		return []option{{location: anywhere}}, nil
	}
	fastest := slices.Clone(e.pings[p.speedColumn])
	slices.SortStableFunc(fastest, func(a, b ping) int { return cmp.Compare(a.ms, b.ms) })
	var options []option
	for _, at := range fastest {
		o := option{location: at.location, rank: len(options)}
		for _, column := range e.pings { // all have the locations that all players have
			i := slices.IndexFunc(column, func(o ping) bool { return o.location == at.location })
			o.latencies = append(o.latencies, column[i].ms)
		}
		if slices.ContainsFunc(p.bounds, o.passes) {
			options = append(options, o)
		}
	}
	if len(p.pingRules) == 0 {
		return append(options, option{location: anywhere, rank: len(options)}), nil
	}
	if len(options) == 0 {
		return nil, fmt.Errorf("no location ever satisfies rule %s for its players", p.set.Rules[p.pingRules[0]].Name)
	}
	return options, nil
}

// passes reports whether a location satisfies the latency rules.
func (at option) passes(b bounds) bool {
	return !slices.ContainsFunc(b.pings, func(l limit) bool { return at.latencies[l.column] > l.most })
}

// join makes an entry a member of a cell.
func (p *Pool) join(key cellKey, at option, e *entry) {
	c := p.cells[key]
	if c == nil {
		c = &cell{key: key, players: make([]int, len(p.levels)), boxes: make([]map[box]int, len(p.levels))}
		for level := range c.boxes {
			c.boxes[level] = map[box]int{}
		}
		p.cells[key] = c
	}
	m := &member{entry: e, option: at, cell: c, value: e.average}
	if len(p.bandRules) > 0 {
		m.value = e.numbers[p.bounds[0].bands[0].column][0]
	}
	e.members = append(e.members, m)
	c.insert(m)
	c.count(m, p.bounds, 1)
	p.enterBoxes(m)
	p.markChanged(m)
}

// markChanged makes a member fresh.
func (p *Pool) markChanged(m *member) {
	c := m.cell
	if !m.fresh {
		m.fresh = true
		c.fresh = append(c.fresh, m)
	}
	c.refilled = false
	if !c.changed && !p.preferred(c) {
		c.changed = true
		p.changed = append(p.changed, c)
	}
}

func (p *Pool) removeLarge(e *entry) {
	e.removed = true
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

// noMetrics returns zero counters for all rules.
func (p *Pool) noMetrics() []Metric {
	m := make([]Metric, len(p.set.Rules))
	for i, r := range p.set.Rules {
		m[i].Rule = r.Name
	}
	return m
}

// metricsLarge returns the evaluations of an entry since it was added.
func (p *Pool) metricsLarge(e *entry) []Metric {
	if e.counters == nil {
		return p.noMetrics()
	}
	return slices.Clone(e.counters)
}

// evaluated counts one evaluation of a rule for a ticket.
func (p *Pool) evaluated(e *entry, rule int, passed bool) {
	p.evaluations(e, rule, asInt(passed), asInt(!passed))
}

// evaluations counts evaluations of a rule for a ticket.
func (p *Pool) evaluations(e *entry, rule, passed, failed int) {
	if p.silent {
		return
	}
	p.counters[rule].Passed += passed
	p.counters[rule].Failed += failed
	e.counters[rule].Passed += passed
	e.counters[rule].Failed += failed
}

// matchLarge searches one cell per call.
func (p *Pool) matchLarge(now time.Time) (*Match, bool, bool) {
	if len(p.entries) == 0 {
		return nil, false, false
	}
	p.advance(since(now))
	c := p.mostUrgent()
	if c == nil {
		return nil, false, false
	}
	p.counters = p.noMetrics()
	refill := c.refills()
	if s := p.tryCell(c, refill); s != nil {
		s = p.faster(c, refill, s)
		s.balance()
		for _, m := range s.members {
			p.Remove(m.ticket.ID)
		}
		return s.match(p.counters), true, true
	}
	if refill {
		c.refilled = true
	} else {
		for _, m := range c.fresh {
			for _, other := range m.members {
				if other.cell != c && p.preferred(other.cell) {
					other.cell.clearFresh()
					other.cell.sweep()
				}
			}
		}
		c.clearFresh()
		p.dropUnchanged()
	}
	return nil, false, len(p.changed) > 0
}

// advance sets the time, and makes tickets fresh that reached a level since the last call.
func (p *Pool) advance(now time.Duration) {
	before := p.now
	p.now = now
	for _, l := range p.levels[1:] {
		p.waiting.Ascend(startedBy(before-l.from), func(e *entry) bool {
			if e.age(now) < l.from {
				return false
			}
			for _, m := range e.members {
				p.enterBoxes(m)
				p.markChanged(m)
			}
			return true
		})
	}
}

// startedBy sorts after all entries that started at start or before.
func startedBy(start time.Duration) *entry { return &entry{start: start, seq: math.MaxUint64} }

// dueLarge returns when the next ticket reaches a level.
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

// mostUrgent returns the next cell to search; nil if none has changed.
func (p *Pool) mostUrgent() *cell {
	for _, c := range p.changed {
		c.sweep()
	}
	p.dropUnchanged()
	if len(p.changed) == 0 {
		return nil
	}
	return slices.MinFunc(p.changed, p.moreUrgent)
}

// dropUnchanged removes cells without fresh tickets from the changed ones.
func (p *Pool) dropUnchanged() {
	p.changed = slices.DeleteFunc(p.changed, func(c *cell) bool {
		c.changed = len(c.fresh) > 0
		return !c.changed
	})
}

// moreUrgent orders cells: first those with backfill tickets to try, which have priority in large matches: a new match
// must not take a ticket that could join one from another cell. Then those with most players; with fastestRegion only
// players count whose fastest location this is, and the cell "anywhere" is last.
func (p *Pool) moreUrgent(a, b *cell) int {
	return cmp.Or(
		asInt(b.refills())-asInt(a.refills()),
		asInt(a.key.location == anywhere)-asInt(b.key.location == anywhere),
		p.population(b)-p.population(a),
		cmp.Compare(a.key.location, b.key.location),
		strings.Compare(a.key.texts, b.key.texts),
	)
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// preferred reports whether a cell is only a preference: without a latency rule, fastestRegion searches the cell
// "anywhere", which holds all tickets, and then looks for a faster match in a location's cell.
func (p *Pool) preferred(c *cell) bool {
	return c.key.location != anywhere && p.set.Algorithm.FastestRegion && len(p.pingRules) == 0
}

// faster returns a match at one location instead of one anywhere, if there is one.
func (p *Pool) faster(c *cell, refill bool, found *assignment) *assignment {
	var cells []*cell
	for key, other := range p.cells {
		if key.texts == c.key.texts && p.preferred(other) {
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
		return c.fastestHere
	}
	return c.live
}

// tryCell searches a match in a cell: with a backfill ticket, or of new tickets alone. Levels go from strict to relaxed
// when the newest ticket decides, so that a match of all tickets comes before one of old ones. When the oldest decides,
// its level applies to all, and the order is reversed.
func (p *Pool) tryCell(c *cell, refill bool) *assignment {
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
