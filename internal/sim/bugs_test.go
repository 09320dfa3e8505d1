package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/muster-gg/muster/internal/cluster/channel"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/matchmaking/matchdriver"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/placement/placer"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A bug is a mistake that is planted from outside: around the journal of an owner,
// or around its machine. The zero bug is none.
type bug struct {
	name string
	says string // what the simulation has to find: a part of the failure's text; "" for any

	append           func(ctx context.Context, d *disk, last uint64, data []byte) (uint64, error)
	handle           func(m *region.Machine, now time.Time, c region.Command) ([]event.Fact, any, error)
	skips            func(event.Fact) bool // facts that a replay does not apply
	misses           func(event.Fact) bool // records that a snapshot does not have
	snapshotSeq      func(uint64) uint64   // the number that a snapshot gets
	twice            bool                  // what is due is done twice
	forgetsDeadlines bool                  // after a snapshot
	noLease          bool                  // reads are answered without a look at the lease
	noPause          bool                  // a pause gives nobody time
	socketGrace      bool                  // a new owner gives time to sockets alone

	packet        func(*channel.Packet, int)      // changes a packet between nodes
	outcome       func(*reply) *reply             // changes what a node is answered
	placing       func(*world, *placer.Request)   // changes a request of the driver of placements
	matching      func(*matchdriver.Request) bool // false: this request of the driver of matchmaking is lost
	placerForgets bool                            // the driver of placements does not begin anew with a shard
}

// bugs are all that can be planted.
var bugs = []bug{
	{name: "the fence is off", append: appendAnywhere},
	{name: "answers come before the commit", append: appendLater},
	{name: "the records of a command are not whole", append: appendHalf},
	{name: "an append is repeated after a failure", append: appendTwice},
	{name: "what is due is done twice", twice: true},
	{name: "deadlines are lost with a snapshot", forgetsDeadlines: true},
	{name: "reads are answered without a lease", noLease: true, says: "answered a read"},
	{name: "a pause ends what was waited for", noPause: true, says: "the clock jumped"},
	{name: "only sockets get grace from a new owner", socketGrace: true, says: "nobody owned the shard"},
	{name: "a replay leaves out a fact", skips: is[*fleet.PlayerAccepted]},
	{name: "a replay leaves out a ticket", skips: is[*matchmaking.MatchProposed]},
	{name: "a snapshot misses records", misses: is[*fleet.Process]},
	{name: "a snapshot is newer than it says", snapshotSeq: func(seq uint64) uint64 { return max(seq, 2) - 1 }},
	{name: "a snapshot is older than it says", snapshotSeq: func(seq uint64) uint64 { return seq + 1 }},
	{name: "a refused command changes something", handle: changesRefused},
	{name: "reservations are not counted", handle: overfills},
	{name: "a process is used twice", handle: reusesProcess},
	{name: "a repetition is not recognised", handle: repeats},
	{name: "a reservation is carried out twice", handle: reservesTwice, says: "is there already"},
	{name: "an answer says more than is stored", handle: promisesTooMuch},
	{name: "a placement is not cancelled", handle: cancelsNothing},
	{name: "a channel is opened twice", packet: opensAgain, says: "carries out a second time"},
	{name: "an unknown outcome passes for a refusal", outcome: refusesUnknown, says: "never be"},
	{name: "the driver of placements ignores recoveries", placerForgets: true, says: "placement"},
	{name: "a game session is requested under another id", placing: renames, says: "of the attempt"},
	{name: "a match is not told of its game session", matching: keepsPlaced, says: "the last match"},
	{name: "an answer to the driver of matchmaking is lost", matching: losesAnswer, says: "the last match"},
	{name: "a fact is above the level in force", handle: raisesAlone, says: "reads level 1 at most"},
}

// is reports whether the body of a fact is a T.
func is[T any](f event.Fact) bool { _, ok := f.Body.(T); return ok }

func bugNamed(name string) *bug {
	b := bug{}
	for _, known := range bugs {
		if known.name == name {
			b = known
		}
	}
	if b.append == nil {
		b.append = func(ctx context.Context, d *disk, last uint64, data []byte) (uint64, error) {
			return d.journal.Append(ctx, last, data)
		}
	}
	if b.handle == nil {
		b.handle = func(m *region.Machine, now time.Time, c region.Command) ([]event.Fact, any, error) {
			return m.Handle(now, c)
		}
	}
	return &b
}

// appendAnywhere stores a record behind the newest one, whatever its writer knows of.
func appendAnywhere(ctx context.Context, d *disk, last uint64, data []byte) (uint64, error) {
	if _, err := d.journal.Append(ctx, d.owner.shard.mirror.seq, data); err != nil {
		return 0, err
	}
	return last + 1, nil
}

// appendLater says that a record is stored, and stores it with the next one, unless
// the owner is gone by then.
func appendLater(ctx context.Context, d *disk, last uint64, data []byte) (uint64, error) {
	if d.later != nil {
		if _, err := d.journal.Append(ctx, last-1, d.later); err != nil {
			return 0, err
		}
	}
	d.later = bytes.Clone(data)
	return last + 1, nil
}

