package matchmaking

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// busyWorld has tickets in every status, some in matches in every stage, and
// announcements of them.
func busyWorld(t testing.TB) *world {
	w := &world{t: t, state: New(), now: start}
	for i := range 20 {
		a, b, m := fmt.Sprint("a", i), fmt.Sprint("b", i), fmt.Sprint("m", i)
		w.ticket(a, "player-"+a)
		w.ticket(b, "player-"+b)
		at := automatic()
		at.Acceptance = int32(i%2) * 30
		if i%5 > 0 {
			w.match(m, at, a, b)
		}
		switch i % 5 {
		case 2:
			where := connection("player-"+a, "player-"+b)
			where.GameSession += m
			w.do(Placed{m, where})
		case 3:
			w.do(PlacementFailed{Match: m})
		case 4:
			w.do(Start{ID: a + "-again", Configuration: ladder, Players: players("player-" + b + "-more"), Timeout: 30})
		}
	}
	w.wait(31 * time.Second)
	return w
}

// read asks a State everything that a frozen copy can be asked.
func read(t testing.TB, s *State) (state []byte, answers string) {
	var text bytes.Buffer
	s.Searching(func(ticket *Ticket) bool { fmt.Fprintln(&text, ticket.ID, ticket.Round); return true })
	s.Matches(func(m *Match) bool {
		id, ok := s.AutomaticAfter(m)
		fmt.Fprintln(&text, m.ID, m.Stage, id, ok)
		return true
	})
	seconds, ok := s.Estimate(ladder.ID)
	fmt.Fprintln(&text, s.ActiveTickets(ladder.ID), seconds, ok)
	for _, a := range s.Announcements(0, 100) {
		fmt.Fprintln(&text, describe(a))
	}
	_, ok = s.Ticket("a1")
	fmt.Fprintln(&text, ok)
	return snapshotOf(t, s), text.String()
}

// churn changes everything that a State holds, several times over.
func churn(w *world) {
	for round := range 3 {
		var open []string
		w.state.Searching(func(t *Ticket) bool { open = append(open, t.ID); return true })
		for i, id := range open {
			switch m := fmt.Sprint("churn-", round, "-", i); i % 3 {
			case 0:
				w.do(Stop{id})
			case 1:
				if !w.get(id).Backfill {
					w.match(m, unasked(), id)
					w.do(Placed{m, Connection{GameSession: arena + m}})
				}
			}
			w.ticket(fmt.Sprint("new-", round, "-", i), fmt.Sprint("newcomer-", round, "-", i))
		}
		for _, t := range w.state.EndedBefore(w.now, 5) {
			w.do(Forget{[]string{t.ID}})
		}
		w.do(Trim{w.state.announced - 5})
		w.wait(20 * time.Second)
	}
}

