package placement

import (
	"bytes"
	"strings"
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

var (
	roomA = fleet.RoomID{Fleet: "F1", Location: "custom-a"}
	roomB = fleet.RoomID{Fleet: "F2", Location: "custom-b"}
)

// A world is a State with a clock. Every change is checked, and kept as a journal would
// keep it.
type world struct {
	t       testing.TB
	state   *State
	now     event.Time
	journal bytes.Buffer
}

func newWorld(t testing.TB) *world { return &world{t: t, state: New(), now: start} }

// try handles a command. A refused one must leave the State as it was.
func (w *world) try(c Command) ([]any, any, error) {
	w.t.Helper()
	before := snapshotOf(w.t, w.state)
	events, answer, err := w.state.Handle(w.now, c)
	if (err != nil || len(events) == 0) && !bytes.Equal(before, snapshotOf(w.t, w.state)) {
		w.t.Fatalf("%T gave no event and has changed the state", c)
	}
	w.keep(events)
	return events, answer, err
}

// do handles a command that must succeed and returns the placement that it answers with.
func (w *world) do(c Command) *Placement {
	w.t.Helper()
	_, answer, err := w.try(c)
	if err != nil {
		w.t.Fatalf("%T: %v", c, err)
	}
	p, _ := answer.(*Placement)
	return p
}

// wait lets time pass and does what becomes due, each at its own moment.
func (w *world) wait(d time.Duration) (events []any) {
	w.t.Helper()
	end := w.now.Add(d)
	for at := w.state.Deadline(); at != 0 && at <= end; at = w.state.Deadline() {
		w.now = max(w.now, at)
		more := w.state.Expire(w.now)
		w.keep(more)
		events = append(events, more...)
	}
	w.now = end
	return events
}

func (w *world) keep(events []any) {
	w.t.Helper()
	w.journal.Write(encode(w.t, events))
	if err := check(w.state); err != nil {
		w.t.Fatal(err)
	}
}

func encode(t testing.TB, events []any) []byte {
	t.Helper()
	var buf bytes.Buffer
	for _, e := range events {
		if err := types.Append(&buf, event.Fact{Room: 7, Body: e}); err != nil {
			t.Fatal(err)
		}
	}
	return buf.Bytes()
}

// replayed makes a State of a journal.
func replayed(t testing.TB, journal []byte) *State {
	t.Helper()
	s := New()
	for _, f := range eventtest.Facts(t, types, journal) {
		s.Apply(f.Body)
	}
	return s
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
func names(events []any) string {
	var names []string
	for _, e := range events {
		names = append(names, types.Name(e))
	}
	return strings.Join(names, ", ")
}

// request is a request of ten players' places, that may be repeated.
func request(id string) Request {
	return Request{ID: id, Queue: "harbor", QueueID: "queue-1", Maximum: 10, Call: "call-" + id,
		Players: []Player{{PlayerID: "p1"}}}
}

// waiting and trying start placements.
func waiting(id string) Start { return Start{Request: request(id), Timeout: 60} }

func trying(id string) Start {
	room := roomA
	return Start{Request: request(id), Timeout: 60, Room: &room}
}

func session(id string) Session {
	return Session{
		Room: roomA, ID: id, IPAddress: "10.0.0.1", DNSName: "host-1.example", Port: 7777,
		Players: []PlacedPlayer{{PlayerID: "p1", PlayerSession: fleet.PlayerSessionID{1}}},
	}
}

// checkFault wants the fault, or none for an empty text.
func checkFault(t *testing.T, err error, kind fault.Kind, text string) {
	t.Helper()
	switch {
	case text == "" && err != nil:
		t.Errorf("refused: %v", err)
	case text != "" && (err == nil || fault.Of(err).Kind != kind || fault.Of(err).Message != text):
		t.Errorf("got %v, want %s: %s", err, kind, text)
	}
}
