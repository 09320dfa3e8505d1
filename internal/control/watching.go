package control

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire"
)

// watches are the callers that wait for changes of things that keys name. They
// hear that something has changed and then look what: so a slow one misses the
// steps in between and never the last one.
type watches[K comparable] struct {
	watched atomic.Int64 // how many there are

	mu sync.Mutex
	of map[K]map[chan struct{}]struct{}
}

// watchKey is a game session.
type watchKey struct {
	room    fleet.RoomID
	ordinal uint64
}

// add begins a watch: the channel holds one when what the key names has changed.
// The caller ends it.
func (w *watches[K]) add(key K) (changed <-chan struct{}, end func()) {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = make(map[K]map[chan struct{}]struct{})
	}
	if w.of[key] == nil {
		w.of[key] = make(map[chan struct{}]struct{}, 1)
	}
	w.of[key][c] = struct{}{}
	w.watched.Add(1)
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.watched.Add(-1)
		if delete(w.of[key], c); len(w.of[key]) == 0 {
			delete(w.of, key)
		}
	}
}

// any reports whether somebody watches. Without, an event costs no more than this.
func (w *watches[K]) any() bool { return w.watched.Load() > 0 }

// tell wakes those who watch what the key names.
func (w *watches[K]) tell(key K) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.of[key] {
		wake(c)
	}
}

// tellIfAny is tell, when somebody watches anything.
func (w *watches[K]) tellIfAny(key K) {
	if w.any() {
		w.tell(key)
	}
}

// tellAll wakes everybody: the shard was recovered, and what happened meanwhile
// is not told one by one.
func (w *watches[K]) tellAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, watches := range w.of {
		for c := range watches {
			wake(c)
		}
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is about to look
	}
}

// DescribeGameSession describes one game session, also one in the history.
func (p *Plane) DescribeGameSession(ctx context.Context, gameSessionArn string) (*wire.GameSession, error) {
	room, g, err := p.findSession(ctx, gameSessionArn)
	if err != nil {
		return nil, err
	}
	return p.gameSession(room, g), nil
}

// WatchGameSession calls changed with a game session as it is, and again whenever
// it has changed, the number of its players included, until it is TERMINATED, ctx
// is done or changed returns an error. Changes that follow quickly may come as one.
func (p *Plane) WatchGameSession(ctx context.Context, gameSessionArn string, changed func(*wire.GameSession) error) error {
	room, g, err := p.findSession(ctx, gameSessionArn)
	if err != nil {
		return err
	}
	news, end := p.followerOf(room).watches.add(watchKey{room, g.Ordinal})
	defer end()
	for {
		// Looked up again even at first: it may have changed before the watch began.
		if _, g, err = p.findSession(ctx, gameSessionArn); err != nil {
			return err
		}
		if err := changed(p.gameSession(room, g)); err != nil || g.HasEnded() {
			return err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// AwaitGameSession returns a game session as soon as it is not ACTIVATING any
// more.
func (p *Plane) AwaitGameSession(ctx context.Context, gameSessionArn string) (*wire.GameSession, error) {
	var arrived *wire.GameSession
	err := p.WatchGameSession(ctx, gameSessionArn, func(g *wire.GameSession) error {
		if g.Status == wire.GameSessionStatusActivating {
			return nil
		}
		arrived = g
		return errSeen
	})
	if arrived != nil {
		return arrived, nil
	}
	return nil, err
}

// errSeen ends a watch that has seen what it was for.
var errSeen = errors.New("seen")
