package memory

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/muster-gg/muster/internal/journal"
)

// A store is what all handles of one journal share.
type store struct {
	mu        sync.Mutex
	first     uint64 // how many records are forgotten: records[0] has the number first+1
	records   [][]byte
	snapshots []snapshot    // by age, oldest first
	changed   chan struct{} // closed and replaced when records come or go
}

type snapshot struct {
	seq   uint64
	data  []byte
	whole bool
}

func (s *store) append(last uint64, data []byte) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if newest := s.first + uint64(len(s.records)); newest != last {
		return 0, fmt.Errorf("%w: the newest record is %d, not %d", journal.ErrFenced, newest, last)
	}
	s.records = append(s.records, slices.Clone(data))
	s.change()
	return last + 1, nil
}

// change wakes those who wait for a change.
func (s *store) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *store) after(after uint64) ([][]byte, error) {
	records, _, err := s.behind(after)
	return records, err
}

// behind are the records after a number, and what is closed when there are others.
func (s *store) behind(after uint64) (records [][]byte, changed <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := s.first + uint64(len(s.records))
	if after < s.first || after > newest {
		return nil, nil, fmt.Errorf("%w: asked for those after %d, there are %d to %d", journal.ErrMissing, after,
			s.first+1, newest)
	}
	return slices.Clone(s.records[after-s.first:]), s.changed, nil
}

// save keeps a snapshot, and of the whole ones the newest two; then it forgets the records that neither of them needs.
func (s *store) save(n snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshots = append(s.snapshots, n)
	if !n.whole {
		return
	}
	whole := slices.DeleteFunc(s.snapshots, func(o snapshot) bool { return !o.whole })
	slices.SortStableFunc(whole, func(a, b snapshot) int { return cmp.Compare(a.seq, b.seq) })
	s.snapshots = whole[max(0, len(whole)-2):]
	if len(s.snapshots) == 2 {
		s.forget(s.snapshots[0].seq)
	}
}

func (s *store) forget(upTo uint64) {
	if upTo > s.first {
		s.records = slices.Clone(s.records[upTo-s.first:])
		s.first = upTo
		s.change()
	}
}

func (s *store) newest() (n snapshot, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.snapshots {
		if o.whole && (!ok || o.seq >= n.seq) {
			n, ok = o, true
		}
	}
	return n, ok
}
