//go:build unix

package soak

import (
	"math"
	"slices"
	"time"
)

// A series is one thing that is sampled.
type series struct {
	name, unit string
	// allowed is by which share of the second quarter the last one may be above
	// it, and slack by how much in any case, in the unit.
	allowed, slack float64
	byYardstick    bool // so much more as the yardstick has grown: something else slows the machine down
	byLows         bool // its lows are compared, and not its medians: it goes up and down with each collection
	grows          bool // as it should
	values         []float64
}

// yardstick is the series that says how slow the machine itself is. It has no
// verdict.
const yardstick = "bare fsync beside it"

// A sample is what was seen at one moment, in the order of newProfile's series.
type sample struct {
	at     time.Duration // since the load began
	values []float64
}

// A profile is the course of a run.
type profile struct {
	warmUp time.Duration // what was sampled before is shown and not judged
	times  []time.Duration
	series []*series
}

// newProfile makes a profile of a service whose history grows, if it keeps what has
// ended.
func newProfile(warmUp time.Duration, keeps bool) *profile {
	const files = 16 // two locations, in files of 8 MiB that the journal's engine removes as a whole
	return &profile{warmUp: warmUp, series: []*series{
		{name: "resident memory", unit: "MiB", allowed: 0.10, slack: 8},
		{name: "heap in use", unit: "MiB", allowed: 0.10, slack: 5, byLows: true},
		{name: "goroutines", unit: "", allowed: 0.05, slack: 25},
		{name: "open files", unit: "", allowed: 0.05, slack: 15},
		{name: "journal and snapshots", unit: "MiB", allowed: 0.10, slack: files},
		{name: "history", unit: "MiB", allowed: 0.10, slack: files / 2, grows: keeps},
		{name: "p50 of calls", unit: "ms", allowed: 0.25, slack: 0.5, byYardstick: true},
		{name: "p99 of calls", unit: "ms", allowed: 0.50, slack: 5, byYardstick: true},
		{name: yardstick, unit: "ms"},
		{name: "live game sessions", unit: "", allowed: 0.10, slack: 15},
	}}
}

func (p *profile) add(s sample) {
	p.times = append(p.times, s.at)
	for i, v := range s.values {
		p.series[i].values = append(p.series[i].values, v)
	}
}

// last is the newest value of a series.
func (p *profile) last(name string) float64 {
	for _, s := range p.series {
		if s.name == name {
			return s.values[len(s.values)-1]
		}
	}
	return 0
}

// steady is the number of the first sample after the warm-up.
func (p *profile) steady() int {
	i, _ := slices.BinarySearch(p.times, p.warmUp)
	return i
}

// A verdict says how one series went after the warm-up.
type verdict struct {
	*series
	start, middle, end float64 // medians of the second, third and last quarter
	perMinute          float64 // slope over all of them
	most               float64 // that end may be
	flat               bool
}

// leastSamples is how many samples there must be after the warm-up for a verdict.
const leastSamples = 8

// judge compares the quarters. A median does not mind a few samples that something
// else on the machine has spoilt.
func (p *profile) judge() (all []verdict) {
	from := p.steady()
	n := len(p.times) - from
	if n < leastSamples {
		return nil
	}
	for _, s := range p.series {
		steady := s.values[from:]
		v := verdict{
			series: s, start: s.level(steady[n/4 : n/2]), middle: s.level(steady[n/2 : n*3/4]),
			end:       s.level(steady[n*3/4:]),
			perMinute: slope(p.times[from+n/4:], steady[n/4:]),
		}
		all = append(all, v)
	}
	slowdown := slowdownOf(all)
	for i := range all {
		v := &all[i]
		v.most = v.start + max(v.slack, v.allowed*v.start)
		if v.byYardstick {
			v.most *= slowdown
		}
		v.flat = v.end <= v.most || v.name == yardstick || v.grows
	}
	return all
}

// slowdownOf is by what factor the machine itself was slower at the end; at least 1.
func slowdownOf(all []verdict) float64 {
	for _, v := range all {
		if v.name == yardstick && v.start > 0 {
			return max(1, v.end/v.start)
		}
	}
	return 1
}

// level is where the values of a series are.
func (s *series) level(values []float64) float64 {
	if !s.byLows {
		return median(values)
	}
	return slices.Sorted(slices.Values(values))[len(values)/10]
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// slope is that of the straight line with the least squares, per minute.
func slope(times []time.Duration, values []float64) float64 {
	var meanT, meanV float64
	for i, v := range values {
		meanT += times[i].Minutes() / float64(len(values))
		meanV += v / float64(len(values))
	}
	var above, below float64
	for i, v := range values {
		dt := times[i].Minutes() - meanT
		above += dt * (v - meanV)
		below += dt * dt
	}
	if below == 0 {
		return math.NaN()
	}
	return above / below
}
