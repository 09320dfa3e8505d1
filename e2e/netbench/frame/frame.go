// Package frame is what goes over the wire between the load and every server: the framing of gamenet.U16, and packets
// whose content can be checked.
//
// A packet is its size in bytes as a little-endian uint16, header included, its id as a little-endian uint16, and a
// payload.
package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Sizes of packets in bytes, header included.
const (
	Header    = 4
	EchoSize  = 64
	StateSize = Header + 48
)

// Ids of packets.
const (
	EchoID  uint16 = 1 // is sent back as it is
	StateID uint16 = 2 // where a player of a room is
)

// ErrSize says that something is not a packet.
var ErrSize = errors.New("a packet smaller than its header")

// Size is the size of the packet that b begins with, once two bytes of it are there. The caller looks whether all of it
// is.
func Size(b []byte) (int, error) {
	size := int(binary.LittleEndian.Uint16(b))
	if size < Header {
		return 0, fmt.Errorf("%w: %d", ErrSize, size)
	}
	return size, nil
}

// Next cuts the first packet off b; packet is nil when it is not complete.
func Next(b []byte) (packet, rest []byte, err error) {
	if len(b) < 2 {
		return nil, b, nil
	}
	size, err := Size(b)
	if err != nil || size > len(b) {
		return nil, b, err
	}
	return b[:size:size], b[size:], nil
}

// ID is the id of a packet.
func ID(packet []byte) uint16 { return binary.LittleEndian.Uint16(packet[2:]) }

// Payload is what a packet carries.
func Payload(packet []byte) []byte { return packet[Header:] }

// scatter spreads small numbers over all bits; it is odd, so that they stay apart.
const scatter = 2654435761

func putHeader(packet []byte, id uint16) {
	binary.LittleEndian.PutUint16(packet, uint16(len(packet)))
	binary.LittleEndian.PutUint16(packet[2:], id)
}

// PutEcho makes all of b an echo packet that nobody else has: number tells connections apart, and packets in flight.
func PutEcho(b []byte, number uint32) {
	putHeader(b, EchoID)
	binary.LittleEndian.PutUint32(b[4:], number)
	fill(b[12:], number*scatter)
}

// SetTurn makes an echo packet another one than those of the turns before.
func SetTurn(echo []byte, turn uint32) { binary.LittleEndian.PutUint32(echo[8:], turn) }

// fill writes a pattern that is another one for each seed.
func fill(b []byte, seed uint32) {
	for i := range b {
		b[i] = byte(seed>>(i%4*8)) + byte(i)*31
	}
}
