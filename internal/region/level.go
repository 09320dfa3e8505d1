package region

import (
	"fmt"
	"maps"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A feature level is a number that increases with each release that writes new types of facts or sends new types of
// commands; the Level of an event.Entry is the first one at which a type may be written. The nodes of a region agree on
// the level in force: the lowest that any of them reads (see package control). Each shard stores it as a fact, so that
// all replicas agree, and writes nothing above it.

// MaxLevel is the highest feature level that this program reads and writes.
var MaxLevel = max(Events.MaxLevel(), Commands.MaxLevel())

// CheckLevel returns an error that names both levels and the remedy if this program cannot work with state of a feature
// level.
func CheckLevel(level int) error { return checkLevel(level, MaxLevel) }

func checkLevel(level, reads int) error {
	if level <= reads {
		return nil
	}
	return fmt.Errorf("feature level %d is in force, and this release reads levels up to %d: use the release that "+
		"raised the level, or a newer one", level, reads)
}

// Levels is what the nodes of a region agree on: the level in force, and the level that each node reads. It is changed
// by compare-and-set, so a node is either counted when the level rises, or rejected.
type Levels struct {
	Level int `json:"level,omitempty"` // in force; 0 is 1
	// the highest level that each node reads, from its start to its removal
	Nodes map[string]int `json:"nodes,omitempty"`
}

// InForce returns the level in force, from 1.
func (l *Levels) InForce() int { return max(1, l.Level) }

// Join records a starting node and the highest level that it reads. It rejects a node that does not read the level in
// force.
func (l *Levels) Join(node string, reads int) error {
	if err := checkLevel(l.Level, reads); err != nil {
		return err
	}
	l.Nodes = maps.Clone(l.Nodes)
	if l.Nodes == nil {
		l.Nodes = map[string]int{}
	}
	l.Nodes[node] = reads
	return nil
}

// Raise raises the level in force to the lowest that a node reads, if that is higher, and reports whether it did.
// announced are the members of the region, whether they are up or not, with the levels of their last heartbeats: after
// a downgrade a node's recorded level is too high. 0 is a member without a known heartbeat; without a recorded level it
// counts as 1.
func (l *Levels) Raise(announced map[string]int) (raised bool) {
	lowest := MaxLevel
	for node, level := range announced {
		if level == 0 {
			level = max(1, l.Nodes[node])
		}
		lowest = min(lowest, level)
	}
	for _, level := range l.Nodes {
		lowest = min(lowest, level)
	}
	if lowest <= l.InForce() {
		return false
	}
	l.Level = lowest
	return true
}

// Remove removes a node for good, and reports whether it was recorded.
func (l *Levels) Remove(node string) bool {
	if _, ok := l.Nodes[node]; !ok {
		return false
	}
	l.Nodes = maps.Clone(l.Nodes)
	delete(l.Nodes, node)
	return true
}

// LevelRaised raises the feature level of the shard. In a snapshot it is the shard's level, and absent at level 1:
// programs without levels reject such a snapshot, because they do not know the type.
type LevelRaised struct {
	Level int `cbor:"1,keyasint"`
}

// RaiseLevel raises the feature level of the shard, if it is lower. It may be sent only when all members of the region
// read that level. It has no answer.
type RaiseLevel struct {
	Level int `cbor:"1,keyasint,omitzero"`
}

func (c RaiseLevel) handle(m *Machine, _ event.Time) ([]event.Fact, any, error) {
	if c.Level > MaxLevel {
		return nil, nil, fmt.Errorf("raise the feature level to %d: this node reads at most %d", c.Level, MaxLevel)
	}
	return m.raise(c.Level), nil, nil
}

func (m *Machine) raise(level int) []event.Fact {
	if level <= m.level {
		return nil
	}
	fact := m.levelFact(level)
	m.Apply(fact)
	return []event.Fact{fact}
}

func (m *Machine) levelFact(level int) event.Fact {
	return event.Fact{Room: ShardRoom, Body: &LevelRaised{Level: level}}
}

func (m *Machine) applyLevelRaised(e *LevelRaised) {
	before := m.level
	m.setLevel(e.Level)
	if before < reuseLevel && m.level >= reuseLevel {
		m.beginReuse()
	}
}

// setLevel sets the level of the shard and its parts.
func (m *Machine) setLevel(level int) {
	m.level = level
	if m.catalog != nil {
		m.catalog.Raise(level)
	}
	for _, p := range m.parts {
		p.state.Raise(level)
	}
	for _, room := range m.rooms {
		room.Raise(level)
	}
}

// Level returns the feature level of the shard, from 1.
func (m *Machine) Level() int { return m.level }

func levelOf(c Command) int {
	level := Commands.Level(c)
	inner, ok := inner(c)
	if !ok {
		return level
	}
	if by, ok := inner.(interface{ FeatureLevel() int }); ok { // by its fields, too
		level = max(level, by.FeatureLevel())
	}
	return max(level, Commands.Level(inner))
}

// CheckCommand rejects a command above the level of its shard, except RaiseLevel, which is sent when all members read
// it. The error is a fault.
func CheckCommand(c Command, level int) error {
	if level >= MaxLevel {
		return nil
	}
	if _, ok := c.(RaiseLevel); ok {
		return nil
	}
	if needed := levelOf(c); needed > level {
		return fault.New(fault.ServiceUnavailable,
			"This call needs feature level %d, and the region is at %d. Upgrade or remove the nodes that run an older "+
				"release, then try again.", needed, level)
	}
	return nil
}

// checkFacts panics if a fact is above the level of the shard, before it is stored, because nodes of an older release
// could not read it. That is a programming error.
func (m *Machine) checkFacts(facts []event.Fact) {
	if m.level >= MaxLevel {
		return
	}
	for _, f := range facts {
		if level := Events.Level(f.Body); level > m.level {
			panic(fmt.Sprintf("%s is of feature level %d, and the shard is at %d", Events.Name(f.Body), level, m.level))
		}
	}
}
