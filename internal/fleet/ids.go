package fleet

import (
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// ID names a fleet: "fleet-" and a UUID.
type ID string

// RoomID names one location of one fleet.
type RoomID struct {
	Fleet    ID     `cbor:"1,keyasint,omitempty"`
	Location string `cbor:"2,keyasint,omitempty"`
}

// An Address locates a Room in the region. The ids that the Room assigns contain it, so they can be routed.
type Address struct {
	Shard uint8
	Room  uint16 // 1 and up; 0 is the catalog
}

// maxOrdinal is the last number of a game session in a Room: 36 bits, two years at 1,000 game sessions a second.
const maxOrdinal = 1<<36 - 1

// A PlayerSessionID is the UUID after "psess-", of version 8 (RFC 9562): 60 bits locate the player session (shard,
// room, game session), 62 random bits make it unguessable.
type PlayerSessionID [16]byte

// newPlayerSessionID composes an id of its location and 8 random bytes.
func newPlayerSessionID(a Address, session uint64, random [8]byte) PlayerSessionID {
	place := uint64(a.Shard)<<52 | uint64(a.Room)<<36 | session // 60 bits
	var id PlayerSessionID
	binary.BigEndian.PutUint64(id[:8], place>>12<<16|8<<12|place&0xfff)
	copy(id[8:], random[:])
	id[8] = id[8]&0x3f | 0x80
	return id
}

// Locate returns the Room and the ordinal of the game session.
func (id PlayerSessionID) Locate() (Address, uint64) {
	hi := binary.BigEndian.Uint64(id[:8])
	place := hi>>16<<12 | hi&0xfff
	return Address{Shard: uint8(place >> 52), Room: uint16(place >> 36)}, place & maxOrdinal
}

// PlayerSessionIDLength is the number of bytes of an id on the wire.
const PlayerSessionIDLength = len("psess-") + 36

func (id PlayerSessionID) randomBits() uint64 { return binary.BigEndian.Uint64(id[8:]) }

// String returns the id as clients see it.
func (id PlayerSessionID) String() string {
	var text [PlayerSessionIDLength]byte
	return string(id.AppendTo(text[:0]))
}

// AppendTo appends the text of the id to b.
func (id PlayerSessionID) AppendTo(b []byte) []byte {
	b = append(b, "psess-"...)
	for i := 0; i < len(id); i += 2 { // groups of 8, 4, 4, 4 and 12 digits
		if i >= 4 && i <= 10 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, id[i:i+2])
	}
	return b
}

// ParsePlayerSessionID parses an id. The caller has checked its syntax: an id that this service cannot have assigned is
// a NotFoundException.
func ParsePlayerSessionID(s string) (PlayerSessionID, error) {
	u, err := uuid.Parse(strings.TrimPrefix(s, "psess-"))
	id := PlayerSessionID(u)
	if err != nil || u.Version() != 8 || u.Variant() != uuid.RFC4122 || id.String() != s {
		return PlayerSessionID{}, fault.New(fault.NotFound, "Player session %s not found", s)
	}
	return id, nil
}

// eventID returns the id of the n-th fleet event of a Room, a version 8 UUID. after distinguishes the Room from earlier
// ones with its address.
func eventID(a Address, after, n uint64) string {
	id := newPlayerSessionID(a, after, [8]byte{})
	binary.BigEndian.PutUint64(id[8:], n)
	id[8] = id[8]&0x3f | 0x80
	return uuid.UUID(id).String()
}
