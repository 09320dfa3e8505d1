package placement

import (
	"bytes"
	"testing"

	"github.com/muster-gg/muster/internal/event"
)

// FuzzFacts feeds any bytes that decode to the State, events to Apply and records to
// Restore, in any order. However little sense they make, the State stays consistent,
// survives a snapshot, and ends what is due.
func FuzzFacts(f *testing.F) {
	for _, s := range states {
		w := newWorld(f)
		s.make(w)
		f.Add(w.journal.Bytes())
		f.Add(snapshotOf(f, w.state))
		f.Add(append(bytes.Clone(w.journal.Bytes()), snapshotOf(f, w.state)...))
		f.Add(append(snapshotOf(f, w.state), w.journal.Bytes()...))
	}
	for _, e := range Events {
		f.Add(encode(f, []any{format.Filled(e)}))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := New()
		feed(s, data)
		checkAll(t, s)
		again := restored(t, snapshotOf(t, s))
		if !bytes.Equal(snapshotOf(t, s), snapshotOf(t, again)) {
			t.Fatal("the state differs after a snapshot")
		}
		for range 3 {
			a, b := s.Expire(s.Deadline()), again.Expire(again.Deadline())
			if !bytes.Equal(encode(t, a), encode(t, b)) {
				t.Fatal("other placements end after a snapshot")
			}
			checkAll(t, s)
		}
		for _, c := range transitionCommands {
			_, _, _ = s.Handle(start, c.c)
			checkAll(t, s)
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
		if isRecord(fact.Body) {
			if s.Restore(fact.Body) != nil {
				return
			}
		} else {
			s.Apply(fact.Body)
		}
		data = rest
	}
}

// checkAll checks the State and calls what reads it.
func checkAll(t *testing.T, s *State) {
	t.Helper()
	if err := check(s); err != nil {
		t.Fatal(err)
	}
	s.Pending(func(p *Placement) bool { return p != nil })
	s.EndedBefore(event.Time(1<<62), 5)
	s.Announcements(0, 5)
	if err := check(s.Freeze()); err != nil {
		t.Fatal(err)
	}
}
