package region

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
)

var seeds = flag.Int("seeds", 200, "number of simulations")

// TestSimulation draws commands for the catalog and a few rooms, clock steps
// and crashes from a seed. What happens inside a room is the affair of package
// fleet; here it is that rooms open, close, expire, freeze and come back.
// To see one again: go test -run 'TestSimulation/seed=17$'
func TestSimulation(t *testing.T) {
	for seed := range uint64(*seeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s := &simulation{t: t, rng: rand.New(rand.NewPCG(seed, 2)), shard: int(seed % 2), now: start,
				settings: settings()}
			s.machine = New(s.shard, s.settings)
			for step := range 150 {
				what, err := s.step()
				if err == nil {
					err = s.inspect()
				}
				if err != nil {
					t.Fatalf("seed %d, step %d, %s: %v", seed, step, what, err)
				}
			}
		})
	}
}

type simulation struct {
	t        *testing.T
	rng      *rand.Rand
	shard    int
	settings *Settings
	machine  *Machine
	now      time.Time
	serial   int

	journal  []byte // durable
	pending  []byte // lost in a crash
	snapshot []byte
	tail     int // where the journal goes on behind the snapshot

	twin   *Machine // restored from a snapshot; must do whatever machine does
	frozen *Machine // must stay as it was made
	state  []byte   // of frozen
}

func (s *simulation) step() (string, error) {
	switch n := s.rng.IntN(100); {
	case n < 70:
		c := s.command()
		return fmt.Sprintf("%+v", c), s.handle(c)
	case n < 85:
		return "wait", s.pass()
	case n < 91:
		s.commit()
		return "freeze", s.freeze()
	case n < 93:
		s.commit()
		s.snapshot, s.tail = snapshotOf(s.t, s.machine.Freeze()), len(s.journal)
		return "snapshot", nil
	case n < 95:
		return "crash", s.crash()
	case n < 97:
		return "replay", s.replayed()
	default:
		s.twin = restored(s.t, s.shard, s.settings, snapshotOf(s.t, s.machine), nil)
		return "twin", nil
	}
}

func (s *simulation) command() Command {
	room := roomID(s.rng.IntN(5))
	host := fmt.Sprint("host-", s.rng.IntN(3))
	s.serial++
	switch s.rng.IntN(16) {
	case 0, 1:
		return CloseRoom{room}
	case 2, 3, 4, 5:
		return RoomCommand{Room: room, Command: fleet.RegisterCompute{Name: host, IPAddress: "10.0.0.1"}, Open: true}
	case 6:
		return RoomCommand{Room: room, Command: fleet.Clear{}}
	case 7:
		return RoomCommand{Room: room, Command: fleet.DeregisterCompute{Name: host}, Open: s.rng.IntN(2) == 0}
	case 8:
		return RoomCommand{Room: room, Command: fleet.IssueToken{Compute: host}, Open: s.rng.IntN(2) == 0}
	case 9, 10:
		return RoomCommand{Room: room, Command: fleet.CreateGameSession{
			ID: fmt.Sprint("game-", s.serial), Maximum: 4, ActivationTimeout: time.Minute, MaxActivations: 9,
		}}
	case 11, 12:
		return s.catalogCommand()
	case 13:
		return RoomCommand{Room: room, Command: fleet.ForgetGameSessions{Ordinals: []uint64{uint64(s.rng.IntN(9))}}}
	default:
		key := fleet.ProcessKey{Compute: host, ID: fmt.Sprint("process-", s.serial)}
		if s.rng.IntN(2) == 0 {
			key = s.process(room, key)
			return RoomCommand{Room: room, Command: fleet.ReadyProcess{ProcessKey: key, Port: 7777}}
		}
		return RoomCommand{Room: room, Command: fleet.ConnectProcess{ProcessKey: key}, Open: s.rng.IntN(2) == 0}
	}
}

// process is one of the room's, if it has one.
func (s *simulation) process(id fleet.RoomID, otherwise fleet.ProcessKey) fleet.ProcessKey {
	if room, ok := s.machine.Room(id); ok {
		room.Processes(func(p *fleet.Process) bool {
			otherwise = p.ProcessKey
			return s.rng.IntN(3) > 0
		})
	}
	return otherwise
}

func (s *simulation) catalogCommand() Command {
	name := fmt.Sprint("custom-", s.rng.IntN(4))
	id := fmt.Sprint("fleet-", s.rng.IntN(3))
	switch s.rng.IntN(5) {
	case 0:
		return CatalogCommand{catalog.DeleteLocation{Name: name}}
	case 1:
		return CatalogCommand{catalog.DeleteFleet{Fleet: id}}
	case 2:
		create := catalog.CreateFleet{ID: id, ComputeType: "ANYWHERE", Locations: []string{name},
			EventIDs: []string{"a", "b", "c"}}
		create.Name = "game"
		return CatalogCommand{create}
	default:
		return CatalogCommand{catalog.CreateLocation{Name: name}}
	}
}

