package matchmaking

import (
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fault"
)

// Start opens a ticket, new or backfill, and cancels the active tickets that hold
// one of its players (a player stands in one active ticket only), and, for a
// backfill ticket, the active backfill ticket of the same game session. A match in
// REQUIRES_ACCEPTANCE breaks up when one of its tickets is cancelled so. The answer
// is the *Ticket. The same id from the same Call gives the ticket that exists; else a
// taken id is an InvalidRequestException.
//
// A ticket in PLACING cannot be cancelled (by StopMatchmaking neither), so the new
// one is refused with InvalidRequestException: its players are on their way into a
// game. Source: API reference and FlexMatch guide, StartMatchmaking; the refusal is
// our choice.
type Start struct {
	ID            string        `cbor:"1,keyasint,omitzero"`
	Configuration Configuration `cbor:"2,keyasint"`
	Players       []Player      `cbor:"3,keyasint,omitzero"`
	Timeout       int32         `cbor:"4,keyasint,omitzero"` // seconds
	Backfill      bool          `cbor:"5,keyasint,omitzero"`
	GameSession   string        `cbor:"6,keyasint,omitzero"` // ARN, of a backfill ticket; "" for a standalone one
	Call          string        `cbor:"7,keyasint,omitzero"`
}

func (c Start) decide(s *State, now event.Time) ([]any, error) {
	if t, ok := s.tickets.Get(c.ID); ok {
		if c.Call != "" && c.Call == t.Call {
			return nil, nil
		}
		return nil, fault.New(fault.InvalidRequest, "TicketId %s is taken by another matchmaking ticket; choose a new one", c.ID)
	}
	if bytes := playersWeight(c.Players); bytes > maxPlayersWeight {
		return nil, fault.New(fault.InvalidRequest, "Players takes about %d bytes with all attributes and latencies; a ticket may have %d", bytes, maxPlayersWeight)
	}
	if len(s.players)+len(c.Players) > maxPlayers {
		return nil, fault.New(fault.Throttling, "%d players stand in active tickets. Try again later.", len(s.players))
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
		ID: c.ID, Configuration: c.Configuration, Players: c.Players, Backfill: c.Backfill, GameSession: c.GameSession, Call: c.Call,
		At: now, Deadline: now.Add(time.Duration(c.Timeout) * time.Second),
	}), nil
}

// answer is the *Ticket.
func (c Start) answer(s *State) any { return s.ticketOrNil(c.ID) }

// maxPlayers is how many players may stand in active tickets at a time. It bounds
// what a crowd can take of memory.
const maxPlayers = 500_000

// rivals are the active tickets that the new one takes the place of.
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

