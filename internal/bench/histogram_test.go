package bench

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestBucketsCoverAllTimes(t *testing.T) {
	for _, d := range []time.Duration{
		-1, 0, 1, 127, 128, 255, 256, 257, 511, 512, time.Microsecond, time.Millisecond, time.Second, time.Hour,
		math.MaxInt64 - 1, math.MaxInt64,
	} {
		b := bucketOf(d)
		if b < 0 || b >= buckets {
			t.Fatalf("%d falls into bucket %d of %d", d, b, buckets)
		}
		d = max(d, 0)
		if bound := upperBound(b); bound < d || float64(bound-d) > float64(d)/perOctave {
			t.Errorf("%d falls into a bucket up to %d", d, bound)
		}
		if b > 0 && upperBound(b-1) >= d {
			t.Errorf("%d falls into bucket %d, and the one before goes up to %d", d, b, upperBound(b-1))
		}
	}
}

// The quantiles are those of the sorted times, within the width of a bucket.
func TestQuantiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var all []time.Duration
	var whole, half, other Histogram
	for i := range 20_000 {
		d := time.Duration(math.Exp(random.Float64()*20)) * 10
		all = append(all, d)
		if i%2 == 0 {
			half.Record(d)
		} else {
			other.Record(d)
		}
	}
	whole.Add(&half)
	whole.Add(&other)
	slices.Sort(all)
	for _, q := range []float64{0, 0.001, 0.5, 0.9, 0.99, 0.999, 0.9999} {
		want, got := all[int(q*float64(len(all)))], whole.Quantile(q)
		if got < want || float64(got-want) > float64(want)/perOctave+1 {
			t.Errorf("quantile %v is %v instead of %v", q, got, want)
		}
	}
	if got := whole.Quantile(1); got != all[len(all)-1] {
		t.Errorf("the highest is %v instead of %v", got, all[len(all)-1])
	}
}

func TestEmptyHistogram(t *testing.T) {
	var h Histogram
	if got := h.Quantile(0.99); got != 0 {
		t.Errorf("got %v", got)
	}
}

func BenchmarkRecord(b *testing.B) {
	var h Histogram
	for i := 0; b.Loop(); i++ {
		h.Record(time.Duration(i))
	}
}
