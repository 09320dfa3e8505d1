// Package latencies counts the latencies that players report, by location, over the last hour. It is in memory alone.
//
// A Log has a series for each source (a queue or a matchmaking configuration) and location. A series has a histogram
// for each 5 minutes. There are at most maxSeries of them, whatever names clients send.
package latencies

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"slices"
	"sync"
	"time"
)

const (
	slot  = 5 * time.Minute
	slots = int64(time.Hour / slot)

	maxSeries   = 512
	maxLocation = 128 // bytes of a name that is counted
)

// A Source is where latencies are reported: a queue, for placements, or a matchmaking configuration, for tickets.
type Source struct {
	Configuration bool
	Name          string
}

// A Reported is the latencies to one location in milliseconds, within 4 %.
type Reported struct {
	Location string `json:"location"`
	Reports  int    `json:"reports"`
	P50      int    `json:"p50Ms"`
	P90      int    `json:"p90Ms"`
}

// A Log counts reports. Its zero value is empty; it is safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	series  map[key]*series
	dropped time.Time // when old series were deleted last
}

type key struct {
	Source
	location string
}

// A series is a ring of histograms.
type series [slots]struct {
	number int64 // of the 5 minutes since 1970
	counts histogram
}

// A histogram has buckets of 1 ms up to 32 ms, and 16 for each doubling above, up to 8 s.
type histogram [32 + 8*16]uint32

// Add counts a report. One that is older than an hour, or has no place, is not counted.
func (l *Log) Add(of Source, location string, at time.Time, ms float64) {
	if len(location) > maxLocation || math.IsNaN(ms) {
		return
	}
	number := at.UnixNano() / int64(slot)
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.find(key{of, location}, at)
	if s == nil {
		return
	}
	h := &s[number%slots]
	if h.number < number {
		h.number, h.counts = number, histogram{}
	}
	if h.number == number {
		h.counts[bucketOf(ms)]++
	}
}

// find returns a series, or nil if there are too many. Series of the past make room.
func (l *Log) find(k key, at time.Time) *series {
	if s := l.series[k]; s != nil {
		return s
	}
	if len(l.series) >= maxSeries && at.Sub(l.dropped) >= slot {
		l.dropped = at
		maps.DeleteFunc(l.series, func(_ key, s *series) bool {
			_, n := s.since(at.Add(-time.Hour))
			return n == 0
		})
	}
	if len(l.series) >= maxSeries {
		return nil
	}
	if l.series == nil {
		l.series = map[key]*series{}
	}
	s := new(series)
	l.series[k] = s
	return s
}

// since adds up the histograms that end after a time.
func (s *series) since(begin time.Time) (sum histogram, n int) {
	first := begin.UnixNano()/int64(slot) + 1
	for i := range s {
		if s[i].number < first {
			continue
		}
		for b, count := range s[i].counts {
			sum[b] += count
			n += int(count)
		}
	}
	return sum, n
}

// Rows returns the reports of the last hour of some sources, by location; of all if wanted is nil.
func (l *Log) Rows(now time.Time, wanted func(Source) bool) []Reported {
	l.mu.Lock()
	defer l.mu.Unlock()
	sums := map[string]*histogram{}
	for k, s := range l.series {
		if wanted != nil && !wanted(k.Source) {
			continue
		}
		found, n := s.since(now.Add(-time.Hour))
		if n == 0 {
			continue
		}
		sum := sums[k.location]
		if sum == nil {
			sum = new(histogram)
			sums[k.location] = sum
		}
		for b, count := range found {
			sum[b] += count
		}
	}
	rows := []Reported{}
	for location, sum := range sums {
		rows = append(rows, sum.row(location))
	}
	slices.SortFunc(rows, func(a, b Reported) int { return cmp.Compare(a.Location, b.Location) })
	return rows
}

func (h *histogram) row(location string) Reported {
	r := Reported{Location: location}
	for _, count := range h {
		r.Reports += int(count)
	}
	r.P50, r.P90 = h.quantile((r.Reports+1)/2), h.quantile((r.Reports*9+9)/10)
	return r
}

// quantile returns the middle of the bucket with the nth smallest report.
func (h *histogram) quantile(n int) int {
	for b, count := range h {
		if n -= int(count); n <= 0 {
			return middleOf(b)
		}
	}
	return 0
}

func bucketOf(ms float64) int {
	n := uint(min(max(0, math.Round(ms)), 1<<13-1))
	if n < 32 {
		return int(n)
	}
	shift := bits.Len(n) - 5 // the upper 5 bits of the number are 16 to 31
	return 32 + (shift-1)*16 + int(n>>shift) - 16
}

// middleOf is the inverse of bucketOf.
func middleOf(bucket int) int {
	if bucket < 32 {
		return bucket
	}
	shift := (bucket-32)/16 + 1
	return (16+(bucket-32)%16)<<shift + (1<<shift-1)/2
}
