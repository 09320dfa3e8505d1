package matcher

import (
	"cmp"
	"slices"
)

// split gives, one after the other, the groups of candidates that the batchDistance
// rules on numbers, from the given one on, allow in one match: those whose value lies
// in a window. Windows with the oldest tickets come first. It ends when yield returns
// false, and returns that.
func (a *attempt) split(candidates []*member, band int, yield func([]*member) bool) bool {
	if len(candidates) == 0 || playersOf(candidates) < a.bound().need {
		return true
	}
	if band == len(a.bandRules) {
		a.agreed(candidates)
		return yield(candidates)
	}
	windows := a.windows(candidates, band)
	left := len(windows)
	if left == 0 {
		return true
	}
	for _, anchor := range slices.SortedFunc(slices.Values(candidates), byAge) {
		for left > 0 {
			w := fullest(windows, a.bound().bands[band].of(anchor.entry))
			if w == nil {
				break
			}
			w.tried = true
			left--
			if !a.split(a.within(candidates, band, w), band+1, yield) {
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

// A window is a range of values that may be in one match.
type window struct {
	low, high float64
	players   int
	tried     bool
}

// valued is a ticket with the value that a rule looks at.
type valued struct {
	*member
	of float64
}

// windows are the widest ranges of values with enough players for a match, one of
// them fresh. They are ordered, by low and by high alike.
func (a *attempt) windows(candidates []*member, band int) []*window {
	limit := a.bound().bands[band]
	sorted := make([]valued, len(candidates))
	for i, m := range candidates {
		sorted[i] = valued{m, limit.of(m.entry)}
	}
	slices.SortFunc(sorted, func(m, o valued) int { return cmp.Compare(m.of, o.of) })
	var windows []*window
	end, covered, players, fresh := 0, 0, 0, 0
	for _, first := range sorted {
		for end < len(sorted) && sorted[end].of-first.of <= limit.most {
			players += sorted[end].entry.players()
			fresh += asInt(sorted[end].fresh)
			end++
		}
		if end > covered && players >= a.bound().need && fresh > 0 {
			windows = append(windows, &window{low: first.of, high: sorted[end-1].of, players: players})
		}
		covered = end
		players -= first.entry.players()
		fresh -= asInt(first.fresh)
	}
	return windows
}

// fullest is the untried window around a value that has most players.
func fullest(windows []*window, value float64) *window {
	end, _ := slices.BinarySearchFunc(windows, value, func(w *window, v float64) int {
		if w.low > v {
			return 1
		}
		return -1
	})
	var best *window
	for i := end - 1; i >= 0 && windows[i].high >= value; i-- {
		if w := windows[i]; !w.tried && (best == nil || w.players > best.players) {
			best = w
		}
	}
	return best
}

func (a *attempt) within(candidates []*member, band int, w *window) []*member {
	var group []*member
	for _, m := range candidates {
		v := a.bound().bands[band].of(m.entry)
		passed := w.low <= v && v <= w.high
		a.evaluated(m.entry, a.bandRules[band], passed)
		if passed {
			group = append(group, m)
		}
	}
	return group
}

// playersOf counts players.
func playersOf(members []*member) (n int) {
	for _, m := range members {
		n += m.entry.players()
	}
	return n
}
