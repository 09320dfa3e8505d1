package matchmaking

import "fmt"

// Snapshot writes the State as records, in the order that Restore needs, until write fails.
func (s *State) Snapshot(write func(record any) error) (err error) {
	keep := func(record any) bool {
		err = write(record)
		return err == nil
	}
	header := &Header{Announced: s.announced}
	s.waits.Scan(func(id string, seconds float64) bool {
		header.Waits = append(header.Waits, Waits{id, seconds})
		return true
	})
	if !keep(header) {
		return err
	}
	s.tickets.Scan(func(_ string, t *Ticket) bool { return keep(t) })
	if err == nil {
		s.matches.Scan(func(_ string, m *Match) bool { return keep(m) })
	}
	if err == nil {
		s.outbox.Scan(func(_ uint64, a *Announcement) bool { return keep(a) })
	}
	return err
}

// Restore adds one record of a snapshot.
func (s *State) Restore(record any) error {
	switch r := record.(type) {
	case *Header:
		s.announced = r.Announced
		for _, w := range r.Waits {
			s.waits.Set(w.Configuration, w.Seconds)
		}
	case *Ticket:
		s.addTicket(r)
	case *Match:
		s.storeMatch(r)
	case *Announcement:
		s.outbox.Set(r.Seq, r)
	default:
		return fmt.Errorf("matchmaking: unknown snapshot record %T", record)
	}
	return nil
}
