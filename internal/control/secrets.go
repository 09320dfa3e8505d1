package control

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
)

// secrets derives everything secret from the region's one secret, so that the
// journal and its copies hold nothing that opens a door. (A backup of the region
// holds the secret beside the journal, and says so.)
type secrets struct {
	tokenKey []byte      // auth tokens of computes
	pageKey  []byte      // paging tokens
	callKey  []byte      // ids that a repetition must find again: of game sessions, of events
	seal     cipher.AEAD // access keys
}

// SecretSize is the length of a region's secret in bytes.
const SecretSize = 32

func newSecrets(secret []byte) (*secrets, error) {
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
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &secrets{tokenKey: tokenKey, pageKey: pageKey, callKey: callKey, seal: seal}, nil
}

// mac is the HMAC of the parts, each told apart from the next by its length.
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

// authToken is the text of a compute's auth token. It has the form of a UUID,
// as those of the managed service have.
func (s *secrets) authToken(room fleet.RoomID, compute string, serial uint64) string {
	sum := mac(s.tokenKey, string(room.Fleet), room.Location, compute, fmt.Sprint(serial))
	return uuid.UUID(sum[:16]).String()
}

// tokenSerial finds the token of a compute that has the given text.
func (s *secrets) tokenSerial(room fleet.RoomID, compute *fleet.Compute, text string) (serial uint64, ok bool) {
	for _, t := range compute.Tokens {
		if subtle.ConstantTimeCompare([]byte(s.authToken(room, compute.Name, t.Serial)), []byte(text)) == 1 {
			return t.Serial, true
		}
	}
	return 0, false
}

// callID is a UUID that is the same for the same call: for its principal and
// the invocation id that AWS clients keep through their retries.
func (s *secrets) callID(principal, invocation string) string {
	return uuid8(mac(s.callKey, principal, invocation))
}

// eventID is the id of an announcement: the same whenever it is published, and
// that of no other, also not of a region whose data was thrown away.
func (s *secrets) eventID(shard int, outbox string, number uint64, at event.Time) string {
	return uuid8(mac(s.callKey, "event", strconv.Itoa(shard), outbox, strconv.FormatUint(number, 10), strconv.FormatInt(int64(at), 10)))
}

// uuid8 is a UUID of the first bytes of a MAC.
func uuid8(mac []byte) string {
	id := uuid.UUID(mac[:16])
	id[6] = id[6]&0x0f | 0x80 // version 8
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// An AccessKey signs calls.
type AccessKey struct{ ID, Secret string }

// newAccessKey draws a key in the form that AWS clients know.
func newAccessKey() AccessKey {
	var id [10]byte
	var secret [30]byte
	rand.Read(id[:])
	rand.Read(secret[:])
	return AccessKey{
		ID:     "AKIA" + base32.StdEncoding.EncodeToString(id[:]),
		Secret: base64.RawStdEncoding.EncodeToString(secret[:]),
	}
}

// sealKey makes the secret of an access key unreadable without the region's secret.
func (s *secrets) sealKey(k AccessKey) []byte {
	return s.seal.Seal(nil, nil, []byte(k.Secret), []byte(k.ID))
}

// openKey is sealKey reversed.
func (s *secrets) openKey(id string, sealed []byte) (AccessKey, error) {
	secret, err := s.seal.Open(nil, nil, sealed, []byte(id))
	if err != nil {
		return AccessKey{}, fmt.Errorf("access key %s was sealed with another secret than this region's", id)
	}
	return AccessKey{ID: id, Secret: string(secret)}, nil
}
