package history

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/region"
)

// A batch is one message of the journal's history: a byte for the version, and entries in a Zstandard frame, each with
// its length before it as an unsigned varint.
const batchVersion = 1

const (
	// fullBatch is the size of entries, in bytes and not compressed, from which on a batch is written.
	fullBatch = 2 << 20

	// maxEntry is the maximum size of an entry. With it, a batch that is not quite full fits in a message, even if its
	// contents cannot be compressed.
	maxEntry = journal.MaxEntry - fullBatch - 64<<10

	// numberBits are the low bits of an entry's number, which count the entries of a batch. The others are the batch's
	// number.
	numberBits = 16
	maxEntries = 1 << numberBits
)

// The kinds of entries.
const (
	sessionEntry   = 's' // a game session and its player sessions
	departedEntry  = 'd' // a player session that left memory before its game session
	placementEntry = 'q'
	ticketEntry    = 't'
)

// An entry is something that has ended.
type entry struct {
	kind   byte
	number uint64       // 0: by its place in the batch
	room   fleet.RoomID // of a game session or player session
	shard  uint8        // of the room
	fact   []byte       // the record, with the number of its room
}

func (e *entry) inRoom() bool { return e.kind == sessionEntry || e.kind == departedEntry }

// append encodes the entry.
func (e *entry) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, e.kind), e.number)
	if e.inRoom() {
		dst = appendText(dst, string(e.room.Fleet))
		dst = append(appendText(dst, e.room.Location), e.shard)
	}
	return append(dst, e.fact...)
}

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

var errMalformed = errors.New("malformed entry of the history")

// decodeEntry decodes the output of append. The result shares memory with data.
func decodeEntry(data []byte) (e entry, err error) {
	if len(data) == 0 {
		return e, errMalformed
	}
	e.kind, data = data[0], data[1:]
	number, n := binary.Uvarint(data)
	if n <= 0 {
		return e, errMalformed
	}
	e.number, data = number, data[n:]
	if e.inRoom() {
		of, rest, ok := cutText(data)
		location, rest, also := cutText(rest)
		if !ok || !also || len(rest) == 0 {
			return e, errMalformed
		}
		e.room = fleet.RoomID{Fleet: fleet.ID(of), Location: string(location)}
		e.shard, data = rest[0], rest[1:]
	}
	e.fact = data
	return e, nil
}

// cutText returns a text with its length before it, and what follows.
func cutText(data []byte) (text, rest []byte, ok bool) {
	size, n := binary.Uvarint(data)
	if n <= 0 || size > uint64(len(data)-n) {
		return nil, nil, false
	}
	return data[n : n+int(size)], data[n+int(size):], true
}

// record decodes the record of an entry, and the number of its room.
func record[T any](e *entry) (record T, room uint32, err error) {
	fact, _, err := region.Events.Next(e.fact)
	if err != nil {
		return record, 0, err
	}
	record, ok := fact.Body.(T)
	if !ok {
		return record, 0, fmt.Errorf("entry of kind %q of the history is a %T and not a %T", e.kind, fact.Body, record)
	}
	return record, fact.Room, nil
}

// A session is the game session of an entry, with its address.
type session struct {
	*fleet.GameSession
	at fleet.Address
}

func (e *entry) session() (s session, err error) {
	g, room, err := record[*fleet.GameSession](e)
	if err == nil && e.kind == departedEntry && len(g.PastPlayers) != 1 {
		err = errMalformed
	}
	return session{g, fleet.Address{Shard: e.shard, Room: uint16(room)}}, err
}

var (
	packer   = must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1)))
	unpacker = must(zstd.NewReader(nil, zstd.WithDecoderMaxMemory(64<<20), zstd.WithDecoderConcurrency(1)))
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A packed collects the entries of a batch. Its zero value is empty.
type packed struct {
	entries []byte
	n       int
	one     []byte // of add
}

// add adds an entry. The error is journal.ErrTooLarge for one that no batch can have.
func (p *packed) add(e *entry) error {
	p.one = e.append(p.one[:0])
	if len(p.one) > maxEntry {
		return fmt.Errorf("%w: %d bytes of at most %d", journal.ErrTooLarge, len(p.one), maxEntry)
	}
	p.entries = appendText(p.entries, string(p.one))
	p.n++
	return nil
}

// full reports whether the batch must be written before another entry is added.
func (p *packed) full() bool { return len(p.entries) >= fullBatch || p.n >= maxEntries/2 }

// message returns the batch, and empties p.
func (p *packed) message() []byte {
	data := packer.EncodeAll(p.entries, []byte{batchVersion})
	p.entries, p.n = p.entries[:0], 0
	return data
}

// unpack calls visit with the entries of a batch, with their numbers. An entry shares memory with nothing else.
func unpack(seq uint64, data []byte, visit func(entry) error) error {
	if len(data) == 0 || data[0] != batchVersion {
		return fmt.Errorf("batch %d of the history has a format that this release does not read", seq)
	}
	rest, err := unpacker.DecodeAll(data[1:], nil)
	for i := uint64(0); err == nil && len(rest) > 0; i++ {
		one, others, ok := cutText(rest)
		if !ok || i == maxEntries {
			return fmt.Errorf("batch %d of the history: %w", seq, errMalformed)
		}
		var e entry
		if e, err = decodeEntry(one); err == nil {
			if e.number == 0 {
				e.number = seq<<numberBits | i
			}
			err = visit(e)
		}
		rest = others
	}
	if err != nil {
		return fmt.Errorf("batch %d of the history: %w", seq, err)
	}
	return nil
}

// encodeFact encodes a record.
func encodeFact(buf *bytes.Buffer, room uint32, body any) ([]byte, error) {
	buf.Reset()
	err := region.Events.Append(buf, event.Fact{Room: room, Body: body})
	return buf.Bytes(), err
}
