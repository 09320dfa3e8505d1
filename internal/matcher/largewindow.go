package matcher

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// split gives, one after the other, the groups of candidates that the batchDistance
// rules on numbers allow in one match: those whose values lie in a window of each rule.
// Windows with the oldest tickets come first. It ends when yield returns false.
func (a *attempt) split(candidates []*member, yield func([]*member) bool) {
	values := make([]valued, len(candidates))
	for i, m := range candidates {
		values[i] = valued{member: m, players: m.entry.players()}
	}
	a.scratch = make([][]valued, len(a.bandRules))
	a.splitFrom(0, values, yield)
}

// splitFrom is split by the rules from a given one on. It returns what yield did.
func (a *attempt) splitFrom(band int, candidates []valued, yield func([]*member) bool) bool {
	if band == len(a.bandRules) {
		group := make([]*member, len(candidates))
		for i, c := range candidates {
			group[i] = c.member
		}
		a.agreed(group)
		return yield(group)
	}
	values := a.valuesOf(candidates, band)
	if !a.dense(values, band) {
		return true
	}
	windows := a.windows(values, band)
	if len(windows) == 0 {
		return true
	}
	defer a.asked(band, values, windows)
	left := len(windows)
	for _, anchor := range oldestFirst(values, windows) {
		for left > 0 {
			w := fullest(windows, anchor.index)
			if w == nil {
				break
			}
			w.tried = true
			left--
			if !a.splitFrom(band+1, values[w.from:w.to], yield) {
				return false
			}
		}
	}
	return true
}

// agreed counts that strings are equal, as they are everywhere in a cell.
func (a *attempt) agreed(candidates []*member) {
	for _, rule := range a.textRules {
		for _, m := range candidates {
			a.evaluated(m.entry, rule, true)
		}
	}
}

// A window is a range of values that may be in one match: of candidates that are ordered by their value, those from one
// index up to another.
type window struct {
	from, to int
	players  int
	tried    bool
}

// valued is a ticket with the value that a rule looks at.
type valued struct {
	*member
	of      float64
	players int
}

// valuesOf are candidates with their values by a rule. They are overwritten when the next are asked for.
func (a *attempt) valuesOf(candidates []valued, band int) []valued {
	limit := a.bound().bands[band]
	values := append(a.scratch[band][:0], candidates...)
	for i := range values {
		values[i].of = limit.of(values[i].entry)
	}
	a.scratch[band] = values
	return values
}

// denseParts is in how many parts of a window dense counts.
const denseParts = 8

// dense reports whether a window may have enough players for a match. It counts them in parts of a window, which takes
// less time than to order them; in a pool that is nearly enough for a match everywhere most groups end here.
func (a *attempt) dense(values []valued, band int) bool {
	width := a.bound().bands[band].most / denseParts * (1 + 1e-6) // a little wider, so that rounding never makes a window span ten
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v.of), max(high, v.of)
	}
	if high-low >= width*float64(len(values)) {
		return true // there are more parts than tickets
	}
	const span = denseParts + 1
	a.parts = append(a.parts[:0], make([]int, span+len(values)+1)...) // the first are empty; the last is for rounding
	parts := a.parts
	for _, v := range values {
		parts[span+int((v.of-low)/width)] += v.players
	}
	players := 0
	for i := span; i < len(parts); i++ {
		if players += parts[i] - parts[i-span]; players >= a.bound().need {
			return true
		}
	}
	return false
}

// windows orders the candidates by value and gives the widest ranges with enough players for a match, one of them fresh.
// They are ordered, by both ends.
func (a *attempt) windows(values []valued, band int) []*window {
	slices.SortFunc(values, func(v, o valued) int { return cmp.Compare(v.of, o.of) })
	most := a.bound().bands[band].most
	var windows []*window
	end, covered, players, fresh := 0, 0, 0, 0
	for i, first := range values {
		for end < len(values) && values[end].of-first.of <= most {
			players += values[end].players
			fresh += asInt(values[end].fresh)
			end++
		}
		if end > covered && players >= a.bound().need && fresh > 0 {
			windows = append(windows, &window{from: i, to: end, players: players})
		}
		covered = end
		players -= first.players
		fresh -= asInt(first.fresh)
	}
	return windows
}

// aged is the index of a candidate beside what its age is compared by: thousands are sorted.
type aged struct {
	start time.Duration
	seq   uint64
	index int
}

// oldestFirst are the candidates that lie in a window, the oldest first.
func oldestFirst(values []valued, windows []*window) []aged {
	var order []aged
	next := 0
	for _, w := range windows {
		for next = max(next, w.from); next < w.to; next++ {
			order = append(order, aged{values[next].start, values[next].seq, next})
		}
	}
	slices.SortFunc(order, func(a, b aged) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.seq, b.seq)) })
	return order
}

// fullest is the untried window around a candidate that has most players.
func fullest(windows []*window, candidate int) *window {
	end, _ := slices.BinarySearchFunc(windows, candidate, func(w *window, i int) int {
		if w.from > i {
			return 1
		}
		return -1
	})
	var best *window
	for i := end - 1; i >= 0 && windows[i].to > candidate; i-- {
		if w := windows[i]; !w.tried && (best == nil || w.players > best.players) {
			best = w
		}
	}
	return best
}

// asked counts that a rule was asked about each candidate for each window that was tried.
func (a *attempt) asked(band int, values []valued, windows []*window) {
	tried := slices.DeleteFunc(windows, func(w *window) bool { return !w.tried })
	begun, ended := 0, 0
	for i, v := range values {
		for begun < len(tried) && tried[begun].from <= i {
			begun++
		}
		for ended < len(tried) && tried[ended].to <= i {
			ended++
		}
		a.evaluations(v.entry, a.bandRules[band], begun-ended, len(tried)-(begun-ended))
	}
}

// playersOf counts players.
func playersOf(members []*member) (n int) {
	for _, m := range members {
		n += m.entry.players()
	}
	return n
}
