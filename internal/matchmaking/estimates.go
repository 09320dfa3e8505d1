package matchmaking

// recent is the weight of the newest wait in a moving average, which makes about the last ten tickets matter.
const recent = 0.1

// learnWait adds the wait of a matched ticket to the average of its configuration. Backfill tickets wait differently.
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

// Estimate estimates how many seconds a new ticket of a configuration waits: a moving average of matched tickets, from
// start to end. ok is false if nothing is known.
func (s *State) Estimate(configurationID string) (seconds float64, ok bool) {
	return s.waits.Get(configurationID)
}
