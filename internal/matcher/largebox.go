package matcher

import "math"

// A box is a range of the values of batchDistance rules on numbers, a third as wide as a match of a level: a match is
// in at most four neighbouring boxes per rule. Only the first two such rules count.
type box [2]float64

const (
	boxRules = len(box{})
	boxParts = 3
	farBox   = 1e9 // beyond it boxes are one, because numbers are not exact enough
)

// boxOf returns the box of a ticket at a level.
func (p *Pool) boxOf(e *entry, level int) (b box) {
	bands := p.bounds[level].bands
	for i, l := range bands[:min(len(bands), boxRules)] {
		switch width := l.most / boxParts * (1 + 1e-6); { // wider, so that rounding never makes a match span five
		case math.IsInf(l.most, 1):
		case l.most == 0:
			b[i] = l.of(e)
		default:
			b[i] = math.Floor(max(-farBox, min(farBox, l.of(e)/width)))
		}
	}
	return b
}

// enterBoxes counts a new ticket at the levels that it has reached. When the oldest age decides, a match of any level
// may include it.
func (p *Pool) enterBoxes(m *member) {
	if len(p.bandRules) == 0 || m.ticket.Backfill {
		return
	}
	last := len(p.levels) - 1
	if !p.set.Algorithm.OldestAge {
		last = p.at(m.age(p.now))
	}
	for ; m.boxes <= last; m.boxes++ {
		p.countBox(m, m.boxes, 1)
	}
}

// leaveBoxes undoes enterBoxes.
func (p *Pool) leaveBoxes(m *member) {
	for ; m.boxes > 0; m.boxes-- {
		p.countBox(m, m.boxes-1, -1)
	}
}

func (p *Pool) countBox(m *member, level, sign int) {
	if !m.passes(p.bounds[level]) {
		return
	}
	boxes := m.cell.boxes[level]
	b := p.boxOf(m.entry, level)
	if boxes[b] += sign * m.entry.players(); boxes[b] == 0 {
		delete(boxes, b)
	}
}

// manyFresh is up to how many fresh tickets mayMatch checks.
const manyFresh = 512

// mayMatch reports, by counting boxes, whether an eligible fresh ticket may have enough players around it. It is cheap,
// and ends most searches of a pool without matches.
func (a *attempt) mayMatch() bool {
	if len(a.bandRules) == 0 || len(a.cell.fresh) > manyFresh {
		return true
	}
	for _, f := range a.cell.fresh {
		if !f.removed && !f.ticket.Backfill && a.ofAge(f) && f.passes(*a.bound()) && a.denseAround(f) {
			return true
		}
	}
	return false
}

// denseAround reports whether boxes that one match may span, including that of the ticket, have enough players.
func (a *attempt) denseAround(m *member) bool {
	const side = 2*boxParts + 1 // all boxes that a match with the ticket may span
	boxes, at := a.cell.boxes[a.level], a.boxOf(m.entry, a.level)
	var sums [side + 1][side + 1]int // prefix sums in both directions
	for x := range side {
		for y := range side {
			n := boxes[box{at[0] + float64(x-boxParts), at[1] + float64(y-boxParts)}]
			sums[x+1][y+1] = n + sums[x][y+1] + sums[x+1][y] - sums[x][y]
		}
	}
	for x := range boxParts + 1 {
		for y := range boxParts + 1 {
			toX, toY := x+boxParts+1, y+boxParts+1
			if sums[toX][toY]-sums[x][toY]-sums[toX][y]+sums[x][y] >= a.bound().need {
				return true
			}
		}
	}
	return false
}

// ofAge reports whether a ticket's age allows it in a match of this level. When the newest age decides, all tickets
// have reached the level; when the oldest does, none has reached the next.
func (a *attempt) ofAge(m *member) bool {
	if a.set.Algorithm.OldestAge {
		return a.level+1 == len(a.levels) || m.age(a.now) < a.levels[a.level+1].from
	}
	return a.level == 0 || m.age(a.now) >= a.levels[a.level].from
}
