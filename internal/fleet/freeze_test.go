package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
)

// busyWorld has games in every status, with players in every status.
func busyWorld(t testing.TB) *world {
	w := newWorld(t)
	for i := range 30 {
		k := ProcessKey{fmt.Sprint("host-", i%3), fmt.Sprint("process-", i)}
		id := fmt.Sprint("game-", i)
		w.active(id, k)
		ids := w.reserve(id, fmt.Sprint("ada-", i%7), "bob")
		w.do(AcceptPlayer{k, id, ids[0]})
		if i%4 == 0 {
			w.do(EndProcess{k})
		}
		w.do(IssueToken{k.Compute})
	}
	return w
}

// churn changes everything that a Room holds, several times over.
func churn(w *world) {
	for round := range 5 {
		w.room.GameSessions(0, func(g *GameSession) bool {
			if g.Status != Active {
				return true
			}
			w.do(UpdateGameSession{ID: g.ID, Name: fmt.Sprint("round ", round),
				Properties: []Property{{fmt.Sprint(round), "x"}}})
			for _, p := range g.CurrentPlayers {
				w.do(RemovePlayer{g.Host, g.ID, p.ID})
			}
			ids := w.reserve(g.ID, "cid", "dot", "eve")
			w.do(AcceptPlayer{g.Host, g.ID, ids[round%3]})
			if (int(g.Ordinal)+round)%8 == 0 {
				w.do(EndProcess{g.Host})
			}
			return true
		})
		w.compute(fmt.Sprint("extra-", round))
		w.do(ForgetGameSessions{[]uint64{1, 5, 9, uint64(round)}})
		w.wait(90 * time.Second)
		w.do(IssueToken{"host-0"})
	}
	w.do(Interrupt{})
	w.wait(5 * time.Minute)
	w.do(Clear{})
}

// read asks a Room everything that can be asked.
func read(r *Room) (state []byte, answers string) {
	var buf bytes.Buffer
	_ = r.Snapshot(func(record any) error { return types.Append(&buf, event.Fact{Body: record}) })
	var text bytes.Buffer
	r.PlayerSessionsOf("bob", func(g *GameSession, p *PlayerSession) bool {
		fmt.Fprintln(&text, g.ID, p.ID, p.Status)
		return true
	})
	for i := range 30 {
		g, ok := r.GameSession(fmt.Sprint("game-", i))
		fmt.Fprintln(&text, ok, g != nil && g.HasEnded())
	}
	doc, ok := r.Index().Get(2)
	fmt.Fprintln(&text, r.Counts(), r.Index().Len(), doc, ok, len(r.FleetEvents(0, 0)))
	return buf.Bytes(), text.String()
}

// TestFrozenCopiesNeverChange reads copies beside the writer; the race
// detector sees whether both touch the same memory.
func TestFrozenCopiesNeverChange(t *testing.T) {
	w := busyWorld(t)
	frozen := w.room.Freeze()
	state, answers := read(frozen)

	stop := make(chan struct{})
	errs := make(chan error, 4)
	var readers sync.WaitGroup
	for range cap(errs) {
		readers.Go(func() {
			for {
				if s, a := read(frozen); !bytes.Equal(s, state) || a != answers {
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
	if s, a := read(frozen); !bytes.Equal(s, state) || a != answers {
		t.Error("a frozen copy has changed")
	}
	if s, _ := read(w.room); bytes.Equal(s, state) {
		t.Error("the room has not changed, so this shows nothing")
	}
	if !bytes.Equal(snapshotOf(t, w.replay()), snapshotOf(t, w.room)) {
		t.Error("the replayed room differs from the live one")
	}
}

// TestSnapshotStopsAtTheFirstError whatever record it is at.
func TestSnapshotStopsAtTheFirstError(t *testing.T) {
	w := busyWorld(t)
	w.room.Apply(newFleetEvent(w.now, "A", ""))
	records := 0
	if err := w.room.Snapshot(func(any) error { records++; return nil }); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	for n := range records {
		written := 0
		err := w.room.Snapshot(func(any) error {
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
