package matcher

import (
	"cmp"
	"slices"
)

// A cellKey is what the tickets of a cell have in common.
type cellKey struct {
	texts    string // numbers of the strings that batchDistance rules compare
	location int32
}

// A cell is the tickets that strings and locations allow in one match.
type cell struct {
	key         cellKey
	members     []*member     // new tickets, by value
	unsorted    []*member     // new tickets that ordered will merge into members
	backfills   []*member     // oldest first
	fresh       []*member     // not yet tried
	changed     bool          // in Pool.changed
	refilled    bool          // the backfill tickets were tried with the fresh ones
	dead        int           // removed members since the last sweep
	live        int           // players in the pool, including those of backfill tickets
	fastestHere int           // of live, those whose fastest location this is
	players     []int         // of new tickets, by level whose latency rules they satisfy
	boxes       []map[box]int // by level: players of new tickets per box
}

// A member is an entry in a cell.
type member struct {
	*entry
	option
	cell  *cell
	value float64 // of the first batchDistance rule on a number, else the average of the balanced attribute
	fresh bool
	boxes int // levels of cell.boxes that count it
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
		if c.unsorted = append(c.unsorted, m); len(c.unsorted) == maxUnsorted {
			c.ordered()
		}
		return
	}
	at, _ := slices.BinarySearchFunc(c.backfills, m, byAge)
	c.backfills = slices.Insert(c.backfills, at, m)
}

// maxUnsorted limits the members to merge at once, which would delay a match.
const maxUnsorted = 256

// ordered returns the new tickets by value. New ones are merged together, because each insertion moves half of the
// others.
func (c *cell) ordered() []*member {
	slices.SortFunc(c.unsorted, byValue)
	end := len(c.members)
	c.members = append(c.members, c.unsorted...)
	for i, m := range slices.Backward(c.unsorted) {
		at, _ := slices.BinarySearchFunc(c.members[:end], m, byValue)
		copy(c.members[at+i+1:], c.members[at:end])
		c.members[at+i] = m
		end = at
	}
	clear(c.unsorted)
	c.unsorted = c.unsorted[:0]
	return c.members
}

// count adds the players of a member to the sums, or subtracts them (sign -1).
func (c *cell) count(m *member, levels []bounds, sign int) {
	n := sign * m.entry.players()
	c.live += n
	if m.rank == 0 {
		c.fastestHere += n
	}
	for k, b := range levels {
		if !m.ticket.Backfill && m.passes(b) {
			c.players[k] += n
		}
	}
}

// sweep drops removed members when they are many, to keep the amortised cost low.
func (c *cell) sweep() {
	if c.dead == 0 || 4*c.dead < len(c.members)+len(c.unsorted)+len(c.backfills) {
		return
	}
	removed := func(m *member) bool { return m.removed }
	c.members = slices.DeleteFunc(c.members, removed)
	c.unsorted = slices.DeleteFunc(c.unsorted, removed)
	c.backfills = slices.DeleteFunc(c.backfills, removed)
	c.fresh = slices.DeleteFunc(c.fresh, removed)
	c.dead = 0
}

// refills reports whether backfill tickets are to be tried before a match of new tickets.
func (c *cell) refills() bool { return len(c.backfills) > 0 && !c.refilled }

// clearFresh records that everything was tried.
func (c *cell) clearFresh() {
	for _, m := range c.fresh {
		m.fresh = false
	}
	clear(c.fresh)
	c.fresh = c.fresh[:0]
}
