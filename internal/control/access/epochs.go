package access

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/credentials"
	"github.com/muster-gg/muster/internal/event"
)

// An epochEntry is an epoch with its end.
type epochEntry struct {
	*credentials.Epoch
	begins time.Time // before that nothing is sealed with it
	ends   time.Time // zero: the newest epoch
}

// epochDelay is how long after it is stored an epoch begins: all nodes have it then, and open what one of them seals.
const epochDelay = 5 * time.Second

// openEpochs opens the epochs of the catalog, the present one first. Without any it is the one that is derived from the
// region's secret.
func (a *Access) openEpochs(state *catalog.State) []*epochEntry {
	var open []*epochEntry
	records := state.AccessSettings().Epochs
	for i := len(records) - 1; i >= 0; i-- {
		r := records[i]
		epoch := a.cfg.Secrets.FirstEpoch()
		if r.Number > 0 {
			var err error
			if epoch, err = a.cfg.Secrets.OpenEpoch(r.Number, r.SealedKey); err != nil {
				if suppressed, ok := a.lines.Allow("epoch"); ok {
					a.cfg.Log.Error("epoch cannot be opened", "epoch", r.Number, "err", err, "suppressed", suppressed)
				}
				continue
			}
		}
		open = append(open, &epochEntry{epoch, r.Created.Time(), r.Ends.Time()})
	}
	if len(open) == 0 { // none is stored, or all were sealed with another secret, as the access keys then
		open = append(open, &epochEntry{Epoch: a.cfg.Secrets.FirstEpoch()})
	}
	return open
}

// epoch returns the present epoch.
func (d *derived) epoch() *credentials.Epoch {
	for _, e := range d.epochs {
		if !d.now().Before(e.begins) {
			return e.Epoch
		}
	}
	return d.newest()
}

// newest returns the newest epoch, which may not have begun: what is sealed with it cannot wait.
func (d *derived) newest() *credentials.Epoch { return d.epochs[0].Epoch }

// epochOf returns the epoch with a number, unless it has ended.
func (d *derived) epochOf(number uint32, now time.Time) (*credentials.Epoch, bool) {
	for _, e := range d.epochs {
		if e.Number == number && (e.ends.IsZero() || now.Before(e.ends)) {
			return e.Epoch, true
		}
	}
	return nil, false
}

// openKey opens the sealed secret of an access key or of a provider's client, in any epoch.
func (d *derived) openKey(id string, sealed []byte) (string, error) {
	for _, e := range d.epochs {
		if secret, err := e.OpenKey(id, sealed); err == nil {
			return secret, nil
		}
	}
	return "", errors.New("it was sealed with another secret than this region's")
}

// longestToken is how long the longest token of an epoch is valid after the epoch's end.
func (a *Access) longestToken() time.Duration {
	return max(maxRoleSeconds*time.Second, maxSessionTokenSeconds*time.Second, a.cfg.Lifetimes.SignIn,
		a.cfg.Lifetimes.Console)
}

// RotateSecret begins a new epoch: it seals all access keys and client secrets again, and new tokens are made with the
// new keys. The old ones are valid until the longest of them ends. An ended epoch is dropped last, when nothing is
// sealed in it: after a failure, or a crash, the next rotation completes this one.
func (a *Access) RotateSecret(ctx context.Context) (*SettingsView, error) {
	settings := a.state().AccessSettings()
	now := a.cfg.Catalog.Now()
	var number uint32
	epochs := slices.Clone(settings.Epochs)
	if len(epochs) == 0 {
		epochs = []catalog.Epoch{{}}
	}
	for i := range epochs {
		number = max(number, epochs[i].Number)
		if epochs[i].Ends == 0 {
			epochs[i].Ends = now.Add(epochDelay + a.longestToken())
		}
	}
	_, sealed := a.cfg.Secrets.NewEpoch(number + 1)
	settings.Epochs = append(epochs, catalog.Epoch{
		Number: number + 1, Created: now.Add(epochDelay), SealedKey: sealed,
	})
	if err := a.cfg.Catalog.Change(ctx, catalog.PutAccessSettings{AccessSettings: settings}); err != nil {
		return nil, err
	}
	if err := a.sealAgain(ctx); err != nil {
		return nil, err
	}
	if err := a.dropEpochs(ctx, now); err != nil {
		return nil, err
	}
	view := a.Settings()
	return &view, nil
}

// dropEpochs forgets the epochs that ended before a time.
func (a *Access) dropEpochs(ctx context.Context, now event.Time) error {
	settings := a.state().AccessSettings()
	ended := func(e catalog.Epoch) bool { return e.Ends != 0 && e.Ends <= now }
	if !slices.ContainsFunc(settings.Epochs, ended) {
		return nil
	}
	settings.Epochs = slices.DeleteFunc(slices.Clone(settings.Epochs), ended)
	return a.cfg.Catalog.Change(ctx, catalog.PutAccessSettings{AccessSettings: settings})
}

// sealAgain seals all secrets of the catalog in the present epoch. One that changes meanwhile is left as it is.
func (a *Access) sealAgain(ctx context.Context) error {
	d := a.current()
	keys, _ := a.state().AccessKeys("", 0)
	for _, k := range keys {
		if err := a.sealSecret(ctx, d, k.ID, catalog.SealAgain{AccessKey: k.ID, From: k.SealedSecret}); err != nil {
			return err
		}
	}
	for _, p := range a.state().Providers() {
		again := catalog.SealAgain{Provider: p.Name, From: p.SealedSecret}
		if err := a.sealSecret(ctx, d, providerSeal(p.Name), again); err != nil {
			return err
		}
	}
	return nil
}

// sealSecret seals one secret, which is bound to an id, unless it is of the present epoch.
func (a *Access) sealSecret(ctx context.Context, d *derived, id string, again catalog.SealAgain) error {
	if _, err := d.newest().OpenKey(id, again.From); err == nil {
		return nil
	}
	secret, err := d.openKey(id, again.From)
	if err != nil {
		return nil // it has none, or one that has not worked before either
	}
	again.To = d.newest().SealKey(id, secret)
	return a.cfg.Catalog.Change(ctx, again)
}
