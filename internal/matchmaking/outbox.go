package matchmaking

import "github.com/muster-gg/muster/internal/event"

// An Announcement is an event of the feed, until it is published. The tickets and the match are copies of that time. It
// is numbered without gaps.
type Announcement struct {
	Seq           uint64        `cbor:"1,keyasint"`
	At            event.Time    `cbor:"2,keyasint"`
	Type          Type          `cbor:"3,keyasint"`
	Configuration Configuration `cbor:"4,keyasint"`
	// one, of MatchmakingSearching and of ended tickets; else all of the match
	Tickets    []*Ticket `cbor:"5,keyasint"`
	Match      *Match    `cbor:"6,keyasint,omitempty"` // of the tickets; nil of MatchmakingSearching
	Acceptance string    `cbor:"7,keyasint,omitempty"` // Accepted, Rejected or TimedOut, of AcceptMatchCompleted
	// MatchmakingSearching: estimate in milliseconds; 0: not available
	Wait       int64       `cbor:"8,keyasint,omitempty"`
	Connection *Connection `cbor:"9,keyasint,omitempty"` // MatchmakingSucceeded: of all players
	Reason     string      `cbor:"10,keyasint,omitempty"`
	Message    string      `cbor:"11,keyasint,omitempty"`
}

// A Type is the type of an event, as EventBridge names it.
type Type string

// Source: FlexMatch guide, matchmaking events.
const (
	MatchmakingSearching  Type = "MatchmakingSearching"
	PotentialMatchCreated Type = "PotentialMatchCreated"
	AcceptMatch           Type = "AcceptMatch"
	AcceptMatchCompleted  Type = "AcceptMatchCompleted"
	MatchmakingSucceeded  Type = "MatchmakingSucceeded"
	MatchmakingTimedOut   Type = "MatchmakingTimedOut"
	MatchmakingCancelled  Type = "MatchmakingCancelled"
	MatchmakingFailed     Type = "MatchmakingFailed"
)

// typeOf returns the type of the announcement of a ticket that ended without a match.
func typeOf(status Status) Type {
	switch status {
	case TimedOut:
		return MatchmakingTimedOut
	case Cancelled:
		return MatchmakingCancelled
	default:
		return MatchmakingFailed
	}
}

// announce adds an announcement to the outbox.
func (s *State) announce(a *Announcement) {
	s.announced++
	a.Seq = s.announced
	s.outbox.Set(a.Seq, a)
}

// announceSearching announces that a ticket has entered its pool.
func (s *State) announceSearching(t *Ticket, at event.Time) {
	seconds, _ := s.Estimate(t.Configuration.ID)
	s.announce(&Announcement{
		At: at, Type: MatchmakingSearching, Configuration: t.Configuration, Tickets: []*Ticket{t},
		Wait: int64(seconds * 1000),
	})
}

func (s *State) announceAcceptance(m *Match, how string, at event.Time) {
	s.announce(&Announcement{
		At: at, Type: AcceptMatchCompleted, Configuration: m.Settings.Configuration, Tickets: s.ticketsOf(m), Match: m,
		Acceptance: how,
	})
}

// Announcements lists up to limit announcements after a number.
func (s *State) Announcements(after uint64, limit int) []*Announcement {
	var list []*Announcement
	s.outbox.Ascend(after+1, func(_ uint64, a *Announcement) bool {
		if len(list) == limit {
			return false
		}
		list = append(list, a)
		return true
	})
	return list
}

// Trim removes published announcements up to Through. It has no answer.
type Trim struct {
	Through uint64 `cbor:"1,keyasint,omitzero"`
}

func (c Trim) decide(s *State, _ event.Time) ([]any, error) {
	if first, _, ok := s.outbox.Min(); !ok || first > c.Through {
		return nil, nil
	}
	return []any{&AnnouncementsTrimmed{Through: c.Through}}, nil
}

func (Trim) answer(*State) any { return nil }

func (e *AnnouncementsTrimmed) apply(s *State) {
	for {
		first, _, ok := s.outbox.Min()
		if !ok || first > e.Through {
			return
		}
		s.outbox.PopMin()
	}
}
