package placement

import (
	"sort"

	"github.com/muster-gg/muster/internal/event"
)

// Forget removes ended placements that are in the history. It has no answer.
type Forget struct {
	IDs []string `cbor:"1,keyasint,omitzero"`
}

func (c Forget) decide(s *State, _ event.Time) ([]any, error) {
	var ids []string
	for _, id := range c.IDs {
		if p, ok := s.placements.Get(id); ok && p.HasEnded() {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return []any{&PlacementsForgotten{IDs: ids}}, nil
}

func (Forget) answer(*State) any { return nil }

func (e *PlacementsForgotten) apply(s *State) {
	for _, id := range e.IDs {
		if p, ok := s.placements.Get(id); ok && p.HasEnded() {
			s.placements.Delete(id)
			s.unlist(p)
		}
	}
}

// Trim removes published announcements up to Through. It has no answer.
type Trim struct {
	Through uint64 `cbor:"1,keyasint,omitzero"`
}

func (c Trim) decide(s *State, _ event.Time) ([]any, error) {
	if len(s.outbox) == 0 || c.Through < s.outbox[0].Seq {
		return nil, nil
	}
	return []any{&AnnouncementsTrimmed{Through: min(c.Through, s.header.Announced)}}, nil
}

func (Trim) answer(*State) any { return nil }

func (e *AnnouncementsTrimmed) apply(s *State) {
	s.outbox = s.outbox[sort.Search(len(s.outbox), func(i int) bool { return s.outbox[i].Seq > e.Through }):]
	if len(s.outbox) == 0 {
		s.outbox = nil // frees the array
	}
}