// cancel gives the events that cancel active tickets in favour of a new one.
func (s *State) cancel(ids []string, now event.Time) (events []any, err error) {
	var broken []string // matches
	for _, id := range ids {
		t, _ := s.tickets.Get(id)
		switch {
		case t.Status == Searching:
			events = append(events, ended(t, cancelled, now))
		case t.Status == Placing:
			return nil, fault.New(fault.InvalidRequest,
				"Matchmaking ticket %s, which holds a player or the game session of this request, is in %s status and cannot be canceled; try again when it is over", id, t.Status)
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

// breakUp gives the events that drop a match of which tickets are cancelled while
// its players are asked.
func (s *State) breakUp(m *Match, cancel []string, now event.Time) []any {
	return s.drop(m, MatchDropped{At: now, Reason: ReasonAcceptance, Message: MessageBroken}, func(t *Ticket) *outcome {
		if slices.Contains(cancel, t.ID) {
			return &cancelled
		}
		return nil
	})
}

// Stop is StopMatchmaking: CANCELLED. Of an automatic backfill ticket it ends
// automatic backfill for its game session. A match in REQUIRES_ACCEPTANCE breaks up.
// NotFound; InvalidRequest, with the text that clients know, in PLACING and in a
// final status. The answer is the *Ticket.
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
		return nil, fault.New(fault.InvalidRequest, "Matchmaking ticket is in %s status and cannot be canceled.", t.Status)
	}
}

// answer is the *Ticket.
func (c Stop) answer(s *State) any { return s.ticketOrNil(c.ID) }

// Discard ends the tickets of a configuration that was deleted: FAILED. Those in
// PLACING go on to their game; if they come back to search, Discard is due again. A
// command ends a bounded number of tickets: the answer, a bool, is whether there
// are more.
type Discard struct {
	Configuration Configuration `cbor:"1,keyasint"`
}

func (c Discard) decide(s *State, now event.Time) ([]any, error) {
	gone := outcome{Failed, ReasonUnexpected, "The matchmaking configuration " + c.Configuration.Name + " was deleted."}
	var events []any
	bytes := 0
	add := func(more ...any) { events, bytes = append(events, more...), bytes+weight(more) }
	room := func() bool { return len(events) < maxDue && bytes < maxWeight }
	s.Matches(func(m *Match) bool {
		if m.Stage == StageAcceptance && m.Settings.Configuration.ID == c.Configuration.ID {
			add(s.drop(m, MatchDropped{At: now}, func(*Ticket) *outcome { return &gone })...)
		}
		return room()
	})
	s.Searching(func(t *Ticket) bool {
		if room() && t.Configuration.ID == c.Configuration.ID {
			add(ended(t, gone, now))
		}
		return room()
	})
	if _, known := s.waits.Get(c.Configuration.ID); known && room() {
		add(&ConfigurationDiscarded{ID: c.Configuration.ID})
	}
	return events, nil
}

// answer is whether tickets are left that can be ended.
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

// Forget removes tickets that are over and kept in the history. Others stay.
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

func (s *State) applyTicketsForgotten(e *TicketsForgotten) {
	for _, id := range e.IDs {
		s.removeTicket(id)
	}
}

func (s *State) applyTicketStarted(e *TicketStarted) {
	t := &Ticket{
		ID: e.ID, Configuration: e.Configuration, Players: e.Players, Backfill: e.Backfill, Automatic: e.Automatic, GameSession: e.GameSession,
		Call: e.Call, Status: Searching, Started: e.At, Deadline: e.Deadline, Follows: e.Follows, Number: e.Number,
	}
	s.addTicket(t)
	s.announceSearching(t, e.At)
}

// An outcome is how a ticket ends without a match.
type outcome struct {
	status          Status
	reason, message string
}

var (
	timedOut    = outcome{TimedOut, ReasonTimedOut, MessageTimedOut}
	cancelled   = outcome{Cancelled, ReasonCancelled, MessageCancelled}
	notAccepted = outcome{Cancelled, ReasonCancelled, MessageNotAccepted}
	sessionOver = outcome{Cancelled, ReasonCancelled, MessageGameSessionEnded}
)

// ended gives the event that ends a ticket that is SEARCHING.
func ended(t *Ticket, o outcome, now event.Time) *TicketEnded {
	return &TicketEnded{ID: t.ID, Status: o.status, Reason: o.reason, Message: o.message, At: now}
}

func (s *State) applyTicketEnded(e *TicketEnded) {
	if t, ok := s.tickets.Get(e.ID); ok && t.Status == Searching {
		s.end(t, nil, Ending{e.ID, e.Status, e.Reason, e.Message}, e.At)
	}
}

// end ends a ticket without a game, outside a match or with one.
func (s *State) end(t *Ticket, m *Match, how Ending, at event.Time) {
	next := *t
	next.Status, next.Reason, next.Message, next.Ended = how.Status, how.Reason, how.Message, at
	s.storeTicket(&next)
	s.announce(&Announcement{
		At: at, Type: typeOf(how.Status), Configuration: t.Configuration, Tickets: []*Ticket{&next}, Match: m,
		Reason: how.Reason, Message: how.Message,
	})
}

// ticket finds a ticket, or is a NotFoundException.
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