// TestFrozenCopiesNeverChange reads copies beside the writer; the race detector sees
// whether both touch the same memory.
func TestFrozenCopiesNeverChange(t *testing.T) {
	w := busyWorld(t)
	frozen := w.state.Freeze()
	state, answers := read(t, frozen)

	stop := make(chan struct{})
	errs := make(chan error, 4)
	var readers sync.WaitGroup
	for range cap(errs) {
		readers.Go(func() {
			for {
				if s, a := read(t, frozen); !bytes.Equal(s, state) || a != answers {
					errs <- errors.New("a frozen copy has changed while it was read")
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	churn(w)
	close(stop)
	readers.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	if s, a := read(t, frozen); !bytes.Equal(s, state) || a != answers {
		t.Error("a frozen copy has changed")
	}
	if s, _ := read(t, w.state); bytes.Equal(s, state) {
		t.Error("the state has not changed, so this shows nothing")
	}
	if !bytes.Equal(snapshotOf(t, w.replay()), snapshotOf(t, w.state)) {
		t.Error("the replayed state differs from the live one")
	}
}

// TestSnapshotStopsAtTheFirstError whatever record it is at.
func TestSnapshotStopsAtTheFirstError(t *testing.T) {
	s := busyWorld(t).state
	records := 0
	if err := s.Snapshot(func(any) error { records++; return nil }); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	for n := range records {
		written := 0
		err := s.Snapshot(func(any) error {
			if written == n {
				return full
			}
			written++
			return nil
		})
		if err != full || written != n {
			t.Errorf("a failure after %d records came back as %v after %d", n, err, written)
		}
	}
}

func TestRestoreRefusesOtherRecords(t *testing.T) {
	if err := New().Restore(&TicketEnded{}); err == nil {
		t.Error("an event is taken for a record")
	}
}

// TestOver lists tickets by their end, and no more than asked for.
func TestOver(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"c", "a", "b"} {
		w.ticket(id, id)
		w.do(Stop{id})
		w.wait(time.Second)
	}
	var got []string
	for _, over := range w.state.EndedBefore(start.Add(2*time.Second), 5) {
		got = append(got, over.ID)
	}
	w.want("before the last", fmt.Sprint(got), "[c a]")
	w.want("one", fmt.Sprint(len(w.state.EndedBefore(w.now, 1))), "1")
}

// TestExpireIsBounded, and goes on where it was.
func TestExpireIsBounded(t *testing.T) {
	s := New()
	for i := range maxDue + 10 {
		id := fmt.Sprint("t", i)
		_, _, err := s.Handle(start, Start{ID: id, Configuration: ladder, Players: players(id), Timeout: 60})
		if err != nil {
			t.Fatal(err)
		}
	}
	late := start.Add(time.Minute)
	if n := len(s.Expire(late - 1)); n != 0 {
		t.Errorf("%d tickets end too early", n)
	}
	for _, want := range []int{maxDue, 10, 0} {
		if n := len(s.Expire(late)); n != want {
			t.Errorf("%d tickets end at once, want %d", n, want)
		}
	}
}

// TestExpireFitsInARecord, however large the players are of tickets that are
// followed by another one.
func TestExpireFitsInARecord(t *testing.T) {
	s, large := New(), make([]string, 100)
	for i := range large {
		large[i] = strings.Repeat("x", 1000)
	}
	for i := range 60 {
		p := players(fmt.Sprint("p", i))
		p[0].Attributes = []Attribute{{"list", ruleset.Value{Type: ruleset.StringList, SL: large}}}
		s.Apply(&TicketStarted{
			ID: AutomaticTicket(fmt.Sprint(i)), Configuration: ladder, Players: p, Backfill: true, Automatic: true,
			GameSession: fmt.Sprint(arena, i),
			At:          start, Deadline: start.Add(time.Minute), Follows: fmt.Sprint(i),
		})
	}
	ended := 0
	for now := start.Add(time.Minute); s.Deadline() <= now; {
		var record bytes.Buffer
		for _, e := range s.Expire(now) {
			if err := types.Append(&record, event.Fact{Body: e}); err != nil {
				t.Fatal(err)
			}
			if _, ok := e.(*TicketEnded); ok {
				ended++
			}
		}
		if record.Len() > 1<<20 {
			t.Fatalf("one Expire gives %d bytes", record.Len())
		}
	}
	if ended != 60 {
		t.Errorf("%d tickets ended, want 60", ended)
	}
}

func TestTicketIsBounded(t *testing.T) {
	w := newWorld(t)
	p := players("p1")
	p[0].Attributes = []Attribute{{"text", ruleset.Value{Type: ruleset.String,
		S: strings.Repeat("x", maxPlayersWeight)}}}
	if _, _, err := w.try(Start{ID: "t1", Configuration: ladder, Players: p, Timeout: 60}); !fault.Is(err,
		fault.InvalidRequest) || !strings.Contains(err.Error(), "Players takes about") {
		t.Errorf("got %v", err)
	}
}
