package region

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/event/eventtest"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// released is how many types the levels have that a release has written: no type is added to them.
var released = map[int]int{1: 182}

// TestLevels holds the level of each type of event and command to a file. A new type needs the
// Level of the next release in its event.Entry: nodes of the present one cannot read it.
func TestLevels(t *testing.T) {
	var list strings.Builder
	count := map[int]int{}
	for _, s := range []struct {
		kind string
		set  *event.Set
	}{{"event", Events}, {"command", Commands}} {
		entries := s.set.Entries()
		for _, number := range slices.Sorted(maps.Keys(entries)) {
			level := s.set.Level(reflect.Zero(entries[number]).Interface())
			count[level]++
			fmt.Fprintf(&list, "%d %s %d %s\n", level, s.kind, number, entries[number].Elem())
		}
	}
	for level, want := range released {
		if count[level] != want {
			t.Errorf("level %d has %d types instead of %d: it is released. Give a new type the Level of the next "+
				"release", level,
				count[level], want)
		}
	}
	if count[MaxLevel] == 0 {
		t.Errorf("no type is of level %d, the highest", MaxLevel)
	}
	eventtest.Golden(t, filepath.Join("testdata", "levels.txt"), list.String())
}

// raised is a machine at the highest level.
func raised(t *testing.T, shard int, s *Settings) *Machine {
	t.Helper()
	m := New(shard, s)
	do(t, m, start, RaiseLevel{Level: MaxLevel})
	return m
}

func TestLevelOnlyRises(t *testing.T) {
	m := New(0, settings())
	do(t, m, start, register(roomID(1)))
	if m.Level() != 1 || m.catalog.Allows(2) || m.placements.Allows(2) || m.rooms[1].Allows(2) {
		t.Fatalf("a new machine is at level %d", m.Level())
	}
	before := snapshotOf(t, m)
	facts, _ := do(t, m, start, RaiseLevel{Level: 2})
	if want := []event.Fact{{Room: ShardRoom, Body: &LevelRaised{Level: 2}}}; !reflect.DeepEqual(facts, want) {
		t.Fatalf("decided %+v", facts)
	}
	do(t, m, start, register(roomID(2)))
	for name, m := range map[string]*Machine{
		"the machine": m, "a copy": m.Freeze(), "a snapshot": restored(t, 0, settings(), snapshotOf(t, m), nil),
		"a replay": restored(t, 0, settings(), before, encode(t, facts)),
	} {
		if m.Level() != 2 || !m.catalog.Allows(2) || !m.placements.Allows(2) || !m.matchmaking.Allows(2) ||
			!m.rooms[1].Allows(2) || m.rooms[1].Allows(3) {
			t.Errorf("%s is at level %d, or not all of it is", name, m.Level())
		}
	}
	if !m.rooms[2].Allows(2) {
		t.Error("a room that was opened after the raise does not have the level")
	}
	for _, level := range []int{2, 1, 0} {
		if facts, _ := do(t, m, start, RaiseLevel{Level: level}); len(facts) > 0 {
			t.Errorf("level %d after 2: %+v", level, facts)
		}
	}
	if _, _, err := m.Handle(start, RaiseLevel{Level: MaxLevel + 1}); err == nil {
		t.Error("a level was raised that this program does not read")
	}
}

// A lone node's settings raise the level of each shard before it handles the first command.
func TestLevelOfSettings(t *testing.T) {
	s := settings()
	s.Level = MaxLevel
	m := New(0, s)
	if facts := m.Recovered(start); len(facts) != 1 || m.Level() != MaxLevel {
		t.Errorf("level %d after %+v", m.Level(), facts)
	}
	if facts := m.Recovered(start); len(facts) != 0 {
		t.Errorf("again: %+v", facts)
	}
}

// laterCommand is a command of a release that writes level 2.
type laterCommand struct{ facts []event.Fact }

func (c laterCommand) handle(*Machine, event.Time) ([]event.Fact, any, error) { return c.facts, 7, nil }

