package matchmaking

import "github.com/muster-gg/muster/internal/event"

// A timer is the deadline of a ticket that is SEARCHING, or of a match: that of its
// acceptance, or the first one of its tickets. See deadlineOf.
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

// A crowd of time-outs must not hold up the commands, and what one Expire, or one
// Discard, gives has to fit in a record of the journal. So it ends at most so many
// tickets and matches, and stops when the events that it has given weigh so much.
const (
	maxDue    = 512
	maxWeight = 256 << 10
)

// maxPlayersWeight is what the players of one ticket may weigh. It is one event, and
// matchmaker data, which holds their attributes, has room for 390,000 characters.
const maxPlayersWeight = 400_000

// weight is about how many bytes events take in a record. It is generous for what
// comes in numbers: texts of any length stand in players and ids alone.
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

// Deadline is when Expire next has something to do, or zero.
func (s *State) Deadline() event.Time {
	first, _ := s.timers.Min()
	return first.at
}

// Expire decides and applies what is due, the earliest first and a bounded part of
// it at a time: call it again while Deadline is not after now.
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

// expire gives the events for a timer that is due.
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

// cancelLevel is the feature level from which a match that is being placed may end: a
// release below it would drop the match and leave its placement behind.
const cancelLevel = 2

// Raise sets the highest feature level that may be written. Matches that are being
// placed have a deadline from cancelLevel on.
func (s *State) Raise(level int) {
	s.Gate.Raise(level)
	s.matches.Scan(func(id string, m *Match) bool {
		s.schedule(id, s.deadlineOf(m))
		return true
	})
}

// deadlineOf is when a match ends by itself; 0: never. An acceptance that ends at the
// deadline of a ticket ends first. A match that fills a game session has no deadline:
// its players may be in that game session already.
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

// expired gives the events that drop a match at the deadline of a ticket, which is
// TIMED_OUT. Whoever places the match has to cancel its placement.
func (s *State) expired(m *Match, now event.Time) []any {
	e := MatchDropped{At: now, Reason: ReasonAcceptance, Message: MessageExpired}
	if m.Stage == StagePlacing {
		e.Reason, e.Cancel = ReasonPlacement, true
	}
	return s.drop(m, e, spare)
}
