package gateway

import (
	"context"
	"sync"
)

// turns has those with the same key take turns.
type turns struct {
	mu  sync.Mutex
	all map[string]*turn
}

// A turn is that of one key.
type turn struct {
	free  chan struct{} // holds one when it is nobody's turn
	users int           // who has it or waits; guarded by turns.mu
}

// take waits for the key's turn, which lasts until release. The error is ctx's.
func (t *turns) take(ctx context.Context, key string) (release func(), err error) {
	mine := t.join(key)
	select {
	case <-mine.free:
		return func() {
			mine.free <- struct{}{}
			t.leave(key, mine)
		}, nil
	case <-ctx.Done():
		t.leave(key, mine)
		return nil, ctx.Err()
	}
}

func (t *turns) join(key string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	mine, ok := t.all[key]
	if !ok {
		if t.all == nil {
			t.all = make(map[string]*turn)
		}
		mine = &turn{free: make(chan struct{}, 1)}
		mine.free <- struct{}{}
		t.all[key] = mine
	}
	mine.users++
	return mine
}

func (t *turns) leave(key string, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if mine.users--; mine.users == 0 {
		delete(t.all, key)
	}
}
