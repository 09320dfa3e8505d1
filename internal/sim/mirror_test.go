package sim

import (
	"context"
	"fmt"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
)

// A mirror is the state that the records of a shard give, fact by fact as they are
// stored. It is the truth that owners are held to.
type mirror struct {
	shard   int
	journal *memory.Journal // a reader's handle
	machine *region.Machine
	seq     uint64
	records [][]byte // all that there ever were
	writers map[uint64]int
	parts   map[uint32][]version
	changed map[uint32]bool // since the last look at the invariants
}

// A version is a state of a part of the shard, from a record on.
type version struct {
	seq    uint64
	digest uint64
}

func newMirror(shardNumber int, j *memory.Journal, settings *region.Settings) *mirror {
	m := &mirror{
		shard: shardNumber, journal: j, machine: region.New(shardNumber, settings),
		writers: map[uint64]int{}, parts: map[uint32][]version{}, changed: map[uint32]bool{},
	}
	for _, room := range []uint32{0, region.PlacementsRoom, region.MatchmakingRoom} {
		m.note(room)
	}
	return m
}

// follow applies the records that have been stored.
func (m *mirror) follow(w *world) {
	err := m.journal.Replay(context.Background(), m.seq, func(seq uint64, data []byte) error {
		m.records = append(m.records, data)
		m.seq = seq
		return m.apply(w, data)
	})
	if err != nil {
		w.fail("shard %d: record %d: %v", m.shard, m.seq, err)
	}
}

func (m *mirror) apply(w *world, data []byte) error {
	record, err := shard.ReadRecord(data)
	if err != nil {
		return err
	}
	if _, known := m.writers[record.Owner]; !known {
		m.writers[record.Owner] = len(m.writers) + 1
	}
	if record.Opening {
		w.waits.owner(m.machine)
	}
	var facts []event.Fact
	err = record.Each(region.Events, func(f event.Fact) error {
		if err := m.lawful(w, f); err != nil {
			return err
		}
		m.machine.Apply(f)
		m.note(f.Room)
		if r, ok := m.machine.RoomAt(uint16(f.Room)); ok && f.Room < 1<<16 {
			w.waits.begin(r, f.Body)
		}
		facts = append(facts, f)
		return nil
	})
	writer := m.writers[record.Owner]
	w.trace.add(w.step, "shard %d: record %d of writer %d: %s", m.shard, m.seq, writer, describedFacts{facts})
	for _, f := range facts {
		w.seen[region.Events.Name(f.Body)]++
		if e, ok := f.Body.(*fleet.Interrupted); ok && e.Pause != 0 {
			w.seen["pause"]++
		}
	}
	if err == nil {
		w.shards[m.shard].tell(w, m.seq, record.Opening, facts)
	}
	return err
}

// note keeps what a part looks like now.
func (m *mirror) note(room uint32) {
	m.changed[room] = true
	m.parts[room] = append(m.parts[room], version{m.seq, partDigest(m.machine, room)})
}

// at is the digest of a part after a record.
func (m *mirror) at(room uint32, seq uint64) uint64 {
	versions := m.parts[room]
	for i := len(versions) - 1; i >= 0; i-- {
		if versions[i].seq <= seq {
			return versions[i].digest
		}
	}
	return 0
}

// showed reports whether a part looked so at some moment from one record on: after
// it, or after one of the facts behind it.
func (m *mirror) showed(room uint32, digest, from uint64) bool {
	versions := m.parts[room]
	for i := len(versions) - 1; i >= 0; i-- {
		if versions[i].digest == digest {
			return true
		}
		if versions[i].seq <= from { // those before it were over by then
			return false
		}
	}
	return digest == 0
}

// replayed is a machine made of all records anew.
func (m *mirror) replayed(settings *region.Settings) (*region.Machine, error) {
	machine := region.New(m.shard, settings)
	for i, data := range m.records {
		record, err := shard.ReadRecord(data)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", i+1, err)
		}
		err = record.Each(region.Events, func(f event.Fact) error {
			machine.Apply(f)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", i+1, err)
		}
	}
	return machine, nil
}
