package region

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// MaxShards is the maximum number of shards of a region: a shard is one byte in the ids of player sessions.
const MaxShards = 256

// CatalogShard is the shard that has the catalog.
const CatalogShard = 0

// ShardOf returns the shard, of n, of a fleet location.
func ShardOf(id fleet.RoomID, n int) int {
	h := fnv.New64a()
	h.Write([]byte(id.Fleet))
	h.Write([]byte{'/'})
	h.Write([]byte(id.Location))
	return int(h.Sum64() % uint64(n))
}

// Events lists the types of facts in the journals and snapshots of a region.
var Events = event.NewSet(catalog.Events, fleet.Events, placement.Events, matchmaking.Events, []event.Entry{
	{Number: 201, Type: (*RoomOpened)(nil)},
	{Number: 202, Type: (*RoomClosed)(nil)},
	{Number: 203, Type: (*LevelRaised)(nil), Level: 2},
	{Number: 204, Type: (*HistoryReached)(nil), Level: HistoryLevel},
	{Number: 250, Type: (*Header)(nil)},
})

// RoomOpened creates the room of a fleet location. Its number is the fact's room.
type RoomOpened struct {
	Fleet    fleet.ID `cbor:"1,keyasint"`
	Location string   `cbor:"2,keyasint"`
	// its game sessions are numbered from After+1; 0 below feature level 2
	After uint64 `cbor:"3,keyasint,omitempty"`
}

// RoomClosed closes a room.
type RoomClosed struct{}

// Header is the first record of a shard's snapshot.
type Header struct {
	Rooms uint16 `cbor:"1,keyasint,omitempty"` // the last assigned room number
	After uint64 `cbor:"2,keyasint,omitempty"` // closed rooms have used numbers of game sessions up to here, at most
}

// Settings are what the rooms and the catalog go by.
type Settings struct {
	Fleet   fleet.Settings
	Catalog catalog.Limits
	Shards  int // of the region; 0 is one

	// Level is the minimum feature level of a shard when an owner starts. 0: the one in its journal, which RaiseLevel
	// raises.
	Level int
}

// A Machine is the state of one shard. It implements the Machine of package shard.
type Machine struct {
	shard    uint8
	settings *Settings
	catalog  *catalog.State // nil on all shards but the first
	header   Header
	level    int // of features; see LevelRaised
	history  HistoryReached
	rooms    map[uint16]*fleet.Room
	numbers  map[fleet.RoomID]uint16

	placements  *placement.State
	matchmaking *matchmaking.State // nil on all shards but MatchmakingShard
	parts       []part             // placements, and matchmaking if present

	*live // nil in a frozen copy
}

// New returns the empty machine of a shard.
func New(shard int, settings *Settings) *Machine {
	m := &Machine{
		shard: uint8(shard), settings: settings, live: newLive(),
		rooms: map[uint16]*fleet.Room{}, numbers: map[fleet.RoomID]uint16{},
	}
	if shard == CatalogShard {
		m.catalog = catalog.New(settings.Catalog)
	}
	if shard == MatchmakingShard(settings.Shards) {
		m.setParts(placement.New(), matchmaking.New())
	} else {
		m.setParts(placement.New(), nil)
	}
	m.setLevel(1)
	return m
}

// A Command is a request to a shard: a CatalogCommand, a RoomCommand, or one of parts.go.
type Command interface {
	handle(m *Machine, now event.Time) ([]event.Fact, any, error)
}

// CatalogCommand is a command to the catalog, on shard 0. It has no answer: the view of the catalog shows the result.
type CatalogCommand struct {
	Command catalog.Command `cbor:"-"`
}

func (c CatalogCommand) handle(m *Machine, now event.Time) ([]event.Fact, any, error) {
	if m.catalog == nil {
		return nil, nil, fmt.Errorf("shard %d has no catalog", m.shard)
	}
	events, err := m.catalog.Decide(now, c.Command)
	if err != nil {
		return nil, nil, err
	}
	facts := make([]event.Fact, len(events))
	for i, e := range events {
		m.catalog.Apply(e)
		facts[i] = event.Fact{Body: e}
	}
	return facts, nil, nil
}

// RoomCommand is a command to the room of a fleet location.
type RoomCommand struct {
	Room    fleet.RoomID  `cbor:"1,keyasint"`
	Command fleet.Command `cbor:"-"`
	// create the room if there is none; else that is a NotFoundException
	Open bool `cbor:"2,keyasint,omitzero"`
}

