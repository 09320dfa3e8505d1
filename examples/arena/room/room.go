// Package room is the game of an arena: who is there, where they walk, and what they say. It knows no sockets and no
// clock: time passes with Tick. A Room may be used by one goroutine at a time.
package room

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/muster-gg/muster/examples/arena/protocol"
)

const (
	// Half is how far one can walk from the middle, in metres, along x and y.
	Half = 50.0
	// Speed is that of a player at full deflection, in metres a second.
	Speed = 5.0

	burst = 5   // things to say at once; after that one a second
	apart = 3.0 // metres from the middle, where players begin
	metre = 100 // centimetres
)

// ErrTalkative says that a player has said too much.
var ErrTalkative = errors.New("too many messages: one per second is allowed, and five at once")

// A Room is a round of the game.
type Room struct {
	rate    int
	tick    uint32
	last    uint32    // number given
	players []*player // by number
	news    []protocol.Message
	places  []protocol.Place
}

type player struct {
	number   uint32
	name     string
	x, y     float64 // metres
	dx, dy   float64 // direction, at most 1 long
	steered  bool    // once
	sequence uint32  // of the newest input
	until    uint32  // the tick that ends it
	breath   int     // ticks to talk with; a sentence costs a second's
}

// An Update is what has happened up to a tick. It is good until the next one.
type Update struct {
	Tick   uint32
	News   []protocol.Message // Joined, Left and Said, in order
	Places []protocol.Place   // of all players, by number
}

// New makes an empty room that will tick so many times a second, at least once.
func New(rate int) *Room { return &Room{rate: max(rate, 1)} }

// Len is the number of players.
func (r *Room) Len() int { return len(r.players) }

// NextNumber is a number for a player, from 1, which no other player ever gets.
func (r *Room) NextNumber() uint32 {
	r.last++
	return r.last
}

// Join lets a player in, who has a number and is not there.
func (r *Room) Join(number uint32, name string) {
	i, _ := r.find(number)
	angle := float64(number) * math.Pi * (3 - math.Sqrt(5)) // the golden angle: no two begin at one place
	r.players = slices.Insert(r.players, i, &player{
		number: number, name: name, x: apart * math.Cos(angle), y: apart * math.Sin(angle), breath: burst * r.rate,
	})
	r.news = append(r.news, protocol.Joined{Number: number, Name: name})
}

// Leave takes a player out. One who is not there is ignored, here and in the other methods.
func (r *Room) Leave(number uint32) {
	if i, ok := r.find(number); ok {
		r.players = slices.Delete(r.players, i, i+1)
		r.news = append(r.news, protocol.Left{Number: number})
	}
}

// Present is everybody who is there, by number.
func (r *Room) Present() []protocol.Joined {
	present := make([]protocol.Joined, len(r.players))
	for i, p := range r.players {
		present[i] = protocol.Joined{Number: p.number, Name: p.name}
	}
	return present
}

// Steer lets a player walk into a direction, until they steer again, for a second at most. An input that is not newer
// than the last is ignored.
func (r *Room) Steer(number uint32, in protocol.Input) {
	i, ok := r.find(number)
	if !ok {
		return
	}
	p := r.players[i]
	if p.steered && int32(in.Sequence-p.sequence) <= 0 {
		return
	}
	p.steered, p.sequence, p.until = true, in.Sequence, r.tick+uint32(r.rate)
	p.dx, p.dy = float64(in.X)/protocol.MaxInput, float64(in.Y)/protocol.MaxInput
	if length := math.Hypot(p.dx, p.dy); length > 1 {
		p.dx, p.dy = p.dx/length, p.dy/length
	}
}

// Say tells everybody what a player says, with the next tick.
func (r *Room) Say(number uint32, text string) error {
	i, ok := r.find(number)
	if !ok {
		return nil
	}
	p := r.players[i]
	if p.breath < r.rate {
		return ErrTalkative
	}
	p.breath -= r.rate
	r.news = append(r.news, protocol.Said{Number: number, Text: text})
	return nil
}

// Tick lets a tick's time pass: everybody walks. The Update is what has happened since the last one.
func (r *Room) Tick() Update {
	r.tick++
	r.places = r.places[:0]
	for _, p := range r.players {
		p.walk(r.tick, 1/float64(r.rate))
		p.breath = min(p.breath+1, burst*r.rate)
		r.places = append(r.places, protocol.Place{Number: p.number, X: centimetres(p.x), Y: centimetres(p.y)})
	}
	update := Update{Tick: r.tick, News: r.news, Places: r.places}
	r.news = nil
	return update
}

// walk moves the player for some seconds, if their last input still holds.
func (p *player) walk(tick uint32, seconds float64) {
	if !p.steered || int32(tick-p.until) > 0 {
		return
	}
	p.x = min(max(p.x+p.dx*Speed*seconds, -Half), Half)
	p.y = min(max(p.y+p.dy*Speed*seconds, -Half), Half)
}

func centimetres(metres float64) int16 { return int16(math.Round(metres * metre)) }

func (r *Room) find(number uint32) (int, bool) {
	return slices.BinarySearchFunc(r.players, number, func(p *player, n uint32) int {
		return cmp.Compare(p.number, n)
	})
}
