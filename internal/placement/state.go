package placement

import (
	"fmt"
	"slices"
	"sort"

	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fault"
)

// A State is the placements of one shard. It has one writer; a frozen copy may be
// read beside it. Records are never changed: a change stores a changed copy.
type State struct {
	event.Gate // which events may be written; the shard raises it

	header     Header
	placements btree.Map[string, *Placement]
	pending    *btree.BTreeG[moment] // PENDING placements by their start
	over       *btree.BTreeG[moment] // the others by their end
	// outbox is the announcements by number. Frozen copies share its array: the
	// writer appends behind what they see, and cuts off in front.
	outbox []*Announcement

	*live // nil in a frozen copy
}

// live is what only the writer needs.
type live struct {
	timers *btree.BTreeG[moment] // placements that wait, by their deadline
	frozen *State                // a copy that is still as the State is; or nil
}

// A moment is when something is, or was, with a placement.
type moment struct {
	at event.Time
	id string
}

func (a moment) before(b moment) bool { return a.at < b.at || a.at == b.at && a.id < b.id }

func newMoments() *btree.BTreeG[moment] {
	return btree.NewBTreeGOptions(moment.before, btree.Options{NoLocks: true})
}

// New makes an empty State.
func New() *State {
	return &State{pending: newMoments(), over: newMoments(), live: &live{timers: newMoments()}}
}

// A Command asks the placements of a shard for something. Its answer is the
// *Placement as it is afterwards, unless it says otherwise.
type Command interface {
	// decide looks and gives events, or refuses with a *fault.Error. It changes nothing.
	decide(s *State, now event.Time) ([]any, error)
	// answer is what the caller is told, once the events are applied.
	answer(s *State) any
}

// Handle decides a command, applies its events and answers. After an error, a
// *fault.Error, nothing has changed.
func (s *State) Handle(now event.Time, c Command) (events []any, answer any, err error) {
	events, err = c.decide(s, now)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range events {
		s.Apply(e)
	}
	return events, c.answer(s), nil
}

// Apply changes the State by one event. An event about a placement that it cannot
// be about changes nothing. One of an unknown type is a mistake in the program
// and panics.
func (s *State) Apply(e any) {
	s.frozen = nil
	switch e := e.(type) {
	case *PlacementStarted:
		s.applyPlacementStarted(e)
	case *AttemptBegun:
		s.applyAttemptBegun(e)
	case *AttemptEnded:
		s.applyAttemptEnded(e)
	case *PlacementFulfilled:
		s.applyPlacementFulfilled(e)
	case *PlacementEnded:
		s.applyPlacementEnded(e)
	case *PlacementsForgotten:
		s.applyPlacementsForgotten(e)
	case *AnnouncementsTrimmed:
		s.applyAnnouncementsTrimmed(e)
	default:
		panic(fmt.Sprintf("placement: unknown event %T", e))
	}
}

// Freeze returns a copy for reading beside the writer. It takes the time of a few
// small allocations, whatever the size of the State, and none while nothing changes.
func (s *State) Freeze() *State {
	if s.live == nil {
		return s
	}
	if s.frozen == nil {
		c := *s
		c.placements = *s.placements.Copy()
		c.pending = s.pending.Copy()
		c.over = s.over.Copy()
		c.live = nil
		s.frozen = &c
	}
	return s.frozen
}

// put stores a placement and keeps what it is found by.
func (s *State) put(p *Placement) {
	if old, ok := s.placements.Set(p.ID, p); ok {
		s.unlist(old)
	}
	if p.HasEnded() {
		s.over.Set(moment{p.Ended, p.ID})
		return
	}
	s.pending.Set(moment{p.Started, p.ID})
	if p.waits() {
		s.timers.Set(moment{p.Deadline, p.ID})
	}
}

// unlist removes what a placement is found by, apart from its id.
func (s *State) unlist(p *Placement) {
	if p.HasEnded() {
		s.over.Delete(moment{p.Ended, p.ID})
		return
	}
	s.pending.Delete(moment{p.Started, p.ID})
	if p.waits() {
		s.timers.Delete(moment{p.Deadline, p.ID})
	}
}

// find finds a placement for a command.
func (s *State) find(id string) (*Placement, error) {
	if p, ok := s.placements.Get(id); ok {
		return p, nil
	}
	return nil, fault.New(fault.NotFound, "Placement %s not found", id)
}

// shown is the answer that shows a placement.
func (s *State) shown(id string) any {
	p, _ := s.placements.Get(id)
	return p
}

// Placement finds a placement. It must not be changed; it may be kept.
func (s *State) Placement(id string) (*Placement, bool) { return s.placements.Get(id) }

// Pending calls visit with the PENDING placements by start, then id, until it
// returns false.
func (s *State) Pending(visit func(*Placement) bool) {
	s.pending.Scan(func(m moment) bool {
		p, _ := s.placements.Get(m.id)
		return visit(p)
	})
}

// Over lists up to limit placements that ended before the given moment, the
// earliest first.
func (s *State) EndedBefore(before event.Time, limit int) []*Placement {
	var over []*Placement
	s.over.Scan(func(m moment) bool {
		if m.at >= before || len(over) >= limit {
			return false
		}
		p, _ := s.placements.Get(m.id)
		over = append(over, p)
		return true
	})
	return over
}

// Announcements lists up to limit announcements behind a number that are not trimmed.
// Neither they nor the list may be changed; they may be kept.
func (s *State) Announcements(after uint64, limit int) []*Announcement {
	from := sort.Search(len(s.outbox), func(i int) bool { return s.outbox[i].Seq > after })
	return slices.Clip(s.outbox[from:][:min(max(limit, 0), len(s.outbox)-from)])
}
