package matchmaking

import (
	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/event"
)

// A State is the tickets and matches of a region. It has one writer; a frozen copy may be read concurrently. Records
// are copied on write.
type State struct {
	event.Gate // which events may be written; the shard raises it

	tickets   *btree.Map[string, *Ticket]
	matches   *btree.Map[string, *Match]
	outbox    *btree.Map[uint64, *Announcement]
	announced uint64                      // the number of the newest announcement
	waits     *btree.Map[string, float64] // seconds, by configuration id; see Estimate

	// SEARCHING tickets, by start
	open   *btree.BTreeG[moment]   // tickets that are SEARCHING, by their start
	active *btree.Map[string, int] // tickets that have not ended, by configuration id

	*live // nil in a frozen copy
}

// live is the state that only the writer needs; it is derived from the records.
type live struct {
	players  map[string]string     // active ticket by player
	sessions map[string]string     // active backfill ticket by the ARN of the game session
	ended    *btree.BTreeG[moment] // ended tickets, by end
	timers   *btree.BTreeG[timer]
	due      map[string]event.Time // of matches with a timer
}

// A moment orders tickets by a time, then by id.
type moment struct {
	at event.Time
	id string
}

func (a moment) before(b moment) bool { return a.at < b.at || a.at == b.at && a.id < b.id }

// New returns an empty state.
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
			ended:    btree.NewBTreeGOptions(moment.before, options),
			timers:   btree.NewBTreeGOptions(timer.before, options),
			due:      map[string]event.Time{},
		},
	}
}

// Freeze returns a copy that may be read concurrently with the writer, in constant time. Deadline, Expire and
// EndedBefore must not be called on it.
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

// A Command is a request to the State. It must not be changed afterwards.
type Command interface {
	// decide returns the events, or rejects the command with a *fault.Error. It changes nothing.
	decide(s *State, now event.Time) ([]any, error)
	// answer returns the answer, after the events were applied.
	answer(s *State) any
}

// Handle decides a command, applies its events and returns the answer. After an error, a *fault.Error, nothing has
// changed.
func (s *State) Handle(now event.Time, c Command) (events []any, answer any, err error) {
	if events, err = c.decide(s, now); err != nil {
		return nil, nil, err
	}
	for _, e := range events {
		s.Apply(e)
	}
	return events, c.answer(s), nil
}

// A stateEvent changes a State. All types of Events but the records of snapshots implement it.
type stateEvent interface{ apply(s *State) }

// Apply changes the State by one event, and ignores references to unknown records. It panics on an unknown type, which
// is a programming error.
func (s *State) Apply(e any) { e.(stateEvent).apply(s) }

func (s *State) addTicket(t *Ticket) {
	s.removeTicket(t.ID)
	s.storeTicket(t)
}

func (s *State) removeTicket(id string) {
	if t, ok := s.tickets.Delete(id); ok {
		s.keepUp(t, nil)
	}
}

// storeTicket adds or replaces a ticket.
func (s *State) storeTicket(t *Ticket) {
	old, _ := s.tickets.Set(t.ID, t)
	s.keepUp(old, t)
}

// keepUp updates the derived parts after a ticket changed; old is nil for a new one, t for a removed one.
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
		s.ended.Delete(moment{old.Ended, old.ID})
	}
	if is && !was {
		s.ended.Set(moment{t.Ended, t.ID})
	}
}

// enter adds a ticket to the active ones.
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

// leave removes a ticket from the active ones.
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

// storeMatch adds or replaces a match.
func (s *State) storeMatch(m *Match) {
	s.matches.Set(m.ID, m)
	s.schedule(m.ID, s.deadlineOf(m))
}

func (s *State) removeMatch(id string) (*Match, bool) {
	m, ok := s.matches.Delete(id)
	s.schedule(id, 0)
	return m, ok
}

// schedule sets the timer of a match; 0: none.
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

// Ticket finds a ticket. It is immutable.
func (s *State) Ticket(id string) (*Ticket, bool) { return s.tickets.Get(id) }

// Match finds a match that has not ended.
func (s *State) Match(id string) (*Match, bool) { return s.matches.Get(id) }

// Searching calls visit with the SEARCHING tickets by start, then id, until it returns false.
func (s *State) Searching(visit func(*Ticket) bool) {
	s.open.Scan(func(m moment) bool {
		t, _ := s.tickets.Get(m.id)
		return visit(t)
	})
}

// Matches calls visit with all matches until it returns false.
func (s *State) Matches(visit func(*Match) bool) {
	s.matches.Scan(func(_ string, m *Match) bool { return visit(m) })
}

// ActiveTickets counts the tickets of a configuration that have not ended.
func (s *State) ActiveTickets(configurationID string) int {
	n, _ := s.active.Get(configurationID)
	return n
}

// TicketOf returns the active ticket of a player. Only the writer may call it.
func (s *State) TicketOf(player string) (*Ticket, bool) {
	id, ok := s.players[player]
	if !ok {
		return nil, false
	}
	return s.tickets.Get(id)
}

// SearchingCount returns the number of SEARCHING tickets, and the start of the oldest; 0 if there is none.
func (s *State) SearchingCount() (n int, oldest event.Time) {
	first, _ := s.open.Min()
	return s.open.Len(), first.at
}

// From calls visit with the records whose ids are not before an id, in order of id, until it returns false.
func (s *State) From(id string, visit func(*Ticket) bool) {
	s.tickets.Ascend(id, func(_ string, r *Ticket) bool { return visit(r) })
}

// LastStarted calls visit with the SEARCHING tickets before a start and id, until it returns false; those that started
// last come first.
func (s *State) LastStarted(before event.Time, id string, visit func(*Ticket) bool) {
	s.descend(s.open, moment{before, id}, visit)
}

// LastEnded is LastStarted for tickets that have ended, by their end. Only the writer may call it.
func (s *State) LastEnded(before event.Time, id string, visit func(*Ticket) bool) {
	s.descend(s.ended, moment{before, id}, visit)
}

func (s *State) descend(in *btree.BTreeG[moment], before moment, visit func(*Ticket) bool) {
	in.Descend(before, func(m moment) bool {
		if m == before {
			return true
		}
		t, _ := s.tickets.Get(m.id)
		return visit(t)
	})
}

// EndedBefore lists up to limit tickets that ended before the given time, the earliest first. Only the writer may call
// it.
func (s *State) EndedBefore(before event.Time, limit int) []*Ticket {
	var ended []*Ticket
	s.ended.Scan(func(m moment) bool {
		if m.at >= before || len(ended) == limit {
			return false
		}
		t, _ := s.tickets.Get(m.id)
		ended = append(ended, t)
		return true
	})
	return ended
}
