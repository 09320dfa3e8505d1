package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"
	"sync"
)

// maxSigningKeys bounds the cache. A key is added only after a valid signature, so unauthenticated clients cannot fill
// it.
const maxSigningKeys = 1024

// A signingKey signs for one secret, day, region and service.
type signingKey struct {
	secret string    // that it was derived from: a changed secret must not match
	macs   sync.Pool // of *signer, keyed
}

// A signer is a keyed HMAC with room for its sum.
type signer struct {
	mac hash.Hash
	sum [sha256.Size]byte
}

func newSigningKey(secret string, s *scope) *signingKey {
	key := sum([]byte("AWS4"+secret), s.date)
	for _, part := range [...]string{s.region, s.service, s.terminator} {
		key = sum(key, part)
	}
	k := &signingKey{secret: secret}
	k.macs.New = func() any { return &signer{mac: hmac.New(sha256.New, key)} }
	return k
}

func sum(key []byte, data string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(data))
	return mac.Sum(nil)
}

// appendSignature appends the signature of data, in hex. dst may overlap data.
func (k *signingKey) appendSignature(dst, data []byte) []byte {
	s := k.macs.Get().(*signer)
	s.mac.Reset()
	s.mac.Write(data)
	dst = hex.AppendEncode(dst, s.mac.Sum(s.sum[:0]))
	k.macs.Put(s)
	return dst
}

// A keyCache caches signing keys. The zero value is empty.
type keyCache struct {
	mu   sync.RWMutex
	keys map[keyID]*signingKey
}

type keyID struct{ accessKeyID, date, region, service string }

// get returns the signing key and whether it was cached.
func (c *keyCache) get(accessKeyID, secret string, s *scope) (key *signingKey, cached bool) {
	c.mu.RLock()
	key = c.keys[keyID{accessKeyID, s.date, s.region, s.service}]
	c.mu.RUnlock()
	if key != nil && key.secret == secret {
		return key, true
	}
	return newSigningKey(secret, s), false
}

// put caches a key after a valid signature. A full cache drops an arbitrary key: deriving it again takes microseconds.
func (c *keyCache) put(accessKeyID string, s *scope, key *signingKey) {
	id := keyID{strings.Clone(accessKeyID), strings.Clone(s.date), strings.Clone(s.region), strings.Clone(s.service)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys == nil {
		c.keys = map[keyID]*signingKey{}
	}
	if _, ok := c.keys[id]; !ok && len(c.keys) >= maxSigningKeys {
		for other := range c.keys {
			delete(c.keys, other)
			break
		}
	}
	c.keys[id] = key
}
