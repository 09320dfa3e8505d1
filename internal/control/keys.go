package control

import (
	"context"
	"fmt"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/sigv4"
)

// Secret finds an access key for whoever verifies signatures.
func (p *Plane) Secret(id string) (sigv4.Credential, bool) {
	record, ok := p.catalog().AccessKey(id)
	if !ok {
		return sigv4.Credential{}, false
	}
	if opened, ok := p.keys.Load(record); ok {
		return opened.(sigv4.Credential), true
	}
	key, err := p.secrets.openKey(id, record.SealedSecret)
	if err != nil {
		if suppressed, ok := p.lines.Allow("access key"); ok { // the caller is not authenticated
			p.cfg.Log.Error("access key cannot be opened", "access_key", id, "err", err, "suppressed", suppressed)
		}
		return sigv4.Credential{}, false
	}
	credential := sigv4.Credential{Secret: key.Secret, Principal: id}
	p.keys.Store(record, credential)
	return credential, true
}

// RootKeyName is the name of the access key that a region is born with.
const RootKeyName = "root"

// RootKey returns the access key that the region was born with, and makes it
// at the first call ever. The plane must be ready.
func (p *Plane) RootKey(ctx context.Context) (key AccessKey, created bool, err error) {
	if key, found, err := p.findRootKey(); found || err != nil {
		return key, false, err
	}
	key = newAccessKey()
	put := catalog.PutAccessKey{ID: key.ID, SealedSecret: p.secrets.sealKey(key), Name: RootKeyName, Created: p.now()}
	err = p.change(ctx, put)
	if fault.Is(err, fault.Conflict) { // another node was quicker
		if key, found, err := p.findRootKey(); found || err != nil {
			return key, false, err
		}
	}
	if err != nil {
		return AccessKey{}, false, fmt.Errorf("make the first access key: %w", err)
	}
	return key, true, nil
}

func (p *Plane) findRootKey() (key AccessKey, found bool, err error) {
	keys, _ := p.catalog().AccessKeys("", 1000)
	for _, k := range keys {
		if k.Name == RootKeyName {
			key, err = p.secrets.openKey(k.ID, k.SealedSecret)
			return key, true, err
		}
	}
	return AccessKey{}, false, nil
}

// IsRootKey reports whether an access key is the one that the region was born with.
func (p *Plane) IsRootKey(id string) bool {
	record, ok := p.catalog().AccessKey(id)
	return ok && record.Name == RootKeyName
}
