package matchmaking

import (
	"fmt"

	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/event"
)

// A State is the tickets and matches of a region. It has one writer; a frozen copy
// may be read beside it. Its records never change: a change makes a new one.
type State struct {
	event.Gate // which events may be written; the shard raises it

	tickets   *btree.Map[string, *Ticket]
	matches   *btree.Map[string, *Match]
	outbox    *btree.Map[uint64, *Announcement]
	announced uint64                      // the number of the newest announcement
	waits     *btree.Map[string, float64] // seconds, by configuration id; see Estimate

	// Derived from the records above.
	open   *btree.BTreeG[moment]   // tickets that are SEARCHING, by their start
	active *btree.Map[string, int] // tickets that are not over, by configuration id

	*live // nil in a frozen copy
}

// live is what only the writer needs; it follows from the records.
type live struct {
	players  map[string]string     // the active ticket of a player
	sessions map[string]string     // the active backfill ticket of a game session, by its ARN
	over     *btree.BTreeG[moment] // tickets that are over, by their end
	timers   *btree.BTreeG[timer]
	due      map[string]event.Time // of the matches that have a timer
}

// A moment orders tickets by a time, then by id.
type moment struct {
	at event.Time
	id string
}

func (a moment) before(b moment) bool { return a.at < b.at || a.at == b.at && a.id < b.id }

// New makes an empty State.
func New() *State {
	options := btree.Options{NoLocks: true}
	return &State{
		tickets: new(btree.Map[string, *Ticket]),
		matches: new(btree.Map[string, *Match]),
		outbox:  new(btree.Map[uint64, *Announcement]),
		waits:   new(btree.Map[string, float64]),
		open:    btree.NewBTreeGOptions(moment.before, options),
		active:  new(btree.Map[string, int]),
		live: &live{
			players:  map[string]string{},
			sessions: map[string]string{},
			over:     btree.NewBTreeGOptions(moment.before, options),
			timers:   btree.NewBTreeGOptions(timer.before, options),
			due:      map[string]event.Time{},
		},
	}
}

// Freeze returns a copy for reading beside the writer, in constant time. Deadline,
// Expire and Over are not for it.
func (s *State) Freeze() *State {
	c := *s
	c.tickets = s.tickets.Copy()
	c.matches = s.matches.Copy()
	c.outbox = s.outbox.Copy()
	c.waits = s.waits.Copy()
	c.open = s.open.Copy()
	c.active = s.active.Copy()
	c.live = nil
	return &c
}

// A Command asks the State for something. The State keeps what a command holds: it
// must not change afterwards.
type Command interface {
	// decide looks and gives events, or refuses with a *fault.Error. It changes nothing.
	decide(s *State, now event.Time) ([]any, error)
	// answer is what the caller is told, once the events are applied.
	answer(s *State) any
}

// Handle decides a command, applies its events and answers. After an error, a
// *fault.Error, nothing has changed.
func (s *State) Handle(now event.Time, c Command) (events []any, answer any, err error) {
	if events, err = c.decide(s, now); err != nil {
		return nil, nil, err
	}
	for _, e := range events {
		s.Apply(e)
	}
	return events, c.answer(s), nil
}

// Apply changes the State by one event. What the event refers to and the State does
// not hold, it leaves alone. An event of an unknown type is a mistake in the program
// and panics.
func (s *State) Apply(e any) {
	switch e := e.(type) {
	case *TicketStarted:
		s.applyTicketStarted(e)
	case *TicketEnded:
		s.applyTicketEnded(e)
	case *MatchProposed:
		s.applyMatchProposed(e)
	case *MatchAnswered:
		s.applyMatchAnswered(e)
	case *MatchAccepted:
		s.applyMatchAccepted(e)
	case *MatchDropped:
		s.applyMatchDropped(e)
	case *MatchCompleted:
		s.applyMatchCompleted(e)
	case *TicketsForgotten:
		s.applyTicketsForgotten(e)
	case *AnnouncementsTrimmed:
		s.applyAnnouncementsTrimmed(e)
	case *ConfigurationDiscarded:
		s.waits.Delete(e.ID)
	default:
		panic(fmt.Sprintf("matchmaking: unknown event %T", e))
	}
}

// addTicket keeps a new ticket.
func (s *State) addTicket(t *Ticket) {
	s.removeTicket(t.ID)
	s.storeTicket(t)
}

