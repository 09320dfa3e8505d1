// Package credentials derives all secrets of a region from its one secret, and opens the access keys of its catalog.
//
// The journal and its copies hold no secret: auth tokens of computes are MACs of a serial number, access keys are
// sealed. (A backup of the region holds the secret beside the journal, and says so.) Ids that a repetition must find
// again, and paging tokens, are MACs as well: they cannot be forged, and all nodes derive the same ones.
package credentials

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
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
	fileKey  []byte      // permissions to transfer a file by HTTP
	callKey  []byte      // ids that a repetition must find again: of game sessions, of events
	signIn   []byte      // the secret of the first epoch
	regionID []byte      // not secret
	recovery []byte      // requests for a new root key, by who can read the region's secret
	logKey   []byte      // URLs of logs
	sealing  cipher.AEAD // access keys, in the first epoch
	epochs   cipher.AEAD // the secrets of later epochs
}

// SecretSize is the length of a region's secret in bytes.
const SecretSize = 32

// New derives the secrets of a region from SecretSize bytes.
func New(secret []byte) (*Secrets, error) {
	if len(secret) != SecretSize {
		return nil, fmt.Errorf("the region's secret has %d bytes instead of %d", len(secret), SecretSize)
	}
	return &Secrets{
		tokenKey: derive(secret, "compute auth token"), pageKey: derive(secret, "paging token"),
		fileKey: derive(secret, "file permission"),
		callKey: derive(secret, "call id"), signIn: derive(secret, "sign-in"),
		recovery: derive(secret, "root key recovery"), regionID: derive(secret, "region id"),
		logKey:  derive(secret, "log url"),
		sealing: sealingOf(derive(secret, "access key seal")), epochs: sealingOf(derive(secret, "epoch seal")),
	}, nil
}

// sealingOf returns AES-256-GCM with random nonces.
func sealingOf(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // only for keys of a wrong length
	}
	sealing, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // only for other ciphers
	}
	return sealing
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

// RegionID returns an id of the region that no other region has, also not one of the same name. It is not secret.
func (s *Secrets) RegionID() string { return hex.EncodeToString(s.regionID[:16]) }

// TokenSerial finds the token of a compute that has the given text.
func (s *Secrets) TokenSerial(room fleet.RoomID, compute *fleet.Compute, text string) (serial uint64, ok bool) {
	for _, t := range compute.Tokens {
		if subtle.ConstantTimeCompare([]byte(s.AuthToken(room, compute.Name, t.Serial)), []byte(text)) == 1 {
			return t.Serial, true
		}
	}
	return 0, false
}

// LogSignature returns the signature of a URL for a log, which is valid until a time in seconds since 1970.
func (s *Secrets) LogSignature(key string, expires int64) string {
	return hex.EncodeToString(mac(s.logKey, key, strconv.FormatInt(expires, 10)))
}

// FilePermission returns the text that permits what the parts name, such as to get a file.
func (s *Secrets) FilePermission(parts ...string) string {
	return hex.EncodeToString(mac(s.fileKey, parts...)[:16])
}

// PermitsFile reports whether a text is the FilePermission of the parts.
func (s *Secrets) PermitsFile(text string, parts ...string) bool {
	return subtle.ConstantTimeCompare([]byte(s.FilePermission(parts...)), []byte(text)) == 1
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
