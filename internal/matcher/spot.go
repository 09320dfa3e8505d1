package matcher

import (
	"math"
	"math/bits"
	"slices"
)

// A spot is where the players for a match are: a part of the band as wide as a match may
// be, and a location.
type spot struct {
	low, high float64
	mask      mask
}

var everywhere = spot{math.Inf(-1), math.Inf(1), ^mask(0)}

// spots are those with enough players for the teams' minimum. Without a band and without
// latencies there is one, which holds everybody.
func (h *hunt) spots(key *entry, l int) []spot {
	p := h.pool
	if p.band == nil && p.reach < 0 {
		return append(h.found[:0], everywhere)
	}
	h.found = h.found[:0]
	own := h.locations(key, l)
	h.lines = append(append(h.lines[:0], h.candidates...), candidate{entry: key, mask: own})
	width, banded := math.Inf(1), p.band != nil
	if banded {
		width = p.band.width[l]
		slices.SortFunc(h.lines, func(a, b candidate) int {
			switch {
			case a.value < b.value:
				return -1
			case a.value > b.value:
				return 1
			default:
				return 0
			}
		})
	}
	need := p.levels[l].least()
	var there [64]int
	players, end := 0, 0
	for i := range h.lines {
		low := h.lines[i].value
		if banded && low > key.value {
			break
		}
		before := end
		for ; end < len(h.lines) && h.lines[end].value-low <= width; end++ {
			players += count64(&there, h.lines[end], 1)
		}
		if end > before && players >= need {
			h.addSpots(spot{low, h.lines[end-1].value, 0}, own, &there, need)
		}
		players += count64(&there, h.lines[i], -1)
	}
	return h.found
}

// count64 adds a candidate's players to those of its locations, or takes them away.
func count64(there *[64]int, c candidate, sign int) (players int) {
	players = sign * c.players()
	if c.mask == ^mask(0) {
		return players
	}
	for m := c.mask; m != 0; m &= m - 1 {
		there[bits.TrailingZeros64(uint64(m))] += players
	}
	return players
}

// addSpots adds the locations of a part of the band that have enough players.
func (h *hunt) addSpots(s spot, own mask, there *[64]int, need int) {
	if own == ^mask(0) {
		s.mask = own
		h.found = append(h.found, s)
		return
	}
	for m := own; m != 0; m &= m - 1 {
		if there[bits.TrailingZeros64(uint64(m))] >= need {
			s.mask = m & -m
			h.found = append(h.found, s)
		}
	}
}

// within are the candidates at a spot.
func (h *hunt) within(s spot) []candidate {
	h.subset = h.subset[:0]
	for _, c := range h.candidates {
		if h.at(s, c) {
			h.subset = append(h.subset, c)
		}
	}
	return h.subset
}

// at reports whether a candidate is at a spot.
func (h *hunt) at(s spot, c candidate) bool {
	return c.mask&s.mask != 0 && (h.pool.band == nil || c.value >= s.low && c.value <= s.high)
}