// appendHalf stores the facts of one record in two, and crashes now and then
// between the two.
func appendHalf(ctx context.Context, d *disk, last uint64, data []byte) (uint64, error) {
	record, err := shard.ReadRecord(data)
	if err != nil {
		return 0, err
	}
	var ends []int
	at := recordHeader
	err = record.Each(region.Events, func(f event.Fact) error {
		var buf bytes.Buffer
		mustWrite(region.Events.Append(&buf, f))
		at += buf.Len()
		ends = append(ends, at)
		return nil
	})
	if err != nil || len(ends) < 2 || !d.world.chance(10) {
		return d.journal.Append(ctx, last, data)
	}
	if _, err := d.journal.Append(ctx, last, data[:ends[len(ends)-2]]); err != nil {
		return 0, err
	}
	d.owner.node.crash("between two parts of a record")
	return 0, errDead
}

// appendTwice repeats an append that has failed, which the contract forbids: the
// first one may have been stored.
func appendTwice(ctx context.Context, d *disk, last uint64, data []byte) (uint64, error) {
	seq, err := d.journal.Append(ctx, last, data)
	if err == nil {
		return seq, nil
	}
	d.owner.shard.mirror.follow(d.world)
	newest := d.owner.shard.mirror.seq
	if newest != last+1 {
		return d.journal.Append(ctx, last, data)
	}
	if _, err := d.journal.Append(ctx, newest, data); err != nil {
		return 0, err
	}
	return last + 1, nil
}

// decideAnyway applies facts that the machine did not decide on.
func decideAnyway(m *region.Machine, room fleet.RoomID, bodies ...any) []event.Fact {
	r, _ := m.Room(room)
	var facts []event.Fact
	for _, body := range bodies {
		f := event.Fact{Room: uint32(r.Address().Room), Body: body}
		m.Apply(f)
		facts = append(facts, f)
	}
	return facts
}

// changesRefused changes the policy of a game session whose end it refuses.
func changesRefused(m *region.Machine, now time.Time, c region.Command) ([]event.Fact, any, error) {
	facts, answer, err := m.Handle(now, c)
	room, ok := c.(region.RoomCommand)
	if err == nil || !ok {
		return facts, answer, err
	}
	if reserve, ok := room.Command.(fleet.ReservePlayers); ok && fault.Is(err, fault.GameSessionFull) {
		r, _ := m.Room(room.Room)
		g, _ := r.GameSession(reserve.GameSession)
		decideAnyway(m, room.Room, &fleet.GameSessionUpdated{Ordinal: g.Ordinal, Name: "full"})
	}
	return facts, answer, err
}

// overfills gives places that are not there.
func overfills(m *region.Machine, now time.Time, c region.Command) ([]event.Fact, any, error) {
	facts, answer, err := m.Handle(now, c)
	room, ok := c.(region.RoomCommand)
	if !ok || !fault.Is(err, fault.GameSessionFull) {
		return facts, answer, err
	}
	reserve := room.Command.(fleet.ReservePlayers)
	r, _ := m.Room(room.Room)
	g, _ := r.GameSession(reserve.GameSession)
	e := &fleet.PlayersReserved{Session: g.Ordinal, At: event.At(now), Expires: event.At(now.Add(time.Minute))}
	for _, p := range reserve.Players {
		id := fleet.PlayerSessionID(append(make([]byte, 8), p.Random[:]...))
		e.Players = append(e.Players, fleet.Slot{ID: id, PlayerID: p.PlayerID})
	}
	return decideAnyway(m, room.Room, e), nil, nil
}

// reusesProcess puts a game session on a process that hosts one when none is free.
func reusesProcess(m *region.Machine, now time.Time, c region.Command) ([]event.Fact, any, error) {
	facts, answer, err := m.Handle(now, c)
	room, ok := c.(region.RoomCommand)
	if !ok || !fault.Is(err, fault.FleetCapacityExceeded) {
		return facts, answer, err
	}
	create := room.Command.(fleet.CreateGameSession)
	r, _ := m.Room(room.Room)
	var busy *fleet.Process
	r.Processes(func(p *fleet.Process) bool {
		if p.Status == fleet.ProcessHosting {
			busy = p
		}
		return busy == nil
	})
	if busy == nil {
		return facts, answer, err
	}
	facts = decideAnyway(m, room.Room, &fleet.GameSessionCreated{
		Ordinal: lastOrdinal(r) + 1, ID: create.ID, Maximum: create.Maximum, Host: busy.ProcessKey, Port: busy.Port,
		At: event.At(now), ActivateBy: event.At(now.Add(time.Minute)), Placement: create.Placement,
		Attempt: create.Attempt,
	})
	g, _ := r.GameSession(create.ID)
	return facts, g, nil
}

