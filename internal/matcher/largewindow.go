package matcher

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// split yields the groups of candidates that the batchDistance rules on numbers allow in one match: those whose values
// are in a window of each rule. Windows with the oldest tickets come first. It ends when yield returns false.
func (a *attempt) split(candidates []*member, yield func([]*member) bool) {
	values := make([]valued, len(candidates))
	for i, m := range candidates {
		values[i] = valued{member: m, players: m.entry.players()}
	}
	a.scratch = make([][]valued, len(a.bandRules))
	a.splitFrom(0, values, yield)
}

// splitFrom splits by the rules from band on, and returns the result of yield.
func (a *attempt) splitFrom(band int, candidates []valued, yield func([]*member) bool) bool {
	if band == len(a.bandRules) {
		group := make([]*member, len(candidates))
		for i, c := range candidates {
			group[i] = c.member
		}
		a.countTextRules(group)
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
	defer a.countBandRule(band, values, windows)
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

// countTextRules counts text rules as passed: strings are equal in a cell.
func (a *attempt) countTextRules(candidates []*member) {
	for _, rule := range a.textRules {
		for _, m := range candidates {
			a.evaluated(m.entry, rule, true)
		}
	}
}

// A window is a range of candidates, ordered by value, that may be in one match.
type window struct {
	from, to int
	players  int
	tried    bool
}

// A valued member has the value that a rule reads.
type valued struct {
	*member
	of      float64
	players int
}

// valuesOf returns candidates with their values by a rule, valid until the next call for it.
func (a *attempt) valuesOf(candidates []valued, band int) []valued {
	limit := a.bound().bands[band]
	values := append(a.scratch[band][:0], candidates...)
	for i := range values {
		values[i].of = limit.of(values[i].entry)
	}
	a.scratch[band] = values
	return values
}

// denseParts is the number of parts of a window that dense counts.
const denseParts = 8

// dense reports whether a window may have enough players for a match. It counts parts of a window, which is cheaper
// than sorting; most searches in a nearly sufficient pool end here.
func (a *attempt) dense(values []valued, band int) bool {
	// Wider, so that rounding never makes a window span ten.
	width := a.bound().bands[band].most / denseParts * (1 + 1e-6)
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v.of), max(high, v.of)
	}
	if high-low >= width*float64(len(values)) {
		return true // more parts than tickets
	}
	const span = denseParts + 1
	// The first span is empty; the last is for rounding.
	a.parts = append(a.parts[:0], make([]int, span+len(values)+1)...)
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

// windows sorts the candidates by value and returns the widest ranges with enough players for a match, one of them
// fresh. They are ordered by both ends.
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

// aged is the index of a candidate with its sort key: thousands are sorted.
type aged struct {
	start time.Duration
	seq   uint64
	index int
}

// oldestFirst returns the candidates in windows, the oldest first.
func oldestFirst(values []valued, windows []*window) []aged {
	var order []aged
	next := 0
	for _, w := range windows {
		for next = max(next, w.from); next < w.to; next++ {
			order = append(order, aged{values[next].start, values[next].seq, next})
		}
	}
	slices.SortFunc(order, func(a, b aged) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.seq, b.seq))
	})
	return order
}

// fullest returns the untried window around a candidate with most players.
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

// countBandRule counts the evaluations of a rule for each candidate and each tried window.
func (a *attempt) countBandRule(band int, values []valued, windows []*window) {
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

func playersOf(members []*member) (n int) {
	for _, m := range members {
		n += m.entry.players()
	}
	return n
}
