package matchmaking

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/event/eventtest"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// start is the moment at which every test begins.
var start = event.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))

var types = event.NewSet(Events)

var ladder = Configuration{Name: "ladder", ID: "c-1"}

// arena is the game session that the matches of the tests are played in.
const arena = "arn:aws:gamelift:us-west-2::gamesession/fleet-1/custom-home/g-1"

// terms are those of a configuration with queue and acceptance, as in the lifecycle
// vectors of the specification.
var terms = MatchSettings{Configuration: ladder, Acceptance: 30, RequestTimeout: 60, Capacity: 2}

// A world is a State with a clock. Every change is checked, and kept as a journal
// would keep it.
type world struct {
	t       testing.TB
	state   *State
	now     event.Time
	lastErr error // of the last command of a table
	journal bytes.Buffer
}

func newWorld(t testing.TB) *world { return &world{t: t, state: New(), now: start} }

// try handles a command. A refused one must leave the State as it was.
func (w *world) try(c Command) ([]any, any, error) {
	w.t.Helper()
	before := snapshotOf(w.t, w.state)
	events, answer, err := w.state.Handle(w.now, c)
	if err != nil && !bytes.Equal(before, snapshotOf(w.t, w.state)) {
		w.t.Fatalf("%T was refused and has changed the state", c)
	}
	w.keep(events)
	return events, answer, err
}

// do handles a command that must succeed and returns the names of its events.
func (w *world) do(c Command) []string {
	w.t.Helper()
	events, _, err := w.try(c)
	if err != nil {
		w.t.Fatalf("%T: %v", c, err)
	}
	return names(events)
}

// refuse handles a command that must be refused in these words.
func (w *world) refuse(c Command, kind fault.Kind, message string) {
	w.t.Helper()
	_, _, err := w.try(c)
	if f := fault.Of(err); err == nil || f.Kind != kind || f.Message != message {
		w.t.Errorf("%T %+v: got %v, want %s: %s", c, c, err, kind, message)
	}
}

// wait lets time pass and does what becomes due, each at its own moment.
func (w *world) wait(d time.Duration) []string {
	w.t.Helper()
	end := w.now.Add(d)
	var events []any
	for at := w.state.Deadline(); at != 0 && at <= end; at = w.state.Deadline() {
		w.now = max(w.now, at)
		more := w.state.Expire(w.now)
		w.keep(more)
		events = append(events, more...)
	}
	w.now = end
	return names(events)
}

