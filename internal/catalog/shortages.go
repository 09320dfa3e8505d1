package catalog

import (
	"fmt"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Shortage is how many instances of a fleet are missing at a location, because no machine can have them.
type Shortage struct {
	Missing int32      `cbor:"1,keyasint,omitempty"` // 0: none
	Reason  string     `cbor:"2,keyasint,omitempty"`
	Since   event.Time `cbor:"3,keyasint,omitempty"`
}

// SetShortage stores a shortage, or that there is none. One that begins has a fleet event; one that begins or ends has
// an announcement. NotFound for the fleet or the location, InvalidRequest for an Anywhere fleet.
type SetShortage struct {
	Fleet    string `cbor:"1,keyasint,omitzero"`
	Location string `cbor:"2,keyasint,omitzero"`
	Missing  int32  `cbor:"3,keyasint,omitzero"`
	Reason   string `cbor:"4,keyasint,omitzero"`
	EventID  string `cbor:"5,keyasint,omitzero"` // for the fleet event
}

// TrimAnnouncements removes published announcements up to Through.
type TrimAnnouncements struct {
	Through uint64 `cbor:"1,keyasint,omitzero"`
}

// ShortageSet follows SetShortage.
type ShortageSet struct {
	Fleet    string     `cbor:"1,keyasint,omitempty"`
	Location string     `cbor:"2,keyasint,omitempty"`
	Shortage Shortage   `cbor:"3,keyasint"`
	At       event.Time `cbor:"4,keyasint,omitempty"`
}

// AnnouncementsTrimmed follows TrimAnnouncements.
type AnnouncementsTrimmed struct {
	Through uint64 `cbor:"1,keyasint,omitempty"`
}

// An Announcement is the beginning or the end of a shortage, until it is published in the event feed.
type Announcement struct {
	Seq      uint64     `cbor:"1,keyasint,omitempty"` // from 1, without gaps
	At       event.Time `cbor:"2,keyasint,omitempty"`
	Fleet    string     `cbor:"3,keyasint,omitempty"`
	Location string     `cbor:"4,keyasint,omitempty"`
	Desired  int32      `cbor:"5,keyasint,omitempty"` // number of instances
	Shortage Shortage   `cbor:"6,keyasint"`           // without Missing: it has ended
}

// Announced is the number of the newest announcement, in a snapshot.
type Announced struct {
	Seq uint64 `cbor:"1,keyasint,omitempty"`
}

func (c SetShortage) decide(s *State, now event.Time) ([]Event, error) {
	l, err := s.scalable(c.Fleet, c.Location)
	if err != nil {
		return nil, err
	}
	next := Shortage{max(0, c.Missing), c.Reason, l.Shortage.Since}
	switch {
	case next.Missing == 0:
		next = Shortage{}
	case l.Shortage.Missing == 0:
		next.Since = now
	}
	if next == l.Shortage {
		return nil, nil
	}
	events := []Event{&ShortageSet{Fleet: c.Fleet, Location: c.Location, Shortage: next, At: now}}
	if l.Shortage.Missing > 0 || next.Missing == 0 {
		return events, nil
	}
	instances := "instances"
	if next.Missing == 1 {
		instances = "instance"
	}
	notes, err := s.note(now, c.Fleet, []string{c.EventID}, []note{{code: codeGeneric, message: fmt.Sprintf(
		"Location %s has %d %s fewer than desired. %s", c.Location, next.Missing, instances, next.Reason)}})
	return append(events, notes...), err
}

func (c TrimAnnouncements) decide(s *State, _ event.Time) ([]Event, error) {
	first, _, ok := s.announcements.Min()
	switch {
	case c.Through > s.announced:
		return nil, fault.New(fault.InvalidRequest, "There is no announcement %d", c.Through)
	case !ok || first > c.Through:
		return nil, nil
	}
	return []Event{&AnnouncementsTrimmed{c.Through}}, nil
}

func (e *ShortageSet) apply(s *State) {
	s.changeFleetLocation(e.Fleet, e.Location, func(l *FleetLocation) {
		began, ended := l.Shortage.Missing == 0, e.Shortage.Missing == 0
		if l.Shortage = e.Shortage; began != ended {
			s.announced++
			s.announcements.Set(s.announced, &Announcement{s.announced, e.At, e.Fleet, e.Location, l.Capacity.Desired,
				e.Shortage})
		}
	})
}

func (e *AnnouncementsTrimmed) apply(s *State) {
	for {
		first, _, ok := s.announcements.Min()
		if !ok || first > e.Through {
			return
		}
		s.announcements.Delete(first)
	}
}

// Announcements lists up to limit announcements after a number.
func (s *State) Announcements(after uint64, limit int) (list []*Announcement) {
	s.announcements.Ascend(after+1, func(_ uint64, a *Announcement) bool {
		if len(list) >= limit {
			return false
		}
		list = append(list, a)
		return true
	})
	return list
}

// recordAnnouncements writes the announcements, after the number of the newest.
func (s *State) recordAnnouncements(write func(any) error) (err error) {
	if s.announced == 0 {
		return nil
	}
	err = write(&Announced{s.announced})
	s.announcements.Scan(func(_ uint64, a *Announcement) bool {
		if err == nil {
			err = write(a)
		}
		return err == nil
	})
	return err
}