func (c RoomCommand) handle(m *Machine, now event.Time) ([]event.Fact, any, error) {
	number, ok := m.numbers[c.Room]
	if ok {
		events, answer, err := m.rooms[number].Handle(now, c.Command)
		if err != nil {
			return nil, nil, err
		}
		m.changed(number)
		return partFacts(nil, uint32(number), events), answer, nil
	}
	if !c.Open {
		return nil, nil, fault.New(fault.NotFound, "Nothing is registered in fleet %s, location %s", c.Room.Fleet,
			c.Room.Location)
	}
	return m.openAndHandle(c, now)
}

// openAndHandle keeps a new room only if the command succeeds.
func (m *Machine) openAndHandle(c RoomCommand, now event.Time) ([]event.Fact, any, error) {
	number, err := m.freeNumber()
	if err != nil {
		return nil, nil, err
	}
	opened := &RoomOpened{Fleet: c.Room.Fleet, Location: c.Room.Location, After: m.header.After}
	room := m.newRoom(number, opened)
	events, answer, err := room.Handle(now, c.Command)
	if err != nil {
		return nil, nil, err
	}
	m.header.Rooms = number
	m.keepRoom(number, room)
	return partFacts([]event.Fact{{Room: uint32(number), Body: opened}}, uint32(number), events), answer, nil
}

func (m *Machine) newRoom(number uint16, opened *RoomOpened) *fleet.Room {
	id := fleet.RoomID{Fleet: opened.Fleet, Location: opened.Location}
	room := fleet.NewRoom(id, fleet.Address{Shard: m.shard, Room: number}, &m.settings.Fleet)
	room.NumberAfter(opened.After)
	room.Raise(m.level)
	return room
}

func (m *Machine) keepRoom(number uint16, room *fleet.Room) {
	m.rooms[number] = room
	m.numbers[room.ID()] = number
	m.changed(number)
}

// CloseRoom removes the empty room of a location that has left its fleet.
type CloseRoom struct {
	Room fleet.RoomID `cbor:"1,keyasint"`
}

func (c CloseRoom) handle(m *Machine, _ event.Time) ([]event.Fact, any, error) {
	number, ok := m.numbers[c.Room]
	if !ok || !m.rooms[number].Empty() {
		return nil, nil, nil
	}
	m.dropRoom(number)
	return []event.Fact{{Room: uint32(number), Body: &RoomClosed{}}}, nil, nil
}

func (m *Machine) dropRoom(number uint16) {
	if m.level >= reuseLevel {
		m.header.After = max(m.header.After, m.rooms[number].LastNumber()) + 1
	}
	delete(m.numbers, m.rooms[number].ID())
	delete(m.rooms, number)
	m.dropLive(number)
}

func partFacts(facts []event.Fact, room uint32, events []any) []event.Fact {
	facts = slices.Grow(facts, len(events))
	for _, e := range events {
		facts = append(facts, event.Fact{Room: room, Body: e})
	}
	return facts
}

// Handle decides a command, applies its facts and returns the answer. It rejects a command above the feature level of
// the shard.
func (m *Machine) Handle(now time.Time, c Command) ([]event.Fact, any, error) {
	if err := CheckCommand(c, m.level); err != nil {
		return nil, nil, err
	}
	facts, answer, err := c.handle(m, event.At(now))
	m.checkFacts(facts)
	return facts, answer, err
}

func (m *Machine) applyToShard(body any) {
	switch e := body.(type) {
	case *LevelRaised:
		m.applyLevelRaised(e)
	case *HistoryReached:
		m.history = *e
	}
}

// Apply repeats a fact. It panics on a fact of a room that does not exist, which is a programming error.
func (m *Machine) Apply(f event.Fact) {
	switch f.Room {
	case 0:
		m.catalog.Apply(f.Body.(catalog.Event))
		return
	case ShardRoom:
		m.applyToShard(f.Body)
		return
	}
	if p, ok := m.part(f.Room); ok {
		p.state.Apply(f.Body)
		return
	}
	number := uint16(f.Room)
	switch body := f.Body.(type) {
	case *RoomOpened:
		m.header.Rooms = number
		m.keepRoom(number, m.newRoom(number, body))
	case *RoomClosed:
		m.dropRoom(number)
	default:
		m.rooms[number].Apply(body)
		m.changed(number)
	}
}

