package lease

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// Assign returns which member should own each shard. It is rendezvous hashing, except that no member gets more than its
// share, rounded up: then the shard goes to the next one in its order. With few shards for each member, hashing alone
// would give one twice as many as another. The result does not depend on the order of members; it is nil if there are
// none.
func Assign(members []string, shards int) []string {
	if len(members) == 0 {
		return nil
	}
	members = slices.Sorted(slices.Values(members))
	share := (shards + len(members) - 1) / len(members)
	load := make(map[string]int, len(members))
	owners := make([]string, shards)
	for i := range owners {
		for _, name := range ranked(members, i) {
			if load[name] < share {
				load[name]++
				owners[i] = name
				break
			}
		}
	}
	return owners
}

// ranked returns the members in a shard's order of preference.
func ranked(members []string, shard int) []string {
	weights := make(map[string]uint64, len(members))
	for _, name := range members {
		weights[name] = weight(name, shard)
	}
	return slices.SortedStableFunc(slices.Values(members), func(a, b string) int {
		return cmp.Compare(weights[b], weights[a])
	})
}

func weight(name string, shard int) uint64 {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(name), uint64(shard)))
	return binary.BigEndian.Uint64(sum[:])
}
