package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
)

// A Region is what a source is of.
type Region struct {
	Region, Account string
	Shards          int
}

// A Source is what can be looked at.
type Source interface {
	Region() Region

	// Held says what there is of a shard.
	Contents(ctx context.Context, shard int) (journal.ShardContents, error)

	// Snapshot calls read with the newest snapshot of a shard that is the state after the given record or an earlier
	// one; with 0 and nil when there is none.
	Snapshot(ctx context.Context, shard int, newest uint64, read func(seq uint64, r io.Reader) error) error

	// Records visits the records of a shard after the given one, oldest first.
	Records(ctx context.Context, shard int, after uint64, visit func(journal.Stored) error) error

	// History visits the batches of the history, oldest first.
	History(ctx context.Context, visit func(journal.Stored) error) error
}

// A ShardInfo says what can be shown of a shard.
type ShardInfo struct {
	Number    int        `json:"shard"`
	First     uint64     `json:"firstEvent,omitempty"` // the oldest record whose events are held; 0: none
	Last      uint64     `json:"lastEvent"`            // the newest record
	FirstTime *time.Time `json:"firstTime,omitempty"`
	LastTime  *time.Time `json:"lastTime,omitempty"`
	FirstAt   *uint64    `json:"firstState"` // the oldest record after which the state is known; null: none
	Snapshots []uint64   `json:"snapshots"`  // the records that they are the states after
}

// Shards lists the shards.
func Shards(ctx context.Context, from Source) (all []ShardInfo, err error) {
	for i := range from.Region().Shards {
		s, err := describe(ctx, from, i)
		if err != nil {
			return nil, fmt.Errorf("shard %d: %w", i, err)
		}
		all = append(all, s)
	}
	return all, nil
}

func describe(ctx context.Context, from Source, number int) (ShardInfo, error) {
	held, err := from.Contents(ctx, number)
	if err != nil {
		return ShardInfo{}, err
	}
	s := ShardInfo{Number: number, Last: held.Last, Snapshots: append([]uint64{}, held.Snapshots...)}
	switch {
	case held.First <= 1:
		s.FirstAt = new(uint64(0))
	case len(held.Snapshots) > 0:
		s.FirstAt = new(held.Snapshots[0])
	}
	if held.First > held.Last {
		return s, nil
	}
	s.First = held.First
	if s.FirstTime, err = timeOf(ctx, from, number, held.First); err != nil {
		return ShardInfo{}, err
	}
	s.LastTime, err = timeOf(ctx, from, number, held.Last)
	return s, err
}

// errEnough ends a visit that has seen what it wanted.
var errEnough = errors.New("enough")

