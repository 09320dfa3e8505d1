package matcher

import (
	"math"
	"math/bits"
	"slices"
)

// A zone is a range of the band as wide as a match may be, and locations: the players of a match are in one zone.
type zone struct {
	low, high float64
	mask      mask
}

var everywhere = zone{math.Inf(-1), math.Inf(1), ^mask(0)}

// zones returns those with enough players for the teams' minimum. Without a band and latencies there is one zone for
// all.
func (h *search) zones(key *entry, l int) []zone {
	p := h.pool
	if p.band == nil && p.latencyRule < 0 {
		return append(h.found[:0], everywhere)
	}
	h.found = h.found[:0]
	own := h.locations(key, l)
	h.scratch = append(append(h.scratch[:0], h.candidates...), candidate{entry: key, mask: own})
	width, banded := math.Inf(1), p.band != nil
	if banded {
		width = p.band.width[l]
		slices.SortFunc(h.scratch, func(a, b candidate) int {
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
	for i := range h.scratch {
		low := h.scratch[i].value
		if banded && low > key.value {
			break
		}
		before := end
		for ; end < len(h.scratch) && h.scratch[end].value-low <= width; end++ {
			players += count64(&there, h.scratch[end], 1)
		}
		if end > before && players >= need {
			h.addZones(zone{low, h.scratch[end-1].value, 0}, own, &there, need)
		}
		players += count64(&there, h.scratch[i], -1)
	}
	return h.found
}

// count64 adds a candidate's players to those of its locations, or subtracts them (sign -1).
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

// addZones adds a zone for each location with enough players.
func (h *search) addZones(s zone, own mask, there *[64]int, need int) {
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

// within returns the candidates in a zone.
func (h *search) within(s zone) []candidate {
	h.subset = h.subset[:0]
	for _, c := range h.candidates {
		if h.at(s, c) {
			h.subset = append(h.subset, c)
		}
	}
	return h.subset
}

// at reports whether a candidate is in a zone.
func (h *search) at(s zone, c candidate) bool {
	return c.mask&s.mask != 0 && (h.pool.band == nil || c.value >= s.low && c.value <= s.high)
}
