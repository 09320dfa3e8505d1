package matchmaking

import "github.com/muster-gg/muster/internal/event"

// A timer is the deadline of a SEARCHING ticket or of a match; see deadlineOf.
type timer struct {
	at    event.Time
	match bool
	id    string
}

func (a timer) before(b timer) bool {
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.match != b.match:
		return b.match
	default:
		return a.id < b.id
	}
}

// Limits of one Expire and one Discard: the number of ended tickets and matches, so that they do not delay commands,
// and the weight of the events, which must fit in a journal record.
const (
	maxDue    = 512
	maxWeight = 256 << 10
)

// maxPlayersWeight is the maximum weight of the players of one ticket. It is one event, and matchmaker data, which
// contains their attributes, has 390,000 characters.
const maxPlayersWeight = 400_000

// weight estimates the encoded size of events, generously where there may be many: only players and ids have texts of
// any length.
func weight(events []any) (bytes int) {
	const each = 64 // of small fields
	for _, e := range events {
		bytes += each
		switch e := e.(type) {
		case *TicketStarted:
			bytes += playersWeight(e.Players)
		case *TicketEnded:
			bytes += len(e.ID) + len(e.Message)
		case *MatchDropped:
			for i := range e.Ended {
				bytes += each + len(e.Ended[i].ID) + len(e.Ended[i].Message)
			}
		}
	}
	return bytes
}

func playersWeight(players []Player) (bytes int) {
	const each = 16
	for i := range players {
		p := &players[i]
		bytes += each + len(p.ID) + len(p.Team)
		for _, a := range p.Attributes {
			bytes += each + len(a.Name) + len(a.Value.S)
			for _, s := range a.Value.SL {
				bytes += each + len(s)
			}
			for key := range a.Value.SDM {
				bytes += each + len(key)
			}
		}
		for _, l := range p.Latencies {
			bytes += each + len(l.Location)
		}
	}
	return bytes
}

// Deadline returns when Expire must be called next, or zero.
func (s *State) Deadline() event.Time {
	first, _ := s.timers.Min()
	return first.at
}

// Expire decides and applies expired deadlines, the earliest first, a bounded number at a time: call it again while
// Deadline is not after now.
func (s *State) Expire(now event.Time) (all []any) {
	for n, bytes := 0, 0; n < maxDue && bytes < maxWeight; n++ {
		first, ok := s.timers.Min()
		if !ok || first.at > now {
			break
		}
		events := s.expire(first, now)
		for _, e := range events {
			s.Apply(e)
		}
		bytes += weight(events)
		all = append(all, events...)
	}
	return all
}

// expire returns the events for an expired timer.
func (s *State) expire(due timer, now event.Time) []any {
	if due.match {
		m, _ := s.matches.Get(due.id)
		if m.AcceptBy == due.at {
			return s.unaccepted(m, TimedOutAcceptance, now)
		}
		return s.expired(m, now)
	}
	t, _ := s.tickets.Get(due.id)
	return append([]any{ended(t, timedOut, now)}, s.reissue(t, now)...)
}

// cancelLevel is the feature level from which a match may end while it is being placed: a lower release would drop the
// match but not its placement.
const cancelLevel = 2

// Raise sets the highest feature level that may be written. From cancelLevel on, matches that are being placed have a
// deadline.
func (s *State) Raise(level int) {
	s.Gate.Raise(level)
	s.matches.Scan(func(id string, m *Match) bool {
		s.schedule(id, s.deadlineOf(m))
		return true
	})
}

// deadlineOf returns when a match ends by itself; 0: never. If its acceptance ends at the deadline of a ticket, the
// acceptance counts. A match that fills a game session has no deadline: its players may have joined already.
func (s *State) deadlineOf(m *Match) (first event.Time) {
	switch m.Stage {
	case StageAcceptance:
		first = m.AcceptBy
	case StagePlacing:
		if !s.Allows(cancelLevel) {
			return 0
		}
	default:
		return 0
	}
	for _, id := range m.Tickets {
		if t, ok := s.tickets.Get(id); ok && (first == 0 || t.Deadline < first) {
			first = t.Deadline
		}
	}
	return first
}

// expired returns the events that drop a match at the deadline of a ticket, which is TIMED_OUT. Its placement must be
// cancelled.
func (s *State) expired(m *Match, now event.Time) []any {
	e := MatchDropped{At: now, Reason: ReasonAcceptance, Message: MessageExpired}
	if m.Stage == StagePlacing {
		e.Reason, e.Cancel = ReasonPlacement, true
	}
	return s.drop(m, e, searchOn)
}
