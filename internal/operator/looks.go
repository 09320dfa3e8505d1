package operator

import (
	"context"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/control/access"
)

// looks are the newest looks at topics: clients that watch the same with the same permissions share one.
type looks struct {
	mu  sync.Mutex
	all map[lookKey]*look
}

// A lookKey is all that the answer of a topic may depend on.
type lookKey struct {
	topic                  string // with its value
	arn, key, user, signIn string // of the caller
	from                   access.Origin
}

type look struct {
	begun time.Time
	done  chan struct{} // closed when the rest is set
	snapshot
	err error
}

// lookAge is how old a look may be that is shared. A client looks watchPause after its signal, so a look that began
// within this time began after the signal.
const lookAge = watchPause / 2

func keyOf(t *topic, c *call) lookKey {
	k := lookKey{topic: t.route.pattern + " " + t.value, from: c.from}
	k.from.RequestID = ""
	if c.id != nil {
		k.arn, k.key, k.user, k.signIn = c.id.Arn, c.id.KeyID, c.id.User, c.id.SignIn
	}
	return k
}

// take returns a look of another client if there is a new enough one and first is false: it may have begun
// before the first signal. Otherwise it calls read. A failure is not shared: that client may have left.
func (l *looks) take(ctx context.Context, k lookKey, now time.Time, first bool, read func() (snapshot, error)) (
	snapshot, error) {
	own := &look{begun: now, done: make(chan struct{})}
	if other := l.exchange(k, own, first); other != nil {
		select {
		case <-other.done:
		case <-ctx.Done():
			return snapshot{}, ctx.Err()
		}
		if other.err == nil {
			return other.snapshot, nil
		}
		return read()
	}
	defer close(own.done)
	own.snapshot, own.err = read()
	return own.snapshot, own.err
}

// exchange returns a look that can be shared, or stores a new one and returns nil.
func (l *looks) exchange(k lookKey, own *look, first bool) *look {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, old := range l.all {
		if own.begun.Sub(old.begun) > lookAge {
			delete(l.all, at)
		}
	}
	if other := l.all[k]; other != nil && !first {
		return other
	}
	if l.all == nil {
		l.all = map[lookKey]*look{}
	}
	l.all[k] = own
	return nil
}
