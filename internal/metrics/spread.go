package metrics

import (
	"context"
	"time"
)

// A Histogram counts durations.
type Histogram struct {
	Bounds []float64 // upper bounds in seconds, ascending
	Counts []uint64  // of the durations up to each bound, those up to lower bounds included
	Count  uint64    // of all
	Sum    float64   // seconds
}

// callsSince returns the API calls since the last sample, by bucket, and their sum.
func (r *Recorder) callsSince() (counts []float64, sum float64) {
	if r.cfg.Calls == nil {
		return nil, 0
	}
	now, last := r.cfg.Calls(), r.calls
	r.calls = now
	counts = make([]float64, len(selves.bounds)+1)
	below, belowThen := uint64(0), uint64(0)
	add := func(bucket int, upTo, upToThen uint64) {
		counts[bucket] += float64(upTo - below - (upToThen - belowThen))
		below, belowThen = upTo, upToThen
	}
	for i, bound := range now.Bounds {
		then := uint64(0)
		if i < len(last.Counts) {
			then = last.Counts[i]
		}
		add(selves.bucketOf(bound), now.Counts[i], then)
	}
	add(len(selves.bounds), now.Count, last.Count)
	return counts, now.Sum - last.Sum
}

// addCalls adds the API calls. Only their number, their sum and their buckets are known: the least and the longest are
// taken to be the mean.
func (s *sampling) addCalls(buckets []float64, sum float64) {
	total := 0.0
	for _, n := range buckets {
		total += n
	}
	if total == 0 {
		return
	}
	columns := s.entity(entity{set: bySelf})
	columns[apiCalls] = aggregate{sum, sum / total, sum / total, total}
	for i, n := range buckets {
		columns[selves.buckets(apiCalls)+i].sum = n
	}
}

// A Timing is durations of the whole region that are not a metric of CloudWatch.
type Timing int

// The timings.
const (
	APICalls   Timing = iota // from the head of a request to its answer
	Placements               // from the start of a placement to its end, of all queues and any outcome
)

// A Spread is how many durations of a period there are, and some of their quantiles in seconds.
type Spread struct {
	At        time.Time // begin of the period, UTC
	Count     float64
	Quantiles []float64
}

// Spread returns the quantiles, from 0 to 1, of a timing in each period that has some. Otherwise it is like Quantile.
func (s *Store) Spread(
	ctx context.Context, of Timing, quantiles []float64, from, to time.Time, period time.Duration,
) ([]Spread, error) {
	if err := s.check(ctx, from, to, period); err != nil {
		return nil, err
	}
	entities, column := []entity{{set: bySelf}}, apiCalls
	if of == Placements {
		entities, column = s.known(byQueue), placementWait
	}
	if len(entities) == 0 {
		return nil, nil
	}
	found, err := s.histograms(ctx, entities, column, from, to, period)
	list := make([]Spread, len(found))
	for i, h := range found {
		list[i].At = h.at
		for _, n := range h.counts {
			list[i].Count += n
		}
		for _, q := range quantiles {
			list[i].Quantiles = append(list[i].Quantiles, quantile(entities[0].family().bounds, h.counts, q))
		}
	}
	return list, err
}

// known returns the entities of a set that have had values within the last 14 days.
func (s *Store) known(in set) (all []entity) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for e := range s.seen {
		if e.set == in {
			all = append(all, e)
		}
	}
	return all
}
