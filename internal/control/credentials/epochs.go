package credentials

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"strconv"
	"sync"
)

// An Epoch is the keys of sign-in: of session tokens, refresh tokens, cookies, and the seal of access keys. The first
// one, number 0, is derived from the region's secret. The keys of a later one are derived from a random secret, which
// the catalog keeps sealed with the region's. It is safe for concurrent use.
type Epoch struct {
	Number uint32
	secret []byte
	first  cipher.AEAD // of access keys in epoch 0, as earlier releases sealed them
	keys   sync.Map    // purpose → []byte or cipher.AEAD
}

// sealPurpose is the purpose of the seal of access keys.
const sealPurpose = "access key"

// FirstEpoch returns the epoch before any rotation.
func (s *Secrets) FirstEpoch() *Epoch { return &Epoch{secret: s.signIn, first: s.sealing} }

// NewEpoch returns a new epoch, and its secret as the catalog keeps it.
func (s *Secrets) NewEpoch(number uint32) (*Epoch, []byte) {
	secret := make([]byte, SecretSize)
	rand.Read(secret)
	return &Epoch{Number: number, secret: secret}, s.epochs.Seal(nil, nil, secret, epochName(number))
}

// OpenEpoch opens the secret of an epoch.
func (s *Secrets) OpenEpoch(number uint32, sealed []byte) (*Epoch, error) {
	secret, err := s.epochs.Open(nil, nil, sealed, epochName(number))
	if err != nil {
		return nil, errors.New("the epoch was sealed with another secret than this region's")
	}
	return &Epoch{Number: number, secret: secret}, nil
}

func epochName(number uint32) []byte {
	return []byte("epoch " + strconv.FormatUint(uint64(number), 10))
}

// MAC returns the HMAC-SHA-256 of the parts, with the key of a purpose.
func (e *Epoch) MAC(purpose string, parts ...string) []byte {
	key, ok := e.keys.Load(purpose)
	if !ok {
		key, _ = e.keys.LoadOrStore(purpose, derive(e.secret, purpose))
	}
	return mac(key.([]byte), parts...)
}

// Seal encrypts with the key of a purpose. The result opens only with the same associated data.
func (e *Epoch) Seal(purpose string, plain, bound []byte) []byte {
	return e.aead(purpose).Seal(nil, nil, plain, bound)
}

// Open decrypts what Seal returned.
func (e *Epoch) Open(purpose string, sealed, bound []byte) ([]byte, error) {
	return e.aead(purpose).Open(nil, nil, sealed, bound)
}

func (e *Epoch) aead(purpose string) cipher.AEAD {
	if purpose == sealPurpose && e.first != nil {
		return e.first
	}
	name := "seal " + purpose
	sealing, ok := e.keys.Load(name)
	if !ok {
		sealing, _ = e.keys.LoadOrStore(name, sealingOf(derive(e.secret, name)))
	}
	return sealing.(cipher.AEAD)
}

// SealKey makes the secret of an access key, or of a client of an identity provider, unreadable.
func (e *Epoch) SealKey(id, secret string) []byte {
	return e.Seal(sealPurpose, []byte(secret), []byte(id))
}

// OpenKey is SealKey reversed.
func (e *Epoch) OpenKey(id string, sealed []byte) (string, error) {
	secret, err := e.Open(sealPurpose, sealed, []byte(id))
	return string(secret), err
}

// derive returns the key of a purpose.
func derive(secret []byte, purpose string) []byte {
	key, err := hkdf.Key(sha256.New, secret, nil, "muster "+purpose, 32)
	if err != nil {
		panic(err) // only for keys that are too long
	}
	return key
}