// Below its level a command is refused, and a fact that is decided on all the same is never stored.
func TestAboveTheLevel(t *testing.T) {
	known := Commands
	t.Cleanup(func() { Commands = known })
	Commands = event.NewSet([]event.Entry{{Number: 1, Type: (*laterCommand)(nil), Level: 2},
		{Number: 2, Type: (*RoomCommand)(nil)}})

	later := laterCommand{[]event.Fact{{Room: ShardRoom, Body: &LevelRaised{Level: 2}}}}
	m := New(0, settings())
	if _, _, err := m.Handle(start, later); !fault.Is(err, fault.ServiceUnavailable) ||
		!strings.Contains(err.Error(), "feature level 2") {
		t.Errorf("at level 1: %v", err)
	}
	if _, answer, err := raised(t, 0, settings()).Handle(start, later); answer != 7 || err != nil {
		t.Errorf("at level 2: %v, %v", answer, err)
	}

	Commands = event.NewSet([]event.Entry{{Number: 1, Type: (*laterCommand)(nil)}})
	defer func() {
		if p := recover(); p != "LevelRaised is of feature level 2, and the shard is at 1" {
			t.Errorf("panicked with %v", p)
		}
	}()
	m.Handle(start, later) //nolint:errcheck // it panics
}

// The level in force rises to the lowest of all members, and only rises.
func TestLevelsRise(t *testing.T) {
	for name, c := range map[string]struct {
		before    Levels
		announced map[string]int
		want      int
	}{
		"nobody":               {Levels{}, nil, MaxLevel},
		"a node alone":         {Levels{Nodes: map[string]int{"n1": 2}}, map[string]int{"n1": 2}, 2},
		"all read it":          {Levels{Nodes: map[string]int{"n1": 2, "n2": 2}}, map[string]int{"n1": 2, "n2": 2}, 2},
		"one is older":         {Levels{Nodes: map[string]int{"n1": 2, "n2": 1}}, map[string]int{"n1": 2, "n2": 1}, 1},
		"one is about to join": {Levels{Nodes: map[string]int{"n1": 2, "n2": 1}}, map[string]int{"n1": 2}, 1},
		"one knows no levels":  {Levels{Nodes: map[string]int{"n1": 2}}, map[string]int{"n1": 2, "n2": 1}, 1},
		"one was never heard":  {Levels{Nodes: map[string]int{"n1": 2}}, map[string]int{"n1": 2, "n2": 0}, 1},
		"one has only noted":   {Levels{Nodes: map[string]int{"n1": 2, "n2": 2}}, map[string]int{"n1": 2, "n2": 0}, 2},
		"one was set back":     {Levels{Nodes: map[string]int{"n1": 2, "n2": 2}}, map[string]int{"n1": 2, "n2": 1}, 1},
		"it does not fall":     {Levels{Level: 2, Nodes: map[string]int{"n1": 2}}, map[string]int{"n1": 1}, 2},
		"not above our own":    {Levels{Nodes: map[string]int{"n1": 9}}, map[string]int{"n1": 9}, MaxLevel},
	} {
		l := c.before
		if raised := l.Raise(c.announced); l.InForce() != c.want || raised != (c.want > c.before.InForce()) {
			t.Errorf("%s: level %d, raised: %v, want %d", name, l.InForce(), raised, c.want)
		}
	}
}

func TestLevelsJoinAndRemove(t *testing.T) {
	var l Levels
	if err := l.Join("n1", 2); err != nil {
		t.Fatal(err)
	}
	before := l
	if err := l.Join("n2", 1); err != nil {
		t.Fatal(err)
	}
	if len(before.Nodes) != 1 {
		t.Error("a copy changed, too")
	}
	if l.Raise(nil) || !l.Remove("n2") || l.Remove("n2") || !l.Raise(nil) || l.Level != 2 {
		t.Fatalf("%+v", l)
	}
	err := l.Join("n2", 1)
	if err == nil || err.Error() != "feature level 2 is in force, and this release reads levels up to 1: use the "+
		"release that raised the level, or a newer one" {
		t.Errorf("an older node: %v", err)
	}
	if _, joined := l.Nodes["n2"]; joined {
		t.Error("a node was refused and noted")
	}
	if CheckLevel(MaxLevel) != nil || CheckLevel(0) != nil || CheckLevel(MaxLevel+1) == nil {
		t.Error("a level is not judged by what this program reads")
	}
}
