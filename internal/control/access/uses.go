package access

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/journal"
)

// A use is the last use of an access key, to the hour. It is outside the journal, so that reading calls write nothing
// there.
type use struct {
	At time.Time `json:"at"`
}

// useResolution is how exact the last use is: each node stores it at most as often.
const useResolution = time.Hour

// uses are the uses of keys that this node has seen and not stored.
type uses struct {
	mu     sync.Mutex
	stored map[string]time.Time // the hour that is stored, or waits in fresh
	fresh  map[string]time.Time
	wake   chan struct{}
}

func (u *uses) init() {
	u.stored, u.fresh, u.wake = map[string]time.Time{}, map[string]time.Time{}, make(chan struct{}, 1)
}

// note notes a use. It is called for each call, and cheap when the hour is known.
func (u *uses) note(now time.Time, key string) {
	hour := now.UTC().Truncate(useResolution)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.stored[key].Equal(hour) {
		return
	}
	u.stored[key], u.fresh[key] = hour, hour
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// take returns what is to be stored.
func (u *uses) take() map[string]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	fresh := u.fresh
	u.fresh = map[string]time.Time{}
	return fresh
}

// Run stores the last uses of access keys until ctx is done.
func (a *Access) Run(ctx context.Context) error {
	for a.cfg.Used != nil {
		select {
		case <-ctx.Done():
			return nil
		case <-a.uses.wake:
		}
		for key, at := range a.uses.take() {
			if err := a.storeUse(ctx, key, use{at}); err != nil && ctx.Err() == nil {
				a.cfg.Log.Debug("last use of an access key not stored", "access_key", key, "err", err)
			}
		}
	}
	<-ctx.Done()
	return nil
}

// storeUse stores a use, unless another node stored a later one.
func (a *Access) storeUse(ctx context.Context, key string, u use) error {
	body, err := json.Marshal(u)
	if err != nil {
		return err
	}
	value, revision, err := a.cfg.Used.Get(ctx, key)
	if errors.Is(err, journal.ErrNoValue) {
		_, err = a.cfg.Used.Create(ctx, key, body)
		return err
	}
	var old use
	if err != nil || json.Unmarshal(value, &old) == nil && !old.At.Before(u.At) {
		return err
	}
	_, err = a.cfg.Used.Update(ctx, key, body, revision)
	return err
}

// lastUse returns the last use of a key.
func (a *Access) lastUse(ctx context.Context, key string) (u use, ok bool) {
	a.uses.mu.Lock()
	at, seen := a.uses.stored[key]
	a.uses.mu.Unlock()
	if a.cfg.Used == nil {
		return use{at}, seen
	}
	value, _, err := a.cfg.Used.Get(ctx, key)
	if err != nil || json.Unmarshal(value, &u) != nil || u.At.Before(at) {
		return use{at}, seen
	}
	return u, true
}
