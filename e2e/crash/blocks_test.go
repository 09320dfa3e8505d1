//go:build unix

package crash

import (
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A message is where a message stands in a file of the journal engine.
type message struct {
	offset, size int
	seq          uint64
	subject      string
}

// messageHead is the length of what stands before a message's subject.
const messageHead = 22

// messagesIn lists the messages of a file: each begins with its length, whose top
// bit says that it has headers, its number, its time and the length of its
// subject, all little endian. Source: NATS server, filestore.go.
func messagesIn(data []byte) (all []message) {
	for at := 0; at+messageHead <= len(data); {
		head := data[at:]
		size := int(binary.LittleEndian.Uint32(head) &^ (1 << 31))
		subject := int(binary.LittleEndian.Uint16(head[20:]))
		if size < messageHead+subject || at+size > len(data) {
			return all
		}
		if subject > 0 { // else it says that an earlier one was deleted
			all = append(all, message{at, size, binary.LittleEndian.Uint64(head[4:]), string(head[messageHead : messageHead+subject])})
		}
		at += size
	}
	return all
}

// A store is the directory of a service that does not run, to be damaged.
type store struct {
	t   *testing.T
	dir string
}

// newestBlock is the newest file of a stream.
func (s store) newestBlock(stream string) string {
	s.t.Helper()
	blocks, err := filepath.Glob(filepath.Join(s.dir, "journal", "jetstream", "*", "streams", stream, "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		s.t.Fatalf("files of stream %s: %v, %v", stream, blocks, err)
	}
	return slices.MaxFunc(blocks, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b) // the names are numbers
		}
		return strings.Compare(a, b)
	})
}

// change changes the newest file of a stream.
func (s store) change(stream string, change func(data []byte, all []message) []byte) {
	s.t.Helper()
	block := s.newestBlock(stream)
	data, err := os.ReadFile(block)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(block, change(data, messagesIn(data)), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// objects is the stream of the one shard's snapshots, records that of its journal.
const (
	objects = "OBJ_muster-shard-0"
	records = "MUSTER_SHARD_0"
)

// garble changes a byte in the last chunk of the newest snapshots, so many.
func (s store) garble(snapshots int) {
	s.t.Helper()
	s.change(objects, func(data []byte, all []message) []byte {
		last := map[string]message{} // by subject, which each snapshot has for itself
		for _, m := range all {
			if strings.HasPrefix(m.subject, "$O.muster-shard-0.C.") {
				last[m.subject] = m
			}
		}
		newest := slices.SortedFunc(maps.Values(last), func(a, b message) int { return b.offset - a.offset })
		for _, m := range newest[:snapshots] {
			data[m.offset+m.size/2]++
		}
		return data
	})
}

// cutSnapshot cuts the newest snapshot's last chunk short.
func (s store) cutSnapshot() {
	s.t.Helper()
	s.change(objects, func(data []byte, all []message) []byte {
		at := 0
		for _, m := range all {
			if strings.HasPrefix(m.subject, "$O.muster-shard-0.C.") {
				at = m.offset + m.size/2
			}
		}
		return data[:at]
	})
}
