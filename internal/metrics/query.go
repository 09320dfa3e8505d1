package metrics

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// maxPoints is the maximum number of points of one query. Source: CloudWatch API reference, GetMetricData.
const maxPoints = 100_800

// Points returns the values of a series in periods of at least 10 s that are multiples of it, and begin at multiples of
// the period since 1970: those of which the begin is in [from, to), ascending. Periods without data are left out, and
// so are those that are stored only in longer frames than the period: 10 s for 3 hours, a minute for 15 days, 5 minutes
// for 63 days, an hour for 455 days by default. An unknown series has no points. The error is that of the journal, of
// ctx, or of a period or a number of points that is not allowed.
func (s *Store) Points(ctx context.Context, series Series, from, to time.Time, period time.Duration) ([]Point, error) {
	of, column, ok := find(series)
	if err := s.check(ctx, from, to, period); err != nil || !ok {
		return nil, err
	}
	return s.points(ctx, of, column, from, to, period)
}

// check checks the periods of a query, and waits until the newest frames are in memory after a start.
func (s *Store) check(ctx context.Context, from, to time.Time, period time.Duration) error {
	if unit := steps[samples].step; period < unit || period%unit != 0 {
		return fmt.Errorf("period %s is not a multiple of %s", period, unit)
	}
	if to.Sub(from)/period > maxPoints {
		return fmt.Errorf("more than %d periods of %s are between %s and %s", maxPoints, period,
			from.Format(time.RFC3339), to.Format(time.RFC3339))
	}
	select {
	case <-s.restored:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Store) points(
	ctx context.Context, of []entity, column int, from, to time.Time, period time.Duration,
) ([]Point, error) {
	first := ceil(from, period)
	periods := make([]aggregate, max(0, int((to.Sub(first)+period-1)/period)))
	err := s.each(first, to, period, func(l level, from, to int64) error {
		frames, err := s.frames(ctx, l, from, to, of, column)
		if err != nil {
			return err
		}
		for i, a := range frames {
			at := l.begin(from+int64(i)).Sub(first) / period
			periods[at] = periods[at].then(a)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	points := []Point{}
	for i, a := range periods {
		if a.count > 0 {
			points = append(points, Point{first.Add(time.Duration(i) * period), a.sum, a.min, a.max, a.count})
		}
	}
	return points, nil
}

// each calls read with the level to use, and the frames, for each part of [from, to): from is the begin of a period.
// The newest part is read from the finest level in memory, what is older from the level that is kept for longest of
// those that divide the period, because longer frames are fewer.
func (s *Store) each(from, to time.Time, period time.Duration, read func(l level, from, to int64) error) error {
	now := s.clock.Now()
	end := ceil(to, period) // whole periods
	for _, part := range s.order(period) {
		begin := from
		if oldest := ceil(now.Add(-part.reach), period); oldest.After(begin) {
			begin = oldest
		}
		if !begin.Before(end) {
			continue
		}
		if err := read(part.level, part.level.frameAt(begin), part.level.frameAt(end)); err != nil {
			return err
		}
		end = begin
	}
	return nil
}

// A part is a level and how far back queries read it.
type part struct {
	level level
	reach time.Duration
}

// order returns the levels for a period, for the newest frames first.
func (s *Store) order(period time.Duration) (order []part) {
	longest := samples
	for l := range Levels {
		if period%steps[l].step != 0 {
			continue
		}
		if inMemory[l] > 0 {
			order = append(order, part{l, min(inMemory[l], s.retention[l])})
		}
		if s.retention[l] >= s.retention[longest] {
			longest = l
		}
	}
	return append(order, part{longest, s.retention[longest]})
}

// ceil rounds a time up to a multiple of a duration since 1970.
func ceil(t time.Time, d time.Duration) time.Time {
	n, unit := t.UnixNano(), int64(d)
	return time.Unix(0, -floor(-n, unit)*unit).UTC()
}

// Quantile returns an estimate of the quantile q, from 0 to 1, of the durations in each period that has some; nil for a
// series that has no histogram. The estimate is exact to the bounds of a bucket. Otherwise it is like Points.
func (s *Store) Quantile(
	ctx context.Context, series Series, q float64, from, to time.Time, period time.Duration,
) ([]Quantile, error) {
	of, column, ok := find(series)
	if err := s.check(ctx, from, to, period); err != nil || !ok {
		return nil, err
	}
	f := of[0].family()
	if f.columns[column].kind != duration {
		return nil, nil
	}
	found, err := s.histograms(ctx, of, column, from, to, period)
	list := make([]Quantile, len(found))
	for i, h := range found {
		list[i] = Quantile{h.at, quantile(f.bounds, h.counts, q)}
	}
	return list, err
}

// A histogram has the numbers of the durations of a period by bucket.
type histogram struct {
	at     time.Time
	counts []float64
}

// histograms returns the histogram of each period that has durations. Otherwise it is like Points.
func (s *Store) histograms(
	ctx context.Context, of []entity, column int, from, to time.Time, period time.Duration,
) ([]histogram, error) {
	f := of[0].family()
	found := map[time.Time][]float64{}
	for i := range len(f.bounds) + 1 {
		points, err := s.points(ctx, of, f.buckets(column)+i, from, to, period)
		if err != nil {
			return nil, err
		}
		for _, p := range points {
			if p.Sum > 0 {
				if found[p.At] == nil {
					found[p.At] = make([]float64, len(f.bounds)+1)
				}
				found[p.At][i] = p.Sum
			}
		}
	}
	list := make([]histogram, 0, len(found))
	for at, counts := range found {
		list = append(list, histogram{at, counts})
	}
	slices.SortFunc(list, func(a, b histogram) int { return a.at.Compare(b.at) })
	return list, nil
}

// quantile interpolates within the bucket of a rank. The last bucket has no bound, so it is its lower one.
func quantile(bounds, counts []float64, q float64) float64 {
	total := 0.0
	for _, n := range counts {
		total += n
	}
	rank := min(max(q, 0), 1) * total
	below, low := 0.0, 0.0
	for i, n := range counts {
		if i == len(bounds) {
			break
		}
		if below += n; below >= rank && n > 0 {
			return bounds[i] - (bounds[i]-low)*(below-rank)/n
		}
		low = bounds[i]
	}
	return math.Max(low, bounds[len(bounds)-1])
}
