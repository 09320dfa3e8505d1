package credentials

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/base64"
	"fmt"
	"log/slog"
	"sync"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/telemetry/loglimit"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// An AccessKey signs calls.
type AccessKey struct{ ID, Secret string }

// A Catalog keeps the access keys, sealed. It is a router.Router.
type Catalog interface {
	Catalog() *catalog.State // a frozen view
	Change(context.Context, catalog.Command) error
	Now() event.Time
}

// Keys are the access keys of a region.
type Keys struct {
	secrets *Secrets
	catalog Catalog
	opened  sync.Map // *catalog.AccessKey → sigv4.Credential
	log     *slog.Logger
	lines   *loglimit.Limiter // of the log: callers are not authenticated yet
}

// NewKeys returns the access keys in a catalog.
func NewKeys(s *Secrets, c Catalog, log *slog.Logger, lines *loglimit.Limiter) *Keys {
	return &Keys{secrets: s, catalog: c, log: log, lines: lines}
}

// Secret finds an access key, for the verifier of signatures.
func (k *Keys) Secret(id string) (sigv4.Credential, bool) {
	record, ok := k.catalog.Catalog().AccessKey(id)
	if !ok {
		return sigv4.Credential{}, false
	}
	if opened, ok := k.opened.Load(record); ok {
		return opened.(sigv4.Credential), true
	}
	key, err := k.secrets.open(id, record.SealedSecret)
	if err != nil {
		if suppressed, ok := k.lines.Allow("access key"); ok {
			k.log.Error("access key cannot be opened", "access_key", id, "err", err, "suppressed", suppressed)
		}
		return sigv4.Credential{}, false
	}
	credential := sigv4.Credential{Secret: key.Secret, Principal: id}
	k.opened.Store(record, credential)
	return credential, true
}

// RootKeyName is the name of the first access key of a region.
const RootKeyName = "root"

// RootKey returns the first access key of the region, and creates it at the first call ever. The shards must serve.
func (k *Keys) RootKey(ctx context.Context) (key AccessKey, created bool, err error) {
	if key, found, err := k.findRootKey(); found || err != nil {
		return key, false, err
	}
	key = newAccessKey()
	put := catalog.PutAccessKey{ID: key.ID, SealedSecret: k.secrets.seal(key), Name: RootKeyName,
		Created: k.catalog.Now()}
	err = k.catalog.Change(ctx, put)
	if fault.Is(err, fault.Conflict) { // another node was faster
		if key, found, err := k.findRootKey(); found || err != nil {
			return key, false, err
		}
	}
	if err != nil {
		return AccessKey{}, false, fmt.Errorf("create the first access key: %w", err)
	}
	return key, true, nil
}

func (k *Keys) findRootKey() (key AccessKey, found bool, err error) {
	keys, _ := k.catalog.Catalog().AccessKeys("", 1000)
	for _, record := range keys {
		if record.Name == RootKeyName {
			key, err = k.secrets.open(record.ID, record.SealedSecret)
			return key, true, err
		}
	}
	return AccessKey{}, false, nil
}

// IsRootKey reports whether an access key is the first one of the region.
func (k *Keys) IsRootKey(id string) bool {
	record, ok := k.catalog.Catalog().AccessKey(id)
	return ok && record.Name == RootKeyName
}

// newAccessKey returns a random key in the form of AWS.
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
