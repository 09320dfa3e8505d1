package matcher

import (
	"cmp"
	"slices"
)

// An attempt is the search of a cell at a level.
type attempt struct {
	*Pool
	cell    *cell
	level   int
	groups  int        // tried so far
	scratch [][]valued // of split, by rule
	parts   []int      // scratch of dense
}

// maxGroups limits the groups tried per cell and level. Filling fails only when parties do not fit into the teams, so
// the first group usually succeeds.
const maxGroups = 32

func (a *attempt) bound() *bounds { return &a.bounds[a.level] }

// eligible reports whether a match of this level may include a ticket.
func (a *attempt) eligible(m *member) bool {
	if m.removed {
		return false
	}
	for i, l := range a.bound().pings {
		passed := m.latencies[l.column] <= l.most
		a.evaluated(m.entry, a.pingRules[i], passed)
		if !passed {
			return false
		}
	}
	return a.ofAge(m)
}

// candidates returns the eligible new tickets of the cell.
func (a *attempt) candidates() []*member {
	firstBatch := len(a.cell.fresh) <= fewFresh
	near := func(m *member) bool {
		for _, f := range a.cell.fresh {
			if a.apart(m.entry, f.entry) < 0 {
				return true
			}
		}
		return false
	}
	from := a.cell.ordered()
	if firstBatch {
		from = a.around(a.cell.fresh...)
	}
	var candidates []*member
	for _, m := range from {
		if (!firstBatch || near(m)) && a.eligible(m) {
			candidates = append(candidates, m)
		}
	}
	return candidates
}

// fewFresh is up to how many fresh tickets all others are compared with each, which makes a ticket cheap that arrives
// in a pool without matches.
const fewFresh = 8

// around returns the new tickets that the first batchDistance rule on a number allows in one match with some of these.
func (a *attempt) around(some ...*member) []*member {
	all := a.cell.ordered()
	if len(a.bandRules) == 0 || len(some) == 0 || a.bound().bands[0].column != a.bounds[0].bands[0].column {
		return all
	}
	bound := a.bound().bands[0].most
	low := slices.MinFunc(some, byValue).value - bound
	high := slices.MaxFunc(some, byValue).value + bound
	from, _ := slices.BinarySearchFunc(all, low, func(m *member, v float64) int { return cmp.Compare(m.value, v) })
	to, _ := slices.BinarySearchFunc(all[from:], high, func(m *member, v float64) int {
		if m.value > v {
			return 1
		}
		return -1
	})
	return all[from : from+to]
}

// apart returns the first batchDistance rule on numbers that keeps two tickets out of one match; -1: none.
func (a *attempt) apart(e, o *entry) int {
	for i, l := range a.bound().bands {
		if d := l.of(e) - l.of(o); d > l.most || -d > l.most {
			return i
		}
	}
	return -1
}

// of returns the folded value of a ticket, which is the same for all its players.
func (l limit) of(e *entry) float64 { return e.numbers[l.column][0] }

// form searches a match of new tickets.
func (a *attempt) form() (found *assignment) {
	if !a.mayMatch() {
		return nil
	}
	if found = a.formNear(); found != nil {
		return found
	}
	candidates := a.candidates()
	if playersOf(candidates) < a.bound().need {
		return nil
	}
	a.split(candidates, func(group []*member) bool {
		a.groups++
		found = a.assemble(nil, group)
		return found == nil && a.groups < maxGroups
	})
	return found
}

// manyMembers is from how many members on formNear is worth it.
const manyMembers = 1000

// formNear searches a match among the tickets most similar to the oldest one, which are tried first in any case. It
// returns nil where other criteria apply.
func (a *attempt) formNear() *assignment {
	members := a.cell.ordered()
	if len(members) < manyMembers || len(a.bandRules) > 0 || a.set.Algorithm.FastestRegion {
		return nil
	}
	anchor := a.oldest()
	if anchor == nil {
		return nil
	}
	enough := 2 * a.set.MaxPlayers()
	up, _ := slices.BinarySearchFunc(members, anchor, byValue)
	from, to := up, up
	for n := 0; n < enough && (from > 0 || to < len(members)); {
		if to < len(members) {
			n += members[to].entry.players()
			to++
		}
		if from > 0 {
			from--
			n += members[from].entry.players()
		}
	}
	var group []*member
	for _, m := range members[from:to] {
		if a.eligible(m) {
			group = append(group, m)
		}
	}
	a.countTextRules(group)
	return a.assemble(nil, group)
}

// oldest returns the oldest eligible new ticket of the cell.
func (a *attempt) oldest() (found *member) {
	a.waiting.Scan(func(e *entry) bool {
		for _, m := range e.members {
			if m.cell == a.cell && !e.ticket.Backfill && a.eligible(m) {
				found = m
			}
		}
		return found == nil
	})
	return found
}

