package matcher

import (
	"cmp"
	"slices"
)

// A cellKey says what the tickets of a cell have in common.
type cellKey struct {
	texts    string // the numbers of the strings that batchDistance rules want equal
	location int32
}

// A cell is the tickets that can play together as far as strings and locations go.
type cell struct {
	key       cellKey
	members   []*member     // new tickets, by value
	late      []*member     // new tickets that ordered will put among the members
	backfills []*member     // oldest first
	fresh     []*member     // those that no attempt has seen yet
	stirred   bool          // in Pool.stirred
	refilled  bool          // its backfill tickets were tried with the fresh ones
	dead      int           // members that left the pool since the last sweep
	live      int           // players who are in the pool, those of backfill tickets included
	home      int           // of them, those whose fastest location this is
	players   []int         // of new tickets, by the level whose latency rules they pass
	boxes     []map[box]int // the same of those of the level's age, by what batchDistance rules look at
}

// A member is an entry in a cell.
type member struct {
	*entry
	place
	cell  *cell
	value float64 // what the first batchDistance rule on a number looks at; without one the average of the balanced attribute
	fresh bool
	boxes int // levels of the cell's boxes in which it is counted
}

// byAge orders members, the oldest first.
func byAge(a, b *member) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.seq, b.seq))
}

// byAverage orders members by the balanced attribute.
func byAverage(a, b *member) int { return cmp.Or(cmp.Compare(a.average, b.average), byAge(a, b)) }

func byValue(a, b *member) int { return cmp.Or(cmp.Compare(a.value, b.value), byAge(a, b)) }

func (c *cell) insert(m *member) {
	if !m.ticket.Backfill {
		if c.late = append(c.late, m); len(c.late) == manyLate {
			c.ordered()
		}
		return
	}
	at, _ := slices.BinarySearchFunc(c.backfills, m, byAge)
	c.backfills = slices.Insert(c.backfills, at, m)
}

// manyLate are so many that to put them in order later would hold up a match.
const manyLate = 256

// ordered are the new tickets, by value. Those that came since the last look are put in order together, as each of them
// would move half of the others.
func (c *cell) ordered() []*member {
	slices.SortFunc(c.late, byValue)
	end := len(c.members)
	c.members = append(c.members, c.late...)
	for i, m := range slices.Backward(c.late) {
		at, _ := slices.BinarySearchFunc(c.members[:end], m, byValue)
		copy(c.members[at+i+1:], c.members[at:end])
		c.members[at+i] = m
		end = at
	}
	clear(c.late)
	c.late = c.late[:0]
	return c.members
}

// count adds the players of a member to the sums, or takes them off (sign -1).
func (c *cell) count(m *member, levels []bounds, sign int) {
	n := sign * m.entry.players()
	c.live += n
	if m.rank == 0 {
		c.home += n
	}
	for k, b := range levels {
		if !m.ticket.Backfill && m.passes(b) {
			c.players[k] += n
		}
	}
}

// sweep drops the members that left the pool, when they are many: so that a match of
// 200 does not go through the lists 200 times, nor a pool of 100,000 for each match.
func (c *cell) sweep() {
	if c.dead == 0 || 4*c.dead < len(c.members)+len(c.late)+len(c.backfills) {
		return
	}
	gone := func(m *member) bool { return m.gone }
	c.members = slices.DeleteFunc(c.members, gone)
	c.late = slices.DeleteFunc(c.late, gone)
	c.backfills = slices.DeleteFunc(c.backfills, gone)
	c.fresh = slices.DeleteFunc(c.fresh, gone)
	c.dead = 0
}

// refills reports whether backfill tickets are to be tried before a match of new tickets.
func (c *cell) refills() bool { return len(c.backfills) > 0 && !c.refilled }

// settle notes that everything was tried.
func (c *cell) settle() {
	for _, m := range c.fresh {
		m.fresh = false
	}
	clear(c.fresh)
	c.fresh = c.fresh[:0]
}
