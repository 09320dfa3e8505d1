package frame

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// A State says where a player is: 48 bytes of payload, of which all but the first eight are made from these.
type State struct {
	Room, Player uint16
	Tick         uint32 // counts what the player has sent
}

// Put makes b, of StateSize bytes, the packet of a state.
func (s State) Put(b []byte) {
	putHeader(b[:StateSize], StateID)
	binary.LittleEndian.PutUint16(b[4:], s.Room)
	binary.LittleEndian.PutUint16(b[6:], s.Player)
	binary.LittleEndian.PutUint32(b[8:], s.Tick)
	fill(b[12:StateSize], uint32(s.Room)<<16^uint32(s.Player)^s.Tick*scatter)
}

// StateOf reads the payload of a state, without its pattern.
func StateOf(id uint16, payload []byte) (State, error) {
	if len(payload) != StateSize-Header || id != StateID {
		return State{}, fmt.Errorf("a packet with the id %d and %d bytes of payload is not a state", id, len(payload))
	}
	return State{
		Room:   binary.LittleEndian.Uint16(payload),
		Player: binary.LittleEndian.Uint16(payload[2:]),
		Tick:   binary.LittleEndian.Uint32(payload[4:]),
	}, nil
}

// Check reads the packet of a state and holds every byte of it to what Put writes.
func Check(packet []byte) (State, error) {
	s, err := StateOf(ID(packet), Payload(packet))
	if err != nil {
		return s, err
	}
	var want [StateSize]byte
	s.Put(want[:])
	if !bytes.Equal(packet, want[:]) {
		return s, fmt.Errorf("the state of player %d in room %d is garbled", s.Player, s.Room)
	}
	return s, nil
}

// Head is the first eight bytes of a player's packet, which never change: size, id, room and player.
func Head(room, player uint16) uint64 {
	return uint64(StateSize) | uint64(StateID)<<16 | uint64(room)<<32 | uint64(player)<<48
}
