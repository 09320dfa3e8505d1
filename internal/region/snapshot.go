package region

import (
	"fmt"

	"github.com/muster-gg/muster/internal/event"
)

// Snapshot writes the state as facts, always in the same order.
func (m *Machine) Snapshot(write func(event.Fact) error) error {
	header := m.header
	if err := write(event.Fact{Body: &header}); err != nil {
		return err
	}
	if m.level > 1 {
		if err := write(m.levelFact(m.level)); err != nil {
			return err
		}
	}
	if m.history.Seq > 0 {
		reached := m.history
		if err := write(event.Fact{Room: ShardRoom, Body: &reached}); err != nil {
			return err
		}
	}
	if m.catalog != nil {
		if err := m.catalog.Snapshot(func(record any) error { return write(event.Fact{Body: record}) }); err != nil {
			return err
		}
	}
	for _, p := range m.parts {
		if err := p.state.Snapshot(func(record any) error {
			return write(event.Fact{Room: p.room,
				Body: record})
		}); err != nil {
			return err
		}
	}
	for _, number := range m.roomNumbers() {
		if err := m.snapshotRoom(number, write); err != nil {
			return err
		}
	}
	return nil
}

func (m *Machine) snapshotRoom(number uint16, write func(event.Fact) error) error {
	room := m.rooms[number]
	opened := &RoomOpened{Fleet: room.ID().Fleet, Location: room.ID().Location, After: room.FirstNumber() - 1}
	if err := write(event.Fact{Room: uint32(number), Body: opened}); err != nil {
		return err
	}
	return room.Snapshot(func(record any) error { return write(event.Fact{Room: uint32(number), Body: record}) })
}

// Restore adds one fact of a snapshot.
func (m *Machine) Restore(f event.Fact) error {
	switch body := f.Body.(type) {
	case *Header:
		m.header = *body
		return nil
	case *LevelRaised:
		m.setLevel(body.Level)
		return nil
	case *HistoryReached:
		m.history = *body
		return nil
	case *RoomOpened:
		number := uint16(f.Room)
		m.keepRoom(number, m.newRoom(number, body))
		return nil
	}
	if f.Room == 0 {
		if m.catalog == nil {
			return fmt.Errorf("shard %d has no catalog, but its snapshot has a record of one", m.shard)
		}
		return m.catalog.Restore(f.Body)
	}
	if p, ok := m.part(f.Room); ok {
		return p.state.Restore(f.Body)
	}
	room, ok := m.rooms[uint16(f.Room)]
	if !ok {
		return fmt.Errorf("snapshot record %T is of room %d, which has no RoomOpened before it", f.Body, f.Room)
	}
	defer m.changed(uint16(f.Room))
	return room.Restore(f.Body)
}
