package matchmaking

// recent is how much the newest wait counts in a moving average: the tickets before
// the last ten or so hardly count any more.
const recent = 0.1

// learnWait takes the wait of a ticket that was matched into the average of its
// configuration. Backfill tickets wait for others, not as others do.
func (s *State) learnWait(t *Ticket) {
	if t.Backfill {
		return
	}
	wait := max(t.Ended.Sub(t.Started).Seconds(), 0) // the clock may have been set back
	if average, ok := s.waits.Get(t.Configuration.ID); ok {
		wait = average + recent*(wait-average)
	}
	s.waits.Set(t.Configuration.ID, wait)
}

// Estimate is how many seconds a new ticket of a configuration will probably wait: a
// moving average of those that were matched, from their start to their end. ok is
// false when nothing is known.
func (s *State) Estimate(configurationID string) (seconds float64, ok bool) {
	return s.waits.Get(configurationID)
}
