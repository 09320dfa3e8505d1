//go:build unix

package crash

import (
	"maps"
	"slices"
	"strings"

	"github.com/muster-gg/muster/e2e/damage"
)

// A store is the directory of a service with one shard.
type store struct{ damage.Store }

// objects is the stream of the one shard's snapshots, records that of its journal.
const (
	objects = "OBJ_muster-shard-0"
	records = "MUSTER_SHARD_0"
)

// garble changes a byte in the last chunk of the newest snapshots, so many.
func (s store) garble(snapshots int) {
	s.T.Helper()
	s.Change(objects, func(data []byte, all []damage.Message) []byte {
		last := map[string]damage.Message{} // by subject, which each snapshot has for itself
		for _, m := range all {
			if strings.HasPrefix(m.Subject, "$O.muster-shard-0.C.") {
				last[m.Subject] = m
			}
		}
		newest := slices.SortedFunc(maps.Values(last), func(a, b damage.Message) int { return b.Offset - a.Offset })
		for _, m := range newest[:snapshots] {
			data[m.Offset+m.Size/2]++
		}
		return data
	})
}

// cutSnapshot cuts the newest snapshot's last chunk short.
func (s store) cutSnapshot() {
	s.T.Helper()
	s.Change(objects, func(data []byte, all []damage.Message) []byte {
		at := 0
		for _, m := range all {
			if strings.HasPrefix(m.Subject, "$O.muster-shard-0.C.") {
				at = m.Offset + m.Size/2
			}
		}
		return data[:at]
	})
}
