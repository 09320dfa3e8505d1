// Package damage is what tests do to the disk of a service: they change the files of its journal engine, and give it a
// disk that is full.
package damage

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A Message is where a message stands in a file of the journal engine.
type Message struct {
	Offset, Size int
	Seq          uint64
	Subject      string
}

// MessageHead is the length of what stands before a message's subject.
const MessageHead = 22

// MessagesIn lists the messages of a file: each begins with its length, whose top bit says that it has headers, its
// number, its time and the length of its subject, all little endian. Source: NATS server, filestore.go.
func MessagesIn(data []byte) (all []Message) {
	for at := 0; at+MessageHead <= len(data); {
		head := data[at:]
		size := int(binary.LittleEndian.Uint32(head) &^ (1 << 31))
		subject := int(binary.LittleEndian.Uint16(head[20:]))
		if size < MessageHead+subject || at+size > len(data) {
			return all
		}
		if subject > 0 { // else it says that an earlier one was deleted
			all = append(all, Message{at, size, binary.LittleEndian.Uint64(head[4:]),
				string(head[MessageHead : MessageHead+subject])})
		}
		at += size
	}
	return all
}

// A Store is the directory of a service that does not run, to be damaged.
type Store struct {
	T   testing.TB
	Dir string
}

// NewestBlock is the newest file of a stream.
func (s Store) NewestBlock(stream string) string {
	s.T.Helper()
	blocks, err := filepath.Glob(filepath.Join(s.Dir, "journal", "jetstream", "*", "streams", stream, "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		s.T.Fatalf("files of stream %s: %v, %v", stream, blocks, err)
	}
	return slices.MaxFunc(blocks, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b) // the names are numbers
		}
		return strings.Compare(a, b)
	})
}

// Change changes the newest file of a stream.
func (s Store) Change(stream string, change func(data []byte, all []Message) []byte) {
	s.T.Helper()
	block := s.NewestBlock(stream)
	data, err := os.ReadFile(block)
	if err != nil {
		s.T.Fatal(err)
	}
	if err := os.WriteFile(block, change(data, MessagesIn(data)), 0o600); err != nil {
		s.T.Fatal(err)
	}
}