func timeOf(ctx context.Context, from Source, number int, seq uint64) (at *time.Time, err error) {
	err = from.Records(ctx, number, seq-1, func(s journal.Stored) error {
		at = &s.Time
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return at, err
}

// A Record is a record of a journal, with its events.
type Record struct {
	Shard   int       `json:"shard"`
	Seq     uint64    `json:"seq"`
	Time    time.Time `json:"time"`  // when it was stored; after a restore, when it was restored
	Owner   string    `json:"owner"` // the number that the shard's owner drew, in hexadecimal
	Opening bool      `json:"opening,omitempty"`
	Facts   []Fact    `json:"events"`
}

// A Fact is an event, or a record of a state.
type Fact struct {
	Room uint32 `json:"room"`
	In   string `json:"in"` // what the room is: "catalog", "placements", "matchmaking", or FLEET/LOCATION
	Type string `json:"type"`
	Body Body   `json:"body"`
}

// Events visits the records of a shard from one to another, both included. The error says which are held, if not all of
// these are.
func Events(ctx context.Context, from Source, number int, first, last uint64, visit func(Record) error) error {
	held, err := from.Contents(ctx, number)
	if err != nil {
		return err
	}
	if first < max(1, held.First) || last > held.Last || first > last {
		return fmt.Errorf("there are no events %d..%d of shard %d: %s", first, last, number, heldEvents(held))
	}
	rooms, after, err := roomsBefore(ctx, from, number, first)
	if err != nil {
		return err
	}
	err = from.Records(ctx, number, after, func(s journal.Stored) error {
		if s.Seq > last {
			return errEnough
		}
		r, err := newRecord(number, s, rooms)
		if err != nil || s.Seq < first {
			return err
		}
		return visit(r)
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func heldEvents(h journal.ShardContents) string {
	if h.First > h.Last {
		return "none are held"
	}
	return fmt.Sprintf("%d..%d are held", max(1, h.First), h.Last)
}

// roomsBefore knows the rooms after a record before the given one, as far back as a snapshot tells.
func roomsBefore(ctx context.Context, from Source, number int,
	first uint64) (rooms roomNames, after uint64, err error) {
	rooms = roomNames{}
	err = from.Snapshot(ctx, number, first-1, func(seq uint64, r io.Reader) error {
		if after = seq; r == nil {
			return nil
		}
		return shard.ReadSnapshot(r, region.Events, func(f event.Fact) error {
			rooms.note(f)
			return nil
		})
	})
	if err != nil {
		return nil, 0, fmt.Errorf("snapshot: %w", err)
	}
	held, err := from.Contents(ctx, number)
	if after+1 < held.First { // no snapshot is that old
		after = first - 1
	}
	return rooms, after, err
}

func newRecord(number int, s journal.Stored, rooms roomNames) (Record, error) {
	taken, err := shard.ReadRecord(s.Data)
	if err != nil {
		return Record{}, fmt.Errorf("record %d: %w", s.Seq, err)
	}
	owner := fmt.Sprintf("%016x", taken.Owner)
	r := Record{Shard: number, Seq: s.Seq, Time: s.Time, Owner: owner, Opening: taken.Opening, Facts: []Fact{}}
	err = taken.Each(region.Events, func(f event.Fact) error {
		rooms.note(f)
		r.Facts = append(r.Facts, rooms.fact(f))
		return nil
	})
	if err != nil {
		return Record{}, fmt.Errorf("record %d: %w", s.Seq, err)
	}
	return r, nil
}

// A State is the state of a shard, and how it was come by.
type State struct {
	Shard    int
	At       uint64 // the record that it is the state after
	Snapshot uint64 // the one that it was begun with
	Replayed uint64 // records behind that

	machine *region.Machine
}

// StateAt makes the state of a shard after a record.
func StateAt(ctx context.Context, from Source, number int, at uint64) (*State, error) {
	s := &State{Shard: number, At: at}
	return s, s.replay(ctx, from)
}

// Each visits the state: as the records that a snapshot of it would have.
func (s *State) Each(visit func(Fact) error) error {
	rooms := roomNames{}
	return s.machine.Snapshot(func(f event.Fact) error {
		rooms.note(f)
		return visit(rooms.fact(f))
	})
}

// replay makes the machine.
func (s *State) replay(ctx context.Context, from Source) (err error) {
	defer shard.Catch("machine", &err)
	held, err := from.Contents(ctx, s.Shard)
	if err != nil {
		return err
	}
	if s.At > held.Last {
		return fmt.Errorf("shard %d has come to record %d and not to %d", s.Shard, held.Last, s.At)
	}
	s.machine = newMachine(from.Region(), s.Shard)
	err = from.Snapshot(ctx, s.Shard, s.At, func(seq uint64, r io.Reader) error {
		if s.Snapshot = seq; r == nil {
			return nil
		}
		return shard.ReadSnapshot(r, region.Events, s.machine.Restore)
	})
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	if s.Snapshot+1 < held.First && s.Snapshot < s.At || s.Snapshot == 0 && held.First > 1 {
		return fmt.Errorf("the state of shard %d after record %d is not held any more: %s, and snapshots of the "+
			"states after %v",
			s.Shard, s.At, heldEvents(held), held.Snapshots)
	}
	return s.apply(ctx, from)
}

// apply applies the records behind the snapshot.
func (s *State) apply(ctx context.Context, from Source) error {
	if s.Snapshot == s.At {
		return nil
	}
	err := from.Records(ctx, s.Shard, s.Snapshot, func(one journal.Stored) error {
		taken, err := shard.ReadRecord(one.Data)
		if err == nil {
			err = taken.Each(region.Events, func(f event.Fact) error {
				s.machine.Apply(f)
				return nil
			})
		}
		if err != nil {
			return fmt.Errorf("record %d: %w", one.Seq, err)
		}
		s.Replayed++
		if one.Seq == s.At {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// newMachine is an empty machine. Settings have no part in what events do: what they decided is in the events.
func newMachine(r Region, number int) *region.Machine {
	return region.New(number, &region.Settings{
		Fleet: fleet.DefaultSettings(r.Region), Catalog: catalog.DefaultLimits(), Shards: r.Shards,
	})
}

// roomNames says what rooms are.
type roomNames map[uint32]string

// note takes notice of rooms that are opened. A number that is given again has the newest name.
func (n roomNames) note(f event.Fact) {
	if opened, ok := f.Body.(*region.RoomOpened); ok {
		n[f.Room] = string(opened.Fleet) + "/" + opened.Location
	}
}

func (n roomNames) fact(f event.Fact) Fact {
	return Fact{Room: f.Room, In: n.name(f), Type: region.Events.Name(f.Body), Body: Body{f.Body}}
}

func (n roomNames) name(f event.Fact) string {
	switch f.Room {
	case 0:
		if _, ok := f.Body.(*region.Header); ok {
			return "shard"
		}
		return "catalog"
	case region.PlacementsRoom:
		return "placements"
	case region.MatchmakingRoom:
		return "matchmaking"
	case region.ShardRoom:
		return "shard"
	}
	return n[f.Room]
}