// loseSockets gives each process that has a socket time to come back, and nobody anything else.
func loseSockets(m *region.Machine, now time.Time) (facts []event.Fact) {
	for _, r := range m.Rooms() {
		var lost []any
		r.Processes(func(p *fleet.Process) bool {
			if p.Connected {
				lost = append(lost, &fleet.ProcessLost{ProcessKey: p.ProcessKey,
					ReconnectBy: event.At(now.Add(200 * time.Second))})
			}
			return true
		})
		facts = append(facts, decideAnyway(m, r.ID(), lost...)...)
	}
	return facts
}

func lastOrdinal(r *fleet.Room) (last uint64) {
	r.GameSessions(0, func(g *fleet.GameSession) bool { last = g.Ordinal; return true })
	return last
}

// repeats creates a second game session when the same one is asked for again.
func repeats(m *region.Machine, now time.Time, c region.Command) ([]event.Fact, any, error) {
	room, ok := c.(region.RoomCommand)
	if !ok {
		return m.Handle(now, c)
	}
	create, ok := room.Command.(fleet.CreateGameSession)
	r, open := m.Room(room.Room)
	if !ok || !open {
		return m.Handle(now, c)
	}
	if _, known := r.GameSession(create.ID); known {
		create.ID += "-again"
		room.Command = create
	}
	return m.Handle(now, room)
}

// reservesTwice gives player sessions that exist a second place.
func reservesTwice(m *region.Machine, now time.Time, c region.Command) ([]event.Fact, any, error) {
	facts, answer, err := m.Handle(now, c)
	room, ok := c.(region.RoomCommand)
	if !ok || err != nil || len(facts) > 0 {
		return facts, answer, err
	}
	reserve, ok := room.Command.(fleet.ReservePlayers)
	r, _ := m.Room(room.Room)
	if !ok {
		return facts, answer, err
	}
	g, _ := r.GameSession(reserve.GameSession)
	if g.Status != fleet.Active || int(g.Free()) < len(reserve.Players) {
		return facts, answer, err
	}
	e := &fleet.PlayersReserved{Session: g.Ordinal, At: event.At(now), Expires: event.At(now.Add(time.Minute))}
	for _, p := range answer.(fleet.Reservation).Players {
		e.Players = append(e.Players, fleet.Slot{ID: p.ID, PlayerID: p.PlayerID})
	}
	return decideAnyway(m, room.Room, e), answer, nil
}

// cancelsNothing answers that a placement is CANCELLED, and lets it go on.
func cancelsNothing(m *region.Machine, now time.Time, c region.Command) ([]event.Fact, any, error) {
	if p, ok := c.(region.PlacementCommand); ok {
		if cancel, ok := p.Command.(placement.Cancel); ok {
			return nil, &placement.Placement{Request: cancel.Request, Status: placement.Cancelled}, nil
		}
	}
	return m.Handle(now, c)
}

// promisesTooMuch answers that a game session is ACTIVE before it is.
func promisesTooMuch(m *region.Machine, now time.Time, c region.Command) ([]event.Fact, any, error) {
	facts, answer, err := m.Handle(now, c)
	if g, ok := answer.(*fleet.GameSession); ok && g != nil && g.Status == fleet.Activating {
		early := *g
		early.Status = fleet.Active
		answer = &early
	}
	return facts, answer, err
}

// raisesAlone raises the feature level of a shard as soon as it is asked anything.
func raisesAlone(m *region.Machine, now time.Time, c region.Command) ([]event.Fact, any, error) {
	facts, answer, err := m.Handle(now, c)
	if err != nil || m.Level() == region.MaxLevel {
		return facts, answer, err
	}
	raised, _, err := m.Handle(now, region.RaiseLevel{Level: region.MaxLevel})
	return append(facts, raised...), answer, err
}

// opensAgain gives the first packet of a channel the number of a later channel when it is sent again.
func opensAgain(p *channel.Packet, copies int) {
	if p.Kind == channel.FromClient && p.Number == 1 {
		p.Generation += uint64(copies)
	}
}

// refusesUnknown says of a command of which nobody knows what became that it will never be carried out.
func refusesUnknown(a *reply) *reply {
	if !errors.Is(a.err, shard.ErrOutcomeUnknown) {
		return a
	}
	return &reply{request: a.request, err: fmt.Errorf("%w: %w", shard.ErrNotDone, errInjected)}
}

// renames requests another game session when one is requested again.
func renames(w *world, r *placer.Request) {
	c, _ := r.Command.(region.RoomCommand)
	if create, ok := c.Command.(fleet.CreateGameSession); ok && w.placed.asked[sessionKey{c.Room, create.ID}] {
		create.ID += "-again"
		c.Command = create
		r.Command = c
	}
}

// losesAnswer loses the answers to requests for placements.
func losesAnswer(r *matchdriver.Request) bool {
	if r.Place != nil {
		r.Answer = nil
	}
	return true
}

// keepsPlaced loses what a match is to be told of its placement.
func keepsPlaced(r *matchdriver.Request) bool {
	c, _ := r.Command.(region.MatchmakingCommand)
	_, placed := c.Command.(matchmaking.Placed)
	return !placed
}
