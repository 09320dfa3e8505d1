package placement

import (
	"slices"
	"sort"

	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A State is the placements of one shard. It has one writer; a frozen copy may be read concurrently. Records are copied
// on write.
type State struct {
	event.Gate // which events may be written; the shard raises it

	header     Header
	placements btree.Map[string, *Placement]
	pending    *btree.BTreeG[moment] // PENDING placements by start
	ended      *btree.BTreeG[moment] // the others by end
	// outbox has the announcements by number. Frozen copies share its array: the writer appends after the part that
	// they see, and slices off the front.
	outbox []*Announcement

	*live // nil in a frozen copy
}

// live is the state that only the writer needs.
type live struct {
	timers *btree.BTreeG[moment] // placements without a running attempt, by deadline
	frozen *State                // a copy that is still equal to the State, or nil
}

// A moment is a time of a placement.
type moment struct {
	at event.Time
	id string
}

func (a moment) before(b moment) bool { return a.at < b.at || a.at == b.at && a.id < b.id }

func newMoments() *btree.BTreeG[moment] {
	return btree.NewBTreeGOptions(moment.before, btree.Options{NoLocks: true})
}

// New returns an empty state.
func New() *State {
	return &State{pending: newMoments(), ended: newMoments(), live: &live{timers: newMoments()}}
}

// A Command is a request to the placements of a shard. Its answer is the resulting *Placement, unless documented
// otherwise.
type Command interface {
	// decide returns the events, or rejects the command with a *fault.Error. It changes nothing.
	decide(s *State, now event.Time) ([]any, error)
	// answer returns the answer, after the events were applied.
	answer(s *State) any
}

// Handle decides a command, applies its events and returns the answer. After an error, a *fault.Error, nothing has
// changed.
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

// A stateEvent changes a State. All types of Events but the records of snapshots implement it.
type stateEvent interface{ apply(s *State) }

// Apply changes the State by one event, and ignores one that does not match the placement. It panics on an unknown
// type, which is a programming error.
func (s *State) Apply(e any) {
	s.frozen = nil
	e.(stateEvent).apply(s)
}

// Freeze returns a copy that may be read concurrently with the writer, in constant time. It is cached until the State
// changes.
func (s *State) Freeze() *State {
	if s.live == nil {
		return s
	}
	if s.frozen == nil {
		c := *s
		c.placements = *s.placements.Copy()
		c.pending = s.pending.Copy()
		c.ended = s.ended.Copy()
		c.live = nil
		s.frozen = &c
	}
	return s.frozen
}

// put stores a placement and updates the indexes.
func (s *State) put(p *Placement) {
	if old, ok := s.placements.Set(p.ID, p); ok {
		s.unlist(old)
	}
	if p.HasEnded() {
		s.ended.Set(moment{p.Ended, p.ID})
		return
	}
	s.pending.Set(moment{p.Started, p.ID})
	if p.waits() {
		s.timers.Set(moment{p.Deadline, p.ID})
	}
}

// unlist removes a placement from the indexes by time.
func (s *State) unlist(p *Placement) {
	if p.HasEnded() {
		s.ended.Delete(moment{p.Ended, p.ID})
		return
	}
	s.pending.Delete(moment{p.Started, p.ID})
	if p.waits() {
		s.timers.Delete(moment{p.Deadline, p.ID})
	}
}

func (s *State) find(id string) (*Placement, error) {
	if p, ok := s.placements.Get(id); ok {
		return p, nil
	}
	return nil, fault.New(fault.NotFound, "Placement %s not found", id)
}

func (s *State) shown(id string) any {
	p, _ := s.placements.Get(id)
	return p
}

// Placement finds a placement. It is immutable.
func (s *State) Placement(id string) (*Placement, bool) { return s.placements.Get(id) }

// Pending calls visit with the PENDING placements by start, then id, until it returns false.
func (s *State) Pending(visit func(*Placement) bool) {
	s.pending.Scan(func(m moment) bool {
		p, _ := s.placements.Get(m.id)
		return visit(p)
	})
}

// PendingCount returns the number of PENDING placements.
func (s *State) PendingCount() int { return s.pending.Len() }

// From calls visit with the records whose ids are not before an id, in order of id, until it returns false.
func (s *State) From(id string, visit func(*Placement) bool) {
	s.placements.Ascend(id, func(_ string, r *Placement) bool { return visit(r) })
}

// LastStarted calls visit with the PENDING placements before a start and id, until it returns false; those that started
// last come first.
func (s *State) LastStarted(before event.Time, id string, visit func(*Placement) bool) {
	s.descend(s.pending, moment{before, id}, visit)
}

// LastEnded is LastStarted for placements that have ended, by their end.
func (s *State) LastEnded(before event.Time, id string, visit func(*Placement) bool) {
	s.descend(s.ended, moment{before, id}, visit)
}

func (s *State) descend(in *btree.BTreeG[moment], before moment, visit func(*Placement) bool) {
	in.Descend(before, func(m moment) bool {
		if m == before {
			return true
		}
		p, _ := s.placements.Get(m.id)
		return visit(p)
	})
}

// EndedBefore lists up to limit placements that ended before the given time, the earliest first.
func (s *State) EndedBefore(before event.Time, limit int) []*Placement {
	var ended []*Placement
	s.ended.Scan(func(m moment) bool {
		if m.at >= before || len(ended) >= limit {
			return false
		}
		p, _ := s.placements.Get(m.id)
		ended = append(ended, p)
		return true
	})
	return ended
}

// Announcements lists up to limit announcements after a number. The result is immutable.
func (s *State) Announcements(after uint64, limit int) []*Announcement {
	from := sort.Search(len(s.outbox), func(i int) bool { return s.outbox[i].Seq > after })
	return slices.Clip(s.outbox[from:][:min(max(limit, 0), len(s.outbox)-from)])
}