// removeTicket forgets a ticket, if it is there.
func (s *State) removeTicket(id string) {
	if t, ok := s.tickets.Delete(id); ok {
		s.keepUp(t, nil)
	}
}

// storeTicket keeps a new ticket or the next state of one.
func (s *State) storeTicket(t *Ticket) {
	old, _ := s.tickets.Set(t.ID, t)
	s.keepUp(old, t)
}

// keepUp makes the derived parts follow from a ticket; old and t are nil before its
// beginning and after its end.
func (s *State) keepUp(old, t *Ticket) {
	was, is := old != nil && old.Status == Searching, t != nil && t.Status == Searching
	if was && !is {
		s.open.Delete(moment{old.Started, old.ID})
		s.timers.Delete(timer{at: old.Deadline, id: old.ID})
	}
	if is && !was {
		s.open.Set(moment{t.Started, t.ID})
		s.timers.Set(timer{at: t.Deadline, id: t.ID})
	}
	was, is = old != nil && !old.HasEnded(), t != nil && !t.HasEnded()
	if was && !is {
		s.leave(old)
	}
	if is && !was {
		s.enter(t)
	}
	if was, is = old != nil && old.HasEnded(), t != nil && t.HasEnded(); was && !is {
		s.over.Delete(moment{old.Ended, old.ID})
	}
	if is && !was {
		s.over.Set(moment{t.Ended, t.ID})
	}
}

// enter notes that a ticket is active.
func (s *State) enter(t *Ticket) {
	for i := range t.Players {
		s.players[t.Players[i].ID] = t.ID
	}
	if t.GameSession != "" {
		s.sessions[t.GameSession] = t.ID
	}
	n, _ := s.active.Get(t.Configuration.ID)
	s.active.Set(t.Configuration.ID, n+1)
}

// leave notes that a ticket is active no more.
func (s *State) leave(t *Ticket) {
	for i := range t.Players {
		if id := t.Players[i].ID; s.players[id] == t.ID {
			delete(s.players, id)
		}
	}
	if s.sessions[t.GameSession] == t.ID {
		delete(s.sessions, t.GameSession)
	}
	if n, _ := s.active.Get(t.Configuration.ID); n > 1 {
		s.active.Set(t.Configuration.ID, n-1)
	} else {
		s.active.Delete(t.Configuration.ID)
	}
}

// storeMatch keeps a match, a new one or the next state of one.
func (s *State) storeMatch(m *Match) {
	s.matches.Set(m.ID, m)
	s.schedule(m.ID, s.deadlineOf(m))
}

// removeMatch removes a match and returns it.
func (s *State) removeMatch(id string) (*Match, bool) {
	m, ok := s.matches.Delete(id)
	s.schedule(id, 0)
	return m, ok
}

// schedule sets the timer of a match; 0: it has none.
func (s *State) schedule(id string, at event.Time) {
	if old, ok := s.due[id]; ok {
		s.timers.Delete(timer{old, true, id})
		delete(s.due, id)
	}
	if at != 0 {
		s.timers.Set(timer{at, true, id})
		s.due[id] = at
	}
}

// Ticket finds a ticket. It must not be changed; it may be kept.
func (s *State) Ticket(id string) (*Ticket, bool) { return s.tickets.Get(id) }

// Match finds a match that something is to be done about.
func (s *State) Match(id string) (*Match, bool) { return s.matches.Get(id) }

// Open calls visit with the tickets that are SEARCHING, by start, then id, until it
// returns false.
func (s *State) Searching(visit func(*Ticket) bool) {
	s.open.Scan(func(m moment) bool {
		t, _ := s.tickets.Get(m.id)
		return visit(t)
	})
}

// Matches calls visit with all matches that something is to be done about, until it
// returns false.
func (s *State) Matches(visit func(*Match) bool) {
	s.matches.Scan(func(_ string, m *Match) bool { return visit(m) })
}

// ActiveOf counts the tickets of a configuration that are not over.
func (s *State) ActiveTickets(configurationID string) int {
	n, _ := s.active.Get(configurationID)
	return n
}

// Over lists up to limit tickets that ended before the given moment, the earliest
// first. It is for the writer's own goroutine.
func (s *State) EndedBefore(before event.Time, limit int) []*Ticket {
	var over []*Ticket
	s.over.Scan(func(m moment) bool {
		if m.at >= before || len(over) == limit {
			return false
		}
		t, _ := s.tickets.Get(m.id)
		over = append(over, t)
		return true
	})
	return over
}
