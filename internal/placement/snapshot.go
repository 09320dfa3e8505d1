package placement

import (
	"errors"
	"fmt"
)

// Snapshot writes the State as records, in the order that Restore needs.
func (s *State) Snapshot(write func(record any) error) (err error) {
	header := s.header
	if err := write(&header); err != nil {
		return err
	}
	s.placements.Scan(func(_ string, p *Placement) bool {
		err = write(p)
		return err == nil
	})
	for _, a := range s.outbox {
		if err != nil {
			break
		}
		err = write(a)
	}
	return err
}

// Restore adds one record of a snapshot.
func (s *State) Restore(record any) error {
	s.frozen = nil
	switch v := record.(type) {
	case *Header:
		return s.restoreHeader(v)
	case *Placement:
		s.put(v)
	case *Announcement:
		return s.restoreAnnouncement(v)
	default:
		return fmt.Errorf("placement: unknown snapshot record %T", record)
	}
	return nil
}

func (s *State) restoreHeader(h *Header) error {
	if s.placements.Len() > 0 || len(s.outbox) > 0 {
		return errors.New("placement: snapshot header is not the first record")
	}
	s.header = *h
	return nil
}

// restoreAnnouncement rejects an announcement out of order: Trim depends on the order. Numbers begin at 1.
func (s *State) restoreAnnouncement(a *Announcement) error {
	last := uint64(0)
	if n := len(s.outbox); n > 0 {
		last = s.outbox[n-1].Seq
	}
	if a.Placement == nil || a.Seq <= last || a.Seq > s.header.Announced {
		return fmt.Errorf("placement: announcement %d is out of order or empty", a.Seq)
	}
	s.outbox = append(s.outbox, a)
	return nil
}
