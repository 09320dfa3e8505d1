package placer

import (
	"fmt"
	"testing"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// While the word that an attempt was refused is on its way to the placement, a recovery of the room's shard does not
// request the game session once more: the attempt is over when the word arrives, and the game session would be given
// up.
func TestRecoveryDuringRefusal(t *testing.T) {
	w := newWorld(t, 1)
	id, rooms := w.placeApart()
	p := w.m.placements[id]
	w.settle(rooms, 1) // no process is free
	if p.call != nil {
		t.Fatal("the room has not answered")
	}
	w.come(p.room.Location)
	w.step(func(m *Machine) { m.Recover(rooms, w.shards[rooms].state.Freeze()) })
	w.step((*Machine).Review)
	told := w.shards[p.shard].queue[0].Command.(region.PlacementCommand).Command.(placement.Refused)
	for range 3 {
		w.settle(rooms, len(w.shards[rooms].queue))
		for ; len(w.past) > 0; w.past = w.past[1:] {
			w.answer(w.past[0], (*fleet.GameSession)(nil), nil)
		}
	}
	if found := w.sessions(id); len(found) != 0 || told.Number != 1 {
		t.Errorf("the game sessions %v, %+v", found, told)
	}
}

// placeApart starts a placement in another shard than that of its first room, which has been asked for a game session.
func (w *world) placeApart() (id string, rooms int) {
	rooms = region.ShardOf(room(locations[0]), shards)
	for w.begun == 0 || region.PlacementShardOf(fmt.Sprint("p", w.begun+1), shards) == rooms {
		w.begun++
	}
	w.place()
	id = fmt.Sprint("p", w.begun)
	w.settle(region.PlacementShardOf(id, shards), 1)
	return id, rooms
}

// settle carries out the oldest requests of a shard, and makes them durable.
func (w *world) settle(shard, n int) {
	for range n {
		w.handle(shard)
		w.commit(shard)
	}
}

// A request for a game session that is carried out when the attempt has been given up leaves no game session behind.
func TestLateGameSession(t *testing.T) {
	w := newWorld(t, 1)
	id, rooms := w.placeApart()
	shard := region.PlacementShardOf(id, shards)
	late := w.shards[rooms].queue[0]
	w.settle(rooms, 1) // no process is free
	w.settle(shard, 1) // the placement stores that
	if p := w.m.placements[id]; p.stage == running {
		t.Fatalf("stage %d", p.stage)
	}
	w.come(locations[0])
	w.shards[rooms].queue = []Request{{Shard: rooms, Command: late.Command}}
	w.settle(rooms, 1)
	w.play(locations[0], 0)
	w.settle(shard, len(w.shards[shard].queue))
	w.settle(rooms, len(w.shards[rooms].queue))
	w.play(locations[0], 0)
	if found := w.sessions(id); len(found) != 0 {
		t.Errorf("the game sessions %v are left", found)
	}
}

// While two nodes lead, both may begin an attempt, each in another room. It runs in the room that is stored.
func TestAttemptOfAnotherLead(t *testing.T) {
	w := newWorld(t, 1)
	id, rooms := w.placeApart()
	shard := region.PlacementShardOf(id, shards)
	w.settle(rooms, 1) // no process is free
	w.settle(shard, 1) // the placement stores that
	s := w.shards[shard]
	begin := s.queue[0].Command.(region.PlacementCommand).Command.(placement.Begin)
	if begin.Room == room(locations[0]) {
		t.Fatal("the second attempt is in the first room")
	}
	begin.Room = room(locations[0])
	s.queue = append([]Request{{Command: region.PlacementCommand{Command: begin}}}, s.queue...)
	w.settle(shard, 1)
	create := w.shards[rooms].queue[0].Command.(region.RoomCommand)
	if p := w.m.placements[id]; p.room != begin.Room || create.Room != begin.Room {
		t.Errorf("the attempt runs in %v, its game session is requested in %v", p.room, create.Room)
	}
}
