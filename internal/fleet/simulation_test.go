package fleet

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/event/eventtest"
	"github.com/muster-gg/muster/internal/wire/fault"
)

var seeds = flag.Int("seeds", 200, "number of simulations")

// stepsPerSeed is the length of one simulation.
const stepsPerSeed = 400

// TestSimulation draws commands, clock steps and crashes from a seed and holds
// the Room to its invariants after every step. To see one again:
// go test -run 'TestSimulation/seed=17$'
func TestSimulation(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(*seeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			if err := simulate(t, seed, seen); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		})
	}
	t.Log(seen)
	if seen["steps"] < 10_000 {
		return // a few seeds need not meet everything
	}
	for _, e := range Events {
		name := types.Name(e.Type)
		if e.Number < 150 && seen[name] < 25 {
			t.Errorf("all simulations together gave %d events %s: they do not draw what leads to it", seen[name], name)
		}
	}
}

func simulate(t *testing.T, seed uint64, seen map[string]int) error {
	s := newSimulation(t, seed)
	s.seen = seen
	for step := range stepsPerSeed {
		what, err := s.step()
		if err == nil {
			err = s.inspect()
		}
		if err != nil {
			return fmt.Errorf("step %d, %s: %w", step, what, err)
		}
	}
	return s.replayed()
}

// A simulation is a Room with a journal that is always a little behind, as the
// journal of a shard is: a crash loses what it does not hold.
type simulation struct {
	t        *testing.T
	rng      *rand.Rand
	settings Settings
	room     *Room
	now      event.Time

	journal  bytes.Buffer // durable
	pending  bytes.Buffer // speculation, lost in a crash
	snapshot []byte       // the state at some point of the journal
	tail     int          // where the journal goes on behind the snapshot

	twin      *Room // restored from a snapshot; must do whatever room does
	twinSteps int

	seen        map[string]int // events and refusals, counted over all seeds
	frozen      *Room          // a copy that must stay as it was made
	frozenState []byte
	given       []given // records that must stay as they were

	lowered map[uint64]bool // game sessions whose maximum was lowered below their players
	before  statuses
	header  Header
	serial  int // makes names
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	s := &simulation{t: t, rng: rand.New(rand.NewPCG(seed, 1)), now: start, settings: DefaultSettings("us-west-2"),
		lowered: map[uint64]bool{}}
	s.settings.Processes = 5
	s.settings.FleetEventRetention = 10 * time.Minute
	s.settings.TokenLifetime = []time.Duration{time.Minute, time.Hour, 3 * time.Hour}[s.rng.IntN(3)]
	s.room = s.empty()
	return s
}

func (s *simulation) empty() *Room {
	return NewRoom(testRoomID, Address{Shard: 1, Room: 2}, &s.settings)
}

// step does one random thing and says what it was.
func (s *simulation) step() (string, error) {
	s.seen["steps"]++
	switch n := s.rng.IntN(100); {
	case n < 75:
		c := s.command()
		return fmt.Sprintf("%+v", c), s.handle(c)
	case n < 84:
		d := s.pause()
		return fmt.Sprintf("wait %s", d), s.pass(d)
	case n < 87:
		return "heartbeats", s.heartbeats()
	case n < 90:
		return "look again", s.unchanged()
	case n < 96:
		s.commit()
		return "commit and freeze", s.freeze()
	case n < 97:
		s.commit()
		s.snapshot, s.tail = snapshotOf(s.t, s.room.Freeze()), s.journal.Len()
		return "snapshot", nil
	case n < 98 && s.chance(50):
		return "crash", s.crash()
	case n < 99:
		return "replay", s.replayed()
	default:
		return "twin", s.beginTwin()
	}
}

// pause draws a step of the clock: mostly short, some long, some backwards.
func (s *simulation) pause() time.Duration {
	longest := []time.Duration{time.Second, 20 * time.Second, time.Minute, 4 * time.Minute, 20 * time.Minute,
		4 * time.Hour}
	weights := []int{40, 34, 16, 4, 2, 1}
	n := s.rng.IntN(100)
	for i, w := range weights {
		if n -= w; n < 0 {
			return time.Duration(s.rng.Int64N(int64(longest[i]))).Truncate(time.Millisecond)
		}
	}
	return -time.Duration(s.rng.Int64N(int64(time.Minute))).Truncate(time.Millisecond)
}

