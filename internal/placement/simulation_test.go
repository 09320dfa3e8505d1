package placement

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
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire/fault"
)

var seeds = flag.Int("seeds", 40, "number of simulations")

// stepsPerSeed is the length of one simulation.
const stepsPerSeed = 300

// TestSimulation draws commands, clock steps and crashes from a seed and holds the State
// to its invariants and to a model after every step. To see one again:
// go test -run 'TestSimulation/seed=17$'
func TestSimulation(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(*seeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s := newSimulation(t, seed, seen)
			for step := range stepsPerSeed {
				what, err := s.step()
				if err == nil {
					err = s.inspect()
				}
				if err != nil {
					t.Fatalf("seed %d, step %d, %s: %v", seed, step, what, err)
				}
			}
			if err := s.replay(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		})
	}
	t.Log(seen)
	if *seeds < 40 {
		return // a few seeds need not meet everything
	}
	for _, what := range []string{
		"PlacementStarted", "AttemptBegun", "AttemptEnded", "PlacementFulfilled", "PlacementEnded",
		"PlacementsForgotten",
		"AnnouncementsTrimmed",
		"CANCELLED", "TIMED_OUT", "FAILED", "placement.Start InvalidRequestException",
		"placement.Stop InvalidRequestException",
		"placement.Stop NotFoundException", "crash", "twin",
	} {
		if seen[what] < 8 {
			t.Errorf("all simulations together met %s %d times: they do not draw what leads to it", what, seen[what])
		}
	}
}

// A simulation is a State with a journal that is always a little behind, as the journal
// of a shard is: a crash loses what it does not hold.
type simulation struct {
	t     *testing.T
	rng   *rand.Rand
	state *State
	model *model
	now   event.Time
	seen  map[string]int // counted over all seeds

	journal  bytes.Buffer // durable
	pending  bytes.Buffer // speculation, lost in a crash
	snapshot []byte       // the state at some point of the journal
	tail     int          // where the journal goes on behind the snapshot

	twin        *State // restored from a snapshot; must do whatever state does
	frozen      *State // a copy that must stay as it was made
	frozenState []byte
}

func newSimulation(t *testing.T, seed uint64, seen map[string]int) *simulation {
	s := &simulation{t: t, rng: rand.New(rand.NewPCG(seed, 6)), state: New(), model: newModel(), now: start, seen: seen}
	s.snapshot = snapshotOf(t, s.state)
	s.freeze()
	return s
}

// step does one random thing and says what it was.
func (s *simulation) step() (string, error) {
	switch n := s.rng.IntN(100); {
	case n < 75:
		c := s.command()
		return fmt.Sprintf("%T %+v", c, c), s.handle(c)
	case n < 87:
		d := time.Duration(s.rng.IntN(30_000)-2_000) * time.Millisecond // the clock may go backwards
		return fmt.Sprintf("wait %s", d), s.pass(d)
	case n < 93:
		s.commit()
		err := s.unchanged()
		s.freeze()
		return "commit and freeze", err
	case n < 95:
		s.commit()
		s.snapshot, s.tail = snapshotOf(s.t, s.state.Freeze()), s.journal.Len()
		return "snapshot", nil
	case n < 97:
		return "crash", s.crash()
	case n < 98:
		return "replay", s.replay()
	default:
		err := s.unchanged()
		s.seen["twin"]++
		s.twin = restored(s.t, snapshotOf(s.t, s.state))
		return "twin", err
	}
}

// handle gives a command to the State, and to its twin.
func (s *simulation) handle(c Command) error {
	before := s.state.header
	events, _, err := s.state.Handle(s.now, c)
	if err != nil {
		s.seen[fmt.Sprintf("%T %s", c, fault.Of(err).Kind)]++
		if _, ok := errors.AsType[*fault.Error](err); !ok || len(events) > 0 {
			return fmt.Errorf("refused with %v and %d events", err, len(events))
		}
	}
	if len(events) == 0 && before != s.state.header { // the model sees to the rest
		return fmt.Errorf("gave no event (%w), and the state has changed", err)
	}
	if s.twin != nil {
		twins, _, twinErr := s.twin.Handle(s.now, c)
		if (err == nil) != (twinErr == nil) || !bytes.Equal(encode(s.t, events), encode(s.t, twins)) {
			return fmt.Errorf("gave %v and %v, the restored state %v and %v", names(events), err, names(twins), twinErr)
		}
	}
	return s.keep(events)
}

// keep writes events to the journal and lets the model follow.
func (s *simulation) keep(events []any) error {
	s.pending.Write(encode(s.t, events))
	for _, e := range events {
		s.seen[types.Name(e)]++
		if ended, ok := e.(*PlacementEnded); ok {
			s.seen[string(ended.Status)]++
			if p, _ := s.state.Placement(ended.ID); ended.Status == TimedOut && s.now < p.Deadline {
				return fmt.Errorf("placement %s is TIMED_OUT before its deadline", p.ID)
			}
		}
		if err := s.model.apply(e); err != nil {
			return err
		}
	}
	return nil
}

// pass moves the clock and does what is due.
func (s *simulation) pass(d time.Duration) error {
	s.now = s.now.Add(d)
	for at := s.state.Deadline(); at != 0 && at <= s.now; at = s.state.Deadline() {
		events := s.state.Expire(s.now)
		if len(events) == 0 {
			return fmt.Errorf("deadline %d stays before %d", at, s.now)
		}
		if s.twin != nil {
			if twins := s.twin.Expire(s.now); !bytes.Equal(encode(s.t, events), encode(s.t, twins)) {
				return fmt.Errorf("expired %v, the restored state %v", names(events), names(twins))
			}
		}
		if err := s.keep(events); err != nil {
			return err
		}
	}
	var err error
	s.state.Pending(func(p *Placement) bool {
		if !p.AttemptRunning() && p.Deadline <= s.now {
			err = fmt.Errorf("placement %s waits behind its deadline", p.ID)
		}
		return err == nil
	})
	return err
}

