package placement

import (
	"errors"
	"fmt"
	"slices"
)

// A model is placements as a person would keep them on paper. It follows events and
// refuses those that must not be: an end after the end, an attempt beside another one.
type model struct {
	lives     map[string]*life
	announced uint64
	outbox    []string
}

type life struct {
	status  Status
	attempt int // the number of the newest
	running bool
}

func newModel() *model { return &model{lives: map[string]*life{}} }

func (m *model) apply(e any) error {
	switch e := e.(type) {
	case *PlacementStarted:
		if m.lives[e.ID] != nil {
			return fmt.Errorf("placement %s is started twice", e.ID)
		}
		m.lives[e.ID] = &life{status: Pending}
		if e.Room != nil {
			m.lives[e.ID].attempt, m.lives[e.ID].running = 1, true
		}
	case *AttemptBegun:
		return m.begin(e)
	case *AttemptEnded:
		if l := m.lives[e.ID]; l == nil || !l.running {
			return fmt.Errorf("no attempt of placement %s runs", e.ID)
		}
		m.lives[e.ID].running = false
	case *PlacementFulfilled:
		if l := m.lives[e.ID]; l == nil || !l.running {
			return fmt.Errorf("placement %s is fulfilled without an attempt", e.ID)
		}
		return m.end(e.ID, Fulfilled)
	case *PlacementEnded:
		if l := m.lives[e.ID]; l != nil && l.running && e.Status == TimedOut {
			return fmt.Errorf("placement %s is %s and an attempt runs", e.ID, e.Status)
		}
		return m.end(e.ID, e.Status)
	case *PlacementsForgotten:
		return m.forget(e.IDs)
	case *AnnouncementsTrimmed:
		return m.trim(e.Through)
	}
	return nil
}

func (m *model) begin(e *AttemptBegun) error {
	l := m.lives[e.ID]
	if l == nil || l.status != Pending || l.running || e.Number != l.attempt+1 {
		return fmt.Errorf("attempt %d of placement %s begins after %+v", e.Number, e.ID, l)
	}
	l.attempt, l.running = e.Number, true
	return nil
}

func (m *model) end(id string, status Status) error {
	l := m.lives[id]
	if l == nil || l.status != Pending {
		return fmt.Errorf("placement %s is %s after %+v", id, status, l)
	}
	l.status, l.running = status, false
	m.announced++
	m.outbox = append(m.outbox, fmt.Sprint(m.announced, " ", id, " ", status))
	return nil
}

func (m *model) forget(ids []string) error {
	for _, id := range ids {
		if l := m.lives[id]; l != nil && l.status == Pending {
			return fmt.Errorf("placement %s is forgotten and PENDING", id)
		}
		delete(m.lives, id)
	}
	return nil
}

func (m *model) trim(through uint64) error {
	if through > m.announced {
		return fmt.Errorf("announcements up to %d are trimmed of %d", through, m.announced)
	}
	keep := int(m.announced - through)
	if keep >= len(m.outbox) {
		return errors.New("nothing is trimmed")
	}
	m.outbox = m.outbox[len(m.outbox)-keep:]
	return nil
}

// compare looks for differences between a state and the model.
func (m *model) compare(s *State) (err error) {
	s.placements.Scan(func(id string, p *Placement) bool {
		got := life{status: p.Status}
		if p.Attempt != nil {
			got.attempt, got.running = p.Attempt.Number, p.Attempt.Running
		}
		if want := m.lives[id]; want == nil || got != *want {
			err = errors.Join(err, fmt.Errorf("placement %s is %+v instead of %+v", id, got, want))
		}
		err = errors.Join(err, sound(p))
		return true
	})
	if s.placements.Len() != len(m.lives) {
		err = errors.Join(err, fmt.Errorf("%d placements instead of %d", s.placements.Len(), len(m.lives)))
	}
	var outbox []string
	for _, a := range s.Announcements(0, 1000) {
		outbox = append(outbox, fmt.Sprint(a.Seq, " ", a.Placement.ID, " ", a.Placement.Status))
	}
	if !slices.Equal(outbox, m.outbox) {
		err = errors.Join(err, fmt.Errorf("the announcements are %q instead of %q", outbox, m.outbox))
	}
	return err
}
