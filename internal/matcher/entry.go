package matcher

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// An entry is a ticket in the pool, prepared for the search: the values that rules read are in columns, with defaults
// filled in, parties folded and strings interned.
type entry struct {
	ticket *Ticket
	seq    uint64        // order of arrival, the tie-breaker for equal start times
	start  time.Duration // since the epoch of the pool
	level  int           // index in Pool.levels, by its own age
	teamOf []int         // backfill ticket: team of each player

	numbers [][]float64 // by column of columns.numbers, then by player
	texts   [][]int32   // by column of columns.texts, then by player
	lists   [][][]int32 // by column of columns.lists, then by player; sorted
	ids     []int32     // of the players, if a rule reads them
	pings   [][]ping    // by column of columns.pings; sorted by location
	used    []int32     // interned strings to release

	unmatchable string // why no match can include it; "" if one can

	assigned []int // backfill ticket: players by team

	smallEntry // state of the search for small matches
	largeEntry // state of the search for large matches
}

// A ping is the folded latency of a ticket to one location.
type ping struct {
	location int32
	ms       float64
}

func (e *entry) players() int { return len(e.ticket.Players) }

// older orders entries by age, with ties broken by arrival.
func older(a, b *entry) bool {
	if a.start != b.start {
		return a.start < b.start
	}
	return a.seq < b.seq
}

// columns are the attributes that the rules of a set read. All are known before the first ticket is added.
type columns struct {
	numbers []column
	texts   []int // slots
	lists   []column
	pings   []ruleset.Fold
	ids     bool
}

// A column is an attribute with the fold of parties; with the fold "" each player keeps its own value.
type column struct {
	slot int
	fold ruleset.Fold
}

func (c *columns) number(slot int, fold ruleset.Fold) int {
	return find(&c.numbers, column{slot, fold})
}

func (c *columns) text(slot int) int { return find(&c.texts, slot) }

func (c *columns) list(slot int, fold ruleset.Fold) int { return find(&c.lists, column{slot, fold}) }

func (c *columns) ping(fold ruleset.Fold) int { return find(&c.pings, fold) }

// find returns the index of v in all, and appends it if missing.
func find[T comparable](all *[]T, v T) int {
	i := slices.Index(*all, v)
	if i < 0 {
		i = len(*all)
		*all = append(*all, v)
	}
	return i
}

// prepare returns the entry of a ticket.
func (p *Pool) prepare(t *Ticket) *entry {
	p.arrivals++
	e := &entry{ticket: t, seq: p.arrivals, start: since(t.Start)}
	err := p.readValues(t)
	if err == nil {
		err = p.assign(e)
	}
	if err == nil {
		p.fill(e)
		err = p.checkMatchable(e)
	}
	if err != nil {
		e.unmatchable = err.Error()
	}
	return e
}

// readValues reads the attributes of the players into p.values, by slot and then by player.
func (p *Pool) readValues(t *Ticket) error {
	if len(t.Players) == 0 {
		return fmt.Errorf("the ticket has no players")
	}
	p.values = slices.Grow(p.values[:0], len(p.set.Attributes))[:len(p.set.Attributes)]
	for slot := range p.set.Attributes {
		a := &p.set.Attributes[slot]
		values := p.values[slot][:0]
		for i := range t.Players {
			player := &t.Players[i]
			v, ok := player.Attributes[a.Name]
			if !ok {
				v = a.Default
			}
			switch {
			case v.Type == 0:
				return fmt.Errorf("player %s has no value for %s, which has no default", player.ID, a.Name)
			case v.Type != a.Type:
				return fmt.Errorf("the value of %[2]s of player %[1]s has the wrong type", player.ID, a.Name)
			case math.IsNaN(v.N) || math.IsInf(v.N, 0):
				return fmt.Errorf("player %s has no finite number for %s", player.ID, a.Name)
			}
			values = append(values, v)
		}
		p.values[slot] = values
	}
	return nil
}

// assign finds the teams of a backfill ticket's players.
func (p *Pool) assign(e *entry) error {
	if !e.ticket.Backfill {
		return nil
	}
	e.assigned = make([]int, len(p.set.Teams))
	for _, player := range e.ticket.Players {
		team := slices.IndexFunc(p.set.Teams, func(t ruleset.Team) bool { return t.Name == player.Team })
		if team < 0 {
			return fmt.Errorf("player %s of the backfill ticket is in unknown team %q", player.ID, player.Team)
		}
		e.teamOf = append(e.teamOf, team)
		e.assigned[team]++
	}
	return nil
}

// fill sets the columns of an entry.
func (p *Pool) fill(e *entry) {
	n := e.players()
	e.numbers = make([][]float64, len(p.columns.numbers))
	numbers := make([]float64, n*len(p.columns.numbers))
	for i, c := range p.columns.numbers {
		e.numbers[i] = numbers[i*n : (i+1)*n : (i+1)*n]
		foldNumbers(p.values[c.slot], c.fold, e.numbers[i])
	}
	for _, slot := range p.columns.texts {
		texts := make([]int32, n)
		for i, v := range p.values[slot] {
			texts[i] = p.intern(e, v.S)
		}
		e.texts = append(e.texts, texts)
	}
	for _, c := range p.columns.lists {
		e.lists = append(e.lists, p.foldLists(e, p.values[c.slot], c.fold))
	}
	if p.columns.ids {
		for i := range e.ticket.Players {
			e.ids = append(e.ids, p.intern(e, e.ticket.Players[i].ID))
		}
	}
	p.nameLocations(e)
	for _, fold := range p.columns.pings {
		e.pings = append(e.pings, p.foldPings(e, fold))
	}
}

