package guard

import (
	"crypto/sha256"
	"crypto/subtle"
	"maps"
	"slices"
)

const apiKeyHeader = "X-Api-Key"

// minKey is the minimum length of an API key, in bytes.
const minKey = 16

// keyRing holds API keys as hashes. Keys are random, so the hash needs no salt.
type keyRing []hashedKey

type hashedKey struct {
	name string
	hash [sha256.Size]byte
}

func newKeyRing(keys map[string]string) (ring keyRing) {
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		ring = append(ring, hashedKey{name, sha256.Sum256([]byte(keys[name]))})
	}
	return ring
}

// find returns the name of a key, in constant time.
func (ring keyRing) find(key string) (name string, ok bool) {
	hash := sha256.Sum256([]byte(key))
	for i := range ring {
		if subtle.ConstantTimeCompare(hash[:], ring[i].hash[:]) == 1 {
			name, ok = ring[i].name, true
		}
	}
	return name, ok
}