// Deadline returns when Expire must be called next, or the zero time.
func (m *Machine) Deadline() time.Time {
	var first event.Time
	if m.catalog != nil {
		first = m.catalog.Deadline()
	}
	first = earlier(first, m.earliest())
	for _, p := range m.parts {
		first = earlier(first, p.state.Deadline())
	}
	return first.Time()
}

// earlier returns the earlier of two times, as far as they are set.
func earlier(a, b event.Time) event.Time {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Expire decides and applies what is due in the catalog, in the other parts and in the room with the earliest deadline.
// One room at a time bounds the record. Rooms whose deadline has moved do not count.
func (m *Machine) Expire(now time.Time) []event.Fact {
	facts := m.expire(event.At(now))
	m.checkFacts(facts)
	return facts
}

func (m *Machine) expire(at event.Time) []event.Fact {
	var facts []event.Fact
	if m.catalog != nil {
		for _, e := range m.catalog.Expire(at) {
			m.catalog.Apply(e)
			facts = append(facts, event.Fact{Body: e})
		}
	}
	for _, p := range m.parts {
		if due := p.state.Deadline(); due != 0 && due <= at {
			facts = partFacts(facts, p.room, p.state.Expire(at))
		}
	}
	for {
		number, ok := m.due(at)
		if !ok {
			return facts
		}
		events := m.rooms[number].Expire(at)
		m.changed(number)
		if len(events) > 0 {
			return partFacts(facts, uint32(number), events)
		}
	}
}

// Recovered raises the feature level to that of the settings, and records that a new owner has no sockets.
func (m *Machine) Recovered(now time.Time) []event.Fact {
	return append(m.raise(m.settings.Level), m.interrupt(now, fleet.Interrupt{})...)
}

// Paused extends the deadlines of game servers by a pause. Placements, tickets and the catalog are not extended: their
// users wait for a limited time, whatever the cause of a delay.
func (m *Machine) Paused(now time.Time, by time.Duration) []event.Fact {
	return m.interrupt(now, fleet.Interrupt{Pause: by})
}

func (m *Machine) interrupt(now time.Time, c fleet.Interrupt) []event.Fact {
	var facts []event.Fact
	for _, number := range m.roomNumbers() {
		events, _, err := m.rooms[number].Handle(event.At(now), c)
		if err != nil {
			panic(err) // Interrupt does not fail
		}
		m.changed(number)
		facts = partFacts(facts, uint32(number), events)
	}
	m.checkFacts(facts)
	return facts
}

// Freeze returns a read-only copy. It costs a few small allocations for each room that changed since the last one, and
// a map entry for the rest.
func (m *Machine) Freeze() *Machine {
	c := &Machine{shard: m.shard, settings: m.settings, header: m.header, level: m.level, history: m.history,
		numbers: maps.Clone(m.numbers),
		rooms:   make(map[uint16]*fleet.Room, len(m.rooms))}
	if m.catalog != nil {
		c.catalog = m.catalog.Copy()
	}
	if m.matchmaking != nil {
		c.setParts(m.placements.Freeze(), m.matchmaking.Freeze())
	} else {
		c.setParts(m.placements.Freeze(), nil)
	}
	for number, room := range m.rooms {
		c.rooms[number] = m.frozenRoom(number, room)
	}
	return c
}

func (m *Machine) roomNumbers() []uint16 { return slices.Sorted(maps.Keys(m.rooms)) }

// Catalog returns the catalog; nil on all shards but the first.
func (m *Machine) Catalog() *catalog.State { return m.catalog }

// Room finds the room of a fleet location.
func (m *Machine) Room(id fleet.RoomID) (*fleet.Room, bool) {
	number, ok := m.numbers[id]
	return m.rooms[number], ok
}

// RoomAt finds a room by its number, which is in the ids of player sessions.
func (m *Machine) RoomAt(number uint16) (*fleet.Room, bool) {
	room, ok := m.rooms[number]
	return room, ok
}

// VisitRooms calls visit with the open rooms, in no order.
func (m *Machine) VisitRooms(visit func(*fleet.Room)) {
	for _, room := range m.rooms {
		visit(room)
	}
}

// Rooms lists the open rooms.
func (m *Machine) Rooms() []*fleet.Room {
	rooms := make([]*fleet.Room, 0, len(m.rooms))
	for _, number := range m.roomNumbers() {
		rooms = append(rooms, m.rooms[number])
	}
	return rooms
}
