// Package result is what the measurements came to: medians, ratios, and whether goals are reached.
package result

import (
	"math"
	"slices"
)

// A Sample is one measurement of a server.
type Sample struct {
	Messages float64 // that clients received
	Seconds  float64 // that passed
	CPU      float64 // seconds of the server process
	Mallocs  float64 // objects that the server process allocated

	// What a connection added, in bytes, when it is memory that was measured.
	Heap, Resident float64
}

// A Figure is a number of a sample.
type Figure struct {
	of       func(Sample) float64
	moreGood bool
}

// The figures.
var (
	Rate = Figure{func(s Sample) float64 { return s.Messages / s.Seconds }, true} // messages a second
	// Messages a second of the server's processor time.
	PerCPU        = Figure{func(s Sample) float64 { return s.Messages / s.CPU }, true}
	CPUPerMillion = Figure{func(s Sample) float64 { return 1e6 * s.CPU / s.Messages }, false} // seconds
	Allocations   = Figure{func(s Sample) float64 { return s.Mallocs / s.Messages }, false}   // objects a message
	Heap          = Figure{func(s Sample) float64 { return s.Heap }, false}                   // bytes a connection
	Resident      = Figure{func(s Sample) float64 { return s.Resident }, false}               // bytes a connection
)

// Series are the samples of one work, by server and round.
type Series map[string]map[int]Sample

// Add keeps a sample.
func (s Series) Add(server string, round int, sample Sample) {
	if s[server] == nil {
		s[server] = map[int]Sample{}
	}
	s[server][round] = sample
}

// Median is the middle of a server's rounds; NaN when there are none.
func (s Series) Median(server string, f Figure) float64 {
	var values []float64
	for _, sample := range s[server] {
		values = append(values, f.of(sample))
	}
	return median(values)
}

// Ratio is how much better a server is than another: the middle of the ratios of each round, because what else the
// machine does weighs on both servers of a round. NaN when no round has both.
func (s Series) Ratio(server, peer string, f Figure) float64 {
	var values []float64
	for round, sample := range s[server] {
		other, ok := s[peer][round]
		if !ok {
			continue
		}
		ratio := f.of(sample) / f.of(other)
		if !f.moreGood {
			ratio = 1 / ratio
		}
		values = append(values, ratio)
	}
	return median(values)
}

// median is the middle of values, or the mean of the two in the middle.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 0 {
		return (values[middle-1] + values[middle]) / 2
	}
	return values[middle]
}
