package sim

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/region"
)

// A machine is that of package region, as an owner runs it: with the planted bug,
// if there is one, and a look at whether refused commands change anything.
type machine struct {
	*region.Machine
	bug      *bug
	report   func(format string, args ...any)
	refusals int
	restored bool
}

// Handle decides a command.
func (m *machine) Handle(now time.Time, c region.Command) ([]event.Fact, any, error) {
	var before uint64
	m.refusals++
	look := m.refusals%8 == 0 // the others show in the next commit
	if look {
		before = digest(m.Machine)
	}
	facts, answer, err := m.bug.handle(m.Machine, now, c)
	if err != nil && look && before != digest(m.Machine) {
		m.report("%s was refused (%v), and the state has changed", described{c}, err)
	}
	return facts, answer, err
}

// Apply repeats a fact, at a replay.
func (m *machine) Apply(f event.Fact) {
	if m.bug.skips == nil || !m.bug.skips(f) {
		m.Machine.Apply(f)
	}
}

// Expire does what is due.
func (m *machine) Expire(now time.Time) []event.Fact {
	facts := m.Machine.Expire(now)
	if m.bug.twice {
		for _, f := range facts {
			m.Machine.Apply(f)
		}
		facts = append(facts, facts...)
	}
	return facts
}

// Recovered notes what a new owner must.
func (m *machine) Recovered(now time.Time) []event.Fact {
	if m.bug.socketGrace {
		return loseSockets(m.Machine, now)
	}
	return m.Machine.Recovered(now)
}

// Paused notes a pause.
func (m *machine) Paused(now time.Time, by time.Duration) []event.Fact {
	if m.bug.noPause {
		return nil
	}
	return m.Machine.Paused(now, by)
}

// Deadline is when Expire has work.
func (m *machine) Deadline() time.Time {
	if m.bug.forgetsDeadlines && m.restored {
		return time.Time{}
	}
	return m.Machine.Deadline()
}

// Freeze returns a read-only copy.
func (m *machine) Freeze() *machine { return &machine{Machine: m.Machine.Freeze(), bug: m.bug} }

// Snapshot writes the state as facts.
func (m *machine) Snapshot(write func(event.Fact) error) error {
	return m.Machine.Snapshot(func(f event.Fact) error {
		if m.bug.misses != nil && m.bug.misses(f) {
			return nil
		}
		return write(f)
	})
}

// Restore takes back a fact of a snapshot.
func (m *machine) Restore(f event.Fact) error {
	m.restored = true
	return m.Machine.Restore(f)
}

// digestSeed makes the digests of one process comparable.
var digestSeed = maphash.MakeSeed()

// digest tells states of a machine from one another.
func digest(m *region.Machine) uint64 { return maphash.Bytes(digestSeed, snapshotOf(m)) }

// snapshotOf is a machine in bytes.
func snapshotOf(m *region.Machine) []byte {
	var buf bytes.Buffer
	mustWrite(m.Snapshot(func(f event.Fact) error { return region.Events.Append(&buf, f) }))
	return buf.Bytes()
}

func mustWrite(err error) {
	if err != nil {
		panic(fmt.Sprintf("a state cannot be written: %v", err))
	}
}

// partDigest is the digest of a room, or of another part of a shard; 0 when it is not there.
func partDigest(m *region.Machine, room uint32) uint64 {
	var buf bytes.Buffer
	write := func(record any) error { return region.Events.Append(&buf, event.Fact{Room: room, Body: record}) }
	switch {
	case room == 0 && m.Catalog() != nil:
		mustWrite(m.Catalog().Snapshot(write))
	case room == region.PlacementsRoom:
		mustWrite(m.Placements().Snapshot(write))
	case room == region.MatchmakingRoom && m.Matchmaking() != nil:
		mustWrite(m.Matchmaking().Snapshot(write))
	default:
		r, ok := m.RoomAt(uint16(room))
		if !ok || room == 0 || room > 1<<16-1 {
			return 0
		}
		mustWrite(r.Snapshot(write))
	}
	return maphash.Bytes(digestSeed, buf.Bytes())
}