func (s *simulation) handle(c Command) error {
	before := s.machine.Freeze()
	facts, answer, err := s.machine.Handle(s.now, c)
	if err != nil && (len(facts) > 0 || !bytes.Equal(snapshotOf(s.t, before), snapshotOf(s.t, s.machine))) {
		return fmt.Errorf("refused with %w, and something has changed", err)
	}
	s.pending = append(s.pending, encode(s.t, facts)...)
	if s.twin == nil {
		return nil
	}
	sent, unread := DecodeCommand(appendedCommand(s.t, c)) // the twin is on another node
	if unread != nil {
		return unread
	}
	twins, twinAnswer, twinErr := s.twin.Handle(s.now, sent)
	return s.same(facts, twins, bytes.Equal(s.answered(answer, err), s.answered(twinAnswer, twinErr)))
}

// answered is an answer as another node gets it, which reads it without loss.
func (s *simulation) answered(answer any, refused error) []byte {
	data, err := AppendAnswer(nil, answer, refused)
	if err != nil {
		s.t.Fatalf("answer %+v: %v", answer, err)
	}
	read, refused, err := DecodeAnswer(data)
	if err != nil {
		s.t.Fatalf("answer %+v: %v", answer, err)
	}
	if again, err := AppendAnswer(nil, read, refused); err != nil || !bytes.Equal(again, data) {
		s.t.Fatalf("answer %+v is read as %+v: %v", answer, read, err)
	}
	return data
}

func (s *simulation) same(facts, twins []event.Fact, alike bool) error {
	if !alike || !bytes.Equal(encode(s.t, facts), encode(s.t, twins)) {
		return fmt.Errorf("gave %d facts, the restored machine %d others", len(facts), len(twins))
	}
	return nil
}

// pass moves the clock, now and then by a month, sometimes backwards, and does what is due.
func (s *simulation) pass() error {
	step := []time.Duration{time.Second, 30 * time.Second, 3 * time.Minute, 20 * time.Minute, 40 * 24 * time.Hour,
		-time.Minute}[s.rng.IntN(6)]
	if step > time.Hour && s.rng.IntN(4) > 0 {
		step = time.Second
	}
	s.now = s.now.Add(time.Duration(s.rng.Int64N(int64(max(step, -step)))) * time.Duration(step/max(step, -step)))
	facts, err := s.expire(s.machine)
	s.pending = append(s.pending, encode(s.t, facts)...)
	if s.twin == nil || err != nil {
		return err
	}
	twins, err := s.expire(s.twin)
	if err != nil {
		return err
	}
	// Each room does the same. Their turns may differ: a restored room knows its
	// deadline, the live one may look up early and find that it has moved on.
	byRoom := func(a, b event.Fact) int { return int(a.Room) - int(b.Room) }
	slices.SortStableFunc(facts, byRoom)
	slices.SortStableFunc(twins, byRoom)
	return s.same(facts, twins, true)
}

// expire does everything that is due.
func (s *simulation) expire(m *Machine) (facts []event.Fact, err error) {
	for range 200 {
		if at := m.Deadline(); at.IsZero() || at.After(s.now) {
			return facts, nil
		}
		facts = append(facts, m.Expire(s.now)...)
	}
	return nil, fmt.Errorf("the deadline %v stays before %v", m.Deadline(), s.now)
}

func (s *simulation) commit() {
	s.journal = append(s.journal, s.pending...)
	s.pending = nil
}

func (s *simulation) freeze() error {
	if s.frozen != nil && !bytes.Equal(snapshotOf(s.t, s.frozen), s.state) {
		return errors.New("a frozen machine has changed")
	}
	s.frozen = s.machine.Freeze()
	s.state = snapshotOf(s.t, s.frozen)
	return nil
}

func (s *simulation) crash() error {
	s.pending, s.twin = nil, nil
	s.machine = restored(s.t, s.shard, s.settings, s.snapshot, s.journal[s.tail:])
	s.pending = encode(s.t, s.machine.Recovered(s.now))
	return nil
}

func (s *simulation) replayed() error {
	s.commit()
	live := snapshotOf(s.t, s.machine)
	for name, m := range map[string]*Machine{
		"replay":              restored(s.t, s.shard, s.settings, nil, s.journal),
		"snapshot and replay": restored(s.t, s.shard, s.settings, s.snapshot, s.journal[s.tail:]),
		"snapshot":            restored(s.t, s.shard, s.settings, live, nil),
	} {
		if !bytes.Equal(snapshotOf(s.t, m), live) {
			return fmt.Errorf("the state after %s differs from the live one", name)
		}
		if err := check(m); err != nil {
			return fmt.Errorf("after %s: %w", name, err)
		}
	}
	return nil
}

func (s *simulation) inspect() error {
	if err := check(s.machine); err != nil {
		return err
	}
	if !bytes.Equal(snapshotOf(s.t, s.machine.Freeze()), snapshotOf(s.t, s.machine)) {
		return errors.New("a fresh frozen copy is not as the machine is")
	}
	return nil
}
