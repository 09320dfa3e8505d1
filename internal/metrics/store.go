package metrics

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

const (
	// recently is how long after its last value a series is listed as recent, and stays in Prometheus. Source:
	// CloudWatch API reference, ListMetrics, RecentlyActive.
	recently = 3 * time.Hour

	// listed is how long after its last value a series is listed. Source: CloudWatch API reference, ListMetrics.
	listed = 14 * day
)

// A Store has the values of all series and answers queries. Its methods are safe for concurrent use.
type Store struct {
	clock     clockwork.Clock
	retention [Levels]time.Duration
	archive   *archive
	restored  chan struct{} // closed when memory has the newest frames after a start

	mu     sync.RWMutex
	memory [Levels]history      // of the levels that are in memory
	seen   map[entity]time.Time // the end of the last values of an entity
}

func newStore(c *Config, codec *codec) *Store {
	s := &Store{
		clock: c.Clock, retention: c.Retention, archive: newArchive(c.Feeds, codec, c.Clock, c.Log),
		seen: map[entity]time.Time{}, restored: make(chan struct{}),
	}
	for l := range Levels {
		s.memory[l] = history{}
	}
	return s
}

// add adds a frame of a level.
func (s *Store) add(l level, f *frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := l.frameAt(f.at)
	// The last sample of a roll-up may be older than its end: samples are what the recent ones go by.
	end := l.begin(at).Add(steps[samples].step)
	for _, e := range f.entities {
		if known, ok := s.seen[e.entity]; !ok {
			s.seen[entity{e.set, strings.Clone(e.a), strings.Clone(e.b)}] = end
		} else if known.Before(end) {
			s.seen[e.entity] = end
		}
	}
	if inMemory[l] > 0 {
		s.memory[l].add(at, f)
	}
}

// trim removes what is too old for memory.
func (s *Store) trim(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range Levels {
		s.memory[l].trim(l.frameAt(now.Add(-inMemory[l])))
	}
	for e, end := range s.seen {
		if now.Sub(end) > listed {
			delete(s.seen, e)
		}
	}
}

// List returns the series that have had values within the last 14 days, or 3 hours if they must be recent; sorted by
// metric and dimensions. The caller owns the list, and must not change the dimensions.
func (s *Store) List(recent bool) []Series {
	age, now := listed, s.clock.Now()
	if recent {
		age = recently
	}
	var all []Series
	s.mu.RLock()
	for e, end := range s.seen {
		if now.Sub(end) <= age {
			e.series(func(series Series, _ int) { all = append(all, series) })
		}
	}
	s.mu.RUnlock()
	slices.SortFunc(all, Series.Compare)
	return all
}

// Named returns the recent series of a metric that have just these dimensions, in no order.
func (s *Store) Named(metric string, names ...string) (all []Series) {
	now := s.clock.Now()
	s.mu.RLock()
	defer s.mu.RUnlock()
	for e, end := range s.seen {
		if now.Sub(end) > recently || !slices.Equal(dimensions[e.set], names) {
			continue
		}
		e.series(func(series Series, _ int) {
			if series.Metric == metric {
				all = append(all, series)
			}
		})
	}
	return all
}

// Unit returns the unit of a metric, as CloudWatch writes it: Count, Percent or Seconds; "" for an unknown metric.
func (s *Store) Unit(metric string) string {
	if strings.HasPrefix(metric, queues.columns[placedAt].name) {
		return count
	}
	for set := range setCount {
		if i := columnNamed(set, metric); i >= 0 {
			return catalogue[set].columns[i].unit
		}
	}
	return ""
}

// frames returns a column of entities in the frames [from, to) of a level.
func (s *Store) frames(ctx context.Context, l level, from, to int64, of []entity, column int) ([]aggregate, error) {
	found := make([]aggregate, max(0, to-from))
	full := float64(l.samplesIn())
	memory := to // the first frame that is in memory
	if inMemory[l] > 0 {
		memory = min(max(l.frameAt(s.clock.Now().Add(-inMemory[l])), from), to)
	}
	if err := s.archive.gather(ctx, l, found[:memory-from], from, of, column); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, e := range of {
		s.memory[l].gather(found[memory-from:], memory, e, column, full)
	}
	return found, nil
}
