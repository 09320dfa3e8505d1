package fleet

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/event/eventtest"
)

// start is the moment at which every test begins.
var start = event.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))

var types = event.NewSet(Events)

// A world is a Room with a clock. Every change is checked, and kept as a
// journal would keep it.
type world struct {
	t        testing.TB
	settings Settings
	room     *Room
	now      event.Time
	journal  bytes.Buffer
	randoms  uint64
}

var testRoomID = RoomID{Fleet: "fleet-1", Location: "custom-home"}

func newWorld(t testing.TB) *world {
	w := &world{t: t, settings: DefaultSettings("us-west-2"), now: start}
	w.room = NewRoom(testRoomID, Address{Shard: 3, Room: 7}, &w.settings)
	return w
}

// try handles a command. A refused one must leave the Room as it was.
func (w *world) try(c Command) ([]any, any, error) {
	w.t.Helper()
	before := w.room.Freeze()
	events, answer, err := w.room.Handle(w.now, c)
	if err != nil && !bytes.Equal(snapshotOf(w.t, before), snapshotOf(w.t, w.room)) {
		w.t.Fatalf("%T was refused and has changed the room", c)
	}
	w.keep(events)
	return events, answer, err
}

// do handles a command that must succeed and returns the answer.
func (w *world) do(c Command) any {
	w.t.Helper()
	_, answer, err := w.try(c)
	if err != nil {
		w.t.Fatalf("%T: %v", c, err)
	}
	return answer
}

// wait lets time pass and does what becomes due, each at its own moment.
func (w *world) wait(d time.Duration) []any {
	w.t.Helper()
	end := w.now.Add(d)
	var events []any
	for {
		at := w.room.Deadline()
		if at == 0 || at > end {
			break
		}
		w.now = max(w.now, at)
		more := w.room.Expire(w.now)
		w.keep(more)
		events = append(events, more...)
	}
	w.now = end
	return events
}

func (w *world) keep(events []any) {
	w.t.Helper()
	for _, e := range events {
		if err := types.Append(&w.journal, event.Fact{Room: 7, Body: e}); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := check(w.room); err != nil {
		w.t.Fatal(err)
	}
}

// replay makes a Room of the journal alone.
func (w *world) replay() *Room {
	w.t.Helper()
	r := NewRoom(w.room.id, w.room.address, &w.settings)
	for _, f := range eventtest.Facts(w.t, types, w.journal.Bytes()) {
		r.Apply(f.Body)
	}
	return r
}

// Short forms of the usual commands.

func key(id string) ProcessKey { return ProcessKey{Compute: "host-1", ID: id} }

func (w *world) compute(name string) {
	w.t.Helper()
	w.do(RegisterCompute{Name: name, IPAddress: "10.0.0.1", DNSName: name + ".example"})
}

// ready brings a process on a registered compute as far as ProcessReady.
func (w *world) ready(k ProcessKey) {
	w.t.Helper()
	w.do(ConnectProcess{ProcessKey: k, Idempotency: "run-" + k.ID})
	w.do(ReadyProcess{ProcessKey: k, Port: 7777})
}

func creation(id string) CreateGameSession {
	return CreateGameSession{ID: id, Maximum: 3, Fingerprint: []byte(id), ActivationTimeout: 10 * time.Minute,
		MaxActivations: 100}
}

// active brings a game session on its own process as far as ACTIVE.
func (w *world) active(id string, k ProcessKey) *GameSession {
	w.t.Helper()
	if _, ok := w.room.Compute(k.Compute); !ok {
		w.compute(k.Compute)
	}
	w.ready(k)
	g := w.do(creation(id)).(*GameSession)
	if g.Host != k {
		w.t.Fatalf("game session %s is on %v instead of %v", id, g.Host, k)
	}
	return w.do(ActivateGameSession{ProcessKey: k, GameSession: id}).(*GameSession)
}

func (w *world) random() (r [8]byte) {
	w.randoms++
	binary.BigEndian.PutUint64(r[:], w.randoms)
	return r
}

// reserve takes places for players and returns their ids.
func (w *world) reserve(session string, players ...string) []PlayerSessionID {
	w.t.Helper()
	c := ReservePlayers{GameSession: session}
	for _, p := range players {
		c.Players = append(c.Players, NewPlayer{PlayerID: p, Random: w.random()})
	}
	return w.reservation(c)
}

// reservation has a reservation carried out and returns the ids of its player sessions.
func (w *world) reservation(c Command) (ids []PlayerSessionID) {
	w.t.Helper()
	for _, p := range w.do(c).(Reservation).Players {
		ids = append(ids, p.ID)
	}
	return ids
}

func (w *world) session(id string) *GameSession {
	w.t.Helper()
	g, ok := w.room.session(id)
	if !ok {
		w.t.Fatalf("game session %s is gone", id)
	}
	return g
}

// eachSession is GameSessions without giving them out, so that the Room goes on
// changing them in place.
func eachSession(r *Room, visit func(*GameSession) bool) {
	r.sessions.Scan(func(_ uint64, g *GameSession) bool { return visit(g) })
}

// eachProcess is Processes in the same way.
func eachProcess(r *Room, visit func(*Process) bool) {
	r.processes.Scan(func(e processEntry) bool { return visit(e.process) })
}

func (w *world) process(k ProcessKey) *Process {
	w.t.Helper()
	p, ok := w.room.Process(k)
	if !ok {
		w.t.Fatalf("process %v is gone", k)
	}
	return p
}

// codes are the codes of all fleet events, oldest first.
func (w *world) codes() []string {
	var codes []string
	for _, n := range w.room.FleetEvents(0, 0) {
		codes = append([]string{n.Code}, codes...)
	}
	return codes
}

// snapshotOf is the state of a Room in bytes.
func snapshotOf(t testing.TB, r *Room) []byte {
	t.Helper()
	var buf bytes.Buffer
	err := r.Snapshot(func(record any) error { return types.Append(&buf, event.Fact{Room: 7, Body: record}) })
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// restored makes a Room of a snapshot's bytes.
func restored(t testing.TB, settings *Settings, id RoomID, at Address, snapshot []byte) *Room {
	t.Helper()
	r := NewRoom(id, at, settings)
	for _, f := range eventtest.Facts(t, types, snapshot) {
		if err := r.Restore(f.Body); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// names are the types of events without their package.
func names(events []any) []string {
	var names []string
	for _, e := range events {
		names = append(names, types.Name(e))
	}
	return names
}