// heartbeats lets nearly all processes report their health, as they do every minute.
func (s *simulation) heartbeats() error {
	var commands []Command
	eachProcess(s.room, func(p *Process) bool {
		if p.Connected && p.running() && s.chance(95) {
			commands = append(commands, ReportHealth{ProcessKey: p.ProcessKey, Healthy: s.chance(90)})
		}
		return true
	})
	for _, c := range commands {
		if err := s.handle(c); err != nil {
			return err
		}
	}
	return nil
}

// handle gives a command to the Room, and to its twin.
func (s *simulation) handle(c Command) error {
	// Not a frozen copy: with one before each command nothing would be changed in place.
	before := snapshotOf(s.t, s.room)
	events, answer, err := s.room.Handle(s.now, c)
	if err != nil {
		s.seen[fmt.Sprintf("%T %s", c, fault.Of(err).Kind)]++
		if _, ok := errors.AsType[*fault.Error](err); !ok || len(events) > 0 {
			return fmt.Errorf("refused with %v and %d events", err, len(events))
		}
		if !bytes.Equal(before, snapshotOf(s.t, s.room)) {
			return fmt.Errorf("refused (%w), and the state has changed", err)
		}
	}
	if s.twin != nil {
		twins, _, twinErr := s.twin.Handle(s.now, c)
		if (err == nil) != (twinErr == nil) || !bytes.Equal(s.encode(events), s.encode(twins)) {
			return fmt.Errorf("gave %v and %v, the restored room %v and %v", names(events), err, names(twins), twinErr)
		}
	}
	s.pending.Write(s.encode(events))
	s.keep(answer)
	return s.places(c, err)
}

// given is a record that the Room has given out, and what it was then.
type given struct {
	record any
	state  string
}

// keep remembers some of the records that the Room gives out.
func (s *simulation) keep(record any) {
	switch r := record.(type) {
	case *GameSession:
		if r == nil {
			return
		}
	case Reservation, *Process:
	default:
		return
	}
	if len(s.given) < 50 && s.chance(50) {
		s.given = append(s.given, given{record, stateOf(record)})
	}
}

// stateOf is all that can be seen of a record.
func stateOf(record any) string {
	switch r := record.(type) {
	case Reservation:
		text := stateOf(r.GameSession)
		for _, p := range r.Players {
			text += fmt.Sprintf(" %+v", *p)
		}
		return text
	case *GameSession:
		text := fmt.Sprintf("%s %s %d %v %q", r.ID, r.Status, r.Maximum, r.Properties, r.Name)
		for _, p := range r.PlayerSessions() {
			text += fmt.Sprintf(" %+v", *p)
		}
		return text
	default:
		return fmt.Sprintf("%+v", r)
	}
}

// unchanged looks at the records that were given out once more, and asks for
// another one.
func (s *simulation) unchanged() error {
	for _, g := range s.given {
		if now := stateOf(g.record); now != g.state {
			return fmt.Errorf("what was given out as %s has become %s", g.state, now)
		}
	}
	s.given = s.given[len(s.given)/2:]
	if g, ok := s.room.GameSession(s.sessionID()); ok {
		s.keep(g)
	}
	if p, ok := s.room.Process(s.livingProcess(func(*Process) bool { return true })); ok {
		s.keep(p)
	}
	return nil
}

// places checks the rule that no game session is filled beyond its maximum.
func (s *simulation) places(c Command, refused error) error {
	switch c := c.(type) {
	case UpdateGameSession:
		if g, ok := s.room.session(c.ID); ok && refused == nil {
			s.lowered[g.Ordinal] = g.Players() > g.Maximum
		}
	case ReservePlayers:
		if g, ok := s.room.session(c.GameSession); ok && refused == nil && len(c.Players) > 0 &&
			g.Players() > g.Maximum {
			return fmt.Errorf("%d players in a game session for %d", g.Players(), g.Maximum)
		}
	}
	return nil
}

// pass moves the clock and does what is due.
func (s *simulation) pass(d time.Duration) error {
	s.now = s.now.Add(d)
	for rounds := 0; ; rounds++ {
		at := s.room.Deadline()
		if at == 0 || at > s.now {
			return checkExpired(s.room, s.now)
		}
		if rounds > 100 {
			return fmt.Errorf("deadline %d stays before %d", at, s.now)
		}
		events := s.room.Expire(s.now)
		s.pending.Write(s.encode(events))
		if s.twin != nil {
			if twins := s.twin.Expire(s.now); !bytes.Equal(s.encode(events), s.encode(twins)) {
				return fmt.Errorf("expired %v, the restored room %v", names(events), names(twins))
			}
		}
	}
}