// refill searches new tickets for the free slots of a game session.
func (a *attempt) refill(b *member) *assignment {
	if b.removed || !a.mayJoin(b) || !a.eligible(b) {
		return nil
	}
	var group []*member
	for _, m := range a.around(b) {
		if a.apart(m.entry, b.entry) < 0 && a.eligible(m) {
			group = append(group, m)
		}
	}
	return a.assemble(b, group)
}

// mayJoin quickly reports whether an untried match with a backfill ticket is possible: many game sessions may wait for
// players.
func (a *attempt) mayJoin(b *member) bool {
	room := a.assign(b).largestFit()
	if b.fresh {
		return room > 0
	}
	return slices.ContainsFunc(a.cell.fresh, func(f *member) bool {
		return !f.removed && !f.ticket.Backfill && f.entry.players() <= room && a.apart(f.entry, b.entry) < 0
	})
}

// assemble fills the teams from a group of compatible tickets, by similarity, and if parties do not fit, by size.
func (a *attempt) assemble(backfill *member, group []*member) *assignment {
	if len(group) == 0 || backfill == nil && !slices.ContainsFunc(group, isFresh) {
		return nil
	}
	anchor := backfill
	if anchor == nil {
		anchor = slices.MinFunc(group, byAge)
	}
	order := a.order(anchor, group)
	s := a.fill(backfill, order)
	if s == nil && slices.ContainsFunc(order, isParty) {
		bySize := func(m, o *member) int { return cmp.Compare(o.entry.players(), m.entry.players()) }
		slices.SortStableFunc(behind(anchor, order), bySize)
		s = a.fill(backfill, order)
	}
	if s == nil || !a.holds(s) {
		return nil
	}
	return s
}

func isFresh(m *member) bool { return m.fresh }

func isParty(m *member) bool { return m.entry.players() > 1 }

// order returns the order in which tickets are added: the most similar to the anchor in the balanced attribute first;
// with fastestRegion by the rank of this location first.
func (a *attempt) order(anchor *member, group []*member) []*member {
	if len(a.bandRules) > 0 {
		slices.SortFunc(group, byAverage) // else it is sorted already
	}
	order := make([]*member, 0, len(group))
	up, _ := slices.BinarySearchFunc(group, anchor, byAverage)
	down := up - 1
	for down >= 0 || up < len(group) {
		if down < 0 || up < len(group) && group[up].average-anchor.average <= anchor.average-group[down].average {
			order = append(order, group[up])
			up++
		} else {
			order = append(order, group[down])
			down--
		}
	}
	if a.set.Algorithm.FastestRegion {
		slices.SortStableFunc(behind(anchor, order), func(m, o *member) int { return cmp.Compare(m.rank, o.rank) })
	}
	return order
}

// behind returns the order without the anchor, which stays first if it is a new ticket: when the oldest age decides,
// the match must include it.
func behind(anchor *member, order []*member) []*member {
	if anchor == order[0] {
		return order[1:]
	}
	return order
}

// fill adds the tickets in this order as far as they fit; nil if a team lacks players or no ticket joins a game
// session. With fastestRegion slower locations are used only until the teams are complete.
func (a *attempt) fill(backfill *member, order []*member) *assignment {
	s := a.assign(backfill)
	for i, m := range order {
		slower := a.set.Algorithm.FastestRegion && i > 0 && m.rank > order[i-1].rank
		if s.free == 0 || slower && s.complete() {
			break
		}
		if backfill == nil || !a.breaksBand(s, m) { // groups of new tickets are in one window
			s.add(m)
		}
	}
	if !s.complete() {
		return nil
	}
	return s
}

// breaksBand reports whether a ticket would break a batchDistance rule.
func (a *attempt) breaksBand(s *assignment, m *member) bool {
	return slices.ContainsFunc(s.members, func(o *member) bool { return a.apart(o.entry, m.entry) >= 0 })
}

// holds reports whether a match satisfies the level that its tickets have.
func (a *attempt) holds(s *assignment) bool {
	is := a.levelOfAll(s)
	return is == a.level || a.obeys(s, is, 0) && s.fitsLevel(a.levels[is])
}

// levelOfAll returns the level that the tickets have. It may differ from that of the attempt, for instance if all are
// older than necessary.
func (a *attempt) levelOfAll(s *assignment) int {
	if a.set.Algorithm.OldestAge {
		return a.at(slices.MinFunc(s.members, byAge).age(a.now))
	}
	return a.at(slices.MaxFunc(s.members, byAge).age(a.now))
}

// obeys reports whether the members from one on satisfy the rules of a level, with those before them.
func (a *attempt) obeys(s *assignment, level, from int) bool {
	by := &attempt{Pool: a.Pool, cell: a.cell, level: level}
	for i := from; i < len(s.members); i++ {
		m := s.members[i]
		apart := func(o *member) bool { return by.apart(o.entry, m.entry) >= 0 }
		if !m.passes(*by.bound()) || slices.ContainsFunc(s.members[:i], apart) {
			return false
		}
	}
	return true
}
