package placement

import (
	"sort"

	"github.com/muster-gg/muster/internal/event"
)

// Forget removes placements that are over and kept in the history. Others stay. It has
// no answer.
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

func (s *State) applyPlacementsForgotten(e *PlacementsForgotten) {
	for _, id := range e.IDs {
		if p, ok := s.placements.Get(id); ok && p.HasEnded() {
			s.placements.Delete(id)
			s.unlist(p)
		}
	}
}

// Trim removes announcements up to Through, which were published. It has no answer.
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

func (s *State) applyAnnouncementsTrimmed(e *AnnouncementsTrimmed) {
	s.outbox = s.outbox[sort.Search(len(s.outbox), func(i int) bool { return s.outbox[i].Seq > e.Through }):]
	if len(s.outbox) == 0 {
		s.outbox = nil // lets go of those in front
	}
}
