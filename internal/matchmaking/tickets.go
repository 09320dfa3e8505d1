package matchmaking

import (
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Start starts a ticket, new or backfill. It cancels the active tickets that contain one of its players (a player is in
// one active ticket only), and, for a backfill ticket, the active backfill ticket of the same game session. If that
// cancels a ticket in REQUIRES_ACCEPTANCE, its match is dropped. The answer is the *Ticket. The same id from the same
// Call returns the existing ticket; otherwise a used id is an InvalidRequestException.
//
// A ticket in PLACING cannot be cancelled (not by StopMatchmaking either), so the new one is rejected with
// InvalidRequestException: its players are about to join a game session. Source: API reference and FlexMatch guide,
// StartMatchmaking; the rejection is our choice.
type Start struct {
	ID            string        `cbor:"1,keyasint,omitzero"`
	Configuration Configuration `cbor:"2,keyasint"`
	Players       []Player      `cbor:"3,keyasint,omitzero"`
	Timeout       int32         `cbor:"4,keyasint,omitzero"` // seconds
	Backfill      bool          `cbor:"5,keyasint,omitzero"`
	GameSession   string        `cbor:"6,keyasint,omitzero"` // ARN, of a backfill ticket; "" if standalone
	Call          string        `cbor:"7,keyasint,omitzero"`
}

func (c Start) decide(s *State, now event.Time) ([]any, error) {
	if t, ok := s.tickets.Get(c.ID); ok {
		if c.Call != "" && c.Call == t.Call {
			return nil, nil
		}
		return nil, fault.New(fault.InvalidRequest,
			"TicketId %s is taken by another matchmaking ticket; choose a new one",
			c.ID)
	}
	if bytes := playersWeight(c.Players); bytes > maxPlayersWeight {
		return nil, fault.New(fault.InvalidRequest,
			"Players takes about %d bytes with all attributes and latencies; a "+
				"ticket may have %d", bytes, maxPlayersWeight)
	}
	if len(s.players)+len(c.Players) > maxPlayers {
		return nil, fault.New(fault.Throttling, "%d players are in active tickets. Try again later.", len(s.players))
	}
	rivals, err := c.rivals(s)
	if err != nil {
		return nil, err
	}
	events, err := s.cancel(rivals, now)
	if err != nil {
		return nil, err
	}
	return append(events, &TicketStarted{
		ID: c.ID, Configuration: c.Configuration, Players: c.Players,
		Backfill: c.Backfill, GameSession: c.GameSession, Call: c.Call,
		At: now, Deadline: now.Add(time.Duration(c.Timeout) * time.Second),
	}), nil
}

func (c Start) answer(s *State) any { return s.ticketOrNil(c.ID) }

// maxPlayers is the maximum number of players in active tickets. It bounds memory.
const maxPlayers = 500_000

// rivals returns the active tickets that the new one replaces.
func (c Start) rivals(s *State) ([]string, error) {
	if len(c.Players) == 0 {
		return nil, fault.New(fault.InvalidRequest, "Players names no player")
	}
	var rivals []string
	add := func(id string, ok bool) {
		if ok && !slices.Contains(rivals, id) {
			rivals = append(rivals, id)
		}
	}
	for i := range c.Players {
		id := c.Players[i].ID
		if slices.ContainsFunc(c.Players[:i], func(p Player) bool { return p.ID == id }) {
			return nil, fault.New(fault.InvalidRequest, "Players names player %s twice", id)
		}
		rival, ok := s.players[id]
		add(rival, ok)
	}
	if c.Backfill && c.GameSession != "" {
		rival, ok := s.sessions[c.GameSession]
		add(rival, ok)
	}
	return rivals, nil
}

// cancel returns the events that cancel active tickets in favour of a new one.
func (s *State) cancel(ids []string, now event.Time) (events []any, err error) {
	var broken []string // matches
	for _, id := range ids {
		t, _ := s.tickets.Get(id)
		switch {
		case t.Status == Searching:
			events = append(events, ended(t, cancelled, now))
		case t.Status == Placing:
			return nil, fault.New(fault.InvalidRequest,
				"Matchmaking ticket %s, which holds a player or the game session of this request, is in %s status "+
					"and cannot be canceled; try again when it is over", id, t.Status)
		case !slices.Contains(broken, t.Match):
			broken = append(broken, t.Match)
		}
	}
	for _, id := range broken {
		m, _ := s.matches.Get(id)
		events = append(events, s.breakUp(m, ids, now)...)
	}
	return events, nil
}

// breakUp returns the events that drop a match in StageAcceptance because tickets of it are cancelled.
func (s *State) breakUp(m *Match, cancel []string, now event.Time) []any {
	return s.drop(m, MatchDropped{At: now, Reason: ReasonAcceptance, Message: MessageBroken}, func(t *Ticket) *outcome {
		if slices.Contains(cancel, t.ID) {
			return &cancelled
		}
		return nil
	})
}

// Stop is StopMatchmaking: CANCELLED. For an automatic backfill ticket it ends automatic backfill of its game session.
// A match in REQUIRES_ACCEPTANCE is dropped. NotFound; InvalidRequest, with the text that clients know, in PLACING and
// in a final status. The answer is the *Ticket.
type Stop struct {
	ID string `cbor:"1,keyasint,omitzero"`
}

func (c Stop) decide(s *State, now event.Time) ([]any, error) {
	t, err := s.ticket(c.ID)
	switch {
	case err != nil:
		return nil, err
	case t.Status == Searching:
		return []any{ended(t, cancelled, now)}, nil
	case t.Status == RequiresAcceptance:
		m, _ := s.matches.Get(t.Match)
		return s.breakUp(m, []string{t.ID}, now), nil
	default:
		return nil, fault.New(fault.InvalidRequest,
			"Matchmaking ticket is in %s status and cannot be canceled.", t.Status)
	}
}

func (c Stop) answer(s *State) any { return s.ticketOrNil(c.ID) }

// Discard ends the tickets of a deleted configuration: FAILED. Those in PLACING continue; if they search again, Discard
// must be sent again. One command ends a bounded number of tickets: the answer, a bool, is whether there are more.
type Discard struct {
	Configuration Configuration `cbor:"1,keyasint"`
}

func (c Discard) decide(s *State, now event.Time) ([]any, error) {
	deleted := outcome{Failed, ReasonUnexpected,
		"The matchmaking configuration " + c.Configuration.Name + " was deleted."}
	var events []any
	bytes := 0
	add := func(more ...any) { events, bytes = append(events, more...), bytes+weight(more) }
	room := func() bool { return len(events) < maxDue && bytes < maxWeight }
	s.Matches(func(m *Match) bool {
		if m.Stage == StageAcceptance && m.Settings.Configuration.ID == c.Configuration.ID {
			add(s.drop(m, MatchDropped{At: now}, func(*Ticket) *outcome { return &deleted })...)
		}
		return room()
	})
	s.Searching(func(t *Ticket) bool {
		if room() && t.Configuration.ID == c.Configuration.ID {
			add(ended(t, deleted, now))
		}
		return room()
	})
	if _, known := s.waits.Get(c.Configuration.ID); known && room() {
		add(&ConfigurationDiscarded{ID: c.Configuration.ID})
	}
	return events, nil
}

func (c Discard) answer(s *State) any {
	more := false
	s.Searching(func(t *Ticket) bool {
		more = t.Configuration.ID == c.Configuration.ID
		return !more
	})
	s.Matches(func(m *Match) bool {
		more = more || m.Stage == StageAcceptance && m.Settings.Configuration.ID == c.Configuration.ID
		return !more
	})
	return more
}

// Forget removes ended tickets that are in the history.
type Forget struct {
	IDs []string `cbor:"1,keyasint,omitzero"`
}

func (c Forget) decide(s *State, _ event.Time) ([]any, error) {
	var forget []string
	for _, id := range c.IDs {
		if t, ok := s.tickets.Get(id); ok && t.HasEnded() {
			forget = append(forget, id)
		}
	}
	if len(forget) == 0 {
		return nil, nil
	}
	return []any{&TicketsForgotten{IDs: forget}}, nil
}

func (Forget) answer(*State) any { return nil }

func (e *TicketsForgotten) apply(s *State) {
	for _, id := range e.IDs {
		s.removeTicket(id)
	}
}

func (e *TicketStarted) apply(s *State) {
	t := &Ticket{
		ID: e.ID, Configuration: e.Configuration, Players: e.Players, Backfill: e.Backfill, Automatic: e.Automatic,
		GameSession: e.GameSession,
		Call:        e.Call, Status: Searching, Started: e.At, Deadline: e.Deadline, Follows: e.Follows,
		Number: e.Number,
	}
	s.addTicket(t)
	s.announceSearching(t, e.At)
}

// An outcome is the end of a ticket without a match.
type outcome struct {
	status          Status
	reason, message string
}

var (
	timedOut     = outcome{TimedOut, ReasonTimedOut, MessageTimedOut}
	cancelled    = outcome{Cancelled, ReasonCancelled, MessageCancelled}
	notAccepted  = outcome{Cancelled, ReasonCancelled, MessageNotAccepted}
	sessionEnded = outcome{Cancelled, ReasonCancelled, MessageGameSessionEnded}
)

// ended returns the event that ends a SEARCHING ticket.
func ended(t *Ticket, o outcome, now event.Time) *TicketEnded {
	return &TicketEnded{ID: t.ID, Status: o.status, Reason: o.reason, Message: o.message, At: now}
}

func (e *TicketEnded) apply(s *State) {
	if t, ok := s.tickets.Get(e.ID); ok && t.Status == Searching {
		s.end(t, nil, Ending{e.ID, e.Status, e.Reason, e.Message}, e.At)
	}
}

// end ends a ticket without a game session; m may be nil.
func (s *State) end(t *Ticket, m *Match, how Ending, at event.Time) {
	next := *t
	next.Status, next.Reason, next.Message, next.Ended = how.Status, how.Reason, how.Message, at
	s.storeTicket(&next)
	s.announce(&Announcement{
		At: at, Type: typeOf(how.Status), Configuration: t.Configuration, Tickets: []*Ticket{&next}, Match: m,
		Reason: how.Reason, Message: how.Message,
	})
}

// ticket finds a ticket, or returns a NotFoundException.
func (s *State) ticket(id string) (*Ticket, error) {
	t, ok := s.tickets.Get(id)
	if !ok {
		return nil, fault.New(fault.NotFound, "Matchmaking ticket %s not found", id)
	}
	return t, nil
}

func (s *State) ticketOrNil(id string) *Ticket {
	t, _ := s.tickets.Get(id)
	return t
}

func (e *ConfigurationDiscarded) apply(s *State) { s.waits.Delete(e.ID) }
