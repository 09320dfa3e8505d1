package matchmaking

import (
	"bytes"
	"testing"

	"github.com/muster-gg/muster/internal/event"
)

// FuzzFacts feeds any bytes that decode to a State, events to Apply and records to
// Restore, in any order. However little sense they make, nothing panics, and a
// snapshot can be restored. If what comes out holds together, every command finds
// its way and leaves a State that holds together.
func FuzzFacts(f *testing.F) {
	var all bytes.Buffer
	for _, e := range Events {
		var one bytes.Buffer
		for _, buf := range []*bytes.Buffer{&one, &all} {
			if err := types.Append(buf, event.Fact{Body: format.Filled(e)}); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(one.Bytes())
	}
	f.Add(all.Bytes())
	f.Add(busyWorld(f).journal.Bytes())
	f.Add(snapshotOf(f, busyWorld(f).state))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := New()
		feed(s, data)
		s.Freeze()
		s.EndedBefore(1<<62, 10)
		restored(t, snapshotOf(t, s))
		if check(s) != nil {
			return
		}
		askAll(s)
		for range 3 {
			if due := s.Deadline(); due != 0 { // 0 is no deadline, and no clock shows it
				s.Expire(due)
			}
		}
		if err := check(s); err != nil {
			t.Fatal(err)
		}
	})
}

// feed hands the facts of data to s, up to the first that does not decode.
func feed(s *State, data []byte) {
	for len(data) > 0 {
		fact, rest, err := types.Next(data)
		if err != nil {
			return
		}
		if s.Restore(fact.Body) != nil {
			s.Apply(fact.Body)
		}
		data = rest
	}
}

// askAll gives a command of each kind to everything that there is.
func askAll(s *State) {
	commands := []Command{GameSessionEnded{arena}, Discard{ladder},
		Start{ID: "fuzz", Configuration: ladder, Players: players("text-5", "player-a1")}}
	s.Searching(func(t *Ticket) bool {
		commands = append(commands, Propose{ID: "fuzz-" + t.ID, Settings: MatchSettings{Configuration: t.Configuration},
			Tickets: []Proposed{{t.ID, t.Round}}})
		return len(commands) < 20
	})
	s.Matches(func(m *Match) bool {
		s.AutomaticAfter(m)
		for _, id := range m.Tickets {
			commands = append(commands, Accept{id, []string{"player-a1"}, true}, Stop{id})
		}
		commands = append(commands, Placed{m.ID, connection()}, Filled{m.ID, connection()}, PlacementTimedOut{m.ID},
			FillFailed{Match: m.ID})
		return len(commands) < 100
	})
	for _, c := range append(commands, Forget{[]string{"text-2"}}, Trim{5}) {
		_, _, _ = s.Handle(start, c)
	}
}
