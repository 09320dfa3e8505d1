package latencies

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

var begin = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// TestBuckets: each latency is in a bucket, the middle of which is within 4 % of it.
func TestBuckets(t *testing.T) {
	for ms := range 1 << 13 {
		b := bucketOf(float64(ms))
		if got := middleOf(b); b >= len(histogram{}) || max(got-ms, ms-got)*100 > 4*ms {
			t.Fatalf("%d ms is in bucket %d of %d ms", ms, b, got)
		}
	}
	for _, ms := range []float64{-1, 1e9} {
		if b := bucketOf(ms); b < 0 || b >= len(histogram{}) {
			t.Errorf("%v ms is in bucket %d", ms, b)
		}
	}
}

func TestRows(t *testing.T) {
	var l Log
	ranked, duel := Source{Name: "ranked"}, Source{Configuration: true, Name: "duel"}
	for i := range 10 {
		l.Add(ranked, "custom-fra", begin.Add(time.Duration(i)*time.Minute), float64(10+i))
	}
	l.Add(duel, "custom-fra", begin.Add(20*time.Minute), 30)
	l.Add(duel, "custom-iad", begin.Add(20*time.Minute), 95)
	onlyRanked := func(s Source) bool { return s == ranked }
	for _, c := range []struct {
		after  time.Duration
		wanted func(Source) bool
		want   []Reported
	}{
		{20 * time.Minute, onlyRanked, []Reported{{"custom-fra", 10, 14, 18}}},
		{20 * time.Minute, nil, []Reported{{"custom-fra", 11, 15, 19}, {"custom-iad", 1, 93, 93}}},
		{65 * time.Minute, nil, []Reported{{"custom-fra", 1, 30, 30}, {"custom-iad", 1, 93, 93}}}, // none of 12:00
		{85 * time.Minute, nil, []Reported{}},
	} {
		now := begin.Add(c.after)
		if got := l.Rows(now, c.wanted); !reflect.DeepEqual(got, c.want) {
			t.Errorf("after %v: %+v, want %+v", c.after, got, c.want)
		}
	}
	l.Add(ranked, "custom-fra", begin.Add(3*time.Hour), 50)
	l.Add(ranked, "custom-fra", begin, 50) // of a clock that was set back: its place has another time
	if got := l.Rows(begin.Add(3*time.Hour), nil); len(got) != 1 || got[0].Reports != 1 {
		t.Errorf("after 3 hours: %+v", got)
	}
}

// TestLimit: names that clients make up do not fill the memory, and make room after an hour.
func TestLimit(t *testing.T) {
	var l Log
	for i := range 3 * maxSeries {
		l.Add(Source{Name: "q"}, fmt.Sprint("l", i), begin, 5)
	}
	if got := len(l.Rows(begin, nil)); got != maxSeries || len(l.series) != maxSeries {
		t.Errorf("%d locations, %d series", got, len(l.series))
	}
	l.Add(Source{Name: "q"}, "late", begin.Add(2*time.Hour), 5)
	if got := l.Rows(begin.Add(2*time.Hour), nil); len(got) != 1 || got[0].Location != "late" || len(l.series) != 1 {
		t.Errorf("after two hours: %+v, %d series", got, len(l.series))
	}
}
