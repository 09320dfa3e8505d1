package gamenet

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A Codec splits the byte stream into packets and encodes packets. It has no state and is shared by all sessions.
type Codec interface {
	// Decode reads the first packet of b, which holds the bytes received so far and is not empty. size is the size of
	// the packet in bytes, header included. If size is 0, the header is incomplete; if size is larger than len(b), the
	// packet is; p is unused in both cases. The payload is a part of b. An error that wraps ErrFrame means that b can
	// never become a packet of at most max bytes.
	Decode(b []byte, max int) (p Packet, size int, err error)
	// Append adds a packet's bytes to dst. With an error that wraps ErrPacketTooLarge or ErrInvalidID it returns dst
	// unchanged.
	Append(dst []byte, p Packet, max int) ([]byte, error)
	// Header returns the maximum number of bytes that Append adds to a payload.
	Header() int
	// HasIDs reports whether packets carry an id. The ids from FirstReservedID on are then reserved for the library.
	HasIDs() bool
}

// FirstReservedID is the first packet id that games may not use: the ids from here on carry pings, their answers, and
// the reason why a session ends.
const FirstReservedID uint16 = 0xFFF0

// The ids of the library's own packets.
const (
	idPing uint16 = 0xFFFF // payload: pingSize bytes of the sender's choice
	idPong uint16 = 0xFFFE // payload: copied from the ping
	idBye  uint16 = 0xFFFD // payload: a Reason, see readReason
)

// pingSize is the size of the payload of the library's pings in bytes.
const pingSize = 8

// checkSize rejects a packet of more than max bytes.
func checkSize(size, max int) error {
	if size > max {
		return fmt.Errorf("%w: %d bytes with its header, at most %d are allowed", ErrPacketTooLarge, size, max)
	}
	return nil
}

// checkNoID rejects an id for a codec without ids.
func checkNoID(p Packet) error {
	if p.ID != 0 {
		return fmt.Errorf("%w: the codec has no ids, and this is %d", ErrInvalidID, p.ID)
	}
	return nil
}

// U16 is the default codec: the size of the whole packet in bytes, header included, as a little-endian uint16, then the
// id as a little-endian uint16, then the payload. A packet has 4 to 65,535 bytes.
var U16 Codec = u16Codec{}

type u16Codec struct{}

const u16Header = 4

func (u16Codec) Decode(b []byte, max int) (Packet, int, error) {
	if len(b) < 2 {
		return Packet{}, 0, nil
	}
	size := int(binary.LittleEndian.Uint16(b))
	if size < u16Header || size > max {
		return Packet{}, 0, fmt.Errorf("%w: a packet of %d bytes, 4 to %d are allowed", ErrFrame, size, max)
	}
	if size > len(b) {
		return Packet{}, size, nil
	}
	return Packet{ID: binary.LittleEndian.Uint16(b[2:]), Payload: b[u16Header:size:size]}, size, nil
}

func (u16Codec) Append(dst []byte, p Packet, max int) ([]byte, error) {
	size := u16Header + len(p.Payload)
	if err := checkSize(size, min(max, math.MaxUint16)); err != nil {
		return dst, err
	}
	dst = binary.LittleEndian.AppendUint16(dst, uint16(size))
	dst = binary.LittleEndian.AppendUint16(dst, p.ID)
	return append(dst, p.Payload...), nil
}

func (u16Codec) Header() int { return u16Header }

func (u16Codec) HasIDs() bool { return true }

// U32 is a codec without ids: the number of payload bytes as a little-endian uint32, then the payload.
var U32 Codec = u32Codec{}

type u32Codec struct{}

const u32Header = 4

func (u32Codec) Decode(b []byte, max int) (Packet, int, error) {
	if len(b) < u32Header {
		return Packet{}, 0, nil
	}
	return lengthPrefixed(b, u32Header, uint64(binary.LittleEndian.Uint32(b)), max)
}

func (u32Codec) Append(dst []byte, p Packet, max int) ([]byte, error) {
	if err := checkNoID(p); err != nil {
		return dst, err
	}
	if err := checkSize(u32Header+len(p.Payload), max); err != nil {
		return dst, err
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(p.Payload)))
	return append(dst, p.Payload...), nil
}

func (u32Codec) Header() int { return u32Header }

func (u32Codec) HasIDs() bool { return false }

// Varint is a codec without ids: the number of payload bytes as an unsigned varint, as in encoding/binary and Protocol
// Buffers, in the fewest bytes possible, then the payload.
var Varint Codec = varintCodec{}

type varintCodec struct{}

func (varintCodec) Decode(b []byte, max int) (Packet, int, error) {
	length, header := binary.Uvarint(b[:min(len(b), binary.MaxVarintLen32)])
	switch {
	case header < 0, header == 0 && len(b) >= binary.MaxVarintLen32:
		return Packet{}, 0, fmt.Errorf("%w: a length of more than %d bytes", ErrFrame, binary.MaxVarintLen32)
	case header == 0:
		return Packet{}, 0, nil
	case header > 1 && b[header-1] == 0:
		return Packet{}, 0, fmt.Errorf("%w: a length with more bytes than it needs", ErrFrame)
	}
	return lengthPrefixed(b, header, length, max)
}

func (varintCodec) Append(dst []byte, p Packet, max int) ([]byte, error) {
	if err := checkNoID(p); err != nil {
		return dst, err
	}
	var header [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(header[:], uint64(len(p.Payload)))
	if err := checkSize(n+len(p.Payload), max); err != nil {
		return dst, err
	}
	dst = append(dst, header[:n]...)
	return append(dst, p.Payload...), nil
}

func (varintCodec) Header() int { return binary.MaxVarintLen32 }

func (varintCodec) HasIDs() bool { return false }

// lengthPrefixed reads a packet: a header that is decoded already, and length more bytes.
func lengthPrefixed(b []byte, header int, length uint64, max int) (Packet, int, error) {
	if header > max || length > uint64(max-header) {
		return Packet{}, 0, fmt.Errorf("%w: a payload of %d bytes, packets of at most %d are allowed",
			ErrFrame, length, max)
	}
	size := header + int(length)
	if size > len(b) {
		return Packet{}, size, nil
	}
	return Packet{Payload: b[header:size:size]}, size, nil
}

// Raw is the codec without framing: OnPacket receives the bytes as they arrive, and a packet may arrive in pieces or
// together with others.
var Raw Codec = rawCodec{}

type rawCodec struct{}

func (rawCodec) Decode(b []byte, max int) (Packet, int, error) {
	n := min(len(b), max)
	return Packet{Payload: b[:n:n]}, n, nil
}

func (rawCodec) Append(dst []byte, p Packet, max int) ([]byte, error) {
	if err := checkNoID(p); err != nil {
		return dst, err
	}
	if err := checkSize(len(p.Payload), max); err != nil {
		return dst, err
	}
	return append(dst, p.Payload...), nil
}

func (rawCodec) Header() int { return 0 }

func (rawCodec) HasIDs() bool { return false }
