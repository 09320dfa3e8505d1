//go:build linux

package load

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/muster-gg/muster/e2e/netbench/frame"
	"github.com/muster-gg/muster/e2e/netbench/room"
)

// warmStates is how many states a player has checked in full before it is warm.
const warmStates = 2 * room.Players

// A player is in a room. It looks at the first eight bytes of every packet that it receives: they say size, id, room
// and player, and the players must come in turn. Until it is warm it checks the rest too, and that the others move.
type player struct {
	state   frame.State
	sends   bool // again and again
	packet  [frame.StateSize]byte
	heads   [room.Players]uint64 // of the packets of a tick
	at      int                  // bytes of a tick that have been received
	checked int                  // packets, in full
	fresh   bool                 // somebody's second state has been received
}

func newPlayer(number, in int, sends bool) *player {
	p := &player{state: frame.State{Room: uint16(number), Player: uint16(in)}, sends: sends}
	for i := range p.heads {
		p.heads[i] = frame.Head(uint16(number), uint16(i))
	}
	return p
}

// start says where the player is.
func (p *player) start(fd int) error {
	p.state.Tick++
	p.state.Put(p.packet[:])
	return write(fd, p.packet[:])
}

func (p *player) received(_ int, b []byte) (messages int, warm bool, err error) {
	for len(b) > 0 {
		n, ok := p.part(b)
		if !ok {
			return messages, false, p.wrong()
		}
		if p.checked < warmStates && n == frame.StateSize {
			if err := p.check(b[:n]); err != nil {
				return messages, false, err
			}
		}
		p.at += n
		b = b[n:]
		if p.at%frame.StateSize == 0 {
			messages++
		}
		if p.at == room.TickBytes {
			p.at = 0
		}
	}
	return messages, p.checked >= warmStates && (p.fresh || !p.sends), nil
}

// headSize is what Head tells of a packet, in bytes.
const headSize = 8

// part looks at the rest of the packet under way, or at all that there is of it.
func (p *player) part(b []byte) (n int, ok bool) {
	head, off := p.heads[p.at/frame.StateSize], p.at%frame.StateSize
	n = min(len(b), frame.StateSize-off)
	if off == 0 && n >= headSize {
		return n, binary.LittleEndian.Uint64(b) == head
	}
	for i := off; i < min(headSize, off+n); i++ {
		if b[i-off] != byte(head>>(8*i)) {
			return n, false
		}
	}
	return n, true
}

func (p *player) wrong() error {
	return fmt.Errorf("player %d of room %d, %d bytes into a tick: that is not the packet of player %d", p.state.Player,
		p.state.Room, p.at, p.at/frame.StateSize)
}

// errUnborn: servers tick only when all players have said where they are.
var errUnborn = errors.New("a state that nobody has sent")

func (p *player) check(packet []byte) error {
	s, err := frame.Check(packet)
	if err != nil {
		return err
	}
	if s.Tick == 0 {
		return fmt.Errorf("player %d of room %d: %w", s.Player, s.Room, errUnborn)
	}
	p.fresh = p.fresh || s.Tick >= 2
	if !p.sends || p.fresh {
		p.checked++
	}
	return nil
}