// intern returns the number of a string; release ends its use.
func (p *Pool) intern(e *entry, s string) int32 {
	n := p.strings.number(s)
	e.used = append(e.used, n)
	return n
}

// release ends the use of the strings that fill interned.
func (p *Pool) release(e *entry) {
	for _, n := range e.used {
		p.strings.release(n)
	}
	if len(e.pings) > 0 {
		for _, ping := range e.pings[0] {
			p.locations.release(ping.location)
		}
	}
}

// foldNumbers copies the players' numbers to to, each replaced by that of the party.
func foldNumbers(values []ruleset.Value, fold ruleset.Fold, to []float64) {
	for i := range values {
		to[i] = values[i].N
	}
	if fold == "" || len(to) == 1 {
		return
	}
	party := foldNumber(to, fold)
	for i := range to {
		to[i] = party
	}
}

func foldNumber(of []float64, fold ruleset.Fold) float64 {
	switch fold {
	case ruleset.FoldMin:
		return slices.Min(of)
	case ruleset.FoldMax:
		return slices.Max(of)
	default:
		return mean(of)
	}
}

// mean is exact for equal numbers, so that a party of equals has their value.
func mean(of []float64) float64 {
	sum, same := 0.0, true
	for _, v := range of {
		sum += v
		same = same && v == of[0]
	}
	if same {
		return of[0]
	}
	return sum / float64(len(of))
}

// foldLists returns the players' lists as sorted numbers without duplicates, each replaced by that of the party.
func (p *Pool) foldLists(e *entry, values []ruleset.Value, fold ruleset.Fold) [][]int32 {
	lists := make([][]int32, len(values))
	for i, v := range values {
		for _, s := range v.SL {
			lists[i] = append(lists[i], p.intern(e, s))
		}
		slices.Sort(lists[i])
		lists[i] = slices.Compact(lists[i])
	}
	if fold == "" || len(lists) == 1 {
		return lists
	}
	party := slices.Clone(lists[0])
	for _, list := range lists[1:] {
		if fold == ruleset.FoldIntersection {
			party = slices.DeleteFunc(party, func(n int32) bool { return !contains(list, n) })
			continue
		}
		party = append(party, list...)
	}
	slices.Sort(party)
	party = slices.Compact(party)
	for i := range lists {
		lists[i] = party
	}
	return lists
}

// contains reports whether a sorted list contains n.
func contains(list []int32, n int32) bool {
	_, ok := slices.BinarySearch(list, n)
	return ok
}

// nameLocations numbers the locations to which all players report a latency, new ones in the order of their names, so
// that the same calls return the same numbers.
func (p *Pool) nameLocations(e *entry) {
	if len(p.columns.pings) == 0 {
		return
	}
	p.common = p.common[:0]
	unknown := p.names[:0]
next:
	for location := range e.ticket.Players[0].Latency {
		for i := range e.ticket.Players[1:] {
			if _, ok := e.ticket.Players[1+i].Latency[location]; !ok {
				continue next
			}
		}
		if _, ok := p.locations.numbers[location]; !ok {
			unknown = append(unknown, location)
			continue
		}
		p.common = append(p.common, p.locations.number(location))
	}
	slices.Sort(unknown)
	for _, location := range unknown {
		p.common = append(p.common, p.locations.number(location))
	}
	slices.Sort(p.common)
	p.names = unknown[:0]
}

// foldPings returns the latencies of a party to the locations that nameLocations found.
func (p *Pool) foldPings(e *entry, fold ruleset.Fold) []ping {
	pings := make([]ping, len(p.common))
	for k, place := range p.common {
		name := p.locations.text(place)
		p.each = p.each[:0]
		for i := range e.ticket.Players {
			p.each = append(p.each, float64(e.ticket.Players[i].Latency[name]))
		}
		pings[k] = ping{place, foldNumber(p.each, fold)}
	}
	return pings
}

// checkMatchable returns why no match can include the entry at any age.
func (p *Pool) checkMatchable(e *entry) error {
	switch {
	case slices.ContainsFunc(p.levels, func(l *level) bool { return l.fits(e) }):
	case e.ticket.Backfill:
		return fmt.Errorf("the %d players of the backfill ticket do not fit in their teams or leave no slot free",
			e.players())
	default:
		return fmt.Errorf("its %d players do not fit in one team", e.players())
	}
	if err := p.checkLatencies(e); err != nil || p.set.Large() {
		return err
	}
	return p.prepareSmall(e)
}

// checkLatencies requires latencies when the set has a latency rule outside compound rules. Source: API reference,
// Player.LatencyInMs: without it a player cannot be matched.
func (p *Pool) checkLatencies(e *entry) error {
	for _, r := range p.set.Rules {
		if !hasLatency(&r) {
			continue
		}
		if len(e.pings[p.columns.ping(r.Fold)]) == 0 {
			return fmt.Errorf("rule %s needs latencies, but the players report no common location", r.Name)
		}
	}
	return nil
}
