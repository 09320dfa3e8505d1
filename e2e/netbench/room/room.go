// Package room is the game that every server of the comparison hosts: rooms of players, each of whom says where it is
// and hears, at every tick of its room, where everybody is.
package room

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-gg/muster/e2e/netbench/frame"
)

// The size of the game.
const (
	Count   = 50 // rooms
	Players = 20 // in each
)

// Tick is the time between two ticks.
const Tick = time.Second / 30

// TickBytes is what a player receives at a tick: a packet of each player of its room.
const TickBytes = Players * frame.StateSize

// errUnasked: a player that does not exist.
var errUnasked = errors.New("no such player")

// Rooms are all rooms of a server whose connections are Cs.
type Rooms[C any] struct {
	interval time.Duration
	send     Send[C]
	rooms    [Count]room[C]
	running  sync.WaitGroup
	stopped  atomic.Bool
}

// Send gives each of the players of a room the packets of a tick, TickBytes in all. It returns when the library has
// taken them; an error ends the room. The packets stay as they are until then.
type Send[C any] func(room int, players []C, packets []byte) error

// New makes empty rooms. A room starts when all its players are there. interval is the time between its ticks; 0 for
// none: the next tick begins when send returns.
func New[C any](interval time.Duration, send Send[C]) *Rooms[C] {
	r := &Rooms[C]{interval: interval, send: send}
	for i := range r.rooms {
		for player := range Players {
			frame.State{Room: uint16(i), Player: uint16(player)}.Put(r.rooms[i].packet(player))
		}
	}
	return r
}

type room[C any] struct {
	mu      sync.Mutex
	here    int // players
	joined  [Players]bool
	players [Players]C
	packets [TickBytes]byte
}

// packet is what the others hear of a player.
func (r *room[C]) packet(player int) []byte {
	return r.packets[player*frame.StateSize : (player+1)*frame.StateSize]
}

// Take is for each packet that a server receives. The first one of a player says which connection is the player's. It
// keeps nothing of the payload.
func (r *Rooms[C]) Take(connection C, id uint16, payload []byte) error {
	s, err := frame.StateOf(id, payload)
	if err != nil {
		return err
	}
	if s.Room >= Count || s.Player >= Players {
		return fmt.Errorf("%w: %d in room %d", errUnasked, s.Player, s.Room)
	}
	if r.rooms[s.Room].take(connection, int(s.Player), payload) {
		r.running.Go(func() { r.run(int(s.Room)) })
	}
	return nil
}

// take tells whether the room is complete with this packet.
func (r *room[C]) take(connection C, player int, payload []byte) (complete bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	copy(frame.Payload(r.packet(player)), payload)
	if r.joined[player] {
		return false
	}
	r.joined[player], r.players[player] = true, connection
	r.here++
	return r.here == Players
}

func (r *Rooms[C]) run(number int) {
	room := &r.rooms[number]
	var due <-chan time.Time
	if r.interval > 0 {
		ticker := time.NewTicker(r.interval)
		defer ticker.Stop()
		due = ticker.C
	}
	var packets [TickBytes]byte
	for !r.stopped.Load() {
		if due != nil {
			<-due
		}
		room.mu.Lock()
		packets = room.packets
		room.mu.Unlock()
		if r.send(number, room.players[:], packets[:]) != nil {
			return // a player has gone: the game is over
		}
	}
}

// Stop ends all rooms and waits until each has sent its last tick. Connections are closed after that.
func (r *Rooms[C]) Stop() {
	r.stopped.Store(true)
	r.running.Wait()
}
