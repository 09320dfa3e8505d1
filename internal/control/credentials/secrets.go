// Package credentials derives all secrets of a region from its one secret, and opens the access keys of its catalog.
//
// The journal and its copies hold no secret: auth tokens of computes are MACs of a serial number, access keys are
// sealed. (A backup of the region holds the secret beside the journal, and says so.) Ids that a repetition must find
// again, and paging tokens, are MACs as well: they cannot be forged, and all nodes derive the same ones.
package credentials

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
)

// Secrets are derived from the secret of a region.
type Secrets struct {
	tokenKey []byte      // auth tokens of computes
	pageKey  []byte      // paging tokens
	callKey  []byte      // ids that a repetition must find again: of game sessions, of events
	sealing  cipher.AEAD // access keys
}

// SecretSize is the length of a region's secret in bytes.
const SecretSize = 32

// New derives the secrets of a region from SecretSize bytes.
func New(secret []byte) (*Secrets, error) {
	if len(secret) != SecretSize {
		return nil, fmt.Errorf("the region's secret has %d bytes instead of %d", len(secret), SecretSize)
	}
	derive := func(purpose string) ([]byte, error) { return hkdf.Key(sha256.New, secret, nil, "muster "+purpose, 32) }
	tokenKey, err1 := derive("compute auth token")
	pageKey, err2 := derive("paging token")
	callKey, err3 := derive("call id")
	sealKey, err4 := derive("access key seal")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(sealKey)
	if err != nil {
		return nil, err
	}
	sealing, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &Secrets{tokenKey: tokenKey, pageKey: pageKey, callKey: callKey, sealing: sealing}, nil
}

// mac returns the HMAC of the parts, each separated from the next by its length.
func mac(key []byte, parts ...string) []byte {
	h := hmac.New(sha256.New, key)
	var length [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(p)))
		h.Write(length[:])
		h.Write([]byte(p))
	}
	return h.Sum(nil)
}

// AuthToken returns an auth token of a compute. It has the form of a UUID, as those of the managed service have.
func (s *Secrets) AuthToken(room fleet.RoomID, compute string, serial uint64) string {
	sum := mac(s.tokenKey, string(room.Fleet), room.Location, compute, fmt.Sprint(serial))
	return uuid.UUID(sum[:16]).String()
}

// TokenSerial finds the token of a compute that has the given text.
func (s *Secrets) TokenSerial(room fleet.RoomID, compute *fleet.Compute, text string) (serial uint64, ok bool) {
	for _, t := range compute.Tokens {
		if subtle.ConstantTimeCompare([]byte(s.AuthToken(room, compute.Name, t.Serial)), []byte(text)) == 1 {
			return t.Serial, true
		}
	}
	return 0, false
}

// CallID returns a UUID that is the same for all attempts of a call: for its principal and the invocation id that AWS
// clients keep through their retries.
func (s *Secrets) CallID(principal, invocation string) string {
	return uuid8(mac(s.callKey, principal, invocation))
}

// EventID returns the UUID of an announcement in an outbox of a shard: the same whenever it is published, and that of
// no other, also not of a region whose data was deleted.
func (s *Secrets) EventID(shard int, outbox string, number uint64, at event.Time) string {
	return uuid8(mac(s.callKey, "event",
		strconv.Itoa(shard), outbox, strconv.FormatUint(number, 10), strconv.FormatInt(int64(at), 10)))
}

// uuid8 returns a UUID of version 8 of the first bytes of a MAC.
func uuid8(mac []byte) string {
	id := uuid.UUID(mac[:16])
	id[6] = id[6]&0x0f | 0x80 // version 8
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// seal makes the secret of an access key unreadable without the region's secret.
func (s *Secrets) seal(k AccessKey) []byte {
	return s.sealing.Seal(nil, nil, []byte(k.Secret), []byte(k.ID))
}

// open is seal reversed.
func (s *Secrets) open(id string, sealed []byte) (AccessKey, error) {
	secret, err := s.sealing.Open(nil, nil, sealed, []byte(id))
	if err != nil {
		return AccessKey{}, fmt.Errorf("access key %s was sealed with another secret than this region's", id)
	}
	return AccessKey{ID: id, Secret: string(secret)}, nil
}