func (s *simulation) commit() {
	s.journal.Write(s.pending.Bytes())
	s.pending.Reset()
}

func (s *simulation) freeze() {
	s.frozen = s.state.Freeze()
	s.frozenState = snapshotOf(s.t, s.frozen)
}

// crash starts again from the snapshot and the journal behind it.
func (s *simulation) crash() error {
	s.seen["crash"]++
	s.pending.Reset()
	s.twin = nil
	s.state = restored(s.t, s.snapshot)
	for _, f := range eventtest.Facts(s.t, types, s.journal.Bytes()[s.tail:]) {
		s.state.Apply(f.Body)
	}
	s.model = newModel()
	for _, f := range eventtest.Facts(s.t, types, s.journal.Bytes()) {
		if err := s.model.apply(f.Body); err != nil {
			return fmt.Errorf("the journal is wrong: %w", err)
		}
	}
	s.freeze()
	return nil
}

// replay compares the State with one that is made of the journal alone, and with one that
// a snapshot is restored to.
func (s *simulation) replay() error {
	s.commit()
	want := snapshotOf(s.t, s.state)
	if !bytes.Equal(snapshotOf(s.t, replayed(s.t, s.journal.Bytes())), want) {
		return errors.New("the replayed state differs")
	}
	if !bytes.Equal(snapshotOf(s.t, restored(s.t, want)), want) {
		return errors.New("the restored state differs")
	}
	return nil
}

// inspect holds the state to its invariants and to the model.
func (s *simulation) inspect() error {
	if err := check(s.state); err != nil {
		return err
	}
	return s.model.compare(s.state)
}

// unchanged looks at the frozen copy and the twin before others take their place.
func (s *simulation) unchanged() error {
	if err := check(s.frozen); err != nil {
		return fmt.Errorf("frozen copy: %w", err)
	}
	if !bytes.Equal(snapshotOf(s.t, s.frozen), s.frozenState) {
		return errors.New("the frozen copy has changed")
	}
	if s.twin != nil && !bytes.Equal(snapshotOf(s.t, s.twin), snapshotOf(s.t, s.state)) {
		return errors.New("the restored state has gone another way")
	}
	return nil
}

// command draws a command about one of a few placements, mostly one that makes sense.
func (s *simulation) command() Command {
	id := fmt.Sprint("place-", s.rng.IntN(8))
	p, ok := s.state.Placement(id)
	if !ok && s.rng.IntN(10) > 2 {
		return s.start(id)
	}
	number := 1 + s.rng.IntN(3)
	if ok && p.Attempt != nil && s.rng.IntN(10) > 0 {
		number = p.Attempt.Number
	}
	switch n := s.rng.IntN(100); {
	case n < 15:
		return s.start(id)
	case n < 35:
		if ok && s.rng.IntN(10) > 0 {
			number = p.nextAttempt()
		}
		return Begin{ID: id, Number: number, Room: s.room(), Candidates: s.candidates(), Omitted: s.rng.IntN(2)}
	case n < 50:
		return Refused{id, number, "no process is free"}
	case n < 60:
		return Ended{id, number, s.rng.IntN(4) == 0, "the process has ended"}
	case n < 70:
		return Fulfil{id, number, Session{Room: s.room(), ID: SessionID(id, number), Port: 7777}}
	case n < 78:
		return Stop{id}
	case n < 80:
		return Fail{id, "its queue was deleted"}
	case n < 82:
		return Cancel{Request{ID: id, Queue: "harbor", Match: id}}
	case n < 91:
		return s.forget(id)
	default:
		return s.trim()
	}
}

func (s *simulation) start(id string) Start {
	c := Start{Timeout: int32(1 + s.rng.IntN(120)), Trail: Trail{Candidates: s.candidates()}}
	c.Request = Request{ID: id, Queue: "harbor", Call: []string{"", "call-1", "call-2"}[s.rng.IntN(3)]}
	if s.rng.IntN(3) == 0 {
		c.Request.Match = id
	}
	if s.rng.IntN(2) == 0 {
		room := s.room()
		c.Room = &room
	}
	return c
}

func (s *simulation) room() fleet.RoomID { return []fleet.RoomID{roomA, roomB}[s.rng.IntN(2)] }

func (s *simulation) candidates() []Considered {
	return []Considered{{Room: roomA, Cost: 0.1}, {Room: roomB, Dropped: "not in AllowedLocations"}}[:s.rng.IntN(3)]
}

// forget names placements that ended a while ago, as the history does, or any.
func (s *simulation) forget(id string) Forget {
	ids := []string{id}
	for _, p := range s.state.EndedBefore(s.now.Add(-time.Duration(s.rng.IntN(60))*time.Second), s.rng.IntN(5)) {
		ids = append(ids, p.ID)
	}
	return Forget{ids}
}

// trim is what a publisher sends, or a number that makes no sense.
func (s *simulation) trim() Trim {
	if s.rng.IntN(8) == 0 {
		return Trim{s.rng.Uint64N(s.state.header.Announced + 3)}
	}
	list := s.state.Announcements(0, s.rng.IntN(6))
	if len(list) == 0 {
		return Trim{}
	}
	return Trim{list[len(list)-1].Seq}
}
