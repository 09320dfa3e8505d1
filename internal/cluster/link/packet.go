package link

import (
	"encoding/binary"
	"errors"
)

const version = 2

// The kinds of packets.
const (
	FromClient byte = 1 + iota // of the process that opened the link
	FromServer
	Broken // of a server that does not know the link (any more)
)

// A Packet is what travels at once.
type Packet struct {
	Kind       byte
	From       string // the sender's process
	Generation uint64 // counts the links that a client opens to the same server, from 1
	Number     uint64 // 0: no piece of the stream
	Received   uint64 // the newest number up to which everything has come
	Piece      []byte // of the stream
}

// Overhead is more than what a packet of a process with this name has beside its
// piece.
func Overhead(process string) int { return 3 + len(process) + 3*binary.MaxVarintLen64 }

// AppendPacket writes p behind dst. The name of the process has at most 255 bytes.
func AppendPacket(dst []byte, p Packet) []byte {
	dst = append(dst, version, p.Kind, byte(len(p.From)))
	dst = append(dst, p.From...)
	dst = binary.AppendUvarint(dst, p.Generation)
	dst = binary.AppendUvarint(dst, p.Number)
	dst = binary.AppendUvarint(dst, p.Received)
	return append(dst, p.Piece...)
}

// ErrMalformed says that bytes are not what they should be.
var ErrMalformed = errors.New("malformed message between nodes")

// ReadPacket is the reverse of AppendPacket. The piece is a part of data.
func ReadPacket(data []byte) (p Packet, err error) {
	if len(data) < 3 || data[0] != version || data[1] < FromClient || data[1] > Broken || len(data) < 3+int(data[2]) {
		return Packet{}, ErrMalformed
	}
	p.Kind = data[1]
	p.From, data = string(data[3:3+int(data[2])]), data[3+int(data[2]):]
	for _, field := range []*uint64{&p.Generation, &p.Number, &p.Received} {
		n := 0
		if *field, n = binary.Uvarint(data); n <= 0 {
			return Packet{}, ErrMalformed
		}
		data = data[n:]
	}
	p.Piece = data
	if (p.Number == 0) != (len(p.Piece) == 0) {
		return Packet{}, ErrMalformed
	}
	return p, nil
}
