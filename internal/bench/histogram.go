package bench

import (
	"math/bits"
	"time"
)

const (
	// precision is the number of significant bits of a time: buckets are less than 1 % wide.
	precision = 7
	perOctave = 1 << precision
	buckets   = (63-precision)*perOctave + perOctave
)

// A Histogram counts times. Each octave has the same number of buckets, so the relative error is constant. The zero
// value is empty. It is not safe for concurrent use.
type Histogram struct {
	counts [buckets]uint64
	total  uint64
	max    time.Duration
}

// bucketOf returns the bucket of a time; a negative one counts as 0.
func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0))
	shift := max(bits.Len64(v)-precision-1, 0)
	return shift*perOctave + int(v>>shift)
}

// upperBound returns the longest time of a bucket.
func upperBound(bucket int) time.Duration {
	shift := max(bucket/perOctave-1, 0)
	return time.Duration(bucket-shift*perOctave+1)<<shift - 1
}

// Record counts one time.
func (h *Histogram) Record(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.total++
	h.max = max(h.max, d)
}

// Add counts the times of another histogram, too.
func (h *Histogram) Add(o *Histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.total += o.total
	h.max = max(h.max, o.max)
}

// Quantile returns the time that a share q, 0 to 1, did not exceed, rounded up to the end of its bucket; 0 for an empty
// histogram.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := min(uint64(q*float64(h.total))+1, h.total)
	var seen uint64
	for i, n := range h.counts {
		if seen += n; n > 0 && seen >= rank {
			return min(upperBound(i), h.max)
		}
	}
	return 0
}

// Max returns the longest time; 0 for an empty histogram.
func (h *Histogram) Max() time.Duration { return h.max }
