package channel

import (
	"encoding/binary"
	"errors"
)

const version = 2

// The kinds of packets.
const (
	FromClient byte = 1 + iota // of the process that opened the channel
	FromServer
	Broken // of a server that does not know the channel
)

// A Packet is one message of the network.
type Packet struct {
	Kind       byte
	From       string // the sender's process
	Generation uint64 // counts the channels that a client opens to the same server, from 1
	Number     uint64 // 0: no piece of the stream
	Received   uint64 // the number up to which everything was received
	Piece      []byte // of the stream
}

// Overhead is an upper bound of the size of a packet without its piece, for a process with this name.
func Overhead(process string) int { return 3 + len(process) + 3*binary.MaxVarintLen64 }

// AppendPacket appends p to dst. The name of the process has at most 255 bytes.
func AppendPacket(dst []byte, p Packet) []byte {
	dst = append(dst, version, p.Kind, byte(len(p.From)))
	dst = append(dst, p.From...)
	dst = binary.AppendUvarint(dst, p.Generation)
	dst = binary.AppendUvarint(dst, p.Number)
	dst = binary.AppendUvarint(dst, p.Received)
	return append(dst, p.Piece...)
}

// ErrMalformed reports that bytes do not have the format of a packet or frame.
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