func (s *simulation) encode(events []any) []byte {
	var buf bytes.Buffer
	for _, e := range events {
		s.seen[types.Name(e)]++
		if err := types.Append(&buf, event.Fact{Room: 2, Body: e}); err != nil {
			s.t.Fatal(err)
		}
	}
	return buf.Bytes()
}

func (s *simulation) commit() {
	s.journal.Write(s.pending.Bytes())
	s.pending.Reset()
}

// freeze makes a copy, after a last look at the one before.
func (s *simulation) freeze() error {
	if s.frozen != nil && !bytes.Equal(snapshotOf(s.t, s.frozen), s.frozenState) {
		return errors.New("a frozen copy has changed")
	}
	s.frozen = s.room.Freeze()
	s.frozenState = snapshotOf(s.t, s.frozen)
	return nil
}

// crash loses the speculation. The new owner replays and notes that the sockets are gone.
func (s *simulation) crash() error {
	s.pending.Reset()
	s.twin, s.before, s.header = nil, nil, Header{}
	s.room = s.recovered()
	s.lowered = map[uint64]bool{}
	eachSession(s.room, func(g *GameSession) bool {
		s.lowered[g.Ordinal] = g.Players() > g.Maximum
		return true
	})
	return s.handle(Interrupt{})
}

// recovered makes a Room of the newest snapshot and the journal behind it.
func (s *simulation) recovered() *Room {
	r := s.empty()
	if s.snapshot != nil {
		r = restored(s.t, &s.settings, testRoomID, r.address, s.snapshot)
	}
	for _, f := range eventtest.Facts(s.t, types, s.journal.Bytes()[s.tail:]) {
		r.Apply(f.Body)
	}
	return r
}

// replayed compares the state with those that come from all events, from the
// newest snapshot and the events behind it, and from a snapshot alone.
func (s *simulation) replayed() error {
	s.commit()
	live := snapshotOf(s.t, s.room)
	whole := s.empty()
	for _, f := range eventtest.Facts(s.t, types, s.journal.Bytes()) {
		whole.Apply(f.Body)
	}
	for name, r := range map[string]*Room{
		"replay":              whole,
		"snapshot and replay": s.recovered(),
		"snapshot":            restored(s.t, &s.settings, testRoomID, s.room.address, live),
	} {
		if !bytes.Equal(snapshotOf(s.t, r), live) {
			return fmt.Errorf("the state after %s differs from the live one", name)
		}
		if err := check(r); err != nil {
			return fmt.Errorf("the state after %s: %w", name, err)
		}
	}
	return nil
}

// beginTwin restores a second Room that has to do the same from here on.
func (s *simulation) beginTwin() error {
	s.twin = restored(s.t, &s.settings, testRoomID, s.room.address, snapshotOf(s.t, s.room))
	s.twinSteps = 30
	return nil
}

// inspect checks everything that must hold between two steps.
func (s *simulation) inspect() error {
	if err := check(s.room); err != nil {
		return err
	}
	after := statusesOf(s.room)
	if err := s.before.allow(after); s.before != nil && err != nil {
		return err
	}
	s.before = after
	return errors.Join(s.forward(), s.full(), s.sameTwin())
}

// forward checks that no counter goes back: what it has numbered is out there.
func (s *simulation) forward() error {
	old, h := s.header, s.room.header
	s.header = h
	if h.Sessions < old.Sessions || h.Tokens < old.Tokens || h.FleetEvents < old.FleetEvents {
		return fmt.Errorf("the counters went from %+v to %+v", old, h)
	}
	return nil
}

func (s *simulation) full() (err error) {
	eachSession(s.room, func(g *GameSession) bool {
		if g.Players() > g.Maximum && !s.lowered[g.Ordinal] {
			err = fmt.Errorf("game session %d has %d players and room for %d", g.Ordinal, g.Players(), g.Maximum)
		}
		return err == nil
	})
	return err
}

func (s *simulation) sameTwin() error {
	if s.twin == nil {
		return nil
	}
	if s.twinSteps--; s.twinSteps > 0 {
		return nil
	}
	defer func() { s.twin = nil }()
	if !bytes.Equal(snapshotOf(s.t, s.room), snapshotOf(s.t, s.twin)) {
		return errors.New("a room and the one restored from its snapshot have drifted apart")
	}
	return check(s.twin)
}
