package matcher

import (
	"fmt"
	"math"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// A mask is a set of locations, by number modulo 64. With more than 64 locations in the pool, two masks may overlap
// without a common location.
type mask uint64

// exact reports whether masks are exact.
func (p *Pool) exact() bool { return len(p.locations.strings) <= 64 }

// maskOf returns the locations with at most most milliseconds.
func maskOf(pings []ping, most float64) mask {
	var m mask
	for _, ping := range pings {
		if ping.ms <= most {
			m |= 1 << (ping.location & 63)
		}
	}
	return m
}

// A latencyRule is a latency rule of a level.
type latencyRule struct {
	column   int // of the pings
	mask     int // index in the masks of an entry
	most     float64
	distance float64 // +Inf: unlimited
	average  bool    // of the distance's reference; else the minimum
}

func (c compiler) latency(made *rule) {
	r := latencyRule{
		column: c.pool.columns.ping(made.Fold), mask: len(c.pool.latencyRules),
		most: math.Inf(1), distance: math.Inf(1), average: made.FromAverage,
	}
	if made.MaxLatency != nil {
		r.most = *made.MaxLatency
	}
	if made.MaxDistance != nil {
		r.distance = *made.MaxDistance
	}
	c.pool.latencyRules = append(c.pool.latencyRules, r)
	made.check = r.check
	made.figures = r.figures
}

// check searches a location that all tickets accept and where their latencies are near to each other.
func (r *latencyRule) check(t *trial) (truth, bool) {
	common := ^mask(0)
	for _, e := range t.tickets {
		common &= e.masks[r.mask]
	}
	if common == 0 {
		return no, true
	}
	if t.pool.exact() && math.IsInf(r.distance, 1) {
		return yes, false
	}
	final := true
	for _, ping := range t.tickets[0].pings[r.column] {
		if ping.ms > r.most || common&(1<<(ping.location&63)) == 0 {
			continue
		}
		near, stays := r.near(t, ping.location)
		if near {
			return yes, false
		}
		final = final && stays
	}
	return no, final
}

// near reports whether all tickets accept a location, and if not whether that is final.
func (r *latencyRule) near(t *trial, location int32) (near, final bool) {
	low, high, total := math.Inf(1), math.Inf(-1), 0.0
	for _, e := range t.tickets {
		ms, ok := e.latency(r.column, location)
		if !ok || ms > r.most {
			return false, true
		}
		low, high = min(low, ms), max(high, ms)
		total += ms * float64(e.players())
	}
	if !r.average {
		return high-low <= r.distance, true
	}
	average := max(low, min(high, total/float64(t.players))) // distance from the average, else from the minimum
	// The average is between low and high: one of them is at least half their distance from it.
	return average-low <= r.distance && high-average <= r.distance, (high-low)/2 > r.distance*(1+1e-9)
}

func (e *entry) latency(column int, location int32) (ms float64, ok bool) {
	for _, ping := range e.pings[column] {
		if ping.location == location {
			return ping.ms, true
		}
	}
	return 0, false
}

func (r *latencyRule) figures(t *trial) string {
	if math.IsInf(r.distance, 1) {
		return fmt.Sprintf("no location to which all have at most %v ms", r.most)
	}
	limit := "all have a latency"
	if !math.IsInf(r.most, 1) {
		limit = fmt.Sprintf("all have at most %v ms", r.most)
	}
	return fmt.Sprintf("no location to which %s, at most %v ms apart from the reference", limit, r.distance)
}

// hasLatency reports whether a rule is a latency rule and no operand.
func hasLatency(r *ruleset.Rule) bool { return r.Type == ruleset.Latency && !r.Operand }
