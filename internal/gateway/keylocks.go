package gateway

import (
	"context"
	"sync"
)

// keyLocks is one lock per key. The zero value is ready to use.
type keyLocks struct {
	mu  sync.Mutex
	all map[string]*keyLock
}

type keyLock struct {
	held  chan struct{} // full while the lock is held
	users int           // holders and waiters; guarded by keyLocks.mu
}

// lock waits for the lock of a key. The error is ctx's.
func (l *keyLocks) lock(ctx context.Context, key string) (unlock func(), err error) {
	k := l.get(key)
	select {
	case k.held <- struct{}{}:
		return func() {
			<-k.held
			l.put(key, k)
		}, nil
	case <-ctx.Done():
		l.put(key, k)
		return nil, ctx.Err()
	}
}

func (l *keyLocks) get(key string) *keyLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, ok := l.all[key]
	if !ok {
		if l.all == nil {
			l.all = make(map[string]*keyLock)
		}
		k = &keyLock{held: make(chan struct{}, 1)}
		l.all[key] = k
	}
	k.users++
	return k
}

func (l *keyLocks) put(key string, k *keyLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.all, key)
	}
}
