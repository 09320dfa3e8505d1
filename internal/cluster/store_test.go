package cluster

import (
	"testing"

	"github.com/muster-gg/muster/internal/cluster/lease"
)

// A node whose write fails because it has not seen the writes of others reads the key, though the watch delivers
// nothing: otherwise it would repeat the same write.
func TestConflictIsReread(t *testing.T) {
	n, err := Join(t.Context(), Config{ // it does not run, and so receives nothing
		Node: "n1", Shards: shards, Conn: connect(t, engine(t)),
		Serve: func(int, []byte, func([]byte, error)) {}, Barrier: func(int, func(uint64, error)) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	other := lease.Value{Run: lease.Run{Node: "n2", Process: "a", Number: 1}}
	key := lease.Key{Node: "n2"}
	put := func() uint64 {
		other.Beat++
		revision, err := n.bucket.Put(t.Context(), keyName(key), encodeValue(other))
		if err != nil {
			t.Fatal(err)
		}
		return revision
	}
	first := put()
	n.machine.Seen(0, lease.Entry{Key: key, Revision: first, Value: other})
	put()
	n.write(t.Context(), lease.Write{Key: key, Expect: first, Value: lease.Value{Run: other.Run, Gone: true}})
	n.drain()
	if seen := n.machine.Known(); len(seen) != 1 || seen[0] != other {
		t.Errorf("the node sees %+v, want %+v", seen, other)
	}
}