func (w *world) keep(events []any) {
	w.t.Helper()
	for _, e := range events {
		if err := types.Append(&w.journal, event.Fact{Room: 7, Body: e}); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := check(w.state); err != nil {
		w.t.Fatal(err)
	}
}

// replay makes a State of the journal alone.
func (w *world) replay() *State {
	w.t.Helper()
	s := New()
	for _, f := range eventtest.Facts(w.t, types, w.journal.Bytes()) {
		s.Apply(f.Body)
	}
	return s
}

// Short forms of the usual commands.

// players makes players of ids.
func players(ids ...string) []Player {
	var list []Player
	for _, id := range ids {
		list = append(list, Player{ID: id})
	}
	return list
}

// ticket opens a ticket of a minute with the given players.
func (w *world) ticket(id string, ids ...string) *Ticket {
	w.t.Helper()
	_, answer, err := w.try(Start{ID: id, Configuration: ladder, Players: players(ids...), Timeout: 60})
	if err != nil {
		w.t.Fatal(err)
	}
	return answer.(*Ticket)
}

// backfill opens a backfill ticket of the arena, whose players are in team red.
func (w *world) backfill(id string, ids ...string) *Ticket {
	w.t.Helper()
	c := Start{ID: id, Configuration: ladder, Players: players(ids...), Timeout: 60, Backfill: true, GameSession: arena}
	for i := range c.Players {
		c.Players[i].Team = "red"
	}
	w.do(c)
	return w.get(id)
}

// proposal is a match of tickets as they are now: the players of a backfill ticket
// stay in their team, and the others are blue.
func (w *world) proposal(match string, t MatchSettings, tickets ...string) Propose {
	w.t.Helper()
	c := Propose{ID: match, Settings: t, Teams: []Team{{Name: "red", Max: 5}, {Name: "blue", Max: 5}},
		Metrics: []Metric{{"Close", 2, 1}}}
	for _, id := range tickets {
		ticket := w.get(id)
		c.Tickets = append(c.Tickets, Proposed{id, ticket.Round})
		team := 1
		if ticket.Backfill {
			team = 0
		}
		for _, p := range ticket.Players {
			c.Teams[team].Players = append(c.Teams[team].Players, p.ID)
		}
	}
	return c
}

// match makes tickets a match, which must be possible.
func (w *world) match(match string, t MatchSettings, tickets ...string) {
	w.t.Helper()
	if events := w.do(w.proposal(match, t, tickets...)); len(events) == 0 {
		w.t.Fatalf("match %s of %v is not taken", match, tickets)
	}
}

// duel is a match m of t1 and t2 with one player each, p1 and p2.
func (w *world) duel(t MatchSettings) {
	w.t.Helper()
	w.ticket("t1", "p1")
	w.ticket("t2", "p2")
	w.match("m", t, "t1", "t2")
}

func (w *world) get(id string) *Ticket {
	w.t.Helper()
	t, ok := w.state.Ticket(id)
	if !ok {
		w.t.Fatalf("ticket %s is gone", id)
	}
	return t
}

// connection is the arena with player sessions for the given players.
func connection(ids ...string) Connection {
	c := Connection{GameSession: arena, IPAddress: "192.0.2.10", DNSName: "host.example", Port: 7777}
	for i, id := range ids {
		c.Players = append(c.Players, MatchedPlayer{id, fleet.PlayerSessionID{15: byte(i + 1)}})
	}
	return c
}

// statuses shows tickets with their statuses: "t1 SEARCHING, t2 CANCELLED".
func (w *world) statuses(ids ...string) string {
	text := ""
	for i, id := range ids {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprint(id, " ", w.get(id).Status)
	}
	return text
}

// want compares a text that a test made with the one that it wants.
func (w *world) want(what, got, want string) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

// announced are the announcements since the last look, one a line, and trims them:
// "AcceptMatch m [t1 t2] p1:blue:yes p2:blue".
func (w *world) announced() string {
	w.t.Helper()
	text := ""
	for _, a := range w.state.Announcements(0, -1) {
		text += "\n" + describe(a)
		w.do(Trim{a.Seq})
	}
	return text
}

func describe(a *Announcement) string {
	text := string(a.Type)
	if a.Match != nil {
		text += " " + a.Match.ID
	}
	var ids []string
	for _, t := range a.Tickets {
		ids = append(ids, t.ID)
	}
	text += fmt.Sprint(" ", ids)
	for _, t := range a.Tickets {
		for _, p := range t.Players {
			text += " " + describePlayer(a, p)
		}
	}
	for _, note := range []string{a.Acceptance, a.Reason} {
		if note != "" {
			text += " " + note
		}
	}
	return text
}

func describePlayer(a *Announcement, p Player) string {
	text := p.ID
	if p.Team != "" {
		text += ":" + p.Team
	}
	if a.Match == nil {
		return text
	}
	if answer, ok := a.Match.answer(p.ID); ok {
		text += map[bool]string{true: ":yes", false: ":no"}[answer.Accepted]
	}
	return text
}

// check holds a State to what must be true of it at any time.
func check(s *State) error {
	holders, sessions, active := map[string]string{}, map[string]string{}, map[string]int{}
	open, over, timers := 0, 0, 0
	var err error
	fail := func(format string, args ...any) bool {
		err = fmt.Errorf(format, args...)
		return false
	}
	s.tickets.Scan(func(id string, t *Ticket) bool {
		m, inMatch := s.matches.Get(t.Match)
		switch {
		case t.HasEnded():
			over++
			if _, ok := s.ended.Get(moment{t.Ended, id}); !ok || t.Ended == 0 {
				return fail("ticket %s is over and not among those", id)
			}
			return true
		case t.Status == Searching:
			open++
			timers++
			if _, ok := s.open.Get(moment{t.Started, id}); !ok || t.Match != "" {
				return fail("ticket %s is SEARCHING and not open, or in match %s", id, t.Match)
			}
			if _, ok := s.timers.Get(timer{t.Deadline, false, id}); !ok {
				return fail("ticket %s has no timer", id)
			}
		case !inMatch || !slices.Contains(m.Tickets, id):
			return fail("ticket %s is %s, but not in match %q", id, t.Status, t.Match)
		case (t.Status == RequiresAcceptance) != (m.Stage == StageAcceptance):
			return fail("ticket %s is %s and its match in stage %d", id, t.Status, m.Stage)
		}
		active[t.Configuration.ID]++
		for _, p := range t.Players {
			if other, ok := holders[p.ID]; ok {
				return fail("player %s is in active tickets %s and %s", p.ID, other, id)
			}
			if holders[p.ID] = id; s.players[p.ID] != id {
				return fail("player %s is in ticket %s and found in %q", p.ID, id, s.players[p.ID])
			}
		}
		if other, ok := sessions[t.GameSession]; ok && t.GameSession != "" {
			return fail("game session %s has backfill tickets %s and %s", t.GameSession, other, id)
		}
		if t.GameSession != "" {
			sessions[t.GameSession] = id
		}
		return true
	})
	if err != nil {
		return err
	}
	s.matches.Scan(func(id string, m *Match) bool {
		if at := s.deadlineOf(m); at != s.due[id] {
			return fail("match %s in stage %d is due at %d, its timer is at %d", id, m.Stage, at, s.due[id])
		}
		if s.deadlineOf(m) != 0 {
			timers++
		}
		if (m.Stage == StageCancelling) != (len(m.Tickets) == 0) {
			return fail("match %s in stage %d has %d tickets", id, m.Stage, len(m.Tickets))
		}
		if (m.Stage == StageAcceptance) != (m.AcceptBy != 0) || m.Stage == 0 {
			return fail("match %s is in stage %d and has until %d", id, m.Stage, m.AcceptBy)
		}
		for i, ticket := range m.Tickets {
			t, ok := s.tickets.Get(ticket)
			if !ok || t.Match != id || t.HasEnded() || t.Status == Searching {
				return fail("match %s names ticket %s, which is not in it", id, ticket)
			}
			if t.Backfill && i > 0 {
				return fail("match %s has backfill ticket %s in place %d", id, ticket, i)
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	switch {
	case len(s.players) != len(holders) || len(s.sessions) != len(sessions) || s.active.Len() != len(active):
		return fmt.Errorf("indexes of %d players, %d sessions, %d configurations; there are %d, %d, %d",
			len(s.players), len(s.sessions), s.active.Len(), len(holders), len(sessions), len(active))
	case s.open.Len() != open || s.ended.Len() != over || s.timers.Len() != timers:
		return fmt.Errorf("indexes of %d open, %d over, %d timers; there are %d, %d, %d", s.open.Len(), s.ended.Len(),
			s.timers.Len(), open, over, timers)
	}
	for id, n := range active {
		if s.ActiveTickets(id) != n {
			return fmt.Errorf("configuration %s has %d active tickets, counted are %d", id, n, s.ActiveTickets(id))
		}
	}
	last := uint64(0)
	s.outbox.Scan(func(seq uint64, a *Announcement) bool {
		if a.Seq != seq || last != 0 && seq != last+1 {
			return fail("announcement %d follows %d", seq, last)
		}
		last = seq
		return true
	})
	if err == nil && last != 0 && last != s.announced {
		err = fmt.Errorf("the newest announcement is %d, counted are %d", last, s.announced)
	}
	return err
}

// snapshotOf is a State in bytes.
func snapshotOf(t testing.TB, s *State) []byte {
	t.Helper()
	var buf bytes.Buffer
	err := s.Snapshot(func(record any) error { return types.Append(&buf, event.Fact{Room: 7, Body: record}) })
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// restored makes a State of a snapshot's bytes.
func restored(t testing.TB, snapshot []byte) *State {
	t.Helper()
	s := New()
	for _, f := range eventtest.Facts(t, types, snapshot) {
		if err := s.Restore(f.Body); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// names are the types of events without their package.
func names(events []any) []string {
	var names []string
	for _, e := range events {
		names = append(names, types.Name(e))
	}
	return names
}
