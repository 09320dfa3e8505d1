package matcher

import (
	"cmp"
	"slices"
)

// An attempt is the search for a match in a cell by the rules of a level.
type attempt struct {
	*Pool
	cell    *cell
	level   int
	groups  int        // that were tried
	scratch [][]valued // of split, by rule
	parts   []int      // scratch of dense
}

// maxGroups is how many groups of one cell and level are tried for a match. Filling
// fails only when parties do not fit into the teams, so as a rule the first does.
const maxGroups = 32

func (a *attempt) bound() *bounds { return &a.bounds[a.level] }

// eligible reports whether a ticket may be in a match of this level.
func (a *attempt) eligible(m *member) bool {
	if m.gone {
		return false
	}
	for i, l := range a.bound().pings {
		passed := m.reach[l.column] <= l.most
		a.evaluated(m.entry, a.pingRules[i], passed)
		if !passed {
			return false
		}
	}
	return a.ofAge(m)
}

// candidates are the new tickets of the cell that may be in the match.
func (a *attempt) candidates() []*member {
	few := len(a.cell.fresh) <= fewFresh
	near := func(m *member) bool {
		for _, f := range a.cell.fresh {
			if a.apart(m.entry, f.entry) < 0 {
				return true
			}
		}
		return false
	}
	from := a.cell.ordered()
	if few {
		from = a.around(a.cell.fresh...)
	}
	var candidates []*member
	for _, m := range from {
		if (!few || near(m)) && a.eligible(m) {
			candidates = append(candidates, m)
		}
	}
	return candidates
}

// fewFresh is up to how many fresh tickets the others are compared with each of them,
// which makes a ticket that comes to a hopeless pool cheap.
const fewFresh = 8

// around are the new tickets that the first batchDistance rule on a number allows in
// one match with some of these.
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

// apart is the first of the batchDistance rules on numbers that keeps two tickets out
// of one match; -1: none does.
func (a *attempt) apart(e, o *entry) int {
	for i, l := range a.bound().bands {
		if d := l.of(e) - l.of(o); d > l.most || -d > l.most {
			return i
		}
	}
	return -1
}

// of is the value of a ticket; all its players have the same, that of the party.
func (l limit) of(e *entry) float64 { return e.numbers[l.column][0] }

// form looks for a match of new tickets.
func (a *attempt) form() (found *seating) {
	if !a.promising() {
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

// manyMembers are so many that looking at all of them for each match takes long.
const manyMembers = 1000

// formNear looks for a match among those around the oldest ticket alone, which are
// asked first anyhow. It gives up where that is not so simple.
func (a *attempt) formNear() *seating {
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
	a.agreed(group)
	return a.assemble(nil, group)
}

// oldest is the oldest new ticket of the cell that may be in a match of this level.
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

// refill looks for new tickets for the free places of a game session.
func (a *attempt) refill(b *member) *seating {
	if b.gone || !a.mayJoin(b) || !a.eligible(b) {
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

// mayJoin reports whether a match with a backfill ticket is possible that was not
// tried before. Many game sessions may wait for players, so it is quick.
func (a *attempt) mayJoin(b *member) bool {
	room := a.seat(b).room()
	if b.fresh {
		return room > 0
	}
	return slices.ContainsFunc(a.cell.fresh, func(f *member) bool {
		return !f.gone && !f.ticket.Backfill && f.entry.players() <= room && a.apart(f.entry, b.entry) < 0
	})
}

// assemble fills the teams from a group of tickets that may meet: in the order of
// their likeness, and if parties do not fit then in the order of their size.
func (a *attempt) assemble(backfill *member, group []*member) *seating {
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
		slices.SortStableFunc(behind(anchor, order), func(m, o *member) int { return cmp.Compare(o.entry.players(), m.entry.players()) })
		s = a.fill(backfill, order)
	}
	if s == nil || !a.holds(s) {
		return nil
	}
	return s
}

func isFresh(m *member) bool { return m.fresh }

func isParty(m *member) bool { return m.entry.players() > 1 }

// order is in which order the tickets of a group are asked: those most like the
// anchor in the balanced attribute first; with fastestRegion those whose fastest
// location this is before those whose second it is, and so on.
func (a *attempt) order(anchor *member, group []*member) []*member {
	if len(a.bandRules) > 0 {
		slices.SortFunc(group, byAverage) // else it is already
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

// behind is the order without the anchor, which stays first when it is a new ticket:
// when the oldest ticket's age decides, the match has to have it.
func behind(anchor *member, order []*member) []*member {
	if anchor == order[0] {
		return order[1:]
	}
	return order
}

// fill seats the tickets in this order as far as they fit; nil: a team lacks players,
// or nobody joins a game session. With fastestRegion slower locations are drawn on
// only as far as the teams need it.
func (a *attempt) fill(backfill *member, order []*member) *seating {
	s := a.seat(backfill)
	for i, m := range order {
		slower := a.set.Algorithm.FastestRegion && i > 0 && m.rank > order[i-1].rank
		if s.free == 0 || slower && s.complete() {
			break
		}
		if backfill == nil || !a.spreads(s, m) { // other groups lie in one window
			s.add(m)
		}
	}
	if !s.complete() {
		return nil
	}
	return s
}

// spreads reports whether a ticket would break a batchDistance rule.
func (a *attempt) spreads(s *seating, m *member) bool {
	return slices.ContainsFunc(s.members, func(o *member) bool { return a.apart(o.entry, m.entry) >= 0 })
}

// holds reports whether a match is one by the level that it is of.
func (a *attempt) holds(s *seating) bool {
	is := a.levelOfAll(s)
	return is == a.level || a.agree(s, is, 0) && s.suits(a.levels[is])
}

// levelOfAll is the level that the tickets are of. It is another one than was tried
// when, say, all are older than they had to be.
func (a *attempt) levelOfAll(s *seating) int {
	if a.set.Algorithm.OldestAge {
		return a.at(slices.MinFunc(s.members, byAge).age(a.now))
	}
	return a.at(slices.MaxFunc(s.members, byAge).age(a.now))
}

// agree reports whether the members from this one on keep the rules of a level with
// those before them.
func (a *attempt) agree(s *seating, level, from int) bool {
	by := &attempt{Pool: a.Pool, cell: a.cell, level: level}
	for i := from; i < len(s.members); i++ {
		m := s.members[i]
		if !m.passes(*by.bound()) || slices.ContainsFunc(s.members[:i], func(o *member) bool { return by.apart(o.entry, m.entry) >= 0 }) {
			return false
		}
	}
	return true
}
