package access

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A KeyPair is an access key with its secret, which signs calls.
type KeyPair struct{ ID, Secret string }

// RootKeyName is the name of the first access key of a region, which may do everything.
const RootKeyName = "root"

// RootKey returns the first access key of the region, and creates it at the first call ever. The shards must serve.
func (a *Access) RootKey(ctx context.Context) (key KeyPair, created bool, err error) {
	if key, found, err := a.findRootKey(); found || err != nil {
		return key, false, err
	}
	key.ID, key.Secret = newKey()
	put := catalog.PutAccessKey{ID: key.ID, SealedSecret: a.current().epoch().SealKey(key.ID, key.Secret),
		Name: RootKeyName, Created: a.cfg.Catalog.Now()}
	err = a.cfg.Catalog.Change(ctx, put)
	if fault.Is(err, fault.Conflict) { // another node was faster
		if key, found, err := a.findRootKey(); found || err != nil {
			return key, false, err
		}
	}
	if err != nil {
		return KeyPair{}, false, fmt.Errorf("create the first access key: %w", err)
	}
	return key, true, nil
}

func (a *Access) findRootKey() (key KeyPair, found bool, err error) {
	record, ok := a.rootKey()
	if !ok {
		return KeyPair{}, false, nil
	}
	secret, err := a.current().openKey(record.ID, record.SealedSecret)
	if err != nil {
		err = fmt.Errorf("access key %s: %w", record.ID, err)
	}
	return KeyPair{record.ID, secret}, true, err
}

func (a *Access) rootKey() (*catalog.AccessKey, bool) {
	for _, k := range a.state().KeysOf("") {
		if isRootKey(k) {
			return k, true
		}
	}
	return nil, false
}

func isRootKey(k *catalog.AccessKey) bool { return k.Owner == "" && k.Name == RootKeyName }

// IsRootKey reports whether an access key is the first one of the region.
func (a *Access) IsRootKey(id string) bool {
	record, ok := a.state().AccessKey(id)
	return ok && isRootKey(record)
}

// RotateRootKey replaces the root key. The old one stops at once. Of two rotations at once, one fails: NotFound. The
// new key may do everything, so that only who may do everything gets it; nil is who has proved to read the region's
// secret.
func (a *Access) RotateRootKey(ctx context.Context, by *Identity) (*KeyCreated, error) {
	if err := a.covers(by, policy.Set{{Name: "root", Document: allowAll()}}); err != nil {
		return nil, err
	}
	old, ok := a.rootKey()
	if !ok {
		return nil, fault.New(fault.NotFound, "The region has no root key yet")
	}
	return a.putNewKey(ctx, catalog.AccessKey{Name: RootKeyName, Created: a.cfg.Catalog.Now()}, old.ID)
}

// proofs are the nonces of used proofs of the region's secret.
type proofs struct {
	mu   sync.Mutex
	used map[string]time.Time
}

// proofMemory is longer than a proof is valid, before and after its time.
const proofMemory = 3 * time.Minute

// CheckRecovery checks a proof that the caller can read the region's secret. Each is accepted once.
func (a *Access) CheckRecovery(proof string) error {
	now := a.now()
	nonce, err := a.cfg.Secrets.CheckProof(proof, now)
	if err != nil {
		return fault.New(fault.AccessDenied, "The recovery is refused: %s.", err)
	}
	a.proofs.mu.Lock()
	defer a.proofs.mu.Unlock()
	for old, at := range a.proofs.used {
		if now.Sub(at) > proofMemory {
			delete(a.proofs.used, old)
		}
	}
	if _, again := a.proofs.used[nonce]; again {
		return fault.New(fault.AccessDenied, "The recovery is refused: the proof was used before.")
	}
	a.proofs.used[nonce] = now
	return nil
}
